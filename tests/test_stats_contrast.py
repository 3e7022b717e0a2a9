"""Contrasts: oracles from scipy and statsmodels, brute force, and simulated coverage."""

from itertools import product
from math import exp, isnan, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import ttost_paired

from tickdisk.errors import TickdiskError
from tickdisk.stats import cliffs_delta, contrast, hodges_lehmann, sign_flip_p

RNG = np.random.default_rng
LOG_RATIOS = arrays(float, st.integers(3, 14), elements=st.floats(-3, 3, allow_subnormal=False)).filter(
    lambda values: np.ptp(values) > 1e-3
)


@pytest.mark.parametrize("n", [2, 4, 7, 12, 40])
def test_t_interval_and_p_are_scipys(n):
    values = RNG(n).normal(0.1, 0.2, n)
    found = contrast(values, margin=0.2, rng=RNG(0))
    oracle = scipy_stats.ttest_1samp(values, 0)
    interval = oracle.confidence_interval(0.95)
    narrow = oracle.confidence_interval(0.90)
    assert found.p == pytest.approx(oracle.pvalue, rel=1e-9)
    assert (found.low, found.high) == pytest.approx((exp(interval.low), exp(interval.high)))
    assert (found.low_90, found.high_90) == pytest.approx((exp(narrow.low), exp(narrow.high)))
    assert found.ratio == pytest.approx(scipy_stats.gmean(np.exp(values)))


@pytest.mark.parametrize("mean", [-0.25, 0.0, 0.1, 0.19, 0.4])
def test_equivalence_is_statsmodels_ttost_paired(mean):
    rng = RNG(3)
    baseline = rng.normal(5, 0.3, 9)
    arm = baseline + rng.normal(mean, 0.1, 9)
    found = contrast(arm - baseline, margin=0.2, rng=rng)
    assert found.p_equivalent == pytest.approx(ttost_paired(arm, baseline, -log(1.2), log(1.2))[0], rel=1e-9)
    # The 90 % interval is inside the margin exactly when the test says so.
    assert (found.p_equivalent < 0.05) == (found.low_90 > 1 / 1.2 and found.high_90 < 1.2)


def test_sign_flip_is_brute_force_and_bounded_by_n():
    values = np.array([0.3, -0.1, 0.25, 0.4, 0.05])
    sums = [abs(sum(sign * value for sign, value in zip(signs, values, strict=True))) for signs in product((-1, 1), repeat=5)]
    assert sign_flip_p(values, RNG(0)) == sum(total >= abs(values.sum()) - 1e-12 for total in sums) / 32
    assert sign_flip_p([0.5, 0.4, 0.6, 0.7], RNG(0)) == 2 / 16
    oracle = scipy_stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_p(values, RNG(0)) == pytest.approx(oracle.pvalue)


def test_drawn_sign_flips_agree_with_the_t_test_when_normal():
    values = RNG(4).normal(0.1, 0.2, 30)
    assert sign_flip_p(values, RNG(5)) == pytest.approx(scipy_stats.ttest_1samp(values, 0).pvalue, abs=0.01)


@pytest.mark.parametrize("n", [6, 9, 13])
def test_hodges_lehmann_interval_inverts_the_exact_signed_rank_test(n):
    values = RNG(n).normal(0.2, 1, n)
    centre, low, high = hodges_lehmann(values)
    walsh = [(values[i] + values[j]) / 2 for i in range(n) for j in range(i, n)]
    assert centre == pytest.approx(np.median(walsh))
    for end, inward in ((low, 1), (high, -1)):
        step = inward * 1e-6
        assert scipy_stats.wilcoxon(values - (end + step), method="exact").pvalue > 0.05
        assert scipy_stats.wilcoxon(values - (end - step), method="exact").pvalue <= 0.05


def test_hodges_lehmann_has_no_interval_below_six():
    assert [isnan(hodges_lehmann(RNG(0).normal(size=n))[1]) for n in (1, 3, 5, 6)] == [True, True, True, False]


def test_cliffs_delta_is_mann_whitney_and_published():
    rng = RNG(6)
    x, y = rng.normal(0.5, 1, 17), rng.normal(0, 1, 11)
    u = scipy_stats.mannwhitneyu(x, y).statistic
    delta, low, high = cliffs_delta(x, y)
    assert delta == pytest.approx(2 * u / (17 * 11) - 1)
    assert -1 <= low < delta < high <= 1
    assert cliffs_delta([3, 4, 5], [0, 1, 2])[0] == 1
    assert cliffs_delta([], [1.0])[0] != cliffs_delta([], [1.0])[0]


def test_cliffs_delta_interval_covers():
    rng = RNG(7)
    truth = 2 * scipy_stats.norm.cdf(0.8 / 2**0.5) - 1
    ends = np.array([cliffs_delta(rng.normal(0.8, 1, 15), rng.normal(0, 1, 15))[1:] for _ in range(1200)])
    coverage = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    assert 0.93 <= coverage <= 0.98


