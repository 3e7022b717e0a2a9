"""Compares each published number about checkpoint recovery with a table of simulated runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tickdisk.foundation.numbers import number, percent
from tickdisk.saving import checkpoint
from tickdisk.studies.algorithms import NAMES

CONSTANT, CROSS_OVER = 0.05, 0.15
"""Largest distance at which a number counts as reached, as a share of it: for constants, and for ratios of overheads."""
NAIVE = "naive_snapshot"
GAME = "game.updates_per_tick"
"""Name of the anchor about Knights and Archers."""
_COLUMNS = {"overhead": "overhead_ms", "pause": "longest_ms", "checkpoint": "checkpoint_s", "recovery": "recovery_s"}
_REASONS = {
    "crossover": (
        "The amount that is copied depends on how far the writer is when an object is first updated, and the paper does not say "
        "how far that is. The writer passes the most updated objects first. If an update copies only objects that are not yet "
        "written, few of these objects are copied. If every first update copies, all of them are. No reading that was tried "
        "brings all copy-on-update methods to Naive-Snapshot at one update rate."
    ),
    "copy_on_update.most_gain": (
        "At the lowest update rate most objects are written before they are updated, or are not dirty, so that no copy is made. "
        "Readings under which more first updates copy come nearer to the published gain, but miss the cross-overs."
    ),
    "copy_on_update.most_cost": (
        "At the highest update rate every object is copied once in each checkpoint, so that the ratio depends only on the number "
        "of ticks in a checkpoint. This number is smaller if the writer also works during the time that checkpoints add to ticks."
    ),
    "naive.pause": (
        "The pause is the size of the state over the bandwidth of memory, so that it depends only on the unit of the bandwidth."
    ),
    "log": "The value depends on the number C, because one of every C checkpoints is full, and the paper does not print C.",
}
"""Reasons for which the model may miss anchors whose names begin with the key."""


@dataclass(frozen=True)
class ComparedAnchor:
    """A published number, the simulated value, and the bound that the value must keep."""

    name: str
    """Name of the fact and of the claim in the study, such as `eager.overhead`."""
    finding: str
    published: float
    value: float
    unit: str
    """Unit of both values, which is "ratio" for a plain number."""
    criterion: str
    """The distance within which the number counts as reached, in words. It is empty if the finding itself is a limit."""
    words: str = "the simulated value is {}"
    """Format of the sentence about the simulated value."""
    must: Literal["near", "above", "below"] = "near"
    tolerance: float = 0.0
    """Largest distance of a value that must be near, as a share of the published number."""
    is_fitted: bool = False
    """Whether an unpublished parameter was chosen so that the number is reached, so that the comparison is no test."""

    @property
    def statement(self) -> str:
        """The statement of the claim."""
        return self.finding + (f", {self.criterion}" if self.criterion else "")

    @property
    def is_reached(self) -> bool:
        """Whether the value keeps the bound. NaN does not."""
        distance = self.distance(self.value)
        return distance <= self.tolerance if self.must == "near" else distance < 0

    @property
    def reason(self) -> str:
        """The reason for which the model may miss the number, or an empty text."""
        return next((words for start, words in _REASONS.items() if self.name.startswith(start)), "")

    def with_unit(self, value: float) -> str:
        """Returns a value of this anchor with its unit. A ratio has no unit."""
        return number(value) if self.unit == "ratio" else f"{number(value)} {self.unit}"

    def distance(self, value: float) -> float:
        """Returns the distance of a value from the published number, as a share of this number.

        If the number is a limit, a negative distance is on the right side of the limit.
        """
        signed = value / self.published - 1
        return {"near": abs(signed), "above": -signed, "below": signed}[self.must]


Values = Mapping[tuple[str, int], Mapping[str, float]]
"""Columns of a simulated run, by algorithm and update rate."""


def measure(runs: pd.DataFrame, published: checkpoint.PublishedCheckpoint) -> list[ComparedAnchor]:
    """Returns all anchors but the one about the game, from the simulated `runs` of one reading.

    `runs` has one row per update rate and algorithm, with the costs as columns.
    """
    found = {
        (str(row["algorithm"]), int(row["rate"])): {column: float(row[column]) for column in _COLUMNS.values()}
        for row in runs.to_dict("records")
    }
    return [
        *_constants(found, published),
        *_log(found, published),
        *_crossovers(found, published),
        _eager(found, published),
        *_extremes(found, published),
        *_half_tick(found, published),
    ]


def measure_game(runs: pd.DataFrame, published: checkpoint.PublishedCheckpoint) -> ComparedAnchor:
    """Returns the anchor about the mean updates per tick of the game Knights and Archers. `runs` has at least one row."""
    printed = published.game.updates_per_tick
    return ComparedAnchor(
        GAME,
        f"Knights and Archers updates {number(printed)} cells per tick on average",
        float(printed),
        float(runs["updates_per_tick"].iloc[0]),
        "updates",
        f"within {percent(CONSTANT)}",
        words="the game as played here makes {} per tick",
        tolerance=CONSTANT,
        is_fitted=True,
    )


def crossings(runs: pd.DataFrame) -> dict[str, float]:
    """Returns the update rate at which the overhead of each algorithm first exceeds that of Naive-Snapshot, by algorithm.

    `runs` has one row per rate and algorithm. The rate, in updates per tick, is interpolated on logarithmic axes. It is NaN if
    there is no such rate within those of `runs`.
    """
    overhead = runs.pivot_table(index="rate", columns="algorithm", values="overhead_ms")
    rates = np.log(overhead.index.to_numpy(float))
    found = {}
    for name in checkpoint.ALGORITHMS:
        if name == NAIVE:
            continue
        logs = np.log(overhead[name].to_numpy(float) / overhead[NAIVE].to_numpy(float))
        above = np.flatnonzero((logs[1:] > 0) & (logs[:-1] <= 0))
        if not above.size:
            found[str(name)] = float("nan")
            continue
        first = int(above[0])
        share = -logs[first] / (logs[first + 1] - logs[first])
        found[str(name)] = float(np.exp(rates[first] + share * (rates[first + 1] - rates[first])))
    return found


def _constants(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[ComparedAnchor]:
    """Yields the constants of Naive-Snapshot, each with the simulated value that is farthest off over all update rates."""
    for printed in published.constants:
        values = [row[_COLUMNS[printed.name]] for (name, _), row in found.items() if name == NAIVE]
        yield ComparedAnchor(
            f"naive.{printed.name}",
            printed.statement,
            printed.value,
            max(values, key=lambda value: abs(value - printed.value)),
            printed.unit,
            f"within {percent(CONSTANT)} at every update rate",
            words="at the update rate where it is farthest off the simulated value is {}",
            tolerance=CONSTANT,
        )


def _log(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[ComparedAnchor]:
    """Yields the time of a checkpoint of each partial-log algorithm, and its ratio to Naive-Snapshot's time."""
    log, criterion = published.log, f"within {percent(CONSTANT)}"
    at_rate = f"at {number(log.updates_per_tick)} updates per tick"
    for name in checkpoint.PARTIAL_LOG:
        checkpoint_s = found[name, log.updates_per_tick]["checkpoint_s"]
        yield ComparedAnchor(
            f"log.{name}.checkpoint",
            f"{NAMES[name]} takes {number(log.checkpoint_s)} s per checkpoint {at_rate}",
            log.checkpoint_s,
            checkpoint_s,
            "s",
            criterion,
            words="the simulated value is {}, with C inferred from the published one",
            tolerance=CONSTANT,
            is_fitted=True,
        )
        yield ComparedAnchor(
            f"log.{name}.times_faster",
            f"{NAMES[name]} checkpoints {number(log.times_faster)} times faster than Naive-Snapshot {at_rate}",
            log.times_faster,
            found[NAIVE, log.updates_per_tick]["checkpoint_s"] / checkpoint_s,
            "ratio",
            criterion,
            words="the simulated ratio is {}, with C inferred from the published time",
            tolerance=CONSTANT,
            is_fitted=True,
        )


