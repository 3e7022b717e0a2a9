"""States the facts and claims about contrasts: effects, lives, requests, controls, and claims about treatments."""

from collections.abc import Sequence

import numpy as np

from tickdisk import stats
from tickdisk.foundation.numbers import percent, with_interval
from tickdisk.studies.contrasts.compute import Contrasts
from tickdisk.studies.statement import MustBe, Statement, fact_name

_LATE = "99th percentile of the time from the moment at which the model answers a request to its reply"
_SCAN = "the claim is one of a scan (Benjamini-Hochberg)"
CONTROL_WORDS = {
    "ticks": "Effect of a known delay of {delay} ms in the tick on the {metric} (positive control)",
    "actions": "Effect of a known delay of {delay} ms in the server's answers on the {metric} (positive control)",
    "both": "Effect of known delays of {ticks} ms in the tick and of {actions} ms in the server's answers on the {metric} "
    "(positive control)",
    "apart": "Effect of a known delay of {delay} ms in the server's answers on the {metric}, which has no part in answers",
    "null": "Effect of the same device under another name on the {metric} (A/A control)",
    "sham": "Effect of the emulator's CPU time alone on the {metric} (sham control)",
}
"""Statements of the claims about controls. The positive control has one for metrics of ticks and one for metrics of actions, and
the latter arm has one for metrics of ticks. An arm with both delays has one of its own.
"""
NO_CAPTURE_WORDS = {**CONTROL_WORDS, "null": "Effect of a second arm without a capture on the {metric} (A/A control)"}
"""Statements of the controls in the study of the capture cost."""


def treatment_claims(effects: Contrasts) -> list[stats.Key]:
    """Returns the metric and the arm of every claim that is not about a control."""
    known = {arm.arm for arm in effects.data.arms if arm.role == "delay"}
    return [key for key, verdict in effects.verdicts.items() if verdict.family != "control" and key[1] not in known]


def state_effects(statement: Statement, effects: Contrasts) -> None:
    """States facts about the arms of an experiment, but no claims: effects, doses, requests, lives, and planned power."""
    _state_arms(statement, effects)
    _state_effects(statement, effects)
    _state_lives(statement, effects)
    _state_requests(statement, effects)
    for name, each in effects.powers.items():
        sd = effects.data.decision.planned_life_sd
        note = f"chance that {each.question}, for {each.claims} claims (Holm) and an SD of a life's contrast of {sd} (log scale)"
        source = "simulation with the planned standard deviation"
        statement.fact(f"power_{name}", 100 * each.power, "%", n=effects.plan.lives, source=source, note=note)


def _state_arms(statement: Statement, effects: Contrasts) -> None:
    for arm in effects.data.arms:
        note = "realised by calibration on this machine"
        if arm.has_operations_apart:
            continue  # It has no one latency.
        statement.fact(f"latency.{arm.arm}", effects.data.latency_ms(arm.arm), "ms", source="device models", note="nominal")
        statement.fact(f"dose.{arm.arm}", effects.data.dose_ms(arm.arm), "ms", source="calibration", note=note)


def _state_effects(statement: Statement, effects: Contrasts) -> None:
    level = f"{percent(effects.plan.confidence)} interval"
    source = f"{len(effects.data.manifests)} cells of {effects.name}, log ratios of lives"
    own = {key: effect for key, effect in effects.outcome.contrasts.items() if key[1] in effects.arms}
    for (metric, arm), effect in own.items():
        reference = effects.baseline if arm == effects.roles.null else f"the mean of {effects.baseline} and {effects.roles.null}"
        statement.fact(
            f"{fact_name(metric)}_ratio.{arm}",
            effect.ratio,
            "ratio",
            interval=(effect.low, effect.high),
            n=effect.n,
            source=source,
            note=f"{effects.metrics[metric]}: {arm} over {reference}, geometric mean, {level}",
        )
    for metric, title in effects.metrics.items():
        _state_added(statement, effects, metric, title)
        rows = effects.table[(effects.table["arm"] == effects.baseline) & (effects.table[metric] > 0)]
        of_lives = np.log(rows.groupby("life")[metric].mean())
        mean = stats.contrast(of_lives.to_numpy(float), margin=effects.margin, alpha=effects.plan.alpha)
        interval, note = (mean.low, mean.high), f"{title} of {effects.baseline}, geometric mean over lives"
        statement.fact(f"{fact_name(metric)}_baseline", mean.ratio, "ms", interval=interval, n=mean.n, source=source, note=note)
        controls = effects.outcome.decision.controls[metric]
        note = f"{title}: the A/A control would have found it with 80 % power (unadjusted level)"
        name = f"{fact_name(metric)}_detectable_ratio"
        statement.fact(name, controls.detectable, "ratio", n=controls.null.n, source=source, note=note)


def _state_added(statement: Statement, effects: Contrasts, metric: str, title: str) -> None:
    """States in ms what each arm adds to a metric: the mean over lives of its difference to the mean of both baselines."""
    values = effects.table.pivot_table(index="life", columns="arm", values=metric)
    both = values.reindex(columns=[effects.baseline, effects.roles.null]).mean(axis=1)
    for arm in (arm for arm in effects.arms if arm != effects.roles.null):
        added = stats.over_lives(values[arm] - both if arm in values else [], effects.plan.alpha)
        note = f"{title}: {arm} less the mean of {effects.baseline} and {effects.roles.null}, mean over lives"
        name, ends = f"{fact_name(metric)}_added.{arm}", (added.low, added.high)
        statement.fact(name, added.value, "ms", interval=ends, n=added.n, source="epochs of a life, t interval", note=note)


