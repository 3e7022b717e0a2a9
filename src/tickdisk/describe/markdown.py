"""The document that describes every table and every JSON file, as Markdown."""

import re
from collections.abc import Iterator, Sequence

from tickdisk.describe import calibration, cell, life, network, other, statement, study
from tickdisk.describe.entry import DescribedKey, DescribedTable, Entry, Section

SECTIONS: tuple[Section, ...] = (
    cell.PLAN,
    cell.SECTION,
    life.SECTION,
    statement.SECTION,
    calibration.SECTION,
    study.REPLAY,
    study.MICRO,
    study.CHECKPOINT,
    study.STORE,
    network.NETWORK,
    other.FILES,
    Section(
        "Objects that stand in several files",
        "The tables above refer to these objects.",
        (other.HOST, other.LOAD, calibration.MODEL),
    ),
)

_HEAD = """\
# Files and columns

This page describes every table and every JSON file that Tickdisk writes, with the unit of every column and key.
[data.md](data.md) says how to read them, and begins with the files that a reader needs first. `tickdisk describe` prints this
page from the types in the code, so please change the docstrings there and the descriptions in `src/tickdisk/describe`, and not
the page.
"""


def document() -> str:
    """Returns docs/columns.md. Raises TickdiskError for a key without a description, and for a description without a key."""
    parts = [_HEAD, "\n".join(_list_of_files())]
    parts += ["\n".join(_section(section)) for section in SECTIONS]
    return "\n".join(parts)


def _list_of_files() -> Iterator[str]:
    yield from ("## Files", "| File | Content |", "|---|---|")
    for section in SECTIONS:
        for entry in section.entries:
            if entry.is_file:
                yield f"| [`{entry.name}`](#{_anchor(entry.name)}) | {entry.sentence} |"
    yield ""


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {section.title}", section.sentence, "")
    for entry in section.entries:
        yield from _entry(entry)


def _entry(entry: Entry) -> Iterator[str]:
    yield from (f"### `{entry.name}`" if entry.is_file else f"### {entry.name}", entry.sentence, "")
    is_table = entry.name.endswith(".parquet")
    for block in entry.blocks:
        yield from _block(entry, block, "Column" if is_table else "Key")


def _block(entry: Entry, block: DescribedTable, first: str) -> Iterator[str]:
    if block.title:
        yield from (block.title, "")
    yield from _table(first, block.rows(entry.name))
    yield ""


def _table(first: str, rows: Sequence[DescribedKey]) -> Iterator[str]:
    yield from (f"| {first} | Type | Unit | Description |", "|---|---|---|---|")
    for row in rows:
        sentence = row.sentence.replace("|", "\\|")
        yield f"| `{row.name}` | {row.kind} | {row.unit} | {sentence} |"
