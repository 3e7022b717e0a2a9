"""Verdicts: exactly one word, from controls, numbers of pairs and adjusted tests."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk.stats import Plan, adjusted, check_controls, contrast, needed_n, verdict, verdicts

PLAN = Plan(n=10, minimum_n=6, margin=0.2)
SMOKE_CONTROL = Plan(n=4, minimum_n=4, margin=0.2)
WORDS = {"different", "equivalent", "inconclusive", "not valid"}


def effect(mean, sd=0.05, n=10, margin=0.2):
    """A contrast whose log ratios have exactly this mean and SD."""
    shape = np.sin(np.arange(n) * 2.4)
    shape = (shape - shape.mean()) / shape.std(ddof=1)
    return contrast(mean + sd * shape, margin=margin, rng=np.random.default_rng(0))


def good_controls(plan=PLAN, n=10):
    return check_controls(effect(0.7, n=n), effect(0.0, n=n), effect(0.01, n=n), plan)


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
    assert verdict(effect(mean, sd), PLAN, controls=good_controls()).word == word


def test_a_difference_inside_the_margin_is_equivalent_and_said_to_be_there():
    found = verdict(effect(0.05, 0.01), PLAN)
    assert found.word == "equivalent"
    assert "a difference is there" in found.reason


def test_equivalence_is_not_available_below_six_pairs():
    tiny = effect(0.0, 0.001, n=5)
    assert tiny.p_equivalent < 1e-6
    assert verdict(tiny, Plan(n=5, minimum_n=4, margin=0.2)).word == "inconclusive"
    assert verdict(effect(0.0, 0.001, n=6), Plan(n=6, minimum_n=6, margin=0.2)).word == "equivalent"


def test_smoke_decides_on_the_positive_control_only():
    controls = good_controls(SMOKE_CONTROL, n=4)
    assert controls.positive.word == "different"
    assert controls.reasons == ()
    dose = verdict(effect(0.9, n=4), Plan(n=4, minimum_n=6, margin=0.2), controls=controls)
    assert dose.word == "not valid"
    assert "n = 4, fewer than the 6 pairs" in dose.reason
    assert dose.needed_n == 6


def test_fewer_pairs_than_planned_are_not_valid():
    found = verdict(effect(0.9, n=8), PLAN)
    assert (found.word, found.reason) == ("not valid", "8 of 10 planned pairs")


@pytest.mark.parametrize(
    ("positive", "null", "sham", "words"),
    [
        (effect(0.0), effect(0.0), effect(0.0), "positive control was not found slower"),
        (effect(-0.7), effect(0.0), effect(0.0), "positive control was not found slower"),
        (effect(0.7), effect(0.4), effect(0.0), "null control (A/A) is different"),
        (effect(0.7), effect(0.0), effect(0.4), "sham is different"),
        (effect(0.7), effect(0.0, n=2), effect(0.0), "null control (A/A) is not valid"),
    ],
)
def test_a_failed_control_invalidates_treatments(positive, null, sham, words):
    controls = check_controls(positive, null, sham, PLAN)
    found = verdict(effect(0.9), PLAN, controls=controls)
    assert found.word == "not valid"
    assert len(controls.reasons) == 1
    assert words in found.reason


def test_reasons_from_outside_invalidate():
    found = verdict(effect(0.9), PLAN, invalid=["the clients were saturated", "the capture is empty"])
    assert (found.word, found.reason) == ("not valid", "the clients were saturated; the capture is empty")
    assert check_controls(effect(0.7), effect(0), None, PLAN, invalid=["capture empty"]).reasons


def test_controls_are_adjusted_for_equivalence_too():
    own = check_controls(effect(0.7), effect(0.0), effect(0.0), PLAN)
    assert (own.null.word, own.sham.word) == ("equivalent", "equivalent")
    levels = {"p": [0.001, 1, 1], "p_equivalent": [1, 0.2, 0.01]}
    found = check_controls(effect(0.7), effect(0.0), effect(0.0), PLAN, **levels)
    assert (found.positive.word, found.null.word, found.sham.word) == ("different", "inconclusive", "equivalent")


def test_inconclusive_says_which_n_would_settle_it():
    found = verdict(effect(0.1, 0.3), PLAN)
    assert found.needed_n == min(needed_n("difference", effect=0.1, sd=0.3), needed_n("equivalence", effect=0.1, sd=0.3))
    assert f"{found.needed_n} pairs would decide" in found.reason


def test_the_null_control_reports_what_it_could_have_found():
    null = effect(0.0, 0.1)
    assert check_controls(effect(0.7), null, None, PLAN).detectable == null.detectable
    assert 1.05 < null.detectable < 1.2


def test_a_family_is_adjusted_by_holm():
    weak = effect(0.1, 0.12, margin=0.001)
    assert 0.025 < weak.p < 0.05
    alone = verdict(weak, Plan(10, 6, 0.001))
    assert alone.word == "different"
    family = verdicts(dict.fromkeys("abc", weak), Plan(10, 6, 0.001))
    assert {found.word for found in family.values()} == {"inconclusive"}
    assert all("adjusted p" in found.reason for found in family.values())
    assert family["a"].needed_n > needed_n("difference", effect=0.1, sd=0.12)


def test_adjustment_of_published_p_values():
    # Benjamini and Hochberg (1995), section 4: 15 p values; four pass at a false discovery rate of 5 %, three by Holm.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert int((adjusted(p, "scan") <= 0.05).sum()) == 4
    assert int((adjusted(p, "confirmatory") <= 0.05).sum()) == 3
    assert np.isnan(adjusted([0.01, np.nan], "confirmatory")).tolist() == [False, True]
    assert adjusted([0.01, np.nan], "confirmatory")[0] == 0.01
    assert adjusted([], "scan").size == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_never_lowers(p):
    found = adjusted(p, "confirmatory")
    by_hand = np.empty(len(p))
    order, running = np.argsort(p, kind="stable"), 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p) - rank) * p[index]))
        by_hand[index] = running
    assert found == pytest.approx(by_hand)
    assert (found >= np.asarray(p) - 1e-12).all()
    assert (np.diff(found[order]) >= -1e-12).all()


@settings(max_examples=80, deadline=None)
@given(mean=st.floats(-1, 1), sd=st.floats(0.001, 1), n=st.integers(0, 15), margin=st.floats(0.01, 1))
def test_every_contrast_has_exactly_one_word(mean, sd, n, margin):
    values = mean + sd * np.sin(np.arange(n) * 2.4)
    found = verdict(contrast(values, margin=margin, rng=np.random.default_rng(0)), Plan(6, 4, margin))
    assert found.word in WORDS
    assert found.reason
    assert (found.word == "not valid") == (n < 6)
