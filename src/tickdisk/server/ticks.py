"""The tick probe's raw file to the ticks table; nothing in it is dropped without being counted."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.errors import TickdiskError

BUDGET_NS = 90_000_000
"""Luanti's dedicated_server_step, 0.09 s."""
HEADER = "tickdisk_probe,1,monotonic_raw_us"
_LATE = 1.5
_INTEGER = re.compile(r"-?\d{1,18}$")
_LENGTHS = {"t": 4, "g": 2, "m": 3, "e": 3}
Nanoseconds = npt.NDArray[np.int64]
ToMonotonic = Callable[[Nanoseconds], Nanoseconds]


@dataclass(frozen=True)
class Ticks:
    """The record of the probe. Times are nanoseconds of CLOCK_MONOTONIC."""

    table: pd.DataFrame
    """tick, start_ns, end_ns (null: Luanti shows Lua no end of a step), players; in order of tick, each once."""
    markers: pd.DataFrame
    """name, before_ns, after_ns: something that the probe was told to do between two times."""
    summary: dict[str, Any]
    """ticks; missing (numbers that are not there); duplicated; late (gap above 1.5 budgets); merged (steps that the server left
    out to catch up); backwards (ticks before their predecessor); rejected lines; blocks_generated; complete (it shut down)."""
    rejects: tuple[tuple[int, str], ...]
    """Lines that are not records: line number and text."""


def read_ticks(path: Path, to_monotonic: ToMonotonic) -> Ticks:
    """Returns the ticks in the raw file at `path`; `to_monotonic` converts an int64 array of CLOCK_MONOTONIC_RAW ns.

    TickdiskError when the file is not the probe's or holds no tick.
    """
    kinds, rejects = _parse(path)
    if not kinds["t"]:
        raise TickdiskError(f"{path} holds no tick: the server did not get as far as its first step; look at its log")
    rows = np.array(kinds["t"], dtype=np.int64)
    numbers, first = np.unique(rows[:, 0], return_index=True)
    once = rows[first]
    end = kinds["e"][-1] if kinds["e"] else None
    steps = max(int(numbers[-1]), end[0] if end else 0)
    start_ns = to_monotonic(once[:, 1] * 1000)
    gaps = np.diff(start_ns)[np.diff(numbers) == 1]
    table = pd.DataFrame(
        {"tick": numbers, "start_ns": start_ns, "end_ns": pd.array([pd.NA] * len(numbers), dtype="Int64"), "players": once[:, 3]}
    )
    generated = [end[2]] if end else [row[1] for row in kinds["g"]]
    summary = {
        "ticks": len(numbers),
        "missing": steps - len(numbers),
        "duplicated": len(rows) - len(numbers),
        "late": int((gaps > _LATE * BUDGET_NS).sum()),
        "backwards": int((gaps < 0).sum()),
        "rejected": len(rejects),
        "merged": int((np.rint(once[1:, 2] * 1000 / BUDGET_NS) - 1).clip(min=0).sum()),
        "blocks_generated": max(generated, default=0),
        "complete": end is not None,
    }
    return Ticks(table, _markers(kinds["m"], to_monotonic), summary, tuple(rejects))


def _markers(rows: list[tuple[Any, ...]], to_monotonic: ToMonotonic) -> pd.DataFrame:
    times = np.array([row[1:] for row in rows], dtype=np.int64).reshape(-1, 2) * 1000
    before_ns, after_ns = to_monotonic(times[:, 0]), to_monotonic(times[:, 1])
    return pd.DataFrame({"name": [row[0] for row in rows], "before_ns": before_ns, "after_ns": after_ns})


def _parse(path: Path) -> tuple[dict[str, list[tuple[Any, ...]]], list[tuple[int, str]]]:
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist: the tick probe did not load; look at the server's log") from error
    lines = text.split("\n")
    if lines[0] != HEADER:
        raise TickdiskError(f"{path}, line 1: not a file of this tick probe (expected {HEADER}); run the cell again")
    kinds: dict[str, list[tuple[Any, ...]]] = {kind: [] for kind in _LENGTHS}
    rejects = []
    # A whole file ends with a line feed; what follows the last one is a line that was cut off.
    whole, cut = lines[1:-1], lines[-1]
    for number, line in enumerate(whole, start=2):
        kind, *fields = line.split(",")
        name = [fields.pop(0)] if kind == "m" and fields else []
        if len(name) + len(fields) == _LENGTHS.get(kind) and all(_INTEGER.match(field) for field in fields):
            kinds[kind].append((*name, *map(int, fields)))
        else:
            rejects.append((number, line))
    if cut:
        rejects.append((len(lines), cut))
    return kinds, rejects
