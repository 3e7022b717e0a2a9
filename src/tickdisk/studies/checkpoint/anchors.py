"""Compares each published number about checkpoint recovery with a table of simulated runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isnan

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.foundation.numbers import number
from tickdisk.saving import checkpoint

NAIVE = "naive_snapshot"
GAME = "game.updates_per_tick"
"""Name of the anchor about Knights and Archers."""
EAGER = "atomic_copy_dirty_objects"
"""The eager algorithm whose overhead was published."""
_FITTED = ("log.", GAME)
"""Beginnings of the names of anchors that are reached because an unpublished parameter was chosen for them."""
_WORDS = {
    "naive.": "at the update rate where it is farthest off the simulated value is {}",
    "log.": "the simulated value is {}, with C inferred from the published one",
    "crossing.": "in simulation it adds more from {} on",
    "copy_on_update.": "the largest simulated ratio is {}",
    "half_tick.eager": "in simulation every eager method makes a tick longer by at least {}",
    "half_tick.copy_on_update": "in simulation the copy-on-update methods make no tick longer by more than {}",
    GAME: "the game as played here makes {} per tick",
}
"""Sentences about the simulated value, by the beginning of the names of anchors."""
_COLUMNS = {"overhead": "overhead_ms", "pause": "longest_ms", "checkpoint": "checkpoint_s", "recovery": "recovery_s"}
_REASONS = {
    "crossing": (
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
    """A published number and the simulated value."""

    name: str
    """Name of the fact and of the claim in the study, such as `eager.overhead`."""
    finding: stats.Finding
    value: float
    words: str = "the simulated value is {}"
    """Format of the sentence about the simulated value."""
    is_fitted: bool = False
    """Whether an unpublished parameter was chosen so that the number is reached, so that the comparison is no test."""

    @property
    def statement(self) -> str:
        """The statement of the claim."""
        said = self.finding.said[0].upper() + self.finding.said[1:]
        return said if self.is_limit else f"{said}, {self.finding.criterion}"

    @property
    def is_reached(self) -> bool:
        """Whether the value upholds the finding. NaN does not."""
        return self.finding.outcome(self.value, self.value) == "upheld"

    @property
    def is_limit(self) -> bool:
        """Whether the published number is a limit."""
        return self.finding.test in ("above", "below")

    @property
    def reason(self) -> str:
        """The reason for which the model may miss the number, or an empty text."""
        return next((words for start, words in _REASONS.items() if self.name.startswith(start)), "")

    def with_unit(self, value: float) -> str:
        """Returns a value of this anchor with its unit. A ratio has no unit."""
        return number(value) if self.finding.unit == "ratio" else f"{number(value)} {self.finding.unit}"

    def distance(self, value: float) -> float:
        """Returns the distance of a value from the published number, as a share of this number. It is infinite for NaN.

        If the number is a limit, a negative distance is on the right side of the limit.
        """
        signed = value / self.finding.published - 1
        found = -signed if self.finding.test == "above" else signed if self.finding.test == "below" else abs(signed)
        return inf if isnan(found) else found


Values = Mapping[tuple[str, int], Mapping[str, float]]
"""Columns of a simulated run, by algorithm and update rate."""


def measure(
    runs: pd.DataFrame, published: checkpoint.PublishedCheckpoint, findings: Mapping[str, stats.Finding]
) -> list[ComparedAnchor]:
    """Returns all anchors but the one about the game, from the simulated `runs` of one reading.

    `runs` has one row per update rate and algorithm, with the costs as columns.
    """
    found = {
        (str(row["algorithm"]), int(row["rate"])): {column: float(row[column]) for column in _COLUMNS.values()}
        for row in runs.to_dict("records")
    }
    values = {
        **_constants(found, findings),
        **_log(found, published.log_rate),
        **{f"crossing.{name}": rate for name, rate in crossings(runs).items()},
        "eager.overhead": found[EAGER, published.eager_rate]["overhead_ms"],
        **_extremes(found),
        **_half_tick(found, published.half_tick.updates_per_tick),
    }
    return [_anchor(name, value, findings) for name, value in values.items()]


def measure_game(runs: pd.DataFrame, findings: Mapping[str, stats.Finding]) -> ComparedAnchor:
    """Returns the anchor about the mean updates per tick of the game Knights and Archers. `runs` has at least one row."""
    return _anchor(GAME, float(runs["updates_per_tick"].iloc[0]), findings)


def _anchor(name: str, value: float, findings: Mapping[str, stats.Finding]) -> ComparedAnchor:
    words = next((words for start, words in _WORDS.items() if name.startswith(start)), ComparedAnchor.words)
    return ComparedAnchor(name, findings[f"checkpoint.{name}"], value, words, is_fitted=name.startswith(_FITTED))


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


def _constants(found: Values, findings: Mapping[str, stats.Finding]) -> dict[str, float]:
    """Returns the constants of Naive-Snapshot, each as the simulated value that is farthest off over all update rates."""
    constants = {}
    for quantity, column in _COLUMNS.items():
        printed = findings[f"checkpoint.naive.{quantity}"].published
        distances = {abs(row[column] - printed): row[column] for (name, _), row in found.items() if name == NAIVE}
        constants[f"naive.{quantity}"] = distances[max(distances)]
    return constants


def _log(found: Values, rate: int) -> dict[str, float]:
    """Returns the time of a checkpoint of each partial-log algorithm, and its ratio to Naive-Snapshot's time."""
    times_s = {name: found[name, rate]["checkpoint_s"] for name in (NAIVE, *checkpoint.PARTIAL_LOG)}
    return {
        f"log.{name}.{quantity}": value
        for name in checkpoint.PARTIAL_LOG
        for quantity, value in (("checkpoint", times_s[name]), ("times_faster", times_s[NAIVE] / times_s[name]))
    }


def _extremes(found: Values) -> dict[str, float]:
    """Returns the largest gain and cost of the copy-on-update methods over all update rates, as ratios to Naive-Snapshot."""
    ratios = [
        row["overhead_ms"] / found[NAIVE, rate]["overhead_ms"]
        for (name, rate), row in found.items()
        if name in checkpoint.COPY_ON_UPDATE
    ]
    return {"copy_on_update.most_gain": 1 / min(ratios), "copy_on_update.most_cost": max(ratios)}


def _half_tick(found: Values, rate: int) -> dict[str, float]:
    """Returns the longest times added to a tick: the least of eager methods, and the most of copy-on-update methods."""
    longest_ms = {name: found[name, rate]["longest_ms"] for name in checkpoint.ALGORITHMS}
    later_ms = max(longest_ms.pop(name) for name in checkpoint.COPY_ON_UPDATE)
    return {"half_tick.eager": min(longest_ms.values()), "half_tick.copy_on_update": later_ms}
