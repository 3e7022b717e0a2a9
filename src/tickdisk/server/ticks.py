"""Reads the record of a tick probe into the ticks table. Nothing in the record is dropped without being counted.

The probes of all servers write the same format, which `src/servers/README.md` describes.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import numpy.typing as npt

from tickdisk.foundation.clock import Clock
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record, Unit

if TYPE_CHECKING:
    import pandas as pd

_HEADER = re.compile(r"tickdisk_probe,2,(?P<clock>monotonic|monotonic_raw),(?P<unit>ns|us)$")
_LATE = 1.5
_INTEGER = re.compile(r"-?\d{1,18}$")
_FIELDS = {
    "t": ("number", "start", "end?", "players", "elapsed?", "thread?"),
    "g": ("at", "count"),
    "m": ("name", "before", "after"),
    "s": ("begin", "end"),
    "p": ("name", "begin", "end"),
    "e": ("ticks", "at", "count"),
}
"""The fields of each kind of line. A field with ? may be empty, and all but the name of a marker are integers."""
Nanoseconds = npt.NDArray[np.int64]
ToMonotonic = Callable[[Nanoseconds, Clock], Nanoseconds]


class TickCounts(Record):
    """Counts of what the tick probe recorded in a server life."""

    ticks: Annotated[int, Unit("ticks")]
    """The number of ticks that were recorded."""
    missing: Annotated[int, Unit("ticks")]
    """The number of ticks whose record is missing."""
    duplicated: Annotated[int, Unit("records")]
    """The number of records of a tick that was recorded before."""
    late: Annotated[int, Unit("ticks")]
    """The number of ticks that began more than 1.5 budgets after the tick before."""
    backwards: Annotated[int, Unit("ticks")]
    """The number of ticks that began before the tick before."""
    rejected: Annotated[int, Unit("lines")]
    """The number of lines that could not be read."""
    merged: Annotated[int, Unit("ticks")]
    """The number of ticks that the server left out to catch up."""
    blocks_generated: Annotated[int, Unit("map blocks")]
    """The number of pieces of terrain (map blocks or chunks) that were generated; there should be none."""
    complete: bool
    """Whether the probe wrote its last record."""


@dataclass(frozen=True)
class Ticks:
    """Everything that the tick probe recorded in a server life, as tables. Times are nanoseconds of CLOCK_MONOTONIC."""

    table: "pd.DataFrame"
    """One row for each tick, in order: tick (its number, from 1), start_ns, end_ns (null if the probe sees no end), players (how
    many are connected), thread (identity of the thread, null if not known)."""
    markers: "pd.DataFrame"
    """One row for each order of a player that the probe carried out: name, and before_ns and after_ns, between which it was done.
    The name is `read` with the number of a marker, or `burn` for a time in which the tick thread was kept busy."""
    saves: "pd.DataFrame"
    """One row for each save of the world: begin_ns, end_ns. Only saves that the project's own program asks its server for are
    recorded, so Luanti, which saves by itself, has no rows."""
    pauses: "pd.DataFrame"
    """One row for each time in which the runtime of Go or of Java stopped all threads of the server, such as for garbage
    collection: name (the reason), begin_ns, end_ns. No rows for a server without such a runtime."""
    counts: TickCounts
    rejects: tuple[tuple[int, str], ...]
    """Lines of the file that are no valid records, each with line number and text."""


def read_ticks(path: Path, to_monotonic: ToMonotonic, budget_ns: int) -> Ticks:
    """Reads the file in which the tick probe recorded a server life, and converts all times to CLOCK_MONOTONIC.

    `to_monotonic` converts an array of times in ns of a clock, which is named as in
    `tickdisk.foundation.clock`. `budget_ns` is the time
    from the start of one tick to the start of the next, if both are on time. Raises TickdiskError if the file is not a probe's,
    or holds no tick.
    """
    import pandas as pd  # noqa: PLC0415 - commands start without it

    record = _parse(path)
    rows = record.lines["t"]
    if not rows:
        raise TickdiskError(f"{path} holds no tick: the server did not get as far as its first step; look at its log")
    by_field = dict(zip(("number", "start", "end", "players", "elapsed", "thread"), zip(*rows, strict=True), strict=True))
    numbers, first = np.unique(np.array(by_field["number"], dtype=np.int64), return_index=True)

    def field(name: str) -> "pd.Series[Any]":
        return pd.Series([by_field[name][index] for index in first], dtype="Int64")

    def times(values: Sequence[Any]) -> Nanoseconds:
        return to_monotonic(np.array(values, dtype=np.int64) * record.unit_ns, record.clock)

    start_ns, end = times(field("start").to_list()), field("end")
    end_ns = pd.Series(pd.NA, index=end.index, dtype="Int64")
    if (known := end.notna()).any():
        end_ns[known] = times(end[known].to_list())
    table = pd.DataFrame(
        {
            "tick": numbers,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "players": field("players").to_numpy(np.int64),
            "thread": field("thread"),
        }
    )
    markers, saves, pauses = (record.lines[kind] for kind in "msp")
    return Ticks(
        table,
        pd.DataFrame(
            {
                "name": pd.Series([row[0] for row in markers], dtype=object),
                "before_ns": times([row[1] for row in markers]),
                "after_ns": times([row[2] for row in markers]),
            }
        ),
        pd.DataFrame({"begin_ns": times([row[0] for row in saves]), "end_ns": times([row[1] for row in saves])}),
        pd.DataFrame(
            {
                "name": [row[0] for row in pauses],
                "begin_ns": times([row[1] for row in pauses]),
                "end_ns": times([row[2] for row in pauses]),
            }
        ).sort_values("begin_ns", ignore_index=True),
        _counts(record, numbers, start_ns, budget_ns, field("elapsed")),
        record.rejects,
    )


def _counts(
    record: "_Record", numbers: Nanoseconds, start_ns: Nanoseconds, budget_ns: int, elapsed: "pd.Series[int]"
) -> TickCounts:
    """Returns the counts of a record, from the numbers, the starts and the elapsed times of its ticks."""
    ended = record.lines["e"][-1] if record.lines["e"] else None
    generated = [ended[2]] if ended else [row[1] for row in record.lines["g"]]
    gaps = np.diff(start_ns)[np.diff(numbers) == 1]
    elapsed_ns = elapsed.iloc[1:].dropna().to_numpy(np.int64) * record.unit_ns
    return TickCounts(
        ticks=len(numbers),
        missing=max(int(numbers[-1]), ended[0] if ended else 0) - len(numbers),
        duplicated=len(record.lines["t"]) - len(numbers),
        late=int((gaps > _LATE * budget_ns).sum()),
        backwards=int((gaps < 0).sum()),
        rejected=len(record.rejects),
        merged=int((np.rint(elapsed_ns / budget_ns) - 1).clip(min=0).sum()),
        blocks_generated=max(generated, default=0),
        complete=ended is not None,
    )


def first_thread(path: Path) -> int | None:
    """Returns the kernel's identity of the thread of the first tick in a probe's record, which may still be written.

    It is None if there is no tick yet, or if the probe does not know threads.
    """
    try:
        record = _parse(path)
    except TickdiskError:
        return None
    return next((row[-1] for row in record.lines["t"]), None)


@dataclass(frozen=True)
class _Record:
    clock: Clock
    unit_ns: int
    lines: dict[str, list[tuple[Any, ...]]]
    """The fields of the lines of each kind. An empty field is None."""
    rejects: tuple[tuple[int, str], ...]


def _parse(path: Path) -> _Record:
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist: the tick probe did not load; look at the server's log") from error
    lines = text.split("\n")
    header = _HEADER.match(lines[0])
    if header is None:
        raise TickdiskError(f"{path}, line 1: not a file of this tick probe (expected tickdisk_probe,2,...); run the cell again")
    kinds: dict[str, list[tuple[Any, ...]]] = {kind: [] for kind in _FIELDS}
    rejects = []
    # A whole file ends with a line feed. Text behind the last one is a line that was cut off.
    whole, cut = lines[1:-1], lines[-1]
    for number, line in enumerate(whole, start=2):
        kind, *texts = line.split(",")
        fields = _FIELDS.get(kind, ())
        if fields and len(texts) == len(fields) and all(map(_fits, fields, texts)):
            kinds[kind].append(tuple(map(_value, fields, texts)))
        else:
            rejects.append((number, line))
    if cut:
        rejects.append((len(lines), cut))
    return _Record(cast("Clock", header["clock"]), 1 if header["unit"] == "ns" else 1000, kinds, tuple(rejects))


def _fits(field: str, text: str) -> bool:
    return field == "name" or (text == "" and field.endswith("?")) or _INTEGER.match(text) is not None


def _value(field: str, text: str) -> str | int | None:
    if field == "name":
        return text
    return int(text) if text else None