def _crossovers(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[ComparedAnchor]:
    """Yields the ratios of overheads at the published update rates at which algorithms add as much as Naive-Snapshot."""
    for crossing in published.crossovers:
        rate = crossing.updates_per_tick
        for name in crossing.algorithms:
            yield ComparedAnchor(
                f"crossover.{name}",
                f"{NAMES[name]} adds as much per tick as Naive-Snapshot at about {number(rate)} updates per tick",
                1.0,
                found[name, rate]["overhead_ms"] / found[NAIVE, rate]["overhead_ms"],
                "ratio",
                f"within {percent(CROSS_OVER)}",
                words="the simulated ratio of the two overheads is {}",
                tolerance=CROSS_OVER,
            )


def _eager(found: Values, published: checkpoint.PublishedCheckpoint) -> ComparedAnchor:
    printed = published.eager
    rate = number(printed.updates_per_tick)
    return ComparedAnchor(
        "eager.overhead",
        f"{NAMES[printed.algorithm]} adds {number(printed.overhead_ms)} ms per tick at {rate} updates per tick",
        printed.overhead_ms,
        found[printed.algorithm, printed.updates_per_tick]["overhead_ms"],
        "ms",
        f"within {percent(CONSTANT)}",
        tolerance=CONSTANT,
    )


def _extremes(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[ComparedAnchor]:
    """Yields the largest gain and cost of the copy-on-update methods over all update rates, as ratios to Naive-Snapshot."""
    ratios = [
        row["overhead_ms"] / found[NAIVE, rate]["overhead_ms"]
        for (name, rate), row in found.items()
        if name in checkpoint.COPY_ON_UPDATE
    ]
    printed = published.copy_on_update
    for name, words, value, published_ratio in (
        ("most_gain", "up to {} times less per tick than", 1 / min(ratios), printed.most_gain),
        ("most_cost", "up to {} times as much per tick as", max(ratios), printed.most_cost),
    ):
        yield ComparedAnchor(
            f"copy_on_update.{name}",
            f"The copy-on-update methods add {words.format(number(published_ratio))} Naive-Snapshot",
            published_ratio,
            value,
            "ratio",
            f"within {percent(CROSS_OVER)}",
            words="the largest simulated ratio is {}",
            tolerance=CROSS_OVER,
        )


def _half_tick(found: Values, published: checkpoint.PublishedCheckpoint) -> Iterator[ComparedAnchor]:
    """Yields the limit of half a tick, which every eager method must exceed and every copy-on-update method must keep."""
    rate = published.half_tick.updates_per_tick
    limit_ms = 1e3 / checkpoint.Costs().tick_hz / 2
    longest_ms = {name: found[name, rate]["longest_ms"] for name in checkpoint.ALGORITHMS}
    later_ms = max(longest_ms.pop(name) for name in checkpoint.COPY_ON_UPDATE)
    long = f"longer by more than half a tick ({number(limit_ms)} ms) at {number(rate)} updates per tick"
    yield ComparedAnchor(
        "half_tick.eager",
        f"Every eager method makes a tick {long}",
        limit_ms,
        min(longest_ms.values()),
        "ms",
        "",
        words="in simulation every eager method makes a tick longer by at least {}",
        must="above",
    )
    yield ComparedAnchor(
        "half_tick.copy_on_update",
        f"No copy-on-update method makes a tick {long}",
        limit_ms,
        later_ms,
        "ms",
        "",
        words="in simulation the copy-on-update methods make no tick longer by more than {}",
        must="below",
    )
