"""The published numbers of checkpoint recovery as measured in a table of simulated runs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk import checkpoint

CONSTANT, CROSS_OVER = 0.05, 0.15
"""A constant is reached within 5 %; at a cross-over the ratio of overheads to Naive-Snapshot is 1 within 15 %."""
NAMES = {
    "naive_snapshot": "Naive-Snapshot",
    "dribble_and_copy_on_update": "Dribble-and-Copy-on-Update",
    "atomic_copy_dirty_objects": "Atomic-Copy-Dirty-Objects",
    "partial_redo": "Partial-Redo",
    "copy_on_update": "Copy-on-Update",
    "copy_on_update_partial_redo": "Copy-on-Update-Partial-Redo",
}
REASONS = {
    "crossover": (
        "What is copied depends on how far the writer is when an object is first touched, which the paper does not say: it "
        "passes the objects with the lowest ranks first, so few of the most updated are copied where only what is not yet "
        "written is, and all are where every first touch copies; no reading tried brings all copy-on-update methods to "
        "Naive-Snapshot at one rate."
    ),
    "copy_on_update.most_gain": (
        "At the lowest rate most objects are written before they are touched, or are not dirty, and cost no copy; the published "
        "gain is approached only where more first touches copy, and then the cross-overs are not reached."
    ),
    "copy_on_update.most_cost": (
        "At the highest rate every object is copied once a checkpoint, so only the length of a checkpoint in ticks decides: it "
        "is shorter where the write progresses in overheads."
    ),
    "naive.pause": "It is the size of the state over the bandwidth of memory: only its unit decides.",
    "log": "It is decided by C, of how many checkpoints one is full.",
}
NAIVE = "naive_snapshot"
_COLUMNS = {"overhead": "overhead_ms", "pause": "longest_ms", "checkpoint": "checkpoint_s", "recovery": "recovery_s"}


@dataclass(frozen=True)
class Measured:
    """An anchor: the published value, the simulated one, and when it counts as reached."""

    name: str
    statement: str
    published: float
    value: float
    unit: str
    criterion: str
    is_reached: bool

    @property
    def reason(self) -> str:
        """What decides it: why the model may not reach it."""
        return next((words for start, words in REASONS.items() if self.name.startswith(start)), "")


def within(value: float, published: float, tolerance: float) -> bool:
    """Whether a value is as published, within a share of it; NaN never is."""
    return abs(value / published - 1) <= tolerance


Values = dict[tuple[str, int], dict[str, float]]
"""Columns of a run by algorithm and rate."""


def measure(runs: pd.DataFrame, published: checkpoint.PublishedCheckpoint) -> list[Measured]:
    """Returns all anchors as found in `runs`: a row for each rate and algorithm, of one reading."""
    found = {
        (str(row["algorithm"]), int(row["rate"])): {column: float(row[column]) for column in _COLUMNS.values()}
        for row in runs.to_dict("records")
    }
    return [
        *_constants(found, published),
        *_log(found, published),
        *_crossovers(found, published),
        *_extremes(found, published),
        *_half_tick(found, published),
    ]


def crossings(runs: pd.DataFrame) -> dict[str, float]:
    """Returns the update rate at which each algorithm's overhead first exceeds Naive-Snapshot's, interpolated on log axes.

    NaN where it does not within the rates of `runs`.
    """
    overhead = runs.pivot_table(index="rate", columns="algorithm", values="overhead_ms")
    rates = np.log(overhead.index.to_numpy(float))
    found = {}
    for name in list(NAMES)[1:]:
        logs = np.log(overhead[name].to_numpy(float) / overhead[NAIVE].to_numpy(float))
        above = np.flatnonzero((logs[1:] > 0) & (logs[:-1] <= 0))
        if not above.size:
            found[name] = np.nan
            continue
        first = int(above[0])
        share = -logs[first] / (logs[first + 1] - logs[first])
        found[name] = float(np.exp(rates[first] + share * (rates[first + 1] - rates[first])))
    return found


def _constants(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[Measured]:
    """Of all rates the value farthest from the published one stands for the constant."""
    for anchor in published.constants:
        values = [row[_COLUMNS[anchor.name]] for (name, _), row in found.items() if name == NAIVE]
        value = max(values, key=lambda value: abs(value - anchor.value))
        criterion = f"within {CONSTANT:.0%} at every update rate"
        reached = within(value, anchor.value, CONSTANT)
        yield Measured(f"naive.{anchor.name}", anchor.statement, anchor.value, value, anchor.unit, criterion, reached)


def _log(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[Measured]:
    log = published.log
    rate, criterion = log.updates_per_tick, f"within {CONSTANT:.0%}"
    for name in checkpoint.PARTIAL_LOG:
        value = found[name, rate]["checkpoint_s"]
        words = NAMES[name]
        statement = f"{words} takes {log.checkpoint_s:g} s per checkpoint at {rate:,} updates per tick"
        reached = within(value, log.checkpoint_s, CONSTANT)
        yield Measured(f"log.{name}.checkpoint", statement, log.checkpoint_s, value, "s", criterion, reached)
        statement = f"{words} checkpoints {log.times_faster:g} times faster than Naive-Snapshot at {rate:,} updates per tick"
        ratio = found[NAIVE, rate]["checkpoint_s"] / value
        reached = within(ratio, log.times_faster, CONSTANT)
        yield Measured(f"log.{name}.times_faster", statement, log.times_faster, ratio, "ratio", criterion, reached)


def _crossovers(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[Measured]:
    for crossing in published.crossovers:
        rate = crossing.updates_per_tick
        for name in crossing.algorithms:
            ratio = found[name, rate]["overhead_ms"] / found[NAIVE, rate]["overhead_ms"]
            statement = f"{NAMES[name]} adds as much per tick as Naive-Snapshot at about {rate:,} updates per tick"
            criterion = f"within {CROSS_OVER:.0%} of 1"
            yield Measured(f"crossover.{name}", statement, 1.0, ratio, "ratio", criterion, within(ratio, 1, CROSS_OVER))


def _extremes(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[Measured]:
    """Gain and cost of the copy-on-update methods over all rates, as ratios of overheads."""
    ratios = [
        row["overhead_ms"] / found[NAIVE, rate]["overhead_ms"]
        for (name, rate), row in found.items()
        if name in checkpoint.COPY_ON_UPDATE
    ]
    extremes, criterion = published.copy_on_update, f"within {CROSS_OVER:.0%}"
    for name, words, value, printed in (
        ("most_gain", "save up to {:g} times", 1 / min(ratios), extremes.most_gain),
        ("most_cost", "cost up to {:g} times", max(ratios), extremes.most_cost),
    ):
        statement = f"Copy-on-update methods {words.format(printed)} the overhead beside Naive-Snapshot"
        reached = within(value, printed, CROSS_OVER)
        yield Measured(f"copy_on_update.{name}", statement, printed, value, "ratio", criterion, reached)


def _half_tick(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[Measured]:
    rate = published.half_tick.updates_per_tick
    limit_ms = 1e3 / checkpoint.Costs().tick_hz / 2
    longest = {name: found[name, rate]["longest_ms"] for name in NAMES}
    later = max(longest.pop(name) for name in checkpoint.COPY_ON_UPDATE)
    eager = min(longest.values())
    statement = f"Every eager method breaks the limit of half a tick at {rate:,} updates per tick"
    criterion = f"the least of the longest is above {limit_ms:.4g} ms, which is half a tick"
    yield Measured("half_tick.eager", statement, limit_ms, eager, "ms", criterion, eager > limit_ms)
    statement = f"No copy-on-update method breaks the limit of half a tick at {rate:,} updates per tick"
    criterion = f"the most of the longest is below {limit_ms:.4g} ms, which is half a tick"
    yield Measured("half_tick.copy_on_update", statement, limit_ms, later, "ms", criterion, later < limit_ms)
