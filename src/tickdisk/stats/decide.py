"""Verdicts: exactly one of different, equivalent, inconclusive, not valid."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Literal

from tickdisk.numbers import interval, p_value, percent, with_interval
from tickdisk.stats.contrast import Contrast
from tickdisk.stats.families import adjusted
from tickdisk.stats.power import detectable_ratio, needed_lives

Word = Literal["different", "equivalent", "inconclusive", "not valid"]
Family = Literal["confirmatory", "scan", "control"]
Key = tuple[str, str]
"""A metric and an arm."""
MINIMUM_FOR_EQUIVALENCE = 6
"""Below six lives "equivalent" is not available: the interval rests on the normality that so few values cannot show."""


@dataclass(frozen=True)
class Plan:
    """The rules that were fixed before the runs."""

    lives: int
    """Planned server lives, or blocks where a block is the unit."""
    minimum: int
    """Lives below which a verdict is not valid."""
    control_minimum: int
    """The same for positive controls: few lives find a large effect, and are no proof that there is none."""
    margin: float
    """A margin of 0.2 allows ratios from 1 / 1.2 to 1.2."""
    alpha: float
    """Two-sided level of every test."""


@dataclass(frozen=True)
class Roles:
    """The arms that are controls, and the claims that are confirmatory."""

    null: str
    sham: str | None
    positive: Mapping[str, str]
    """For each metric the arm that must make it longer by construction."""
    treatments: Sequence[str]
    """The arms that claims are about."""
    confirmatory: Collection[Key] = ()


@dataclass(frozen=True)
class Verdict:
    """One word, the reason in a sentence, the lives that it rests on and those planned, and the p values that decided."""

    word: Word
    reason: str
    n: int
    planned: int
    family: Family
    p: float
    p_equivalent: float


@dataclass(frozen=True)
class Controls:
    """Verdicts of a metric's controls; `reasons` is empty when claims about treatments may be decided."""

    positive: Verdict
    null: Verdict
    sham: Verdict | None
    detectable: float
    """Ratio that the null control, with its n and spread, would have found with 80 % power."""
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """The verdicts of an experiment: on every control and on every claim about a treatment."""

    verdicts: Mapping[Key, Verdict]
    controls: Mapping[str, Controls]


def verdict(
    effect: Contrast,
    plan: Plan,
    *,
    family: Family = "scan",
    minimum: int | None = None,
    obstacles: Sequence[str] = (),
    unreached: int = 0,
    p: float | None = None,
    p_equivalent: float | None = None,
) -> Verdict:
    """Returns the verdict on a contrast.

    Not valid: an obstacle (a control failed, clients were saturated, a capture is empty), or fewer lives than `minimum` (the
    plan's) or than planned. Of the planned lives `unreached` may lack, because their server ended before the arm's turn: turns
    are drawn, so the other lives speak for them. Equivalent comes before different: a difference whose whole interval is inside
    the margin is too small to matter, and the reason says that it is there. `p` and `p_equivalent` replace the contrast's own
    when they are adjusted for a family.
    """
    p = effect.p if p is None else p
    p_equivalent = effect.p_equivalent if p_equivalent is None else p_equivalent
    minimum = plan.minimum if minimum is None else minimum

    def say(word: Word, reason: str) -> Verdict:
        return Verdict(word, reason, effect.n, plan.lives, family, p, p_equivalent)

    found = list(obstacles)
    if effect.n < minimum:
        found.append(f"n = {effect.n}, fewer than the {minimum} lives that a verdict needs")
    elif effect.n + unreached < plan.lives:
        found.append(f"{effect.n} of {plan.lives} planned lives")
    elif not isfinite(p):
        found.append(f"n = {effect.n}, which gives no interval")
    if found:
        return say("not valid", "; ".join(found))
    p_words = p_value(p) if p == effect.p else f"adjusted {p_value(p)}"
    lacking = f" (in {unreached} more the server ended before)" if unreached else ""
    size = f"ratio {with_interval(effect.ratio, effect.low, effect.high)}, n = {effect.n}{lacking}"
    if effect.n >= MINIMUM_FOR_EQUIVALENCE and p_equivalent < plan.alpha:
        there = f"; a difference is there ({p_words}), smaller than the margin" if p < plan.alpha else ""
        ends = interval(effect.low_one_sided, effect.high_one_sided)
        level, margin = percent(1 - 2 * plan.alpha), percent(plan.margin)
        return say("equivalent", f"{size}; the {level} interval {ends} is inside the margin of {margin}{there}")
    return say("different" if p < plan.alpha else "inconclusive", f"{size}, {p_words}")


