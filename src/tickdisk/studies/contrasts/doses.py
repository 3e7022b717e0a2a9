"""Tests up to which dose a metric is shown to be good and from which dose it is shown to suffer, and states both."""

from collections.abc import Mapping, Sequence

from tickdisk import stats
from tickdisk.experiment import JOIN_BURST, SWITCHBACK
from tickdisk.foundation.numbers import number
from tickdisk.studies.contrasts.compute import Contrasts
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name

_SIZING = (SWITCHBACK.name, JOIN_BURST.name)
"""The experiments whose metrics are rows of the sizing table."""


def dose_arms(effects: Contrasts, *roles: str) -> list[str]:
    """Returns the arms of some roles, such as "dose", from the lowest realised latency to the highest."""
    return sorted((arm.arm for arm in effects.data.arms if arm.role in roles), key=effects.data.dose_ms)


def sizing_rows(effects: Contrasts) -> int:
    """Returns the number of rows of the sizing table, which has all metrics of its experiments on every server."""
    return len(effects.metrics) * sum(experiment in _SIZING for experiment, _ in effects.data.pairs)


def dose_bounds(effects: Contrasts, arms: Sequence[str]) -> dict[str, stats.Bounds]:
    """Tests for each metric up to which dose it is good and from which dose it suffers, by fixed-sequence tests.

    A metric is good at a dose if its ratio to the baseline is shown to lie below 1 + margin. It suffers if the ratio is shown to
    lie above that. Both bounds are in ms of realised latency, and None if no dose is shown to satisfy them. The level is shared
    among the rows of the sizing table (Bonferroni), so that all its bounds hold together. `arms` is not empty.
    """
    alpha = effects.plan.alpha / sizing_rows(effects)

    def shared(metric: str, arm: str) -> stats.Contrast:
        return effects.data.contrast(effects.outcome.logs[metric, arm], margin=effects.margin, alpha=alpha)

    return {
        metric: stats.dose_bounds(
            [(effects.data.dose_ms(arm), shared(metric, arm)) for arm in arms],
            margin=effects.margin,
            undecided=effects.outcome.decision.controls[metric].undecided,
        )
        for metric in effects.metrics
    }


def state_doses(
    statement: Statement,
    effects: Contrasts,
    arms: Sequence[str],
    bounds: Mapping[str, stats.Bounds],
    metric: str,
    *,
    facts: Sequence[str],
    about: str = "",
) -> None:
    """States both bounds of a metric, the effect of the smallest dose, and one claim about all doses.

    Under undecided controls no latency is good. The bounds are stated as not estimable if there are too few lives, a control
    failed, or an arm is not valid. `arms` and `bounds` are those of `dose_arms` and `dose_bounds`. `facts` names further facts
    that the claim rests on. `about` are words before the statement of the claim, such as the name of a server.
    """
    name, title, plan, data, found_bounds = fact_name(metric), effects.metrics[metric], effects.plan, effects.data, bounds[metric]
    good_up_to, hurts_from, lives = found_bounds.good_up_to, found_bounds.hurts_from, found_bounds.lives
    needed = max(plan.lives, plan.minimum)
    few = [] if lives >= needed else [stats.TooFew(n=lives, needed=needed, counted="lives")]
    others: list[stats.Obstacle] = [] if few else [*effects.outcome.decision.controls[metric].failed]
    others += [obstacle for arm in arms for obstacle in effects.not_valid.get(arm, ())]
    obstacles = [*few, *others]
    words = [f"{each.n} lives of the {each.needed} that a verdict needs" for each in few]
    words += [each.sentence for each in others]
    rows = sizing_rows(effects)
    source = (
        f"fixed-sequence tests over {lives} lives, one-sided at {plan.alpha:g} for all {rows} rows of the sizing table together"
    )
    for key, value, note in (
        ("good_up_to", good_up_to, f"largest latency at which the {title} is shown to be at most {effects.margin:.0%} longer"),
        (
            "hurts_from",
            hurts_from,
            f"smallest latency from which the {title} is shown to be more than {effects.margin:.0%} longer",
        ),
    ):
        statement.fact(f"{name}_{key}", None if obstacles else value, "ms", n=lives, source=source, note=note)
    smallest = effects.outcome.contrasts[metric, arms[0]]
    note = f"{title}: effect of {data.latency_ms(arms[0]):g} ms, the smallest dose"
    ends = (smallest.low, smallest.high)
    statement.fact(f"{name}_least_dose_ratio", smallest.ratio, "ratio", interval=ends, n=smallest.n, source=source, note=note)
    statement.fact(
        f"{name}_least_dose", data.latency_ms(arms[0]), "ms", source="device models", note="the smallest dose that was tried"
    )
    undecided = effects.outcome.decision.controls[metric].undecided
    largest = effects.outcome.contrasts[metric, arms[-1]]
    is_shorter = hurts_from is None and largest.ratio < 1 and effects.verdicts[metric, arms[-1]].word == "different"
    word: stats.Word = "inconclusive"
    if hurts_from is not None or is_shorter:
        word = "different"
    elif good_up_to == data.dose_ms(arms[-1]):
        word = "equivalent"
    good = "no latency is shown to be good" if good_up_to is None else f"good up to {number(good_up_to)} ms"
    hurts = "none is shown to hurt" if hurts_from is None else f"hurts from {number(hurts_from)} ms"
    hurts += ", the largest makes it shorter" if is_shorter else ""
    found = "; ".join([f"{good}, {hurts}, between the two nothing is known ({source})", *(each.sentence for each in undecided)])
    least, most = (data.latency_ms(arms[end]) for end in (0, -1))
    statement.comparison(
        f"dose_{name}",
        source=THIS_PROJECT,
        statement=f"{about}Effect of storage latencies from {least:g} to {most:g} ms, in the order of their size, on the {title}",
        verdict="not valid" if obstacles else word,
        evidence="; ".join([*(words or [found]), *effects.caveats]),
        causes=obstacles or (undecided if word == "inconclusive" else ()),
        effect=f"{name}_ratio.{arms[-1]}",
        facts=[f"{name}_good_up_to", f"{name}_hurts_from", *facts],
        n=lives,
        counted="lives",
    )