def _coverage(draw, n, truth, simulations=20_000):
    values = draw((simulations, n))
    half = scipy_stats.t.ppf(0.975, n - 1) * values.std(axis=1, ddof=1) / n**0.5
    return np.mean(np.abs(values.mean(axis=1) - truth) <= half)


@pytest.mark.parametrize("n", [3, 4, 6, 12])
def test_studentised_interval_covers_at_every_n(n):
    rng = RNG(8)
    one = contrast(rng.normal(size=n), margin=0.2, rng=rng)
    assert log(one.high) - log(one.low) == pytest.approx(2 * scipy_stats.t.ppf(0.975, n - 1) * one.sd_log / n**0.5)
    assert 0.94 <= _coverage(lambda size: rng.normal(0.1, 0.2, size), n, 0.1) <= 0.96
    assert _coverage(lambda size: rng.standard_t(3, size), n, 0) >= 0.94
    # Differences of two skewed runs are symmetric, whatever the runs' distribution.
    assert _coverage(lambda size: rng.exponential(size=size) - rng.exponential(size=size), n, 0) >= 0.94


def test_bootstraps_are_no_better_than_student_when_there_are_few_pairs():
    """Why intervals are studentised: percentile bootstrap 76 % at n = 3, 83 % at n = 5; bootstrap-t wider, no closer."""
    rng = RNG(9)

    def simulate(n, simulations=1500, samples=400):
        values = rng.normal(size=(simulations, n))
        drawn = np.take_along_axis(values[:, None, :], rng.integers(n, size=(simulations, samples, n)), axis=2)
        means, errors = drawn.mean(axis=2), drawn.std(axis=2, ddof=1) / n**0.5
        low, high = np.quantile(means, (0.025, 0.975), axis=1)
        centre, error = values.mean(axis=1), values.std(axis=1, ddof=1) / n**0.5
        with np.errstate(divide="ignore"):
            t = (means - centre[:, None]) / errors
        t_low, t_high = np.quantile(np.nan_to_num(t, posinf=1e9, neginf=-1e9), (0.025, 0.975), axis=1)
        student = 2 * scipy_stats.t.ppf(0.975, n - 1) * error
        return np.mean((low <= 0) & (high >= 0)), np.median((t_high - t_low) * error / student)

    assert simulate(3)[0] == pytest.approx(0.76, abs=0.04)
    percentile, width = simulate(5)
    assert percentile == pytest.approx(0.83, abs=0.03)
    assert width > 1
    assert simulate(6)[1] > 1


def test_few_pairs():
    nothing, one, four = (contrast(values, margin=0.2, rng=RNG(0)) for values in ([], [0.3], [0.5, 0.6, 0.4, 0.55]))
    assert nothing.n == 0
    assert isnan(nothing.ratio)
    assert isnan(nothing.p_sign_flip)
    assert one.ratio == pytest.approx(exp(0.3))
    assert isnan(one.low)
    assert isnan(one.p)
    assert four.p < 0.05
    assert four.p_sign_flip == 0.125


def test_equal_log_ratios_have_an_interval_of_no_width():
    found = contrast([0.1] * 8, margin=0.2, rng=RNG(0))
    assert (found.low, found.high) == (pytest.approx(found.ratio), pytest.approx(found.ratio))
    assert (found.p, found.p_equivalent) == (0, 0)
    same = contrast([0.0] * 8, margin=0.2, rng=RNG(0))
    assert (same.p, same.p_equivalent, same.p_sign_flip) == (1, 0, 1)


def test_a_value_that_is_not_finite_is_refused_with_its_index():
    with pytest.raises(TickdiskError, match="first bad index 2"):
        contrast([0.1, 0.2, nan, 0.3], margin=0.2, rng=RNG(0))


@settings(max_examples=60, deadline=None)
@given(values=LOG_RATIOS, shift=st.floats(-2, 2))
def test_a_factor_on_all_ratios_is_a_factor_on_estimate_and_interval(values, shift):
    before, after = (contrast(values + move, margin=0.2, rng=RNG(1)) for move in (0.0, shift))
    for name in ("ratio", "low", "high", "hodges_lehmann"):
        assert getattr(after, name) == pytest.approx(exp(shift) * getattr(before, name), rel=1e-6)
    assert after.sd_log == pytest.approx(before.sd_log, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(values=LOG_RATIOS)
def test_swapping_arm_and_baseline_inverts_the_ratio(values):
    forward, backward = contrast(values, margin=0.2, rng=RNG(1)), contrast(-values, margin=0.2, rng=RNG(1))
    assert backward.ratio == pytest.approx(1 / forward.ratio)
    assert (backward.low, backward.high) == (pytest.approx(1 / forward.high), pytest.approx(1 / forward.low))
    assert (backward.p, backward.p_equivalent) == (pytest.approx(forward.p), pytest.approx(forward.p_equivalent))
    assert backward.dominance == pytest.approx(-forward.dominance)
