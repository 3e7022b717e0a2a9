"""Contrasts over lives: oracles from statsmodels and by hand, properties, and few or equal lives."""

import re
from itertools import product
from math import exp, isnan, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind, ttost_paired

from tickdisk.foundation.errors import TickdiskError
from tickdisk.stats import (
    DecisionPlan,
    between_nodes,
    contrast,
    contrast_between,
    contrasts,
    life_contrasts,
    life_log_ratios,
    sensitivity,
    verdict,
    widest,
)

RNG = np.random.default_rng
PLANNED = {"margin": 0.2, "alpha": 0.05}
LOG_RATIOS = arrays(float, st.integers(3, 14), elements=st.floats(-3, 3, allow_subnormal=False)).filter(
    lambda values: np.ptp(values) > 1e-3
)


@pytest.mark.parametrize("n", [2, 4, 7, 12, 40])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_interval_and_p_are_statsmodels(n, alpha):
    values = RNG(n).normal(0.1, 0.2, n)
    found, oracle = contrast(values, margin=0.2, alpha=alpha), DescrStatsW(values)
    assert found.p == pytest.approx(oracle.ttest_mean(0)[1], rel=1e-9)
    assert (log(found.low), log(found.high)) == pytest.approx(oracle.tconfint_mean(alpha))
    assert (log(found.low_one_sided), log(found.high_one_sided)) == pytest.approx(oracle.tconfint_mean(2 * alpha))
    assert log(found.ratio) == pytest.approx(values.mean())
    assert found.sd_log == pytest.approx(values.std(ddof=1))


@pytest.mark.parametrize("mean", [-0.25, 0.0, 0.1, 0.19, 0.4])
def test_equivalence_is_statsmodels_ttost_paired(mean):
    rng = RNG(3)
    baseline = rng.normal(5, 0.3, 9)
    arm = baseline + rng.normal(mean, 0.1, 9)
    found = contrast(arm - baseline, **PLANNED)
    assert found.p_equivalent == pytest.approx(ttost_paired(arm, baseline, -log(1.2), log(1.2))[0], rel=1e-9)
    # The one-sided bounds are inside the margin exactly when the test says so.
    assert (found.p_equivalent < 0.05) == (found.low_one_sided > 1 / 1.2 and found.high_one_sided < 1.2)


def test_many_at_once_are_the_same_as_one_by_one():
    values = RNG(5).normal(0.1, 0.3, (20, 8))
    values[3] = 0.1
    assert contrasts(values, **PLANNED) == [contrast(row, **PLANNED) for row in values]


def test_the_contrasts_of_a_life_by_hand():
    # Columns: baseline, null, an arm; the second life lacks one baseline epoch, the third both.
    logs = [[[1.0, 2.0, 5.0], [nan, 2.0, 5.0], [nan, nan, 5.0]]]
    found = life_contrasts(logs, baseline=0, null=1)
    assert found[0, :, 2].tolist()[:2] == [3.5, 3.0]
    assert found[0, 0, 1] == 1.0
    assert np.isnan(found[0, 1:, 1]).all()
    assert np.isnan(found[0, :, 0]).all()
    assert isnan(found[0, 2, 2])


def test_log_ratios_of_a_life_by_hand():
    # Columns: baseline, null, an arm; the second life has a value that is no length, the third no baseline.
    found = np.exp(life_log_ratios([[1.0, 4.0, 8.0], [16.0, 0.0, 8.0], [nan, nan, 8.0]], baseline=0, null=1))
    assert found[:, 2].tolist() == pytest.approx([4.0, 0.5, 8 / sqrt(2 * 16)])
    assert found[0, 1] == pytest.approx(4)
    assert np.isnan(found[1:, 1]).all()
    assert np.isnan(life_log_ratios([[nan, nan, 8.0]], baseline=0, null=1)).all()


