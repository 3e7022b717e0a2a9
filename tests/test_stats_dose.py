"""Dose-response and order effects: known coefficients, statsmodels formulas as oracle, simulated coverage."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from tickdisk.errors import TickdiskError
from tickdisk.stats import (
    block_contrast,
    blocks_differ_p,
    contrast,
    dose_for_margin,
    dose_for_margin_interval,
    dose_response,
    order_effect,
    ratio_at,
)

DOSES = np.array([0.1, 1.0, 3.0, 6.0, 24.0])


def experiment(rng, blocks=10, slope=2.0, noise=4.0, block_sd=15.0):
    dose = np.tile(DOSES, blocks)
    block = np.repeat(np.arange(blocks), DOSES.size)
    return (
        dose,
        90 + slope * dose + rng.normal(0, noise, dose.size) + np.repeat(rng.normal(0, block_sd, blocks), DOSES.size),
        block,
    )


def test_slopes_intervals_and_band_are_statsmodels():
    dose, response, block = experiment(np.random.default_rng(1))
    at = np.array([0.1, 10.0, 24.0])
    found = dose_response(dose, response, block, at_ms=at, rng=np.random.default_rng(0))
    frame = pd.DataFrame({"dose": dose, "response": response, "block": block, "decade": np.log10(dose), "log": np.log(response)})
    oracle = smf.ols("response ~ dose + C(block, Sum)", frame).fit(cov_type="HC3", use_t=True)
    low, high = oracle.conf_int().loc["dose"]
    assert (found.per_ms.value, found.per_ms.low, found.per_ms.high) == pytest.approx((oracle.params["dose"], low, high))
    assert found.per_ms.p == pytest.approx(oracle.pvalues["dose"])
    logs = smf.ols("log ~ decade + C(block, Sum)", frame).fit(cov_type="HC3", use_t=True)
    assert found.per_decade.value == pytest.approx(np.exp(logs.params["decade"]))
    assert (found.per_decade.low, found.per_decade.high) == pytest.approx(tuple(np.exp(logs.conf_int().loc["decade"])))
    # The average block: sum-coded block effects at zero.
    contrasts = np.zeros((3, len(oracle.params)))
    contrasts[:, 0], contrasts[:, list(oracle.params.index).index("dose")] = 1, at
    band = oracle.t_test(contrasts)
    assert found.fitted == pytest.approx(band.effect)
    assert np.column_stack([found.low, found.high]) == pytest.approx(band.conf_int())
    assert (found.n, found.blocks) == (50, 10)
    within = frame.assign(x=dose - dose.mean(), y=response - pd.Series(response).groupby(block).transform("mean"))
    assert found.r_squared == pytest.approx(smf.ols("y ~ x - 1", within).fit().rsquared)


def test_exact_line_and_its_margin():
    dose, response, block = experiment(np.random.default_rng(2), noise=0.0, block_sd=0.0)
    found = dose_response(dose, response, block, at_ms=[0.1, 24], rng=np.random.default_rng(0))
    assert found.per_ms.value == pytest.approx(2)
    assert found.r_squared == pytest.approx(1)
    assert ratio_at(found, 24, 0.1) == pytest.approx((90 + 48) / 90.2)
    assert dose_for_margin(found, 0.1, 0.2) == pytest.approx(0.1 + 0.2 * 90.2 / 2)


def test_intervals_cover_in_simulated_experiments():
    rng = np.random.default_rng(3)
    hc3 = bootstrap = 0
    for _ in range(300):
        found = dose_response(*experiment(rng), at_ms=[1], rng=rng, samples=300).per_ms
        hc3 += found.low <= 2 <= found.high
        bootstrap += found.blocks_low <= 2 <= found.blocks_high
    assert 0.92 <= hc3 / 300 <= 0.995
    assert 0.85 <= bootstrap / 300 <= 0.98


def test_few_blocks_have_no_bootstrap_interval():
    found = dose_response(*experiment(np.random.default_rng(4), blocks=5), at_ms=[1], rng=np.random.default_rng(0))
    assert np.isnan(found.per_ms.blocks_low)
    assert found.per_ms.low < 2 < found.per_ms.high


@pytest.mark.parametrize(
    ("dose", "response", "block", "words"),
    [
        ([0, 1, 0, 1], [1, 2, 1, 2], [0, 0, 1, 1], "value 0: dose 0"),
        ([1, 2, 1, 2], [1, 2, np.nan, 2], [0, 0, 1, 1], "value 2"),
        ([1, 2, 1, 1], [1, 2, 1, 2], [0, 0, 1, 1], "too few doses in 1"),
        ([1, 2], [1, 2], [0, 0], "1 blocks"),
    ],
)
def test_what_cannot_be_fitted_is_refused(dose, response, block, words):
    with pytest.raises(TickdiskError, match=words):
        dose_response(dose, response, block, at_ms=[1], rng=np.random.default_rng(0))


def switchback(rng, carry_over=0.0, drift=0.0, cycles=12, noise=0.05):
    rows, previous = [], np.nan
    for cycle in range(cycles):
        for position, arm in enumerate(rng.permutation(DOSES.size)):
            carried = 0.0 if np.isnan(previous) else carry_over * np.log10(previous)
            rows.append(
                (
                    0.1 * arm + carried + drift * position + 0.3 * (cycle % 3) + rng.normal(0, noise),
                    arm,
                    cycle,
                    position,
                    previous,
                )
            )
            previous = DOSES[arm]
    return [np.array(column) for column in zip(*rows, strict=True)]


def test_order_effects_are_found_when_there_and_not_when_not():
    found = order_effect(*switchback(np.random.default_rng(5), carry_over=0.08, drift=0.05))
    assert found.carry_over_low < 0.08 < found.carry_over_high
    assert found.position_low < 0.05 < found.position_high
    assert max(found.carry_over_p, found.position_p) < 0.001
    assert found.n == 12 * DOSES.size - 1
    rng = np.random.default_rng(6)
    p = np.array([[none.carry_over_p, none.position_p] for none in (order_effect(*switchback(rng)) for _ in range(300))])
    assert ((p < 0.05).mean(axis=0) < 0.09).all()
    assert ((p < 0.05).mean(axis=0) > 0.015).all()


def test_order_effect_is_statsmodels():
    values, arm, cycle, position, previous = switchback(np.random.default_rng(7), carry_over=0.03)
    frame = pd.DataFrame({"y": values, "arm": arm, "cycle": cycle, "position": position, "previous": np.log10(previous)}).dropna()
    oracle = smf.ols("y ~ previous + position + C(arm) + C(cycle)", frame).fit()
    found = order_effect(values, arm, cycle, position, previous)
    assert (found.carry_over, found.carry_over_p) == pytest.approx((oracle.params["previous"], oracle.pvalues["previous"]))
    assert (found.position, found.position_p) == pytest.approx((oracle.params["position"], oracle.pvalues["position"]))


def test_too_short_a_switchback_has_no_order_effect():
    assert np.isnan(order_effect([0.1, 0.2, 0.3], [0, 1, 2], [0, 0, 0], [0, 1, 2], [np.nan, 1, 2]).carry_over)
    assert order_effect([0.1], [0], [0], [0], [np.nan]).n == 0


def test_lives_that_differ_are_noticed_and_give_the_conservative_contrast():
    rng = np.random.default_rng(8)
    life = np.repeat(np.arange(6), 3)
    same = np.array([blocks_differ_p(rng.normal(size=18), life) for _ in range(400)])
    assert np.mean(same < 0.05) == pytest.approx(0.05, abs=0.03)
    values = np.repeat(rng.normal(0.2, 0.3, 6), 3) + rng.normal(0, 0.02, 18)
    assert blocks_differ_p(values, life) < 1e-6
    blocked, pooled = block_contrast(values, life, margin=0.2, rng=rng), contrast(values, margin=0.2, rng=rng)
    assert blocked.n == 6
    assert blocked.ratio == pytest.approx(pooled.ratio)
    assert blocked.high / blocked.low > pooled.high / pooled.low
    assert np.isnan(blocks_differ_p([0.1, 0.2], [0, 1]))


def test_the_interval_of_the_good_enough_dose_closes_on_exact_data_and_opens_with_noise() -> None:
    block = np.repeat(np.arange(8), 4)
    dose = np.tile([0.1, 1.0, 3.0, 6.0], 8)
    exact = 90 + 3 * dose
    fit = dose_response(dose, exact, block, at_ms=[1.0], rng=np.random.default_rng(1))
    wanted = dose_for_margin(fit, 0.1, 0.2)
    assert wanted == pytest.approx(0.1 + 0.2 * (90 / 3 + 0.1))
    low, high = dose_for_margin_interval(dose, exact, block, baseline_ms=0.1, margin=0.2, rng=np.random.default_rng(1))
    assert (low, high) == (pytest.approx(wanted), pytest.approx(wanted))
    noisy = exact + np.random.default_rng(2).normal(0, 2, dose.size)
    low, high = dose_for_margin_interval(dose, noisy, block, baseline_ms=0.1, margin=0.2, rng=np.random.default_rng(1))
    assert low < wanted < high


def test_the_interval_is_not_given_for_few_blocks() -> None:
    block, dose = np.repeat(np.arange(5), 2), np.tile([1.0, 6.0], 5)
    ends = dose_for_margin_interval(dose, 90 + dose, block, baseline_ms=1.0, margin=0.2, rng=np.random.default_rng(1))
    assert np.isnan(ends).all()
