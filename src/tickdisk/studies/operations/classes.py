"""Predicts each metric on classes of disks from the effects of slow reads, writes and flushes, and tests classes that ran live.

A server that makes its requests one after another waits on a disk as long as on one whose operations all have the same latency,
the mean of the disk's latencies, weighted by the effects of the operations. This is the equivalent latency of the class. The
effect of that latency is read off the doses of the switchback, in which the slack of a step shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import stats
from tickdisk.project import SizingClass
from tickdisk.studies import contrasts
from tickdisk.studies.operations.kinds import KINDS

Answer = Literal["good", "slow", "open", "outside", "not valid"]
"""Whether a class of disks is good enough for a metric: it is shown to be, it is shown not to be, neither is shown, the class is
slower than every dose, or a control failed."""
_STEPS = 400
"""Number of latencies that are tried for the ends of an equivalent latency. The ends are those beside the last that is kept."""
_TINY = 1e-12


@dataclass(frozen=True)
class Equivalent:
    """The equivalent latency of a class for a metric, in ms."""

    ms: float
    low_ms: float
    high_ms: float
    """Ends of its interval, which never leaves the latencies of the class."""


@dataclass(frozen=True)
class Trial:
    """A class that ran live, in epochs from which the prediction leaves it out, beside its prediction."""

    measured: stats.Contrast
    """The metric on the class over its baseline. Its one-sided bounds hold for all metrics of all servers at the same time."""
    apart: stats.Contrast
    """The measured ratio over the predicted one. Its interval covers the equivalent latency, too."""
    verdict: stats.Verdict
    """The verdict on `apart`, which is 1 if the prediction is right."""
    margin: float

    @property
    def is_hard(self) -> bool:
        """Whether the measured effect is shown to exceed the margin, so that "nothing changes" would be a wrong prediction."""
        return self.measured.low_one_sided > 1 + self.margin

    @property
    def predicted(self) -> tuple[float, float]:
        """Ends of the interval in which the measured ratio lies if the prediction is right."""
        return self.measured.ratio / self.apart.high, self.measured.ratio / self.apart.low

    @property
    def is_inside(self) -> bool:
        """Whether the measured ratio lies inside the predicted interval."""
        return self.apart.low <= 1 <= self.apart.high


@dataclass(frozen=True)
class ClassEffect:
    """One metric on one class of disks."""

    equivalent: Equivalent
    predicted: stats.Contrast
    """The predicted metric over its baseline. Its one-sided bounds hold for all metrics of all servers at the same time."""
    answer: Answer
    """The answer from the measured ratio if the class ran live, and otherwise from the predicted one."""
    trial: Trial | None
    """None if the class did not run live on the server."""


def class_effects(
    effects: contrasts.Contrasts,
    doses: contrasts.Contrasts,
    added_ms: Mapping[str, pd.DataFrame],
    classes: Mapping[str, SizingClass],
    *,
    rows: int,
) -> dict[tuple[str, str], ClassEffect]:
    """Returns the effect of each class on each metric, by metric and class, from the fastest class to the slowest.

    `effects` are those of the operations and `doses` those of the switchback on the same server. For each metric `added_ms` has a
    row per life with what each operation adds to it in ms. `rows` is the number of metrics on all servers, over which the bounds
    of a class are simultaneous.
    """
    found = dict[tuple[str, str], ClassEffect]()
    live = {arm.device: arm.arm for arm in effects.data.arms if arm.role == "held_out"}
    for name, one in sorted(classes.items(), key=lambda item: sum(item[1].latencies_ns)):
        for metric, own in added_ms.items():
            prediction = _Prediction(effects, doses, metric, own[list(KINDS)], np.array(one.latencies_ns) / 1e6)
            found[metric, name] = prediction.on(live.get(name), rows)
    return found


def in_sequence(found: Mapping[tuple[str, str], ClassEffect], metric: str) -> str | None:
    """Returns the slowest class that is good enough for a metric, if all faster ones are good enough, too, or None.

    Classes are tested from the fastest on, by the sum of their latencies, until one is not shown to be good enough. So no level
    has to be shared among classes. A class outside of what was measured ends the sequence.
    """
    slowest = None
    for (own, name), effect in found.items():
        if own == metric:
            if effect.answer != "good":
                break
            slowest = name
    return slowest


def equivalent_latency(added_ms: pd.DataFrame, latencies_ms: npt.ArrayLike, *, alpha: float) -> Equivalent:
    """Computes the latency in ms that all operations would have to share for a server to wait as long as on a class of disks.

    `added_ms` has a row for each life, and for each operation what it adds to a metric. `latencies_ms` are those of the class in
    the same order. The weighted mean is a ratio of means, so its interval at confidence 1 - `alpha` is Fieller's: all latencies
    whose distance from the class's latencies, weighted, is not shown to differ from 0. If the effects do not tell a latency from
    another, the interval has all latencies from the fastest operation to the slowest.
    """
    weights, own = added_ms.dropna().to_numpy(float), np.asarray(latencies_ms, dtype=float)
    least, most = float(own.min()), float(own.max())
    tried = np.linspace(least, most, _STEPS)
    apart = weights @ own - np.outer(tried, weights.sum(axis=1))
    n = len(weights)
    half = stats.half_length(apart.std(axis=1, ddof=1) / n**0.5, n, alpha) if n > 1 else np.full(len(tried), inf)
    kept = tried[np.abs(apart.mean(axis=1)) <= half + _TINY] if n else tried[:0]
    total = float(weights.sum(axis=1).mean()) if n else 0.0
    centre = float((weights @ own).mean() / total) if total > 0 else most
    if not kept.size:
        return Equivalent(min(max(centre, least), most), least, most)
    step = (most - least) / (_STEPS - 1)
    low, high = max(least, float(kept.min()) - step), min(most, float(kept.max()) + step)
    return Equivalent(min(max(centre, low), high), low, high)


@dataclass(frozen=True)
class _Curve:
    """The effect of a latency that all operations share on one metric, in each life of the switchback."""

    arms: Sequence[str]
    """Doses, from the lowest latency to the highest."""
    doses_ms: Sequence[float]
    """Latencies that calibration realised, of the baseline and of the doses."""
    logs: npt.NDArray[np.float64]
    """Log ratios in the shape (lives, 1 + doses). The first column is 0."""

    @classmethod
    def of(cls, doses: contrasts.Contrasts, metric: str) -> "_Curve":
        arms = contrasts.dose_arms(doses, "dose")
        logs = pd.DataFrame({arm: doses.outcome.logs[metric, arm] for arm in arms}).dropna().to_numpy(float)
        doses_ms = [doses.data.dose_ms(arm) for arm in (doses.baseline, *arms)]
        return cls(arms, doses_ms, np.column_stack([np.zeros(len(logs)), logs]))

    def along(self, equivalent: Equivalent) -> list[npt.NDArray[np.float64]]:
        """Returns the log ratio of each life at an equivalent latency, at both ends of it, and at each dose between these.

        The ratio of a life is linear between two doses, so it is nowhere between the ends higher or lower than at one of these
        latencies. It is constant beyond the doses.
        """
        between = [ms for ms in self.doses_ms if equivalent.low_ms < ms < equivalent.high_ms]
        ratios = np.exp(self.logs)
        return [
            np.log([np.interp(ms, self.doses_ms, row) for row in ratios])
            for ms in (equivalent.ms, equivalent.low_ms, *between, equivalent.high_ms)
        ]


@dataclass(frozen=True)
class _Prediction:
    """The inputs from which one metric is predicted on one class."""

    effects: contrasts.Contrasts
    doses: contrasts.Contrasts
    metric: str
    added_ms: pd.DataFrame
    latencies_ms: npt.NDArray[np.float64]

    def on(self, arm: str | None, rows: int) -> ClassEffect:
        """Returns the effect of the class, which `arm` plays live if it is not None."""
        plan, curve = self.effects.plan, _Curve.of(self.doses, self.metric)
        # A bound has the level alpha / rows. Half of it is for the end of the equivalent latency, and half for the effect there.
        equivalent = equivalent_latency(self.added_ms, self.latencies_ms, alpha=plan.alpha / rows)
        every = [stats.contrast(logs, margin=plan.margin, alpha=plan.alpha / rows / 2) for logs in curve.along(equivalent)]
        predicted = stats.widest(every, every[0])
        if arm is not None:
            trial = self._trial(arm, curve, rows)
            return ClassEffect(equivalent, predicted, self._judged(trial.measured, [arm], [self.effects]), trial)
        judged = self._judged(predicted, self.effects.arms, [self.effects, self.doses])
        is_outside = equivalent.high_ms > curve.doses_ms[-1]
        return ClassEffect(equivalent, predicted, "outside" if is_outside and judged != "not valid" else judged, None)

    def _judged(self, effect: stats.Contrast, arms: Sequence[str], sources: Sequence[contrasts.Contrasts]) -> Answer:
        """Returns the answer by the rule of `stats.verdict`: under an undecided control only an effect beyond it is decided.

        Nothing is decided if a control failed or an arm is not valid in one of the `sources`, or if one of them has fewer lives
        than it planned or than a verdict needs.
        """
        controls = [source.outcome.decision.controls[self.metric] for source in sources]
        is_not_valid = any(
            source.not_valid.get(arm) for source in sources for arm in (*arms, *contrasts.dose_arms(source, "dose"))
        )
        is_short = any(self._lives(source) < max(source.plan.lives, source.plan.minimum) for source in sources)
        if is_not_valid or is_short or any(each.failed for each in controls):
            return "not valid"
        undecided, margin = [each for one in controls for each in one.undecided], self.effects.plan.margin
        if effect.high_one_sided < 1 + margin and not undecided:
            return "good"
        return "slow" if effect.low_one_sided > max([1 + margin, *(each.high for each in undecided)]) else "open"

    def _lives(self, source: contrasts.Contrasts) -> int:
        """Returns the smallest number of lives that any arm of a source has for the metric."""
        return min(len(source.outcome.logs[self.metric, arm]) for arm in source.arms)

    def _trial(self, arm: str, curve: _Curve, rows: int) -> Trial:
        # Half of the level is for the equivalent latency, and half for the comparison.
        plan, controls = self.effects.plan, self.effects.outcome.decision.controls[self.metric]
        equivalent = equivalent_latency(self.added_ms, self.latencies_ms, alpha=plan.alpha / 2)
        logs = self.effects.outcome.logs[self.metric, arm].to_numpy(float)
        every = [stats.contrast_between(logs, own, margin=plan.margin, alpha=plan.alpha / 2) for own in curve.along(equivalent)]
        apart = stats.widest(every, every[0])
        # The smaller of two experiments has fewer lives than the larger one plans.
        both = replace(plan, lives=min(plan.lives, self.doses.plan.lives))
        obstacles = [*controls.failed, *self.effects.not_valid.get(arm, ())] if apart.n >= plan.minimum else []
        verdict = stats.verdict(
            apart,
            both,
            obstacles=obstacles,
            undecided=controls.undecided,
            p=min(1.0, 2 * apart.p),
            p_equivalent=min(1.0, 2 * apart.p_equivalent),
        )
        return Trial(stats.contrast(logs, margin=plan.margin, alpha=plan.alpha / rows), apart, verdict, plan.margin)
