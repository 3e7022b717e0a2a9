"""Contrasts of server lives: the effect of an arm against its baseline, and the t tests that it is judged by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import p_value

_LEVEL_BETWEEN_NODES = 0.05
_TINY = 1e-12
"""Largest standard deviation of equal contrasts, as a share of the size of their mean, or of 1 if that is larger."""


@dataclass(frozen=True)
class BetweenNodes:
    """A test of whether the nodes of a cluster, on which the lives of a contrast ran, show the same effect."""

    nodes: int
    """Number of nodes, which is above 1."""
    p: float
    """p value of the one-way analysis of variance of the log ratios by node (Fisher 1925). It is NaN if no node has two lives."""

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if not isfinite(self.p):
            return f"no two of the lives ran on the same of {self.nodes} nodes, so that the nodes cannot be compared"
        word = "differ" if self.p < _LEVEL_BETWEEN_NODES else "do not differ significantly"
        return f"the {self.nodes} nodes {word} in it (analysis of variance, {p_value(self.p)})"


@dataclass(frozen=True)
class Contrast:
    """The effect of an arm on a metric, as the contrasts of n server lives show it. `contrast` returns it.

    Every ratio is arm over baseline. A value that n lives cannot estimate is NaN. The contrast of a life is a log ratio, so the
    intervals are those of Student's t test on the log scale. They cover the true ratio as often as they promise if
    contrasts are normal, and about as often if their tails are heavy (tests/test_stats_coverage.py).
    """

    n: int
    ratio: float
    """Geometric mean of the lives' ratios."""
    low: float
    high: float
    """Ends of the interval of the ratio at confidence 1 - alpha."""
    low_one_sided: float
    high_one_sided: float
    """Ends of the interval of the ratio at confidence 1 - 2 alpha. Each end is a one-sided bound at level alpha."""
    p: float
    """p value of the two-sided t test against a ratio of 1."""
    p_equivalent: float
    """p value of two one-sided t tests (TOST) against a ratio outside 1 / (1 + margin) to 1 + margin (Schuirmann 1987)."""
    sd_log: float
    """Standard deviation of the lives' log ratios."""
    between_nodes: BetweenNodes | None = None
    """Test of whether the nodes agree, if the lives ran on several nodes of a cluster. The other tests pool the nodes."""


@dataclass(frozen=True)
class Sensitivity:
    """The dependence of a contrast on single lives and on the t distribution, which decides nothing."""

    p_sign_flip: float
    """p value of the sign-flip permutation test. With n lives it cannot fall below 2 / 2^n."""
    ratio_low: float
    ratio_high: float
    """Smallest and largest ratio if each life is left out in turn. Both are NaN for fewer than two lives."""


def life_contrasts(log_values: ArrayLike, *, baseline: int, null: int) -> NDArray[np.float64]:
    """Computes each life's contrast of each arm with the baseline, which is a log ratio that `contrast` tests over lives.

    `log_values` are logarithms of a metric in the shape (..., lives, arms), and the result has the same shape. `baseline` and
    `null` are columns, and `null` repeats the baseline (A/A). An arm is compared with the mean of the life's values in both
    columns, or with one of the two if the other is NaN. The column `null` of the result holds the A/A contrast, null minus
    baseline, which is orthogonal to that mean. The column `baseline` of the result holds NaN.
    """
    values = np.asarray(log_values, dtype=float)
    first, second = values[..., [baseline]], values[..., [null]]
    differences = values - np.where(np.isnan(first), second, np.where(np.isnan(second), first, (first + second) / 2))
    differences[..., null] = values[..., null] - values[..., baseline]
    differences[..., baseline] = nan
    return differences


def life_log_ratios(values: ArrayLike, *, baseline: int, null: int) -> NDArray[np.float64]:
    """Computes the log ratio of each arm to the baseline in each life, from values of a metric in the shape (lives, arms).

    The result has the same shape, and its columns are those of `life_contrasts`. It is NaN where a value is NaN or not above 0.
    If a life has neither baseline because its server ended before them, the mean of the other lives' baselines, on the log scale,
    takes their place.
    """
    given = np.asarray(values, dtype=float)
    logs = np.log(np.where(given > 0, given, nan))
    both = logs[:, [baseline, null]]
    lacking = np.isnan(both).all(axis=1)
    if not lacking.all():
        logs[lacking, baseline] = np.nanmean(np.nanmean(both[~lacking], axis=1))
    return life_contrasts(logs, baseline=baseline, null=null)


def contrast(log_ratios: ArrayLike, *, margin: float, alpha: float, nodes: Sequence[str] | None = None) -> Contrast:
    """Tests whether an arm differs from the baseline and whether both are equivalent, from one log ratio for each server life.

    `log_ratios` has the shape (n,), and two lives are the fewest for an interval. A `margin` of 0.2 allows ratios from 1 / 1.2 to
    1.2. `alpha` is the level of the two-sided test, and of each one-sided test. `nodes` names the node of each life, and is None
    if all ran on one machine. Raises TickdiskError if a value is not finite.
    """
    values = np.asarray(log_ratios, dtype=float)
    if values.ndim != 1 or not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values.ravel()))[0]) if values.ndim == 1 else -1
        raise TickdiskError(
            f"log ratios must be one finite number a life (shape {values.shape}, first bad index {bad}); "
            "leave lives out whose metric is not estimable, and count them"
        )
    found = contrasts(values[None, :], margin=margin, alpha=alpha)[0]
    return found if nodes is None else replace(found, between_nodes=between_nodes(values, nodes))


