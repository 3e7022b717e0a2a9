"""Verdicts on contrasts and on whole experiments: different, equivalent, inconclusive or not valid."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Literal

from tickdisk.foundation.numbers import interval, p_value, percent, with_interval
from tickdisk.stats.causes import (
    ControlFailed,
    ControlUndecided,
    FewerThanPlanned,
    NoInterval,
    Obstacle,
    TooFew,
    Undecided,
    Word,
)
from tickdisk.stats.contrast import Contrast
from tickdisk.stats.families import adjusted
from tickdisk.stats.power import detectable_ratio, needed_lives

Family = Literal["confirmatory", "scan", "control"]
"""Group of tests: claims that were named before the runs (confirmatory), all other claims (scan), or controls."""
Key = tuple[str, str]
"""A metric and an arm, which together name a contrast."""
MINIMUM_FOR_EQUIVALENCE = 6
"""Smallest number of lives from which a verdict can be "equivalent". The interval assumes normal contrasts, and fewer values
cannot show that they are normal.
"""


@dataclass(frozen=True)
class DecisionPlan:
    """The rules by which `verdict` decides on contrasts. They were fixed before the runs."""

    lives: int
    """Planned number of server lives, or of blocks if a block is the unit of analysis."""
    minimum: int
    """Number of lives below which a verdict is not valid."""
    control_minimum: int
    """The same for a positive control. Few lives are enough to find a large effect, but they do not prove that there is none."""
    margin: float
    """Margin of equivalence. A margin of 0.2 allows ratios from 1 / 1.2 to 1.2."""
    alpha: float
    """Two-sided level of every test."""

    @property
    def confidence(self) -> float:
        """Confidence of every interval."""
        return 1 - self.alpha


@dataclass(frozen=True)
class Roles:
    """The roles of an experiment's arms, from which `decide` knows the controls, and the claims that are confirmatory."""

    null: str
    """Arm that repeats the baseline (A/A)."""
    sham: str | None
    """Arm that has the baseline's latency and costs the emulator more processor time. None if the experiment has none."""
    positive: Mapping[str, str]
    """For each metric, the arm that must make the metric longer by construction."""
    treatments: Sequence[str]
    """Arms whose effects the claims are about."""
    confirmatory: Collection[Key] = ()
    """Claims that were named as confirmatory before the runs. All other claims are a scan."""


@dataclass(frozen=True)
class Verdict:
    """The decision on one contrast: whether the arm differs from the baseline, is equivalent to it, or neither is shown."""

    word: Word
    obstacles: tuple[Obstacle, ...]
    """Causes for which the verdict is "not valid", or "inconclusive" although a test succeeded. Otherwise it is empty."""
    shown: str
    """The effect in words, with what decided. It is empty if the verdict is "not valid"."""
    n: int
    planned: int
    family: Family
    p: float
    p_equivalent: float
    """p values of a difference and of equivalence that decided. They are adjusted if the family is adjusted."""

    @property
    def reason(self) -> str:
        """The reason for the verdict in words."""
        return self.shown or "; ".join(obstacle.sentence for obstacle in self.obstacles)


