"""Power: a family's against simulation by other means, lives that a verdict needs, statsmodels as oracle."""

from math import exp, isnan, log

import numpy as np
import pytest
from scipy import stats as scipy_stats
from scipy.integrate import quad
from statsmodels.stats.power import TTestPower

from tickdisk.stats import detectable_ratio, family_power, needed_lives

SD = 0.21


def power(n, claims=1, effect=0.0, margin=0.2, seed=1, simulations=20_000):
    rng = np.random.default_rng(seed)
    return family_power(n, claims, sd=SD, effect=effect, margin=margin, alpha=0.05, rng=rng, simulations=simulations)


def test_the_anchor_of_the_design():
    """TOST with a margin of 20 % at 8 lives whose contrasts have an SD of 0.21, by integrating over the standard deviation."""
    n, error = 8, SD / 8**0.5
    critical = scipy_stats.t.ppf(0.95, n - 1) / n**0.5

    def shown(sd):
        inside = max(0.0, log(1.2) - critical * sd) / error
        return (2 * scipy_stats.norm.cdf(inside) - 1) * scipy_stats.chi.pdf(sd, n - 1, scale=SD / (n - 1) ** 0.5)

    oracle = quad(shown, 0, 1)[0]
    assert oracle == pytest.approx(0.45, abs=0.01)
    assert power(8)[1] == pytest.approx(oracle, abs=0.01)


@pytest.mark.parametrize(("n", "effect"), [(4, 0.5), (8, 0.2), (12, 0.15)])
def test_one_claim_has_the_power_of_the_t_test(n, effect):
    assert power(n, effect=effect)[0] == pytest.approx(TTestPower().power(effect / SD, n, 0.05), abs=0.015)


def test_a_false_claim_is_made_as_often_as_alpha_says():
    assert power(6)[0] == pytest.approx(0.05, abs=0.006)
    assert power(30, effect=log(1.2))[1] == pytest.approx(0.05, abs=0.006)


def test_a_family_is_adjusted_by_holm():
    rng = np.random.default_rng(7)
    found = []
    for values in rng.normal(0.2, SD, (4000, 2, 8)):
        smaller, larger = sorted(scipy_stats.ttest_1samp(values, 0, axis=1).pvalue)
        # The smaller p is held against alpha / 2, the larger one against alpha, if the smaller passed.
        found.append((int(smaller < 0.025) + int(smaller < 0.025 and larger < 0.05)) / 2)
    assert power(8, claims=2, effect=0.2)[0] == pytest.approx(np.mean(found), abs=0.015)


def lives(mean, sd=SD, different=0.05, equivalent=0.05):
    return needed_lives(mean, sd, margin=0.2, alpha_different=different, alpha_equivalent=equivalent)


@pytest.mark.parametrize("effect", [0.3, 0.8])
def test_a_difference_needs_as_many_lives_as_statsmodels_says(effect):
    oracle = TTestPower().solve_power(effect_size=effect / SD, alpha=0.05, power=0.8)
    assert lives(effect) == int(np.ceil(oracle))


def test_equivalence_needs_lives_with_which_it_is_found():
    n = lives(0.0)
    assert 0.8 <= power(n)[1] <= 0.85
    assert power(n - 2)[1] < power(n)[1]


def test_what_no_number_of_lives_decides():
    assert lives(log(1.2), different=1e-12, sd=500.0) is None
    assert lives(float("nan")) is None
    assert lives(0.1, different=0.01) >= lives(0.1)


def test_a_large_effect_needs_two_lives():
    assert lives(3.0, sd=0.001) == 2


def test_the_detectable_ratio_is_found_with_the_power_that_it_says():
    ratio = detectable_ratio(10, SD, alpha=0.05)
    assert ratio == pytest.approx(exp(TTestPower().solve_power(nobs=10, alpha=0.05, power=0.8) * SD), rel=1e-4)
    values = np.random.default_rng(8).normal(log(ratio), SD, (20_000, 10))
    assert np.mean(scipy_stats.ttest_1samp(values, 0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.01)
    assert isnan(detectable_ratio(1, SD, alpha=0.05))


def test_one_life_decides_nothing():
    assert power(1, effect=9) == (0, 0)
