"""Predicts each metric on classes of disks from the effects of slow reads, writes and flushes, and tests classes that ran live.

A server that makes its requests one after another waits on a disk as long as on one whose operations all have the same latency,
the mean of the disk's latencies, weighted by the effects of the operations. This is the equivalent latency of the class. The
effect of that latency is read off the doses of the switchback, in which the slack of a step shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """The metric on the class over its baseline."""
    apart: stats.Contrast
    """The measured ratio over the predicted one. Its interval covers the equivalent latency, too."""
    verdict: stats.Verdict
    """The verdict on `apart`, which is 1 if the prediction is right."""

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
    plan, found = effects.plan, dict[tuple[str, str], ClassEffect]()
    live = {arm.device: arm.arm for arm in effects.data.arms if arm.role == "held_out"}
    for name, one in sorted(classes.items(), key=lambda item: sum(item[1].latencies_ns)):
        latencies_ms = np.array(one.latencies_ns) / 1e6
        for metric, own in added_ms.items():
            curve = _Curve.of(doses, metric)
            # Half of the level is for the equivalent latency, and half for the effect at its ends.
            equivalent = equivalent_latency(own[list(KINDS)], latencies_ms, alpha=plan.alpha / rows)
            predicted = curve.contrast(equivalent, margin=plan.margin, alpha=plan.alpha / rows / 2)
            trial = _trial(effects, metric, live[name], curve, own, latencies_ms) if name in live else None
            judged, controls = trial.measured if trial else predicted, effects.outcome.decision.controls[metric]
            if trial is not None:
                logs = effects.outcome.logs[metric, live[name]].to_numpy(float)
                judged = stats.contrast(logs, margin=plan.margin, alpha=plan.alpha / rows)
            answer = _answer(judged, plan.margin, controls)
            if controls.failed or judged.n < plan.minimum:
                answer = "not valid"
            elif equivalent.high_ms > curve.doses_ms[-1] and trial is None:
                answer = "outside"
            found[metric, name] = ClassEffect(equivalent, predicted, answer, trial)
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

    doses_ms: Sequence[float]
    """Latencies of the doses that calibration realised, from the baseline's on."""
    logs: npt.NDArray[np.float64]
    """Log ratios in the shape (lives, doses). The first column is 0."""

    @classmethod
    def of(cls, doses: contrasts.Contrasts, metric: str) -> "_Curve":
        arms = contrasts.dose_arms(doses, "dose")
        logs = pd.DataFrame({arm: doses.outcome.logs[metric, arm] for arm in arms}).dropna().to_numpy(float)
        baseline_ms = doses.data.dose_ms(doses.baseline)
        return cls([baseline_ms, *(doses.data.dose_ms(arm) for arm in arms)], np.column_stack([np.zeros(len(logs)), logs]))

    def at(self, ms: float) -> npt.NDArray[np.float64]:
        """Returns the log ratio of each life at a latency. The ratio is linear between the doses, and constant beyond them."""
        return np.log([np.interp(ms, self.doses_ms, row) for row in np.exp(self.logs)])

    def contrast(self, equivalent: Equivalent, *, margin: float, alpha: float) -> stats.Contrast:
        """Returns the contrast at an equivalent latency. Its lower ends are those at the lower end of the latency, and so on."""
        ends = sorted((equivalent.low_ms, equivalent.ms, equivalent.high_ms))
        every = [stats.contrast(self.at(ms), margin=margin, alpha=alpha) for ms in ends]
        return stats.widest(every, every[1])


def _trial(
    effects: contrasts.Contrasts,
    metric: str,
    arm: str,
    curve: _Curve,
    added_ms: pd.DataFrame,
    latencies_ms: npt.NDArray[np.float64],
) -> Trial:
    plan, controls = effects.plan, effects.outcome.decision.controls[metric]
    equivalent = equivalent_latency(added_ms[list(KINDS)], latencies_ms, alpha=plan.alpha)
    logs = effects.outcome.logs[metric, arm].to_numpy(float)
    ends = (equivalent.low_ms, equivalent.ms, equivalent.high_ms)
    every = [stats.contrast_between(logs, curve.at(ms), margin=plan.margin, alpha=plan.alpha) for ms in ends]
    apart = stats.widest(every, every[1])
    obstacles = [*controls.failed, *effects.not_valid.get(arm, ())] if apart.n >= plan.minimum else []
    verdict = stats.verdict(apart, plan, obstacles=obstacles, undecided=controls.undecided)
    return Trial(stats.contrast(logs, margin=plan.margin, alpha=plan.alpha), apart, verdict)


def _answer(effect: stats.Contrast, margin: float, controls: stats.Controls) -> Answer:
    """Returns the answer by the rule of `stats.verdict`: under an undecided control only an effect beyond it is decided."""
    if effect.high_one_sided < 1 + margin and not controls.undecided:
        return "good"
    return "slow" if effect.low_one_sided > max([1 + margin, *(each.high for each in controls.undecided)]) else "open"