@dataclass(frozen=True)
class Controls:
    """The verdicts on the controls of one metric, which say whether claims about the metric may be decided."""

    positive: Verdict
    """Verdict on the positive control, which must be found slower than the baseline."""
    null: Verdict
    """Verdict on the arm that repeats the baseline (A/A), which must be equivalent."""
    sham: Verdict | None
    """Verdict on the sham, for which the same holds. None if the experiment has no sham."""
    detectable: float
    """Ratio that the null control, with its number of lives and its spread, would have found with 80 % power."""
    failed: tuple[ControlFailed, ...]
    """Controls that failed, so that claims about treatments may not be decided. It is empty if they may be."""
    undecided: tuple[ControlUndecided, ...]
    """Null control and sham, if they are inconclusive. Only effects beyond their intervals are then decided."""


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of an experiment by metric and arm, and its controls by metric. A claim is not valid if a control of its
    metric failed.
    """

    verdicts: Mapping[Key, Verdict]
    controls: Mapping[str, Controls]


def verdict(
    effect: Contrast,
    plan: DecisionPlan,
    *,
    family: Family = "scan",
    minimum: int | None = None,
    obstacles: Sequence[Obstacle] = (),
    undecided: Sequence[ControlUndecided] = (),
    unreached: int = 0,
    p: float | None = None,
    p_equivalent: float | None = None,
    counted: str = "lives",
) -> Verdict:
    """Gives the verdict on one contrast by the rules of a plan.

    The verdict is "not valid" if there is an obstacle, if there are fewer lives than `minimum` or than planned, or if the lives
    give no p value. Otherwise "equivalent" comes before "different", because a difference whose whole interval lies inside the
    margin is too small to matter. The reason then mentions the difference. If neither test succeeds, the verdict is
    "inconclusive".

    The `obstacles` are causes for which nothing can be decided, such as a control that failed or clients that were saturated.
    Under `undecided` controls the verdict is never "equivalent", and "different" only if the interval of the effect lies above
    those of all these controls, or below them all. Otherwise it is "inconclusive".

    The number `unreached` says how many planned lives may be missing because their server ended before the arm's turn. Turns are
    drawn at random, so the other lives represent these lives. The p values may be adjusted for a family of tests. If they are
    None, the contrast's own p values decide, and if `minimum` is None, the plan's. `counted` is the plural of the word for what
    the plan calls lives.
    """
    p = effect.p if p is None else p
    p_equivalent = effect.p_equivalent if p_equivalent is None else p_equivalent
    minimum = plan.minimum if minimum is None else minimum

    def say(word: Word, shown: str, causes: Sequence[Obstacle] = ()) -> Verdict:
        return Verdict(word, tuple(causes), shown, effect.n, plan.lives, family, p, p_equivalent)

    causes = list(obstacles)
    if effect.n < minimum:
        causes.append(TooFew(n=effect.n, needed=minimum, counted=counted))
    elif effect.n + unreached < plan.lives:
        causes.append(FewerThanPlanned(n=effect.n, planned=plan.lives, counted=counted))
    elif not isfinite(p):
        causes.append(NoInterval(n=effect.n, counted=counted))
    if causes:
        return say("not valid", "", causes)
    p_words = p_value(p) if p == effect.p else f"adjusted {p_value(p)}"
    lacking = min(unreached, max(plan.lives - effect.n, 0))
    lacking_words = f" (in {lacking} more the server ended before the arm's turn)" if lacking else ""
    nodes_words = f"; {effect.between_nodes.sentence}" if effect.between_nodes is not None else ""
    size = f"ratio {with_interval(effect.ratio, effect.low, effect.high)}, n = {effect.n}{lacking_words}"
    if effect.n >= MINIMUM_FOR_EQUIVALENCE and p_equivalent < plan.alpha:
        there = f"; a difference is there ({p_words}), smaller than the margin" if p < plan.alpha else ""
        ends = interval(effect.low_one_sided, effect.high_one_sided)
        level, margin = percent(1 - 2 * plan.alpha), percent(plan.margin)
        word: Word = "inconclusive" if undecided else "equivalent"
        return say(word, f"{size}; the {level} interval {ends} is inside the margin of {margin}{there}{nodes_words}", undecided)
    if p < plan.alpha and not is_beyond(effect.low, effect.high, undecided):
        return say("inconclusive", f"{size}, {p_words}{nodes_words}", undecided)
    return say("different" if p < plan.alpha else "inconclusive", f"{size}, {p_words}{nodes_words}")


def is_beyond(low: float, high: float, undecided: Sequence[ControlUndecided]) -> bool:
    """Returns whether the interval of a ratio lies above those of all undecided controls, or below them all."""
    return all(low > each.high for each in undecided) or all(high < each.low for each in undecided)


def lives_to_decide(effect: Contrast, decided: Verdict, plan: DecisionPlan) -> int | None:
    """Computes how many server lives would decide an inconclusive contrast with 80 % power, if its mean and spread are true.

    The verdict `decided` may have adjusted p values. The result is more than the lives of `effect`, and at least the plan's
    minimum. It is None if no feasible number would decide.
    """
    needed = needed_lives(
        log(effect.ratio),
        effect.sd_log,
        margin=plan.margin,
        alpha_different=_stricter(plan.alpha, effect.p, decided.p),
        alpha_equivalent=_stricter(plan.alpha, effect.p_equivalent, decided.p_equivalent),
    )
    return None if needed is None else max(needed, effect.n + 1, plan.minimum)


def causes_of(
    effect: Contrast, decided: Verdict, plan: DecisionPlan, *, counted: str = "lives"
) -> tuple[Obstacle | Undecided, ...]:
    """Returns the causes for which the verdict `decided` leaves a contrast open. There are none if the verdict decides.

    `counted` is the plural of the word for what the plan calls lives.
    """
    if decided.word == "inconclusive" and not decided.obstacles:
        return (Undecided(n=decided.n, needed=lives_to_decide(effect, decided, plan), counted=counted),)
    return decided.obstacles


def _stricter(alpha: float, p: float, adjusted_p: float) -> float:
    """Returns the level that an unadjusted p value must fall below so that the adjusted p value falls below `alpha`."""
    return alpha * p / adjusted_p if adjusted_p > p > 0 else alpha


def decide(
    effects: Mapping[Key, Contrast],
    plan: DecisionPlan,
    roles: Roles,
    *,
    obstacles: Sequence[Obstacle] = (),
    obstacles_by_arm: Mapping[str, Sequence[Obstacle]] | None = None,
    unreached: Mapping[str, int] | None = None,
    lent: Mapping[str, DecisionPlan] | None = None,
    counted: str = "lives",
) -> Verdicts:
    """Decides on every control and every claim of an experiment.

    Claims about a metric are decided only if the metric's controls behaved as they must. If a null control or a sham is
    inconclusive, only an effect beyond its interval is decided. Each positive control belongs to its own metric and is tested by
    itself. The null and sham controls of all metrics are one Holm family, so that chance fails one of them in at most `alpha` of
    all experiments. The confirmatory claims are one Holm family. All other claims are a scan, which is adjusted by Benjamini and
    Hochberg's method.

    The `obstacles` are causes for which no claim can be decided, and `obstacles_by_arm` has those that concern one arm. The
    mapping `unreached` has, by arm, the number of lives whose server ended before the arm's turn. A control that another
    experiment lends is decided by the plan of that one, which `lent` has by arm. `counted` is the plural of the word for what the
    plan calls lives.
    """
    own, before, plans = obstacles_by_arm or {}, unreached or {}, lent or {}
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
            plans.get(key[1], plan),
            family="control",
            minimum=plan.control_minimum,
            obstacles=stands,
            unreached=before.get(key[1], 0),
            counted=counted,
        )
        for arm in quiet:
            verdicts[metric, arm] = verdict(
                effects[metric, arm],
                plans.get(arm, plan),
                family="control",
                obstacles=[*obstacles, *own.get(arm, ())],
                unreached=before.get(arm, 0),
                p=p[metric, arm],
                p_equivalent=p_equivalent[metric, arm],
                counted=counted,
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
            # If the claim has too few lives, its controls have too few as well, and the cause need not be given twice.
            gate = controls[key[0]].failed if effects[key].n >= plan.minimum else ()
            verdicts[key] = verdict(
                effects[key],
                plan,
                family=family,
                obstacles=[*obstacles, *own.get(key[1], ()), *gate],
                undecided=controls[key[0]].undecided,
                unreached=before.get(key[1], 0),
                p=p[key],
                p_equivalent=p_equivalent[key],
                counted=counted,
            )
    return Verdicts(verdicts, controls)


def _adjusted(
    effects: Mapping[Key, Contrast],
    keys: Sequence[Key],
    test: Literal["p", "p_equivalent"],
    family: Literal["confirmatory", "scan"],
) -> dict[Key, float]:
    """Returns the p values of one test for the contrasts named by `keys`, adjusted as one family."""
    return dict(zip(keys, adjusted([getattr(effects[key], test) for key in keys], family).tolist(), strict=True))


def judge_quiet(control: Literal["null", "sham"], effect: Contrast, decided: Verdict) -> ControlFailed | ControlUndecided | None:
    """Returns the cause for which a control that must show no effect has not passed, or None if it is equivalent."""
    if decided.word == "equivalent":
        return None
    if decided.word == "inconclusive":
        return ControlUndecided(control=control, low=effect.low, high=effect.high, n=effect.n, reason=decided.reason)
    return ControlFailed(control=control, verdict=decided.word, reason=decided.reason)


def _controls(
    effects: Mapping[Key, Contrast], verdicts: Mapping[Key, Verdict], plan: DecisionPlan, roles: Roles, metric: str
) -> Controls:
    """Collects the verdicts on a metric's controls, and the controls that have not passed."""
    key, null, sham = (metric, roles.positive[metric]), (metric, roles.null), (metric, roles.sham or "")
    positive = verdicts[key]
    failed, undecided = [], []
    if positive.word != "different" or effects[key].ratio <= 1:
        failed.append(ControlFailed(control="positive", verdict=positive.word, reason=positive.reason))
    quiet: tuple[tuple[Literal["null", "sham"], Key], ...] = (("null", null), ("sham", sham))
    for name, own in quiet:
        cause = judge_quiet(name, effects[own], verdicts[own]) if own in verdicts else None
        if isinstance(cause, ControlFailed):
            failed.append(cause)
        elif cause is not None:
            undecided.append(cause)
    detectable = detectable_ratio(effects[null].n, effects[null].sd_log, alpha=plan.alpha)
    return Controls(positive, verdicts[null], verdicts.get(sham), detectable, tuple(failed), tuple(undecided))
