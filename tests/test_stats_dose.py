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
    dose_response,
    order_effect,
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


def test_an_exact_line_is_fitted_exactly():
    dose, response, block = experiment(np.random.default_rng(2), noise=0.0, block_sd=0.0)
    found = dose_response(dose, response, block, at_ms=[0.1, 24], rng=np.random.default_rng(0))
    assert found.per_ms.value == pytest.approx(2)
    assert found.r_squared == pytest.approx(1)
    assert found.fitted == pytest.approx([90.2, 138])


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


def crossing(response, *, blocks=8, doses=(0.1, 1.0, 3.0, 6.0, 12.0), margin=0.2):
    block, dose = np.repeat(np.arange(blocks), len(doses)), np.tile(doses, blocks)
    rng = np.random.default_rng(1)
    return dose_for_margin(dose, response(dose, block), block, margin=margin, rng=rng, samples=400)


def test_the_good_enough_dose_of_a_line_is_on_it_whatever_the_blocks_levels() -> None:
    found = crossing(lambda dose, block: (90 + 3 * dose) * 1.3**block)
    wanted = ((90 + 0.3) * 1.2 - 90) / 3
    assert (found.dose, found.low, found.high) == (pytest.approx(wanted), pytest.approx(wanted), pytest.approx(wanted))
    noise = np.random.default_rng(2)
    noisy = [crossing(lambda dose, _: 90 + 3 * dose + noise.normal(0, 2, dose.size), blocks=12) for _ in range(100)]
    assert 0.85 <= np.mean([one.low <= wanted <= one.high for one in noisy]) <= 0.99


def test_what_hides_in_the_slack_of_a_step_is_good_enough() -> None:
    """A hinge: flat to 1 ms, doubled at 3 ms; a straight line through all doses would cross the margin far below 1 ms."""
    found = crossing(lambda dose, _: np.interp(dose, [0.1, 1.0, 3.0, 6.0, 12.0], [100, 100, 200, 400, 800]))
    assert found.dose == pytest.approx(1.4)


def test_a_dip_is_made_monotone_and_a_margin_never_reached_is_infinite() -> None:
    dipped = crossing(lambda dose, _: np.interp(dose, [0.1, 1.0, 3.0, 6.0, 12.0], [100, 130, 90, 150, 150]))
    level = np.exp((np.log(1.3) + np.log(0.9)) / 2)
    assert dipped.dose == pytest.approx(3 + 3 * (1.2 - level) / (1.5 - level))
    assert crossing(lambda dose, _: 100 + dose).dose == np.inf


def test_the_interval_is_not_given_for_few_blocks() -> None:
    found = crossing(lambda dose, _: 90 + 3 * dose, blocks=5)
    assert np.isnan([found.low, found.high]).all()
    assert found.blocks == 5
