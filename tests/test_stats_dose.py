"""Dose-response and order effects: known coefficients, fixed sequences by hand, statsmodels formulas as oracle."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from tickdisk.foundation.errors import TickdiskError
from tickdisk.stats import contrast, contrasts, dose_bounds, order_effect, slope

DOSES = np.array([0.1, 1.0, 3.0, 6.0, 24.0])


def effect(mean, sd=0.05, n=8):
    shape = np.sin(np.arange(n) * 2.4)
    shape = (shape - shape.mean()) / shape.std(ddof=1)
    return contrast(mean + sd * shape, margin=0.2, alpha=0.05)


def bounds(*means, sd=0.05):
    return dose_bounds([(dose, effect(mean, sd)) for dose, mean in zip(DOSES[1:], means, strict=True)], margin=0.2)


def test_a_metric_is_good_up_to_one_dose_and_hurts_from_another():
    found = bounds(0.0, 0.05, 0.18, 0.9)
    assert (found.good_up_to, found.hurts_from, found.lives) == (3.0, 24.0, 8)


def test_a_sequence_ends_at_the_first_dose_that_is_not_shown():
    """A dose beyond it that would pass by itself does not count: its test was not to be made."""
    assert bounds(0.2, 0.0, 0.0, 0.0).good_up_to is None
    assert bounds(0.9, 0.9, 0.1, 0.9).hurts_from == 24.0
    assert bounds(0.9, 0.9, 0.9, 0.15).hurts_from is None


def test_all_good_and_all_bad_and_nothing_known():
    assert (bounds(0, 0, 0, 0).good_up_to, bounds(0, 0, 0, 0).hurts_from) == (24.0, None)
    assert (bounds(1, 1, 1, 1).good_up_to, bounds(1, 1, 1, 1).hurts_from) == (None, 1.0)
    unknown = bounds(0.1, 0.1, 0.1, 0.1, sd=1.0)
    assert (unknown.good_up_to, unknown.hurts_from) == (None, None)


def test_a_faster_arm_is_good_and_a_dose_is_needed():
    assert bounds(-0.9, 0, 0, 0).good_up_to == 24.0
    with pytest.raises(TickdiskError, match="needs an arm with a latency"):
        dose_bounds([], margin=0.2)


def test_a_dose_at_the_margin_is_called_good_as_rarely_as_alpha_says():
    rng = np.random.default_rng(1)
    values = rng.normal(np.log(1.2), 0.2, (4000, 8))
    good = [dose_bounds([(1.0, each)], margin=0.2) for each in contrasts(values, margin=0.2, alpha=0.05)]
    assert np.mean([one.good_up_to is not None for one in good]) == pytest.approx(0.05, abs=0.012)
    assert np.mean([one.hurts_from is not None for one in good]) == pytest.approx(0.05, abs=0.012)


def experiment(rng, lives=10, per_ms=2.0, noise=4.0, life_sd=15.0, slope_sd=0.0):
    dose, life = np.tile(DOSES, lives), np.repeat(np.arange(lives), DOSES.size)
    own = np.repeat(rng.normal(per_ms, slope_sd, lives), DOSES.size)
    level = np.repeat(rng.normal(0, life_sd, lives), DOSES.size)
    return dose, 90 + own * dose + rng.normal(0, noise, dose.size) + level, life


def test_slopes_are_those_of_each_life_and_their_test_is_over_lives():
    dose, response, life = experiment(np.random.default_rng(1), slope_sd=0.5)
    found = slope(dose, response, life, at_ms=[0.1, 10.0], alpha=0.05)
    frame = pd.DataFrame({"dose": dose, "response": response, "life": life})
    own = [smf.ols("response ~ dose", part).fit() for _, part in frame.groupby("life")]
    oracle = smf.ols("slope ~ 1", pd.DataFrame({"slope": [fit.params["dose"] for fit in own]})).fit()
    low, high = oracle.conf_int().loc["Intercept"]
    assert (found.per_ms, found.low, found.high) == pytest.approx((oracle.params["Intercept"], low, high))
    assert (found.p, found.lives) == (pytest.approx(oracle.pvalues["Intercept"]), 10)
    at_ten = [fit.predict(pd.DataFrame({"dose": [10.0]}))[0] for fit in own]
    band = smf.ols("y ~ 1", pd.DataFrame({"y": at_ten})).fit()
    assert found.fitted[1] == pytest.approx(band.params["Intercept"])
    assert (found.fitted_low[1], found.fitted_high[1]) == pytest.approx(tuple(band.conf_int().loc["Intercept"]))


def test_intervals_cover_where_lives_respond_differently():
    rng = np.random.default_rng(3)
    found = [slope(*experiment(rng, lives=8, slope_sd=1.0), at_ms=[1], alpha=0.05) for _ in range(400)]
    assert 0.92 <= np.mean([one.low <= 2 <= one.high for one in found]) <= 0.98


def test_lives_without_two_doses_are_left_out():
    dose, response, life = experiment(np.random.default_rng(4), lives=3)
    lacking = np.where((life == 1) & (dose > 0.1), np.nan, response)
    assert slope(dose, lacking, life, at_ms=[1], alpha=0.05).lives == 2
    assert slope([1, 2], [1, 2], [0, 0], at_ms=[1], alpha=0.05) is None


def switchback(rng, carry_over=0.0, drift=0.0, lives=12, noise=0.05):
    rows = []
    for life in range(lives):
        previous = np.nan
        for position, arm in enumerate(rng.permutation(DOSES.size)):
            carried = 0.0 if np.isnan(previous) else carry_over * np.log10(previous)
            value = 0.1 * arm + carried + drift * position + 0.3 * (life % 3) + rng.normal(0, noise)
            rows.append((value, arm, life, position, previous))
            previous = DOSES[arm]
    return [np.array(column) for column in zip(*rows, strict=True)]


def test_order_effects_are_found_when_there_and_not_when_not():
    found = order_effect(*switchback(np.random.default_rng(5), carry_over=0.08, drift=0.05), alpha=0.05)
    assert found.carry_over_low < 0.08 < found.carry_over_high
    assert found.position_low < 0.05 < found.position_high
    assert max(found.carry_over_p, found.position_p) < 0.001
    assert found.n == 12 * (DOSES.size - 1)
    rng = np.random.default_rng(6)
    none = [order_effect(*switchback(rng), alpha=0.05) for _ in range(300)]
    p = np.array([[one.carry_over_p, one.position_p] for one in none])
    assert ((p < 0.05).mean(axis=0) < 0.09).all()
    assert ((p < 0.05).mean(axis=0) > 0.015).all()


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_order_effect_is_statsmodels(alpha):
    values, arm, life, position, previous = switchback(np.random.default_rng(7), carry_over=0.03)
    frame = pd.DataFrame({"y": values, "arm": arm, "life": life, "position": position, "previous": np.log10(previous)}).dropna()
    oracle = smf.ols("y ~ previous + position + C(arm) + C(life)", frame).fit()
    found = order_effect(values, arm, life, position, previous, alpha=alpha)
    assert (found.carry_over, found.carry_over_p) == pytest.approx((oracle.params["previous"], oracle.pvalues["previous"]))
    assert (found.position, found.position_p) == pytest.approx((oracle.params["position"], oracle.pvalues["position"]))
    assert (found.carry_over_low, found.carry_over_high) == pytest.approx(tuple(oracle.conf_int(alpha).loc["previous"]))


def test_too_short_a_switchback_has_no_order_effect():
    assert np.isnan(order_effect([0.1, 0.2, 0.3], [0, 1, 2], [0, 0, 0], [0, 1, 2], [np.nan, 1, 2], alpha=0.05).carry_over)
    assert order_effect([0.1], [0], [0], [0], [np.nan], alpha=0.05).n == 0