def between_nodes(log_ratios: NDArray[np.float64], nodes: Sequence[str]) -> BetweenNodes | None:
    """Tests whether the nodes of a cluster show the same effect, from the log ratio and the node of each life.

    Returns None if all lives ran on one node.
    """
    groups = [log_ratios[np.asarray(nodes) == node] for node in sorted(set(nodes))]
    if len(groups) < 2:  # noqa: PLR2004 - there is nothing to compare one node with
        return None
    spread = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    if len(log_ratios) == len(groups) or spread == 0:
        return BetweenNodes(len(groups), nan)
    return BetweenNodes(len(groups), float(stats.f_oneway(*groups).pvalue))


def contrasts(log_ratios: ArrayLike, *, margin: float, alpha: float) -> list[Contrast]:
    """Tests the contrasts of many metrics and arms at once. Each row of `log_ratios`, shape (rows, n), is tested as in
    `contrast`, and must be finite.
    """
    values = np.asarray(log_ratios, dtype=float)
    rows, n = values.shape
    mean = values.mean(axis=1) if n else np.full(rows, nan)
    if n < 2:  # noqa: PLR2004 - a spread needs two
        return [Contrast(n, exp(centre), nan, nan, nan, nan, nan, nan, nan) for centre in mean.tolist()]
    limit, sd = log(1 + margin), values.std(axis=1, ddof=1)
    equal = sd <= _TINY * np.maximum(1.0, np.abs(mean))
    # Equal contrasts have no t statistic. Other values take their place here, and their results are written afterwards.
    spread = np.where(equal[:, None], np.arange(n), values)
    tested = stats.ttest_1samp(spread, 0.0, axis=1)
    wide, narrow = (tested.confidence_interval(level) for level in (1 - alpha, 1 - 2 * alpha))
    above = stats.ttest_1samp(spread, -limit, axis=1, alternative="greater").pvalue
    below = stats.ttest_1samp(spread, limit, axis=1, alternative="less").pvalue
    p, p_equivalent = np.asarray(tested.pvalue).copy(), np.maximum(above, below)
    ends = np.exp(np.column_stack([mean, wide.low, wide.high, narrow.low, narrow.high]))
    ends[equal] = np.exp(mean[equal])[:, None]
    p[equal] = np.abs(mean[equal]) <= _TINY
    p_equivalent[equal] = np.abs(mean[equal]) >= limit
    columns = np.column_stack([ends, p, p_equivalent, sd])
    return [Contrast(n, *row) for row in columns.tolist()]


def contrast_between(log_ratios: ArrayLike, others: ArrayLike, *, margin: float, alpha: float) -> Contrast:
    """Tests whether an effect differs from another one that other lives show, by Welch's t test for unequal variances.

    Both arrays have one finite log ratio for each life, in the shape (n,). The ratio of the result is that of the first effect to
    the second. Its n is the smaller of both, and its `sd_log` is NaN. With fewer than two lives on a side, the rest is NaN.
    """
    first, second = np.asarray(log_ratios, dtype=float), np.asarray(others, dtype=float)
    n = min(first.size, second.size)
    centre = float(first.mean() - second.mean()) if n else nan
    if n < 2:  # noqa: PLR2004 - a spread needs two
        return Contrast(n, exp(centre), nan, nan, nan, nan, nan, nan, nan)
    limit = log(1 + margin)

    def p_of(shift: float, alternative: str) -> float:
        return float(stats.ttest_ind(first - shift, second, equal_var=False, alternative=alternative).pvalue)

    tested = stats.ttest_ind(first, second, equal_var=False)
    wide, narrow = (tested.confidence_interval(level) for level in (1 - alpha, 1 - 2 * alpha))
    ends = np.exp([centre, wide.low, wide.high, narrow.low, narrow.high]).tolist()
    return Contrast(n, *[*ends, float(tested.pvalue), max(p_of(-limit, "greater"), p_of(limit, "less")), nan])


def widest(effects: Sequence[Contrast], centre: Contrast) -> Contrast:
    """Returns the contrast `centre` with what is shown whichever of some effects is the true one.

    Its intervals cover those of all effects, and its p values are the largest. If the effects lie on both sides of 1, no
    difference is shown.
    """
    is_one_sided = len({effect.ratio > 1 for effect in effects}) == 1
    return Contrast(
        min(effect.n for effect in effects),
        centre.ratio,
        min(effect.low for effect in effects),
        max(effect.high for effect in effects),
        min(effect.low_one_sided for effect in effects),
        max(effect.high_one_sided for effect in effects),
        max(effect.p for effect in effects) if is_one_sided else 1.0,
        max(effect.p_equivalent for effect in effects),
        centre.sd_log,
    )


def sensitivity(log_ratios: ArrayLike, *, rng: np.random.Generator) -> Sensitivity:
    """Measures how much a contrast depends on single lives and on the t distribution, from log ratios of the shape (n,).

    The sign-flip test makes every possible flip for up to 13 lives, and draws 9,999 flips for more. The values are NaN for fewer
    than two lives.
    """
    values = np.asarray(log_ratios, dtype=float)
    if values.size < 2:  # noqa: PLR2004 - nothing is left without the only life
        return Sensitivity(nan, nan, nan)
    flipped = stats.permutation_test((values,), np.mean, permutation_type="samples", vectorized=True, rng=rng)
    without = (values.sum() - values) / (values.size - 1)
    return Sensitivity(float(flipped.pvalue), exp(float(without.min())), exp(float(without.max())))