def lives_to_decide(effect: Contrast, found: Verdict, plan: Plan) -> int | None:
    """Returns how many lives would decide an inconclusive contrast with 80 % power; None when no feasible number would."""
    needed = needed_lives(
        log(effect.ratio),
        effect.sd_log,
        margin=plan.margin,
        alpha_different=_stricter(plan.alpha, effect.p, found.p),
        alpha_equivalent=_stricter(plan.alpha, effect.p_equivalent, found.p_equivalent),
    )
    return None if needed is None else max(needed, effect.n + 1, plan.minimum)


def _stricter(alpha: float, p: float, adjusted_p: float) -> float:
    """The level that the unadjusted p must fall below for the adjusted one to fall below alpha."""
    return alpha * p / adjusted_p if adjusted_p > p > 0 else alpha


def decide(
    effects: Mapping[Key, Contrast],
    plan: Plan,
    roles: Roles,
    *,
    obstacles: Sequence[str] = (),
    of_arms: Mapping[str, Sequence[str]] | None = None,
    unreached: Mapping[str, int] | None = None,
) -> Decision:
    """Returns the verdicts of an experiment from the contrast of every metric and arm.

    Each positive control is the gate of its own metric and is tested by itself. Null and sham controls of all metrics are one
    Holm family, so that chance fails one of them in at most `alpha` of all experiments. The confirmatory claims are one Holm
    family, and all other claims are a scan. `obstacles` keep every claim from being decided, `of_arms` those about an arm;
    `unreached` counts for an arm the lives whose server ended before its turn.
    """
    own, before = of_arms or {}, unreached or {}
    metrics = list(roles.positive)
    quiet = [arm for arm in (roles.null, roles.sham) if arm is not None]
    control_keys = [(metric, arm) for metric in metrics for arm in quiet]
    p = _adjusted(effects, control_keys, "p", "confirmatory")
    p_equivalent = _adjusted(effects, control_keys, "p_equivalent", "confirmatory")
    verdicts: dict[Key, Verdict] = {}
    controls: dict[str, Controls] = {}
    for metric in metrics:
        key = (metric, roles.positive[metric])
        stands = [*obstacles, *own.get(key[1], ())]
        verdicts[key] = verdict(
            effects[key],
            plan,
            family="control",
            minimum=plan.control_minimum,
            obstacles=stands,
            unreached=before.get(key[1], 0),
        )
        for arm in quiet:
            verdicts[metric, arm] = verdict(
                effects[metric, arm],
                plan,
                family="control",
                obstacles=[*obstacles, *own.get(arm, ())],
                unreached=before.get(arm, 0),
                p=p[metric, arm],
                p_equivalent=p_equivalent[metric, arm],
            )
        controls[metric] = _controls(effects, verdicts, plan, roles, metric)
    claims = [(metric, arm) for metric in metrics for arm in roles.treatments if (metric, arm) not in verdicts]
    families: dict[Literal["confirmatory", "scan"], list[Key]] = {
        "confirmatory": [key for key in claims if key in roles.confirmatory],
        "scan": [key for key in claims if key not in roles.confirmatory],
    }
    for family, keys in families.items():
        p = _adjusted(effects, keys, "p", family)
        p_equivalent = _adjusted(effects, keys, "p_equivalent", family)
        for key in keys:
            # Too few lives for the claim are too few for its controls; once is enough to say so.
            gate = controls[key[0]].reasons if effects[key].n >= plan.minimum else ()
            verdicts[key] = verdict(
                effects[key],
                plan,
                family=family,
                obstacles=[*obstacles, *own.get(key[1], ()), *gate],
                unreached=before.get(key[1], 0),
                p=p[key],
                p_equivalent=p_equivalent[key],
            )
    return Decision(verdicts, controls)


def _adjusted(
    effects: Mapping[Key, Contrast],
    keys: Sequence[Key],
    test: Literal["p", "p_equivalent"],
    family: Literal["confirmatory", "scan"],
) -> dict[Key, float]:
    return dict(zip(keys, adjusted([getattr(effects[key], test) for key in keys], family).tolist(), strict=True))


def _controls(
    effects: Mapping[Key, Contrast], verdicts: Mapping[Key, Verdict], plan: Plan, roles: Roles, metric: str
) -> Controls:
    """The positive control must be different and slower; the null control (A/A) and the sham must not be different."""
    arm = roles.positive[metric]
    positive, null = verdicts[metric, arm], verdicts[metric, roles.null]
    sham = None if roles.sham is None else verdicts[metric, roles.sham]
    reasons = []
    if positive.word != "different" or effects[metric, arm].ratio <= 1:
        reasons.append(f"the positive control was not found slower ({positive.word}: {positive.reason})")
    for name, control in (("null control (A/A)", null), ("sham", sham)):
        if control is not None and control.word in ("different", "not valid"):
            reasons.append(f"the {name} is {control.word} ({control.reason})")
    spread = effects[metric, roles.null]
    return Controls(positive, null, sham, detectable_ratio(spread.n, spread.sd_log, alpha=plan.alpha), tuple(reasons))