def test_sign_flips_are_brute_force_and_lives_are_left_out_in_turn():
    values = np.array([0.3, -0.1, 0.25, 0.4, 0.05])
    sums = [abs(sum(sign * value for sign, value in zip(signs, values, strict=True))) for signs in product((-1, 1), repeat=5)]
    found = sensitivity(values, rng=RNG(0))
    assert found.p_sign_flip == pytest.approx(sum(total >= abs(values.sum()) - 1e-12 for total in sums) / 32)
    assert sensitivity([0.5, 0.4, 0.6, 0.7], rng=RNG(0)).p_sign_flip == pytest.approx(2 / 16)
    without = [exp(np.delete(values, index).mean()) for index in range(5)]
    assert (found.ratio_low, found.ratio_high) == pytest.approx((min(without), max(without)))
    assert isnan(sensitivity([0.1], rng=RNG(0)).p_sign_flip)


def test_drawn_sign_flips_agree_with_the_t_test_when_normal():
    values = RNG(4).normal(0.1, 0.2, 30)
    assert sensitivity(values, rng=RNG(5)).p_sign_flip == pytest.approx(contrast(values, **PLANNED).p, abs=0.02)


def test_few_lives():
    nothing, one, four = (contrast(values, **PLANNED) for values in ([], [0.3], [0.5, 0.6, 0.4, 0.55]))
    assert nothing.n == 0
    assert isnan(nothing.ratio)
    assert one.ratio == pytest.approx(exp(0.3))
    assert isnan(one.low)
    assert isnan(one.p)
    assert four.p < 0.05


def test_equal_log_ratios_have_an_interval_of_no_width():
    found = contrast([0.1] * 8, **PLANNED)
    assert (found.low, found.high) == (pytest.approx(found.ratio), pytest.approx(found.ratio))
    assert (found.p, found.p_equivalent) == (0, 0)
    same = contrast([0.0] * 8, **PLANNED)
    assert (same.p, same.p_equivalent) == (1, 0)


def test_a_value_that_is_not_finite_is_refused_with_its_index():
    with pytest.raises(TickdiskError, match="first bad index 2"):
        contrast([0.1, 0.2, nan, 0.3], **PLANNED)