def _state_lives(statement: Statement, effects: Contrasts) -> None:
    data, source = effects.data, "manifests"
    lives = data.lives
    attempts = [attempt for life in lives for attempt in life.manifest.attempts[:-1]]
    reasons = "; ".join(list(dict.fromkeys(reason for attempt in attempts for reason in attempt.reasons))[:3])
    statement.fact("lives", len(lives), "lives", source=source)
    statement.fact("replaced_lives", len(attempts), "lives", source=source, note=reasons)
    marked = "these lives were disturbed from outside even in their last replacement; they count"
    statement.fact("marked_lives", sum(life.marked for life in lives), "lives", source=source, note=marked)
    ended = sum(life.manifest.ended is not None for life in lives)
    statement.fact("ended_lives", ended, "lives", source=source, note="in these lives the server ended by itself; they count")
    statement.fact("cells", len(data.manifests), "cells", source=source, note="; ".join(data.not_used))
    note = "contrasts are within a life, so lives with different calibrations are tested together"
    statement.fact("calibrations", data.calibrations, "calibrations", source=source, note=note)
    statement.fact("planned_lives", effects.plan.lives, "lives", source="plan", note=f"verdicts from {effects.plan.minimum} on")
    most = max((effect.n for effect in effects.outcome.contrasts.values()), default=0)
    note = f"lives with a contrast, of {effects.plan.lives} planned"
    statement.fact("contrasts", most, "lives", source=source, note=note)


def _state_requests(statement: Statement, effects: Contrasts) -> None:
    for arm, own in effects.requests.groupby("arm", sort=False):
        note, source = "median over lives, from the device's log; it shows if the arm was put to the test", f"{len(own)} epochs"
        statement.fact(f"requests.{arm}", float(own["requests"].median()), "requests", n=len(own), source=source, note=note)
        statement.fact(f"request_latency.{arm}", float(own["latency_ms"].median()), "ms", n=len(own), source=source, note=note)
        late_ms, words = float(own["late_p99_ms"].median()), f"{_LATE}, median over lives"
        statement.fact(f"request_late_p99.{arm}", late_ms, "ms", n=len(own), source=source, note=words)
    late = effects.requests.groupby("arm", sort=False)["late_p99_ms"].median()
    words = f"{_LATE}, in the arm in which it is longest"
    statement.fact("request_late_p99", float(late.max()), "ms", n=len(effects.requests), source="device tables", note=words)


def state_controls(statement: Statement, effects: Contrasts, words: dict[str, str] = CONTROL_WORDS) -> None:
    """States one claim for each metric and each of its controls.

    `words` has the statements: "ticks" and "actions" for the positive control of each kind of metric, "null", "sham" and "apart".
    """
    arms_by_name = {arm.arm: arm for arm in effects.data.arms}
    held = next((arm.arm for arm in effects.data.arms if arm.delays_only_actions), None)
    for metric, title in effects.metrics.items():
        arms = {"positive": effects.roles.positive[metric], "null": effects.roles.null, "sham": effects.roles.sham}
        arms["apart"] = held if effects.kind(metric) == "ticks" else None
        for role, arm in arms.items():
            if arm is None or arm not in arms_by_name:
                continue  # A control of another experiment is stated there.
            kind, delays = effects.kind(metric), arms_by_name[arm]
            own = {"ticks": delays.tick_delay_ms, "actions": delays.action_delay_ms}
            word = role if role != "positive" else "both" if None not in own.values() else kind
            delay_ms = own["ticks" if word == "ticks" else "actions"]
            question = words[word].format(metric=title, delay=delay_ms, **own)
            state_claim(
                statement,
                effects,
                f"{role}.{fact_name(metric)}",
                (metric, arm),
                question,
                must_be="different" if role == "positive" else "equivalent",
            )


def state_claim(
    statement: Statement,
    effects: Contrasts,
    name: str,
    key: stats.Key,
    question: str,
    *,
    finding: stats.Finding | None = None,
    notes: Sequence[str] = (),
    must_be: MustBe = "",
) -> None:
    """States the claim about the effect of an arm on a metric, with the words of its verdict as evidence.

    `key` is the metric and the arm, on which there must be a verdict. `finding` is None if the claim is not about a published
    finding. `notes` are further remarks for the evidence. `must_be` is the verdict that a control must have.
    """
    metric, arm = key
    verdict, effect = effects.verdicts[key], effects.outcome.contrasts[key]
    causes = stats.causes_of(effect, verdict, effects.plan)
    words = [*([verdict.shown] if verdict.shown else []), *(cause.sentence for cause in causes)]
    if verdict.family == "scan":
        words.append(_SCAN)
    if finding is not None:
        latencies = f"{effects.data.latency_ms(arm):g} ms over {effects.data.latency_ms(effects.baseline):g} ms"
        finding = finding.about(f"{effects.metrics[metric]}, {latencies}")
    beside = without_marked(effects, key)
    words += [f"without marked lives {beside}"] if beside else []
    statement.comparison(
        name,
        statement=question,
        verdict=verdict.word,
        evidence="; ".join([*words, *notes, *effects.caveats, *effects.untested_latency(arm)]),
        causes=causes,
        effect=f"{fact_name(metric)}_ratio.{arm}",
        facts=[f"requests.{arm}"],
        n=verdict.n,
        counted="lives",
        finding=finding,
        must_be=must_be,
    )


def without_marked(effects: Contrasts, key: stats.Key) -> str:
    """Returns in words the effect of an arm on a metric without marked lives: the ratio with its interval, n, and the verdict.

    The text is empty if no life is marked, or if every life is.
    """
    if effects.unmarked is None:
        return ""
    verdict, effect = effects.unmarked.decision.verdicts.get(key), effects.unmarked.contrasts[key]
    word = "" if verdict is None else f", {verdict.word}"
    return f"{with_interval(effect.ratio, effect.low, effect.high)}, n = {effect.n}{word}"
