"""Verdicts: exactly one of different, equivalent, inconclusive, not valid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.multitest import multipletests

from tickdisk.stats.contrast import Contrast
from tickdisk.stats.power import needed_n

Word = Literal["different", "equivalent", "inconclusive", "not valid"]
Family = Literal["confirmatory", "scan"]
MINIMUM_FOR_EQUIVALENCE = 6
"""Below six pairs "equivalent" is not available: the interval rests on the normality that so few values cannot show."""
_METHODS: dict[Family, str] = {"confirmatory": "holm", "scan": "fdr_bh"}


@dataclass(frozen=True)
class Plan:
    """What was fixed before the runs: n pairs, the least that may decide, margin (0.2: 1 / 1.2 to 1.2), two-sided level."""

    n: int
    minimum_n: int
    margin: float
    alpha: float = 0.05


@dataclass(frozen=True)
class Verdict:
    """One word, the reason in a sentence, the pairs that it rests on, the pairs planned, and the pairs that would settle it."""

    word: Word
    reason: str
    n: int
    planned_n: int
    needed_n: int | None = None


@dataclass(frozen=True)
class Controls:
    """Verdicts of the controls; `reasons` is empty when claims about treatments may be decided."""

    positive: Verdict
    null: Verdict
    sham: Verdict | None
    detectable: float
    """Ratio that the null control, with its n and spread, would have found with 80 % power."""
    reasons: tuple[str, ...]


def adjusted(p_values: ArrayLike, family: Family) -> NDArray[np.float64]:
    """Returns p values adjusted within their family: confirmatory by Holm, scan by Benjamini and Hochberg (1995); NaN stay."""
    p = np.asarray(p_values, dtype=float)
    result, usable = np.full(p.shape, np.nan), np.isfinite(p)
    if usable.any():
        result[usable] = multipletests(p[usable], method=_METHODS[family])[1]
    return result


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _stricter(alpha: float, p: float, adjusted_p: float) -> float:
    """The level that the unadjusted p must fall below for the adjusted one to fall below alpha."""
    return alpha * p / adjusted_p if adjusted_p > p > 0 else alpha


def _settling(effect: Contrast, plan: Plan, p: float, p_equivalent: float) -> int | None:
    mean = log(effect.ratio)
    level = _stricter(plan.alpha, effect.p, p)
    kinds = [needed_n("difference", effect=mean, sd=effect.sd_log, margin=plan.margin, alpha=level)]
    if abs(mean) < log(1 + plan.margin):
        level = _stricter(plan.alpha, effect.p_equivalent, p_equivalent)
        equivalence = needed_n("equivalence", effect=mean, sd=effect.sd_log, margin=plan.margin, alpha=level)
        kinds.append(None if equivalence is None else max(equivalence, MINIMUM_FOR_EQUIVALENCE))
    found = [n for n in kinds if n is not None]
    return max(min(found), effect.n + 1, plan.minimum_n) if found else None


def verdict(
    effect: Contrast,
    plan: Plan,
    *,
    controls: Controls | None = None,
    invalid: Sequence[str] = (),
    p: float | None = None,
    p_equivalent: float | None = None,
) -> Verdict:
    """Returns the verdict on a contrast.

    Not valid: reasons in `invalid` (client saturated, capture empty), fewer pairs than the minimum or than planned, or a control
    that failed. Equivalent comes before different: a difference whose whole 90 % interval is inside the margin is too small to
    matter, and the reason says that it is there. `p` and `p_equivalent` replace the contrast's own when adjusted for a family.
    """
    p = effect.p if p is None else p
    p_equivalent = effect.p_equivalent if p_equivalent is None else p_equivalent

    def say(word: Word, reason: str, needed: int | None = None) -> Verdict:
        return Verdict(word, reason, effect.n, plan.n, needed)

    obstacles = list(invalid)
    if effect.n < plan.minimum_n:
        obstacles.append(f"n = {effect.n}, fewer than the {plan.minimum_n} pairs that a verdict needs")
    elif effect.n < plan.n:
        obstacles.append(f"{effect.n} of {plan.n} planned pairs")
    elif not isfinite(p):
        obstacles.append(f"n = {effect.n}, which gives no interval")
    obstacles += controls.reasons if controls is not None else ()
    if obstacles:
        return say("not valid", "; ".join(obstacles), plan.minimum_n if effect.n < plan.minimum_n else None)
    p_word = "p" if p == effect.p else "adjusted p"
    size = f"ratio {effect.ratio:.3g} [{effect.low:.3g}, {effect.high:.3g}], n = {effect.n}"
    if effect.n >= MINIMUM_FOR_EQUIVALENCE and p_equivalent < plan.alpha:
        there = f"; a difference is there ({p_word} = {p:.2g}), smaller than the margin" if p < plan.alpha else ""
        interval = f"{_percent(effect.low_90)} to {_percent(effect.high_90)}"
        return say("equivalent", f"{size}; 90 % interval {interval} is inside the margin of {100 * plan.margin:g} %{there}")
    if p < plan.alpha:
        return say("different", f"{size}, {p_word} = {p:.2g}")
    needed = _settling(effect, plan, p, p_equivalent)
    return say(
        "inconclusive",
        f"{size}, {p_word} = {p:.2g}; "
        + ("no feasible number of pairs would decide" if needed is None else f"{needed} pairs would decide"),
        needed,
    )


def check_controls(
    positive: Contrast,
    null: Contrast,
    sham: Contrast | None,
    plan: Plan,
    *,
    null_plan: Plan | None = None,
    invalid: Sequence[str] = (),
    p: Sequence[float] | None = None,
    p_equivalent: Sequence[float] | None = None,
) -> Controls:
    """Returns the verdicts of the controls, and what follows for the treatments.

    The positive control must be different and slower; the null control (A/A) and the sham must not be different. `null_plan`, for
    these two, may ask for more pairs than `plan`: few find a large effect, and are no proof that there is none. `p` and
    `p_equivalent`, in this order, replace the contrasts' own when adjusted for a family.
    """
    null_plan = plan if null_plan is None else null_plan
    own: Sequence[float | None] = (None, None, None)
    levels = list(zip(own if p is None else p, own if p_equivalent is None else p_equivalent, strict=True))
    found, null_found, sham_found = (
        None if effect is None else verdict(effect, each, invalid=invalid, p=level, p_equivalent=equivalent)
        for effect, each, (level, equivalent) in zip((positive, null, sham), (plan, null_plan, null_plan), levels, strict=True)
    )
    assert found is not None
    assert null_found is not None
    reasons = []
    if found.word != "different" or positive.ratio <= 1:
        reasons.append(f"the positive control was not found slower ({found.word}: {found.reason})")
    for name, control in (("null control (A/A)", null_found), ("sham", sham_found)):
        if control is not None and control.word in ("different", "not valid"):
            reasons.append(f"the {name} is {control.word} ({control.reason})")
    return Controls(found, null_found, sham_found, null.detectable, tuple(reasons))


def verdicts(
    effects: Mapping[str, Contrast],
    plan: Plan,
    *,
    controls: Controls | None = None,
    invalid: Sequence[str] = (),
    family: Family = "confirmatory",
) -> dict[str, Verdict]:
    """Returns one verdict a contrast, tests of difference and tests of equivalence each adjusted over the whole family."""
    p = adjusted([effect.p for effect in effects.values()], family)
    p_equivalent = adjusted([effect.p_equivalent for effect in effects.values()], family)
    return {
        name: verdict(effect, plan, controls=controls, invalid=invalid, p=float(own), p_equivalent=float(own_equivalent))
        for (name, effect), own, own_equivalent in zip(effects.items(), p, p_equivalent, strict=True)
    }
