"""Power: the anchors of the design, closed form against simulation, and statsmodels as oracle."""

from math import exp, isnan, log

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from tickdisk.stats import detectable_ratio, needed_n, paired_power, simulate_power

SD = 0.15 * 2**0.5
"""Of a log ratio of two runs with SD 0.15 each; the block's SD cancels."""


@pytest.mark.parametrize(("margin", "paired", "power"), [(0.2, True, 0.75), (0.1, True, 0.06), (0.2, False, 0.22)])
def test_anchors_of_the_design_at_twelve_blocks(margin, paired, power):
    found = simulate_power(
        "equivalence",
        12,
        run_sd=0.15,
        block_sd=0.2,
        margin=margin,
        paired=paired,
        rng=np.random.default_rng(1),
        simulations=20_000,
    )
    assert found == pytest.approx(power, abs=0.015)


def test_the_block_cancels_only_when_paired():
    quiet, loud = (
        simulate_power("difference", 8, run_sd=0.15, block_sd=sd, effect=0.2, rng=np.random.default_rng(2), simulations=2000)
        for sd in (0.0, 5.0)
    )
    assert quiet == pytest.approx(loud, abs=0.04)


@pytest.mark.parametrize(
    ("kind", "n", "effect"),
    [("difference", 4, 0.5), ("difference", 12, 0.15), ("equivalence", 12, 0.0), ("equivalence", 20, 0.05)],
)
def test_closed_form_agrees_with_simulation(kind, n, effect):
    simulated = simulate_power(
        kind, n, run_sd=0.15, block_sd=0.2, effect=effect, rng=np.random.default_rng(3), simulations=20_000
    )
    assert paired_power(kind, n, effect=effect, sd=SD) == pytest.approx(simulated, abs=0.015)


def test_a_false_claim_is_made_as_often_as_alpha_says():
    rng = np.random.default_rng(4)
    assert simulate_power("difference", 6, run_sd=0.15, block_sd=0.2, rng=rng, simulations=20_000) == pytest.approx(
        0.05, abs=0.006
    )
    at_margin = simulate_power("equivalence", 30, run_sd=0.15, block_sd=0.2, effect=log(1.2), rng=rng, simulations=20_000)
    assert at_margin == pytest.approx(0.05, abs=0.006)


@pytest.mark.parametrize("effect", [0.1, 0.3, 0.8])
def test_needed_n_and_detectable_effect_are_statsmodels(effect):
    oracle = TTestPower().solve_power(effect_size=effect / SD, alpha=0.05, power=0.8)
    assert needed_n("difference", effect=effect, sd=SD) == int(np.ceil(oracle))
    n = 10
    expected = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) * SD
    assert detectable_ratio(n, SD) == pytest.approx(exp(expected), rel=1e-4)


def test_needed_n_is_the_least_that_reaches_the_power():
    n = needed_n("equivalence", effect=0.02, sd=SD)
    assert paired_power("equivalence", n, effect=0.02, sd=SD) >= 0.8 > paired_power("equivalence", n - 1, effect=0.02, sd=SD)
    assert needed_n("equivalence", effect=log(1.2), sd=SD) is None
    assert needed_n("difference", effect=0.0, sd=SD) is None
    assert isnan(detectable_ratio(1, SD))


@pytest.mark.parametrize("kind", ["difference", "equivalence"])
def test_one_run_decides_nothing(kind):
    rng = np.random.default_rng(0)
    assert simulate_power(kind, 1, run_sd=0.15, block_sd=0.2, rng=rng, effect=9) == 0
