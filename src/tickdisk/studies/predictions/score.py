"""Scores predictions of one metric against its measured effects, on some disks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tickdisk import stats

LARGEST = 0.25
"""Median error from which on a prediction misses its bound. It was fixed before any run."""
Outcome = Literal["scored", "quiet", "undecided", "not valid"]
"""The use of a disk for a metric. It is scored if the whole interval of the measured ratio lies beyond the margin. It is quiet if
the interval lies inside the margin, by the test of equivalence. If neither is shown, it is undecided."""


def mean(ratios: "pd.Series[float]") -> float:
    """Returns the geometric mean of ratios, of which those that are NaN are left out. NaN if there is none."""
    return float(np.exp(np.log(ratios.dropna()).mean()))


@dataclass(frozen=True)
class Disk:
    """One metric on one disk."""

    arm: str
    latency_ms: float
    measured: stats.Contrast
    """The ratio to the fast disk in the lives, each of which has both."""
    verdict: stats.Verdict
    """The verdict on `measured`."""
    ratios: pd.DataFrame
    """The ratio by each method, with one row for each captured life that counts, and a column for each of `METHODS`."""
    unsettled: int
    """Number of predictions that did not settle, of the captured lives that count."""
    margin: float

    @property
    def outcome(self) -> Outcome:
        """Whether a prediction can be wrong here, or an alarm false."""
        if self.verdict.word == "not valid":
            return "not valid"
        if self.verdict.word == "equivalent":
            return "quiet"
        is_beyond = self.measured.low > 1 + self.margin or self.measured.high < 1 / (1 + self.margin)
        return "scored" if self.verdict.word == "different" and is_beyond else "undecided"

    def errors(self, method: str) -> "pd.Series[float]":
        """Returns by how much the ratio of a method is off, as a share of the measured one, by captured life that counts."""
        return (self.ratios[method] / self.measured.ratio - 1).abs()

    def error(self, method: str) -> float:
        """Returns the median of the errors over the captured lives that count. NaN if there is none."""
        return float(self.errors(method).median())


@dataclass(frozen=True)
class Score:
    """The errors of the predictions of one metric on some disks."""

    disks: Sequence[Disk]

    def having(self, outcome: Outcome) -> list[Disk]:
        """Returns the disks with an outcome."""
        return [disk for disk in self.disks if disk.outcome == outcome]

    def median(self, method: str) -> float:
        """Returns the median error of a method over all captured lives and all disks that are scored. NaN without one."""
        errors = [disk.errors(method) for disk in self.having("scored")]
        return float(pd.concat(errors).median()) if errors else float("nan")

    @property
    def worst(self) -> Disk | None:
        """The scored disk with the largest error of the prediction. None if no disk is scored."""
        return max(self.having("scored"), key=lambda disk: disk.error("predicted"), default=None)

    @property
    def by_capture(self) -> "pd.Series[float]":
        """The median error of the prediction over the scored disks, for each captured life. It is empty if no disk is scored."""
        errors = [disk.errors("predicted") for disk in self.having("scored")]
        return pd.concat(errors, axis=1).median(axis=1) if errors else pd.Series(dtype=float)

    @property
    def alarms(self) -> tuple[int, int]:
        """The number of predictions of an effect beyond the margin on quiet disks, and the number of all predictions there."""
        alarms = [abs(np.log(disk.ratios["predicted"].dropna())) > np.log(1 + disk.margin) for disk in self.having("quiet")]
        return sum(int(each.sum()) for each in alarms), sum(map(len, alarms))

    def decided(self, captures: int, needed: int) -> tuple[stats.BoundWord, tuple[stats.Cause, ...]]:
        """Returns the verdict on the claim that the metric is predicted, with its causes if it is open.

        `captures` is the number of captured lives that count, and `needed` the smallest number for a verdict.
        """
        causes: list[stats.Cause] = [each for disk in self.having("not valid") for each in disk.verdict.obstacles]
        if captures < needed:
            causes.append(stats.TooFew(n=captures, needed=needed, counted="captured lives"))
        if causes:
            return "not valid", tuple(dict.fromkeys(causes))
        if unsettled := sum(disk.unsettled for disk in self.disks):
            return "inconclusive", (stats.NotSettled(n=unsettled, predictions=sum(len(disk.ratios) for disk in self.disks)),)
        own, rivals = self.median("predicted"), [self.median(method) for method in ("nothing", "serial")]
        if np.isnan(own):
            return "inconclusive", (stats.NotShown(n=min(disk.measured.n for disk in self.disks), counted="lives"),)
        return "kept" if own < LARGEST and own < min(rivals) else "missed", ()
