"""The whole decision on simulated experiments: intervals cover, chance rarely fails a control, and the rule before did worse."""

from collections import Counter
from collections.abc import Callable
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray

from tickdisk.stats import Contrast, DecisionPlan, Roles, contrasts, decide, life_contrasts

pytestmark = pytest.mark.slow

EXPERIMENTS, LIVES, SD, MARGIN, ALPHA = 5_000, 8, 0.21, 0.2, 0.05
"""With so many experiments a share of 5 % has a standard error of 0.3 %."""
METRICS = ("gap_mean_ms", "gap_max_ms", "teleport_mean_ms")
ARMS = ("baseline", "null", "sham", "dose_1ms", "dose_3ms", "dose_6ms", "dose_12ms", "tick_delay")
EFFECTS = {"dose_12ms": log(2.5), "tick_delay": log(2)}
"""Arms that are slower; all others have no effect, so that every word about them but equivalent or inconclusive is wrong."""
PLAN = DecisionPlan(lives=LIVES, minimum=6, control_minimum=4, margin=MARGIN, alpha=ALPHA)
ROLES = Roles(
    null="null",
    sham="sham",
    positive={metric: "dose_12ms" if metric.startswith("teleport") else "tick_delay" for metric in METRICS},
    treatments=[arm for arm in ARMS if arm.startswith("dose")],
    confirmatory=frozenset({("gap_max_ms", "dose_6ms"), ("teleport_mean_ms", "dose_6ms")}),
)
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]
DRAWS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t5": lambda rng, shape: rng.standard_t(5, shape) / (5 / 3) ** 0.5,
    "skewed": lambda rng, shape: rng.exponential(size=shape) - 1,
}
COVERED = 0.93


def simulated(draw: Draw, rng: np.random.Generator) -> NDArray[np.float64]:
    """Returns log metrics, shape (experiments, metrics, lives, arms), whose life contrasts have the drawn distribution.

    The two baseline epochs differ by two draws, because they can be exchanged: whatever one epoch is like, A/A is symmetric.
    """
    shape = (EXPERIMENTS, len(METRICS), LIVES)
    values = SD * draw(rng, (*shape, len(ARMS)))
    apart = (values[..., 0] - values[..., 1]) / 2**0.5
    values[..., 0], values[..., 1] = -apart / 2, apart / 2
    for arm, effect in EFFECTS.items():
        values[..., ARMS.index(arm)] += effect
    return values + rng.normal(0, 0.5, (*shape, 1))  # lives differ, and that cancels


def covers(found: Contrast, arm: str) -> bool:
    return found.low <= exp(EFFECTS.get(arm, 0.0)) <= found.high


@pytest.mark.parametrize("name", DRAWS)
def test_the_decision_over_lives_keeps_its_level(name: str, record_property: Callable[[str, object], None]) -> None:
    logs = life_contrasts(simulated(DRAWS[name], np.random.default_rng(2026)), baseline=0, null=1)[..., 1:]
    rows = contrasts(np.moveaxis(logs, -1, -2).reshape(-1, LIVES), margin=MARGIN, alpha=ALPHA)
    keys = [(metric, arm) for metric in METRICS for arm in ARMS[1:]]
    covered = sum(covers(effect, arm) for effect, (_, arm) in zip(rows, keys * EXPERIMENTS, strict=True))
    words, false_alarms, false_claims, undecided = Counter[str](), 0, 0, 0
    for number in range(EXPERIMENTS):
        effects = dict(zip(keys, rows[number * len(keys) : (number + 1) * len(keys)], strict=True))
        decision = decide(effects, PLAN, ROLES)
        nulls = [decision.verdicts[metric, "null"].word for metric in METRICS]
        words.update(nulls)
        false_alarms += "different" in nulls
        false_claims += any(decision.verdicts[key].word == "different" for key in ROLES.confirmatory)
        undecided += any(controls.failed for controls in decision.controls.values())
    shares = {
        "coverage": covered / len(rows),
        "A/A different, a metric": words["different"] / (EXPERIMENTS * len(METRICS)),
        "A/A different, an experiment": false_alarms / EXPERIMENTS,
        "confirmatory claim wrong": false_claims / EXPERIMENTS,
        "a control failed": undecided / EXPERIMENTS,
    }
    for what, share in shares.items():
        record_property(what, share)
    print(name, {what: round(share, 4) for what, share in shares.items()})
    assert shares["A/A different, a metric"] <= shares["A/A different, an experiment"] <= 0.06
    if name != "skewed":  # there the share is reported only
        assert shares["coverage"] >= COVERED
        assert shares["confirmatory claim wrong"] <= 0.06
        assert shares["a control failed"] <= 0.06


def _share_covered(values: NDArray[np.float64]) -> float:
    return float(np.mean([covers(each, "null") for each in contrasts(values, margin=MARGIN, alpha=ALPHA)]))


def test_the_rule_before_counted_cycles_and_covers_too_little() -> None:
    """Lives respond to an arm as differently as the cycles of a life scatter: 4 lives of 2 cycles, each cycle a unit."""
    rng = np.random.default_rng(2026)
    lives, cycles = 4, 2
    response = rng.normal(0, SD, (EXPERIMENTS, lives, 1, 2))
    cells = response + rng.normal(0, SD, (EXPERIMENTS, lives, cycles, 2))
    by_cycle = (cells[..., 1] - cells[..., 0]).reshape(EXPERIMENTS, -1)
    assert _share_covered(by_cycle) < COVERED
    assert _share_covered((cells[..., 1] - cells[..., 0]).mean(axis=2)) >= COVERED


def test_the_mean_of_two_baselines_is_orthogonal_to_their_contrast_and_less_noisy() -> None:
    rng = np.random.default_rng(1)
    found = life_contrasts(rng.normal(size=(200_000, 1, 3)), baseline=0, null=1)[:, 0, :]
    assert np.isnan(found[:, 0]).all()
    assert found[:, 2].var() == pytest.approx(1.5, rel=0.02)
    assert found[:, 1].var() == pytest.approx(2.0, rel=0.02)
    assert np.corrcoef(found[:, 1], found[:, 2])[0, 1] == pytest.approx(0, abs=0.01)