@settings(max_examples=60, deadline=None)
@given(values=LOG_RATIOS, shift=st.floats(-2, 2))
def test_a_factor_on_all_ratios_is_a_factor_on_estimate_and_interval(values, shift):
    before, after = (contrast(values + move, **PLANNED) for move in (0.0, shift))
    for name in ("ratio", "low", "high", "low_one_sided", "high_one_sided"):
        assert getattr(after, name) == pytest.approx(exp(shift) * getattr(before, name), rel=1e-6)
    assert after.sd_log == pytest.approx(before.sd_log, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(values=LOG_RATIOS)
def test_swapping_arm_and_baseline_inverts_the_ratio(values):
    forward, backward = contrast(values, **PLANNED), contrast(-values, **PLANNED)
    assert backward.ratio == pytest.approx(1 / forward.ratio)
    assert (backward.low, backward.high) == (pytest.approx(1 / forward.high), pytest.approx(1 / forward.low))
    assert (backward.p, backward.p_equivalent) == (pytest.approx(forward.p), pytest.approx(forward.p_equivalent))


@pytest.mark.parametrize(("n", "others"), [(2, 3), (8, 9), (12, 5)])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_the_comparison_of_two_effects_is_statsmodels(n: int, others: int, alpha: float) -> None:
    first, second = RNG(n).normal(0.1, 0.2, n), RNG(others).normal(0, 0.05, others)
    found = contrast_between(first, second, margin=0.2, alpha=alpha)
    oracle = CompareMeans(DescrStatsW(first), DescrStatsW(second))
    assert found.n == min(n, others)
    assert log(found.ratio) == pytest.approx(first.mean() - second.mean())
    assert (log(found.low), log(found.high)) == pytest.approx(oracle.tconfint_diff(alpha, usevar="unequal"))
    ends = (log(found.low_one_sided), log(found.high_one_sided))
    assert ends == pytest.approx(oracle.tconfint_diff(2 * alpha, usevar="unequal"))
    assert found.p == pytest.approx(oracle.ttest_ind(usevar="unequal")[1])
    assert found.p_equivalent == pytest.approx(ttost_ind(first, second, -log(1.2), log(1.2), usevar="unequal")[0])


def test_one_life_on_a_side_compares_nothing() -> None:
    found = contrast_between([0.1], [0.0, 0.2], margin=0.2, alpha=0.05)
    assert (found.n, found.ratio) == (1, pytest.approx(1.0))
    assert isnan(found.low)
    assert isnan(contrast_between([], [0.0, 0.2], margin=0.2, alpha=0.05).ratio)


def test_the_widest_of_some_effects_shows_what_all_of_them_show() -> None:
    effects = [contrast(RNG(3).normal(mean, 0.1, 8), margin=0.2, alpha=0.05) for mean in (0.5, 0.6, 0.8)]
    found = widest(effects, effects[1])
    assert found.ratio == effects[1].ratio
    assert (found.low, found.high) == (effects[0].low, effects[2].high)
    assert (found.low_one_sided, found.high_one_sided) == (effects[0].low_one_sided, effects[2].high_one_sided)
    assert (found.p, found.p_equivalent) == (effects[0].p, effects[2].p_equivalent)
    below = contrast(RNG(3).normal(-0.5, 0.1, 8), margin=0.2, alpha=0.05)
    assert widest([below, effects[1]], effects[1]).p == 1.0


def lives_on_nodes(rng: np.random.Generator, nodes: int, lives: int, sd_between: float) -> tuple[np.ndarray, list[str]]:
    """Draws log ratios of lives, with a standard deviation of 0.2 between lives and of `sd_between` between nodes."""
    own = np.repeat(rng.normal(0.1, sd_between, nodes), lives)
    return own + rng.normal(0, 0.2, own.size), [f"n{number // lives}" for number in range(own.size)]


def test_nodes_are_compared_as_scipy_and_statsmodels_do() -> None:
    values, nodes = lives_on_nodes(np.random.default_rng(3), 3, 4, 0.1)
    found = contrast(values, margin=0.2, alpha=0.05, nodes=nodes).between_nodes
    assert found is not None
    assert found.nodes == 3
    exact = anova_oneway(list(values.reshape(3, 4)), use_var="equal")
    assert found.p == pytest.approx(exact.pvalue)


@pytest.mark.parametrize(("nodes", "lives"), [(2, 3), (4, 6)])
def test_nodes_that_do_not_differ_are_said_to_differ_in_at_most_six_percent(nodes: int, lives: int) -> None:
    rng = np.random.default_rng(5)
    p = [between_nodes(*lives_on_nodes(rng, nodes, lives, 0.0)) for _ in range(2000)]
    assert np.mean([each is not None and each.p < 0.05 for each in p]) <= 0.06


def test_nodes_that_differ_are_found() -> None:
    rng = np.random.default_rng(7)
    tests = [between_nodes(*lives_on_nodes(rng, 4, 6, 0.4)) for _ in range(500)]
    assert np.mean([each is not None and each.p < 0.05 for each in tests]) > 0.85


def test_one_node_has_nothing_beside_it_and_single_lives_cannot_be_compared() -> None:
    assert contrast([0.1, 0.2, 0.3], margin=0.2, alpha=0.05, nodes=["n1"] * 3).between_nodes is None
    assert contrast([0.1, 0.2, 0.3], margin=0.2, alpha=0.05).between_nodes is None
    alone = contrast([0.1, 0.2, 0.3], margin=0.2, alpha=0.05, nodes=["n1", "n2", "n3"]).between_nodes
    assert alone is not None
    assert np.isnan(alone.p)
    assert "cannot be compared" in alone.sentence


@pytest.mark.parametrize(("shift", "word"), [(0.0, "do not differ"), (1.0, "differ in it")])
def test_the_comparison_of_nodes_stands_beside_the_verdict(shift: float, word: str) -> None:
    values = np.array([0.5, 0.52, 0.48, 0.51, 0.49, 0.5]) + np.repeat([0, shift], 3)
    effect = contrast(values, margin=0.2, alpha=0.05, nodes=["n1"] * 3 + ["n2"] * 3)
    plan = DecisionPlan(lives=6, minimum=6, control_minimum=4, margin=0.2, alpha=0.05)
    assert re.search(rf"the 2 nodes {word}", verdict(effect, plan).reason)
