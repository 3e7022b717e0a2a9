"""States the facts and claims about slow reads, writes and flushes on each server."""

from collections.abc import Sequence
from math import isfinite

from tickdisk import stats
from tickdisk.foundation.numbers import interval, joined_list, number, with_interval
from tickdisk.studies import contrasts
from tickdisk.studies.operations.classes import Trial, in_sequence
from tickdisk.studies.operations.compute import Part, Results, Waited
from tickdisk.studies.operations.kinds import ALL, KINDS, SUM
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name
from tickdisk.studies.tiers import tier_name

_ANSWERS = "good, slow, open (neither is shown), outside (slower than every dose), or not valid"
_WORDS = {**KINDS, ALL: "all operations", SUM: "slow reads, writes and flushes, each alone, summed"}


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Their names begin with `operations.SERVER.`."""
    statement = Statement("operations")
    statement.fact("servers", len(results.parts), "servers", source="manifests")
    for part in results.parts:
        _state_part(statement.part(part.server), part)
    return statement


def _state_part(statement: Statement, part: Part) -> None:
    effects = part.effects
    statement.word("title", part.title, source="manifests", note="name of the server")
    contrasts.state_effects(statement, effects)
    words = {role: f"{part.title}: {each}" for role, each in contrasts.CONTROL_WORDS.items()}
    contrasts.state_controls(statement, effects, words)
    _state_met(statement, part)
    slow_ms = effects.data.latency_ms(part.arms[ALL])
    baseline_ms = effects.data.latency_ms(effects.baseline)
    for metric, title in effects.metrics.items():
        for name, arm in part.arms.items():
            latencies = f"{slow_ms:g} ms of latency of {_WORDS[name]} instead of {baseline_ms:g} ms"
            contrasts.state_claim(
                statement,
                effects,
                f"{name}.{fact_name(metric)}",
                (metric, arm),
                f"{part.title}: Effect of {latencies} on the {title}",
                notes=_notes(statement, part, name),
            )
        _state_added(statement, part, metric)
        _state_together(statement, part, metric)
        statement.word(
            f"longer_with.{fact_name(metric)}",
            _slowing(effects, [(_WORDS[op], (metric, part.arms[op])) for op in KINDS]),
            source="verdicts",
            note=f"operations that make the {title} longer if they alone are slow",
        )
        _state_classes(statement, part, metric)
    if part.waited is not None:
        _state_waited(statement, part.waited)


def _slowing(effects: contrasts.Contrasts, keys: Sequence[tuple[str, stats.Key]]) -> str:
    """Returns in words which operations are shown to make a metric longer, or that this is not decided."""
    verdicts = [(word, effects.verdicts[key].word, effects.outcome.contrasts[key].ratio) for word, key in keys]
    found = [word for word, verdict, ratio in verdicts if verdict == "different" and ratio > 1]
    if found:
        return joined_list(found)
    return "not decided" if any(verdict == "not valid" for _, verdict, _ in verdicts) else "none of the three"


def _state_met(statement: Statement, part: Part) -> None:
    source = f"device tables of {len(part.effects.data.manifests)} cells"
    for arm, op, requests, latency_ms in part.met.itertuples(index=False):
        note = f"requests of this operation in an epoch of {arm}, median over lives"
        statement.fact(f"met.{arm}.{op}", float(requests), "requests", source=source, note=note)
        note = f"their median latency in {arm}, median over lives"
        statement.fact(f"met_latency.{arm}.{op}", float(latency_ms), "ms", source=source, note=note)


def _notes(statement: Statement, part: Part, name: str) -> list[str]:
    """Returns a sentence on how many requests met the latency of an arm that makes one operation slow."""
    if name == ALL:
        return []
    met = statement[f"met.{part.arms[name]}.{name}"].value
    return [f"in the median epoch the device had {number(met or 0)} {KINDS[name]}"]


def _state_added(statement: Statement, part: Part, metric: str) -> None:
    metric_name, title = fact_name(metric), part.effects.metrics[metric]
    source = f"{len(part.effects.data.manifests)} cells, differences within lives, t interval over lives"
    for name in (*part.arms, SUM):
        added = part.added[metric, name]
        ends = (added.low, added.high)
        note = f"{title}: time added " + (
            f"by {_WORDS[SUM]}"
            if name == SUM
            else "if all operations are slow"
            if name == ALL
            else f"if only {_WORDS[name]} are slow"
        )
        statement.fact(f"added.{metric_name}.{name}", added.value, "ms", interval=ends, n=added.n, source=source, note=note)
        per_ms, low, high = (value / part.more_ms for value in (added.value, *ends))
        note = f"{note}, for each ms of latency; this would be the number of requests if ticks waited for them one after another"
        statement.fact(
            f"per_ms.{metric_name}.{name}", per_ms, "ms per ms", interval=(low, high), n=added.n, source=source, note=note
        )


def _state_together(statement: Statement, part: Part, metric: str) -> None:
    effects, together = part.effects, part.together[metric]
    name, title, source = fact_name(metric), effects.metrics[metric], "differences within lives, t interval over lives"
    apart, ratio, verdict = together.interaction_ms, together.ratio, together.verdict
    note = f"{title}: added by all operations together beyond the sum of what slow reads, writes and flushes add alone"
    ends = (apart.low, apart.high)
    statement.fact(f"interaction.{name}", apart.value, "ms", interval=ends, n=apart.n, source=source, note=note)
    note = f"{title}: with all operations slow, over the baseline and the sum of the three effects"
    ends = (ratio.low, ratio.high)
    statement.fact(f"together_ratio.{name}", ratio.ratio, "ratio", interval=ends, n=ratio.n, source=source, note=note)
    causes = stats.causes_of(ratio, verdict, effects.plan)
    words = [*([verdict.shown] if verdict.shown else []), *(cause.sentence for cause in causes)]
    words.append(f"the interaction is {with_interval(apart.value, apart.low, apart.high)} ms")
    statement.comparison(
        f"together.{name}",
        source=THIS_PROJECT,
        statement=f"{part.title}: {title[:1].upper()}{title[1:]} with all operations slow, beside the sum of the effects of slow "
        "reads, writes and flushes in ms",
        verdict=verdict.word,
        evidence="; ".join([*words, *effects.caveats]),
        causes=causes,
        effect=f"together_ratio.{name}",
        facts=[f"interaction.{name}", f"added.{name}.{SUM}", f"added.{name}.{ALL}"],
        n=verdict.n,
        counted="lives",
    )


def _state_classes(statement: Statement, part: Part, metric: str) -> None:
    """States the predicted ratio of a metric on each class of disks, the test of each class that ran live, and what is enough."""
    name, title, effects = fact_name(metric), part.effects.metrics[metric], part.effects
    source = "latencies of the class, weighted by the effects of reads, writes and flushes, and the doses of the switchback"
    for (own, device), effect in part.classes.items():
        if own != metric:
            continue
        predicted, disk, equivalent = effect.predicted, tier_name(device), effect.equivalent
        ends = (equivalent.low_ms, equivalent.high_ms)
        note = f"latency of all operations at which the {title} is as on the class {disk}"
        statement.fact(f"equivalent.{name}.{device}", equivalent.ms, "ms", interval=ends, n=predicted.n, source=source, note=note)
        ends = (predicted.low_one_sided, predicted.high_one_sided)
        note = (
            f"{title} on the class {disk} over the baseline, predicted; both bounds hold for all metrics of all servers together"
        )
        statement.fact(f"class.{name}.{device}", predicted.ratio, "ratio", interval=ends, n=predicted.n, source=source, note=note)
        statement.word(f"class_answer.{name}.{device}", effect.answer, source="bounds and controls", note=_ANSWERS)
        if effect.trial is not None:
            _state_trial(statement, part, metric, device, effect.trial)
    slowest = in_sequence(part.classes, metric)
    if slowest is not None:
        note = f"slowest class that is good enough for the {title}, if all faster classes are, too"
        statement.word(f"slowest_class.{name}", slowest, source="bounds and controls", note=note)
    if part.classes and effects.verdicts[metric, part.arms[ALL]].word != "not valid":
        statement.fact(
            f"classes_good.{name}",
            sum(effect.answer == "good" for (own, _), effect in part.classes.items() if own == metric),
            "classes",
            source="bounds and controls",
            note=f"classes that are shown to be good enough for the {title}",
        )


def _state_trial(statement: Statement, part: Part, metric: str, device: str, trial: Trial) -> None:
    name, title, disk = fact_name(metric), part.effects.metrics[metric], tier_name(device)
    measured, apart, verdict = trial.measured, trial.apart, trial.verdict
    source = "differences within lives, t interval over lives"
    ends = (measured.low_one_sided, measured.high_one_sided)
    note = f"{title} on the class {disk} over the baseline, measured; both bounds hold for all metrics of all servers together"
    statement.fact(f"class_live.{name}.{device}", measured.ratio, "ratio", interval=ends, n=measured.n, source=source, note=note)
    ends = (apart.low, apart.high)
    note = f"{title} on the class {disk}: the measured ratio over the predicted one"
    statement.fact(f"class_apart.{name}.{device}", apart.ratio, "ratio", interval=ends, n=apart.n, source=source, note=note)
    causes = stats.causes_of(apart, verdict, part.effects.plan)
    words = [*([verdict.shown] if verdict.shown else []), *(cause.sentence for cause in causes)]
    low, high = trial.predicted
    if isfinite(low):
        where = "inside" if trial.is_inside else "outside"
        words.append(f"the measured {number(measured.ratio)} lies {where} the predicted interval {interval(low, high)}")
        note = f"whether the measured {title} on the class {disk} lies inside its predicted interval, as 0 or 1"
        statement.fact(f"class_inside.{name}.{device}", int(trial.is_inside), "", n=measured.n, source=source, note=note)
    if not trial.is_hard:
        words.append("the measured effect is not shown to exceed the margin, so a prediction of no change would be as good")
    note = f"whether the effect of the class {disk} on the {title} is shown to exceed the margin, as 0 or 1"
    statement.fact(f"class_hard.{name}.{device}", int(trial.is_hard), "", n=measured.n, source=source, note=note)
    statement.comparison(
        f"held_out.{name}.{device}",
        source=THIS_PROJECT,
        statement=f"{part.title}: {title[:1].upper()}{title[1:]} on the class {disk}, beside the prediction, which leaves "
        "that class out",
        verdict=verdict.word,
        evidence="; ".join([*words, *part.effects.caveats]),
        causes=causes,
        effect=f"class_apart.{name}.{device}",
        facts=[f"class.{name}.{device}", f"class_live.{name}.{device}"],
        n=verdict.n,
        counted="lives",
    )


def _state_waited(statement: Statement, waited: Waited) -> None:
    ticks, of = waited.ticks, f"captured lives of inside_tick at {number(waited.latency_ms)} ms with {waited.players} players"
    for name, words, own in (
        ("saving", "a tick in which the server saves", ticks[ticks["saves"]]),
        ("other", "a tick without a save", ticks[~ticks["saves"]]),
    ):
        for op, word in KINDS.items():
            note = f"{word} that {words} waits for one after another, mean over ticks"
            mean = float(own[op].mean()) if len(own) else None
            statement.fact(f"waited.{name}.{op}", mean, "requests", n=len(own), source=of, note=note)
            if name == "saving":
                note = f"{word} that it waits for one after another, for each player"
                each = None if mean is None else mean / waited.players
                statement.fact(f"waited.player.{op}", each, "requests", n=len(own), source=of, note=note)
        total = float(own[list(KINDS)].sum(axis=1).mean()) if len(own) else None
        note = f"requests that {words} waits for one after another, mean over ticks"
        statement.fact(f"waited.{name}.all", total, "requests", n=len(own), source=of, note=note)
