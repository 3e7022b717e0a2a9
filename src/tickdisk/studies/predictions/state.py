"""States the facts and claims about predictions: their errors beside those of the rivals, false alarms, and the A/A control."""

from collections.abc import Mapping

import numpy as np

from tickdisk import stats
from tickdisk.foundation.numbers import joined_list, number, percent
from tickdisk.studies.predictions.compute import METHODS, METRICS, Predicted, Results
from tickdisk.studies.predictions.score import LARGEST, Disk, Outcome, Score
from tickdisk.studies.statement import THIS_PROJECT, Statement, count_text, fact_name

_GROUPS = {"held out": ("", "that no rule had seen"), "seen": ("seen.", "that the rules had seen")}
"""The groups of disks: the beginning of the names of their facts, and words that follow the word disks."""
_OUTCOMES: Mapping[Outcome, str] = {
    "scored": "an effect beyond the margin was measured",
    "quiet": "the measured effect lies inside the margin",
    "undecided": "neither an effect beyond the margin nor one inside it is shown",
    "not valid": "no effect could be measured",
}


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `predictions.SERVER.`."""
    statement = Statement("predictions")
    statement.fact("servers", len(results.servers), "servers", source="manifests")
    note = "the median error of a prediction must lie below it"
    statement.fact("largest_error", LARGEST, "share", source="fixed beforehand", note=note)
    for server in results.servers:
        part = statement.part(server.data.server)
        _state_lives(part, server)
        for metric in METRICS:
            _state_again(part, server, metric)
            for group, scores in server.scores.items():
                for disk in scores[metric].disks:
                    _state_disk(part, server, metric, disk)
                _state_score(part, server, metric, group)
            _claim(part, server, metric)
    return statement


def _state_lives(part: Statement, server: Predicted) -> None:
    part.word("title", server.title, source="manifests", note="name of the server")
    note = "captured lives that count; each predicts every slower disk"
    part.fact("captures", server.captures, "captured lives", source="manifests", note=note)
    note = "captured lives whose longest or mean gap the method does not give back on the captured disk; they do not count"
    part.fact("invalid_captures", server.invalid, "captured lives", source="predictions", note=note)
    note = "captured lives in which the server ended, or the clients were short of processor time; they do not count"
    part.fact("captures_not_played", server.not_played, "captured lives", source="manifests", note=note)
    unsettled = sum(each.is_valid and not each.is_settled for each in server.predictions)
    note = "predictions in which timers and locks did not settle"
    part.fact("unsettled", unsettled, "predictions", n=len(server.predictions), source="predictions", note=note)
    part.fact("lives", server.lives, "lives", source="manifests", note="lives with which the predictions are compared")
    for group, (prefix, words) in _GROUPS.items():
        named = joined_list([f"{number(disk.latency_ms)} ms" for disk in next(iter(server.scores[group].values())).disks])
        part.word(f"{prefix}disks", named or "none", source="experiments.tsv", note=f"latencies of the disks {words}")


def _state_again(part: Statement, server: Predicted, metric: str) -> None:
    name, title, effect, verdict = fact_name(metric), METRICS[metric][1], server.again[metric], server.verdicts[metric]
    note = f"{title} on the fast disk again, over the fast disk (A/A)"
    ends = (effect.low, effect.high)
    part.fact(f"again.{name}", effect.ratio, "ratio", interval=ends, n=effect.n, source="log ratios of lives", note=note)
    causes = stats.causes_of(effect, verdict, server.plan)
    part.comparison(
        f"again.{name}",
        source=THIS_PROJECT,
        statement=f"{server.title}: Effect of nothing at all on the {title} (A/A control)",
        verdict=verdict.word,
        evidence="; ".join([*([verdict.shown] if verdict.shown else []), *(cause.sentence for cause in causes)]),
        causes=causes,
        effect=f"again.{name}",
        n=verdict.n,
        counted="lives",
        must_be="equivalent",
    )


def _state_disk(part: Statement, server: Predicted, metric: str, disk: Disk) -> None:
    name, title, on = fact_name(metric), METRICS[metric][1], f"{number(disk.latency_ms)} ms"
    effect, plan = disk.measured, server.plan
    note, ends = f"measured {title} on {on} over the fast disk", (effect.low, effect.high)
    part.fact(f"measured.{name}.{disk.arm}", effect.ratio, "ratio", interval=ends, n=effect.n, source="lives", note=note)
    for method, words in METHODS.items():
        if method != "nothing":
            found = stats.contrast(np.log(disk.ratios[method].dropna()), margin=plan.margin, alpha=plan.alpha)
            note, ends = f"{title} on {on} over the fast disk by {words}", (found.low, found.high)
            part.fact(
                f"{method}.{name}.{disk.arm}", found.ratio, "ratio", interval=ends, n=found.n, source="captured lives", note=note
            )
    note = f"error of the predicted {title} on {on}, median over captured lives ({disk.outcome})"
    part.fact(
        f"error.{name}.{disk.arm}", disk.error("predicted"), "share", n=len(disk.ratios), source="captured lives", note=note
    )


def _state_score(part: Statement, server: Predicted, metric: str, group: str) -> None:
    name, title, score = fact_name(metric), METRICS[metric][1], server.scores[group][metric]
    prefix, words = _GROUPS[group]
    scored = len(score.having("scored"))
    for outcome, shown in _OUTCOMES.items():
        note = f"disks {words} and on which {shown} ({title})"
        own = len(score.having(outcome))
        part.fact(f"{prefix}{outcome.replace(' ', '_')}.{name}", own, "disks", n=len(score.disks), source="lives", note=note)
    over = _over(server, scored, words)
    for method, rule in METHODS.items():
        note = f"median error of the {title} over {over}, by the rule: {rule}"
        part.fact(f"{prefix}error.{name}.{method}", score.median(method), "share", n=scored, source="lives", note=note)
    worst, single = score.worst, score.by_capture
    note = f"error of the predicted {title} on the worst of {over}" + (f": {number(worst.latency_ms)} ms" if worst else "")
    error = None if worst is None else worst.error("predicted")
    part.fact(f"{prefix}worst.{name}", error, "share", n=scored, source="lives", note=note)
    for end, value in (("smallest", single.min()), ("largest", single.max())):
        note = f"{end} median error of the {title} by one captured life, over {over}"
        part.fact(f"{prefix}{end}_of_captures.{name}", float(value), "share", n=len(single), source="captured lives", note=note)
    alarms, n = score.alarms
    note = f"predictions of an effect on the {title} beyond the margin, on quiet disks {words}"
    part.fact(f"{prefix}alarms.{name}", alarms, "predictions", n=n, source="lives and captured lives", note=note)


def _over(server: Predicted, disks: int, words: str) -> str:
    """Returns in words over what a median is taken."""
    return f"{count_text(disks, 'disks')} {words} and {count_text(server.captures, 'captured lives')}"


def _claim(part: Statement, server: Predicted, metric: str) -> None:
    name, title, score = fact_name(metric), METRICS[metric][1], server.held_out[metric]
    verdict, causes = score.decided(server.captures, server.plan.control_minimum)
    facts = [*(f"error.{name}.{rival}" for rival in ("nothing", "serial")), f"worst.{name}", f"alarms.{name}", f"scored.{name}"]
    part.bound(
        f"predicts.{name}",
        source=THIS_PROJECT,
        statement=(
            f"{server.title}: The {title} on disks {_GROUPS['held out'][1]} is predicted from one capture with a median error "
            f"below {percent(LARGEST)}, and better than by either rival"
        ),
        verdict=verdict,
        evidence="; ".join([*(_sentence(cause) for cause in causes), *_evidence(server, score)]),
        causes=causes,
        effect=f"error.{name}.predicted",
        facts=[*facts, f"undecided.{name}", f"seen.error.{name}.predicted"],
        n=server.captures,
        counted="captured lives",
    )


def _sentence(cause: stats.Cause) -> str:
    shown = "no measured effect is shown to lie beyond the margin"
    return shown if isinstance(cause, stats.NotShown | stats.PointsNotJudged | stats.LivesFailed) else cause.sentence


def _evidence(server: Predicted, score: Score) -> list[str]:
    """Returns the errors in words, with the worst disk and the captured lives by themselves, and the false alarms."""
    alarms, n = score.alarms
    worst, single = score.worst, score.by_capture
    counts = [f"{number(len(score.having(outcome)))} {outcome}" for outcome in _OUTCOMES]
    said = [f"{joined_list(counts)} among {count_text(len(score.disks), 'disks')} {_GROUPS['held out'][1]}"]
    if worst is not None:
        errors = ", ".join(f"{words} {percent(score.median(method))}" for method, words in METHODS.items())
        said += [
            f"median errors over {_over(server, len(score.having('scored')), _GROUPS['held out'][1])}: {errors}",
            f"worst disk {number(worst.latency_ms)} ms with {percent(worst.error('predicted'))}",
            f"single captured lives from {percent(float(single.min()))} to {percent(float(single.max()))}",
        ]
    return [*said, f"{number(alarms)} false alarms in {count_text(n, 'predictions')} of quiet disks"]
