"""The parts of the description: sections of files, blocks of keys, and rows with a type, a unit and a sentence."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tickdisk.describe.keys import Key, keys_of_class, keys_of_table, objects_of
from tickdisk.foundation.errors import TickdiskError

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
class DescribedKey:
    """One row of a table in docs/columns.md, about a column of a Parquet table or a key of a JSON object."""

    name: str
    kind: str
    """The type in words, such as "int64" or "number or null"."""
    unit: str
    """The unit, such as "ns". It is empty if there is none."""
    sentence: str


@dataclass(frozen=True)
class DescribedTable:
    """One table in docs/columns.md, about a Parquet table or one kind of JSON object. A column counts as a key."""

    title: str
    """A sentence that says where these keys are found. It is empty for the columns of a table."""
    keys: tuple[Key, ...]
    words: Mapping[str, str]
    """Sentences for keys that have none in the code, or whose sentence in the code cannot stand alone."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units of keys whose names do not end with their unit."""

    def rows(self, where: str) -> list[DescribedKey]:
        """Returns the rows. TickdiskError names keys without a sentence, and described keys that the file
        `where` does not have.
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
            DescribedKey(
                key.name,
                key.kind,
                key.unit or self.units.get(key.name, unit_of(key.name)),
                self.words.get(key.name) or key.docstring,
            )
            for key in self.keys
        ]


@dataclass(frozen=True)
class Entry:
    """A part of docs/columns.md with a heading of its own, about one file or an object that stands in several files."""

    name: str
    """The path of the file, with a word in capitals for each part that varies, or the name of the object."""
    sentence: str
    blocks: tuple[DescribedTable, ...]
    """A file with objects in it has a table for each kind of object."""
    is_file: bool = True
    """Whether the entry is about a file, which is then in the list of files at the beginning of the document."""


@dataclass(frozen=True)
class Section:
    """A section of docs/columns.md: entries about related files, under one heading."""

    title: str
    sentence: str
    entries: tuple[Entry, ...]


def unit_of(name: str) -> str:
    """Returns the unit of a column or key, which the end of its name says, or an empty text if it says none.

    Examples
    --------
    >>> unit_of("latency_ns"), unit_of("bandwidth_bytes_per_s"), unit_of("arm")
    ('ns', 'B/s', '')
    """
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")


def table_entry(
    name: str, sentence: str, schema: pa.Schema, words: Mapping[str, str], units: Mapping[str, str] | None = None
) -> Entry:
    """Returns the entry of docs/columns.md about a Parquet table. `units` is for columns whose names lack their unit."""
    return Entry(name, sentence, (DescribedTable("", keys_of_table(schema), words, units or {}),))


def blocks_of(
    described: type[Any],
    title: str = "The file is an object with these keys:",
    *,
    elsewhere: Collection[type[Any]] = (),
    words: Mapping[str, Mapping[str, str]] | None = None,
    path: str = "",
) -> Iterator[DescribedTable]:
    """Yields the block about a record, and then those about the objects in it, at any depth, in the order of the fields.

    Classes that are described `elsewhere` have no block. `words` has sentences that replace those of the code, by the path of the
    object, such as `lives.attempts`, and by key. `path` is that of the record itself.
    """
    yield DescribedTable(title, keys_of_class(described), (words or {}).get(path, {}))
    for name, nested, several in objects_of(described):
        if nested not in elsewhere:
            inner = f"{path}.{name}".removeprefix(".")
            where = f"Each object of `{inner}` has these keys:" if several else f"`{inner}` has these keys:"
            yield from blocks_of(nested, where, elsewhere=elsewhere, words=words, path=inner)


def written(title: str, said: Mapping[str, tuple[str, str]], units: Mapping[str, str] | None = None) -> DescribedTable:
    """Returns the block about a JSON object that has no class in the code, from the type and the sentence of each key.

    `units` is for keys whose names do not end with theirs. `tests/test_describe.py` compares the keys with those that are
    written.
    """
    keys = tuple(Key(name, kind) for name, (kind, _) in said.items())
    return DescribedTable(title, keys, {name: sentence for name, (_, sentence) in said.items()}, units or {})
