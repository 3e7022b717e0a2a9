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

EXAMPLE = """\
import pandas as pd

ticks, epochs = (pd.read_parquet(f"results/runs/CELL/LIFE/{name}.parquet") for name in ("ticks", "epochs"))
ticks = ticks.drop(columns="end_ns").assign(gap_ms=-ticks["start_ns"].diff(-1) / 1e6)
kept = pd.merge_asof(ticks, epochs.drop(columns="start_ns"), left_on="start_ns", right_on="steady_ns").query("start_ns < end_ns")
print(kept.groupby("arm")["gap_ms"].agg(["count", "mean", "max"]))
"""
"""An example program that reads two tables of a server life and compares the arms."""

_HEAD = """\
# Data

This page describes every table and every JSON file that Tickdisk writes. It is for a researcher who wants to use the recorded
data. The project comes without recordings: `make paper` makes them. It has the facts, the claims and the plans of our own runs,
in `data/reference`. Data and code have the MIT licence. `tickdisk describe` prints this page from the types in the code, so
please change the docstrings there and the descriptions in `src/tickdisk/describe`, and not the page.
[results/README.md](../results/README.md) is a shorter list of the files.

## How to read the data
- A table is a Parquet file, and pandas reads it with `read_parquet`. Columns have the types that are stated here. Tables of
  server lives have `schema_version` and the name of the `table` in the metadata of the file.
- A JSON file is an object or a list. The keys of an object are sorted by name. `None` in a description is `null` in the file.
- A time such as `start_ns` or `due_ns` is a reading of CLOCK_MONOTONIC, the clock that the kernel counts from the start of the
  machine. Such times of one machine can be compared until it starts again. A length of time, such as `latency_ns`, is described
  as one.
- The column *Unit* has the unit. A *share* is a part of a whole, where 1 is all of it, and `us` is a microsecond.
- A word in capitals in a path stands for a part that varies. CELL is the name of a cell, which `results/plan.json` lists. LIFE
  is the name of a server life: `life`, the name of an arm in a join burst, or one such as `players_20`.

## An example with pandas
This example compares the arms of one server life by the time from the start of a tick to the start of the next. A tick belongs
to the epoch in whose analysed part it starts. Replace CELL and LIFE: `results/plan.json` says which cell belongs to which
experiment, and the one life of a cell of the switchback is named `life`. `block` counts from 0 there, and from 1 in what
commands print.
"""


def document() -> str:
    """Returns docs/data.md. Raises TickdiskError for a key without a description, and for a description without a key."""
    parts = [f"{_HEAD}```python\n{EXAMPLE}```\n", "\n".join(_list_of_files())]
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
