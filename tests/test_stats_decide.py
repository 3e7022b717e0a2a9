"""Verdicts: exactly one word, from controls, numbers of lives and adjusted tests."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from tickdisk.stats import (
    ClientsSaturated,
    ControlUndecided,
    DecisionPlan,
    FewerThanPlanned,
    NoInterval,
    NothingCaptured,
    Roles,
    TooFew,
    Undecided,
    adjusted,
    causes_of,
    contrast,
    decide,
    detectable_ratio,
    holm,
    lives_to_decide,
    verdict,
)

PLAN = DecisionPlan(lives=10, minimum=6, control_minimum=4, margin=0.2, alpha=0.05)
SMOKE = replace(PLAN, lives=4)
WORDS = {"different", "equivalent", "inconclusive", "not valid"}


def effect(mean, sd=0.05, n=10, margin=0.2):
    """A contrast whose log ratios have exactly this mean and SD."""
    shape = np.sin(np.arange(n) * 2.4)
    shape = (shape - shape.mean()) / shape.std(ddof=1)
    return contrast(mean + sd * shape, margin=margin, alpha=0.05)


def decided(plan=PLAN, n=10, **changed):
    """Returns the decision on one metric with good controls and a clear treatment; `changed` replaces contrasts by arm."""
    arms = {"slow": effect(0.7, n=n), "again": effect(0.0, n=n), "sham": effect(0.01, n=n), "dose": effect(0.9, n=n)} | changed
    roles = Roles(null="again", sham="sham", positive={"gap": "slow"}, treatments=["dose"], confirmatory={("gap", "dose")})
    return decide({("gap", arm): each for arm, each in arms.items()}, plan, roles)


@pytest.mark.parametrize(
    ("mean", "sd", "word"),
    [
        (0.5, 0.1, "different"),
        (-0.5, 0.1, "different"),
        (0.0, 0.05, "equivalent"),
        (0.1, 0.4, "inconclusive"),
        (0.02, 0.01, "equivalent"),
    ],
)
def test_words(mean, sd, word):
    assert decided(dose=effect(mean, sd)).verdicts["gap", "dose"].word == word


def test_a_difference_inside_the_margin_is_equivalent_and_said_to_be_there():
    found = verdict(effect(0.05, 0.01), PLAN)
    assert found.word == "equivalent"
    assert "a difference is there" in found.reason
    assert "90 % interval" in found.reason


def test_equivalence_is_not_available_below_six_lives():
    tiny = effect(0.0, 0.001, n=5)
    assert tiny.p_equivalent < 1e-6
    assert verdict(tiny, replace(PLAN, lives=5, minimum=4)).word == "inconclusive"
    assert verdict(effect(0.0, 0.001, n=6), replace(PLAN, lives=6)).word == "equivalent"


def test_smoke_decides_on_the_positive_control_only():
    found = decided(SMOKE, n=4)
    words = {arm: each.word for (_, arm), each in found.verdicts.items()}
    assert words == {"slow": "different", "again": "not valid", "sham": "not valid", "dose": "not valid"}
    assert "n = 4, fewer than the 6 lives" in found.verdicts["gap", "dose"].reason


def test_fewer_lives_than_planned_are_not_valid():
    found = verdict(effect(0.9, n=8), PLAN)
    assert (found.word, found.reason) == ("not valid", "8 of 10 planned lives")
    assert found.obstacles == (FewerThanPlanned(n=8, planned=10, counted="lives"),)


def test_lives_without_an_interval_are_not_valid():
    unknown = replace(effect(0.9), p=float("nan"))
    found = verdict(unknown, PLAN)
    assert (found.word, found.reason) == ("not valid", "n = 10, which gives no interval")
    assert found.obstacles == causes_of(unknown, found, PLAN) == (NoInterval(n=10, counted="lives"),)


def test_what_the_plan_calls_lives_may_be_something_else():
    found = verdict(effect(0.9, n=2), PLAN, counted="runs")
    assert found.obstacles == (TooFew(n=2, needed=6, counted="runs"),)
    assert found.reason == "n = 2, fewer than the 6 runs that a verdict needs"


@pytest.mark.parametrize(
    ("changed", "control", "word", "words"),
    [
        ({"slow": effect(0.0)}, "positive", "equivalent", "positive control was not found slower"),
        ({"slow": effect(-0.7)}, "positive", "different", "positive control was not found slower"),
        ({"again": effect(0.4)}, "null", "different", "null control (A/A) is different"),
        ({"sham": effect(0.4)}, "sham", "different", "sham is different"),
        ({"again": effect(0.0, n=2)}, "null", "not valid", "null control (A/A) is not valid"),
    ],
)
def test_a_failed_control_invalidates_treatments(changed, control, word, words):
    found = decided(**changed)
    (failed,) = found.controls["gap"].failed
    assert (failed.control, failed.verdict, failed.sentence) == (control, word, found.verdicts["gap", "dose"].reason)
    assert found.verdicts["gap", "dose"].obstacles == (failed,)
    assert found.verdicts["gap", "dose"].word == "not valid"
    assert words in found.verdicts["gap", "dose"].reason


def _interval(values):
    """Returns by statsmodels the 95 % interval as ratios, and whether the 90 % interval lies within 1 / 1.2 to 1.2."""
    described = DescrStatsW(values)
    low, high = np.exp(described.tconfint_mean(0.05))
    inside = np.log(1.2) > np.abs(described.tconfint_mean(0.1)).max()
    return low, high, bool(inside)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 14))
def test_undecided_controls_leave_only_effects_beyond_them(seed, n):
    """The rule follows from the intervals alone. One metric has one quiet control and one claim, so nothing is adjusted."""
    rng = np.random.default_rng(seed)
    logs = {arm: rng.normal(rng.uniform(-0.6, 0.6), rng.uniform(0.02, 0.4), n) for arm in ("again", "dose")}
    effects = {("gap", arm): contrast(values, margin=0.2, alpha=0.05) for arm, values in logs.items()}
    effects["gap", "slow"] = effect(0.7, n=n)
    plan = replace(PLAN, lives=n)
    found = decide(effects, plan, Roles("again", None, {"gap": "slow"}, treatments=["dose"])).verdicts["gap", "dose"]
    (null_low, null_high, null_inside), (low, high, inside) = _interval(logs["again"]), _interval(logs["dose"])
    is_real = low > 1 or high < 1
    if null_inside:
        expected = "equivalent" if inside else "different" if is_real else "inconclusive"
    elif null_low > 1 or null_high < 1:
        expected = "not valid"
    else:
        expected = "different" if not inside and (low > null_high or high < null_low) and is_real else "inconclusive"
    assert found.word == expected
    kinds = [type(cause) for cause in causes_of(effects["gap", "dose"], found, plan)]
    if expected == "inconclusive":
        assert kinds == [ControlUndecided if not null_inside and (is_real or inside) else Undecided]


def test_one_undecided_control_of_two_is_enough_and_the_cause_names_it():
    wide = effect(0.0, 0.5)
    found = decided(sham=wide, dose=effect(0.2, 0.05))
    (cause,) = found.verdicts["gap", "dose"].obstacles
    assert (found.verdicts["gap", "dose"].word, cause.control) == ("inconclusive", "sham")
    assert (cause.low, cause.high, cause.n) == (wide.low, wide.high, 10)
    assert cause.sentence.startswith("the sham is undecided (ratio 1.00 [0.6")
    assert decided(sham=wide, dose=effect(0.9)).verdicts["gap", "dose"].word == "different"
    assert decided(sham=wide, dose=effect(0.0)).verdicts["gap", "dose"].word == "inconclusive"


def test_each_metric_has_its_own_positive_control_and_the_other_s_is_a_treatment():
    """The slow device is the control of actions; for ticks it is a treatment like the others."""
    effects = {(metric, arm): effect(0.0) for metric in ("gap", "teleport") for arm in ("again", "sham", "slow", "delay")}
    effects |= {("gap", "delay"): effect(0.7), ("teleport", "slow"): effect(0.9), ("gap", "slow"): effect(0.0, 0.02)}
    roles = Roles("again", "sham", {"gap": "delay", "teleport": "slow"}, treatments=["slow"])
    found = decide(effects, PLAN, roles)
    assert {key: each.family for key, each in found.verdicts.items() if key[1] in ("slow", "delay")} == {
        ("gap", "delay"): "control",
        ("teleport", "slow"): "control",
        ("gap", "slow"): "scan",
    }
    assert found.verdicts["gap", "slow"].word == "equivalent"
    assert not any(controls.failed for controls in found.controls.values())


def test_reasons_from_outside_invalidate_all_or_one_arm():
    effects = {("gap", arm): effect(mean) for arm, mean in (("slow", 0.7), ("again", 0), ("dose", 0.9), ("other", 0.9))}
    roles = Roles("again", None, {"gap": "slow"}, treatments=["dose", "other"])
    whole = decide(effects, PLAN, roles, obstacles=[NothingCaptured()])
    assert {each.word for each in whole.verdicts.values()} == {"not valid"}
    assert "the capture is empty" in whole.verdicts["gap", "other"].reason
    one = decide(effects, PLAN, roles, obstacles_by_arm={"dose": [ClientsSaturated(life="life 3", detail="client saturated")]})
    assert (one.verdicts["gap", "dose"].word, one.verdicts["gap", "other"].word) == ("not valid", "different")
    assert one.verdicts["gap", "dose"].reason == "life 3: client saturated"


def test_controls_are_one_family_over_metrics_and_the_confirmatory_claims_another():
    weak = effect(0.1, 0.12, margin=0.001)
    assert 0.025 < weak.p < 0.05
    metrics = ("a", "b", "c")
    effects = {(metric, arm): weak for metric in metrics for arm in ("again", "dose", "far")}
    effects |= {(metric, "slow"): effect(0.7, margin=0.001) for metric in metrics}
    fixed = {("a", "dose"), ("b", "dose")}
    roles = Roles("again", None, dict.fromkeys(metrics, "slow"), treatments=["dose", "far"], confirmatory=fixed)
    found = decide(effects, replace(PLAN, margin=0.001), roles)
    assert found.verdicts["a", "again"].p == pytest.approx(multipletests([weak.p] * 3, method="holm")[1][0])
    assert found.verdicts["a", "dose"].p == pytest.approx(multipletests([weak.p] * 2, method="holm")[1][0])
    assert found.verdicts["c", "dose"].p == pytest.approx(multipletests([weak.p] * 4, method="fdr_bh")[1][0])
    assert found.verdicts["c", "dose"].p < 0.05 < found.verdicts["a", "dose"].p
    assert "adjusted p" in found.verdicts["a", "dose"].reason


def test_inconclusive_can_say_how_many_lives_would_settle_it():
    weak = effect(0.1, 0.3)
    found = verdict(weak, PLAN)
    assert (found.word, found.obstacles) == ("inconclusive", ())
    assert lives_to_decide(weak, found, PLAN) > 10
    (cause,) = causes_of(weak, found, PLAN)
    assert cause == Undecided(n=10, needed=lives_to_decide(weak, found, PLAN), counted="lives")
    assert cause.sentence == f"{cause.needed} lives would decide"
    assert Undecided(n=10, needed=None, counted="lives").sentence == "no feasible number of lives would decide"
    stricter = replace(found, p=min(1.0, 2 * found.p), p_equivalent=min(1.0, 2 * found.p_equivalent))
    assert lives_to_decide(weak, stricter, PLAN) > lives_to_decide(weak, found, PLAN)


def test_the_null_control_reports_what_it_could_have_found():
    null = effect(0.0, 0.1)
    assert decided(again=null).controls["gap"].detectable == detectable_ratio(null.n, null.sd_log, alpha=0.05)
    assert 1.05 < decided(again=null).controls["gap"].detectable < 1.2


def test_adjustment_of_published_p_values():
    # Benjamini and Hochberg (1995), section 4: 15 p values; four pass at a false discovery rate of 5 %, three by Holm.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert int((adjusted(p, "scan") <= 0.05).sum()) == 4
    assert int((adjusted(p, "confirmatory") <= 0.05).sum()) == 3
    assert np.isnan(adjusted([0.01, np.nan], "confirmatory")).tolist() == [False, True]
    assert adjusted([0.01, np.nan], "confirmatory")[0] == 0.01
    assert adjusted([], "scan").size == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(p):
    with patch("gc.collect"):  # of which statsmodels makes one a call, in a process with a million objects
        assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert holm([p, p[::-1]])[0] == pytest.approx(holm(p))


@settings(max_examples=80, deadline=None)
@given(mean=st.floats(-1, 1), sd=st.floats(0.001, 1), n=st.integers(0, 15), margin=st.floats(0.01, 1))
def test_every_contrast_has_exactly_one_word(mean, sd, n, margin):
    values = mean + sd * np.sin(np.arange(n) * 2.4)
    plan = replace(PLAN, lives=6, minimum=6, margin=margin)
    found = verdict(contrast(values, margin=margin, alpha=0.05), plan)
    assert found.word in WORDS
    assert found.reason
    assert (found.word == "not valid") == (n < 6)
