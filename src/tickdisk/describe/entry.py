"""The parts of the description: sections of files, blocks of keys, and rows with a type, a unit and a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tickdisk.describe.keys import Key, keys_of_table
from tickdisk.errors import TickdiskError

_UNITS = {
    "_bytes_per_s": "B/s",
    "_ns_per_request": "ns",
    "_per_s": "1/s",
    "_ns": "ns",
    "_us": "us",
    "_ms": "ms",
    "_s": "s",
    "_hz": "Hz",
    "bytes": "B",
    "_mib": "MiB",
    "_gib": "GiB",
    "_share": "share",
    "iops": "requests/s",
}
"""The unit for each ending of a name. The first ending that fits counts."""


@dataclass(frozen=True)
class Row:
    """One column or key, as one row of the document."""

    name: str
    kind: str
    unit: str
    sentence: str


@dataclass(frozen=True)
class Block:
    """Keys that are described in one table: the columns of a Parquet table, or the keys of one kind of object."""

    title: str
    """A sentence that says where these keys are found. It is empty for the columns of a table."""
    keys: tuple[Key, ...]
    words: Mapping[str, str]
    """A sentence for each key that has none in the code, or whose sentence in the code cannot stand alone."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units of keys whose names do not end with their unit."""

    def rows(self, where: str) -> list[Row]:
        """Returns the keys with their units and sentences.

        If a key has no sentence, or a sentence or a unit has no key, TickdiskError names it and the file `where`.
        """
        names = [key.name for key in self.keys]
        silent = [key.name for key in self.keys if not (self.words.get(key.name) or key.docstring)]
        unknown = [name for name in (*self.words, *self.units) if name not in names]
        if silent:
            raise TickdiskError(f"{where}: {', '.join(silent)}: no description; add one to tickdisk.describe")
        if unknown:
            raise TickdiskError(
                f"{where}: {', '.join(unknown)}: described, but the file has no such key; remove it from tickdisk.describe"
            )
        return [
            Row(key.name, key.kind, self.units.get(key.name, unit_of(key.name)), self.words.get(key.name) or key.docstring)
            for key in self.keys
        ]


@dataclass(frozen=True)
class Entry:
    """A file, or an object that stands in several files."""

    name: str
    """The path of the file, with a word in capitals for each part that varies, or the name of the object."""
    sentence: str
    blocks: tuple[Block, ...]
    is_file: bool = True


@dataclass(frozen=True)
class Section:
    """A section of the document."""

    title: str
    sentence: str
    entries: tuple[Entry, ...]


def unit_of(name: str) -> str:
    """Returns the unit that a name ends with, or an empty text if it has none.

    Examples
    --------
    >>> unit_of("latency_ns"), unit_of("bandwidth_bytes_per_s"), unit_of("arm")
    ('ns', 'B/s', '')
    """
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")


def table_entry(
    name: str, sentence: str, schema: pa.Schema, words: Mapping[str, str], units: Mapping[str, str] | None = None
) -> Entry:
    """Returns the entry of a Parquet table whose schema is in the code."""
    return Entry(name, sentence, (Block("", keys_of_table(schema), words, units or {}),))


def written(title: str, said: Mapping[str, tuple[str, str]], units: Mapping[str, str] | None = None) -> Block:
    """Returns a block for an object that has no type in the code.

    `said` has the type in words and the sentence for each key. `tests/test_describe.py` compares these keys with those that the
    code writes.
    """
    keys = tuple(Key(name, kind) for name, (kind, _) in said.items())
    return Block(title, keys, {name: sentence for name, (_, sentence) in said.items()}, units or {})
