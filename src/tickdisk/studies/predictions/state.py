"""States the facts and claims about predictions: their errors beside those of the rivals, and false alarms."""

from math import isfinite

from tickdisk import stats
from tickdisk.foundation.numbers import number, percent
from tickdisk.studies.predictions.compute import METHODS, METRICS, Predicted, Results, Score
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name

LARGEST = 0.25
"""Median error above which a prediction misses its bound. It was fixed before any run."""


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `predictions.SERVER.`."""
    statement = Statement("predictions")
    statement.fact("servers", len(results.servers), "servers", source="manifests")
    statement.fact("largest_error", LARGEST, "share", source="fixed beforehand", note="largest median error of a prediction")
    for server in results.servers:
        part = statement.part(server.data.server)
        _state_lives(part, server)
        for metric, score in server.scores.items():
            _state_score(part, server, metric, score)
    return statement


def _state_lives(part: Statement, server: Predicted) -> None:
    part.word("title", server.title, source="manifests", note="name of the server")
    part.fact("captures", server.captures, "captured lives", source="manifests", note="each predicts every disk")
    note = "captured lives whose longest or mean gap the method does not give back on the captured disk; they are left out"
    part.fact("invalid_captures", server.invalid, "captured lives", source="predictions", note=note)
    part.fact("lives", server.lives, "lives", source="manifests", note="lives with which the predictions are compared")


def _state_score(part: Statement, server: Predicted, metric: str, score: Score) -> None:
    name, title = fact_name(metric), METRICS[metric][1]
    for row in score.rows.to_dict("records"):
        source = f"{row['lives']} lives, geometric mean of ratios"
        note = f"measured {title} on {number(row['latency_ms'])} ms over the baseline"
        part.fact(f"measured.{name}.{row['arm']}", row["measured"], "ratio", n=row["lives"], source=source, note=note)
        for method, words in METHODS.items():
            if method != "nothing":
                note = f"{title} on {number(row['latency_ms'])} ms over the baseline by {words}"
                source = f"{server.captures - server.invalid} captured lives, geometric mean"
                part.fact(f"{method}.{name}.{row['arm']}", row[method], "ratio", source=source, note=note)
    scored = int(score.rows["is_scored"].sum())
    part.fact(f"scored.{name}", scored, "disks", source="lives", note=f"disks that change the {title} beyond the margin")
    for method, words in METHODS.items():
        note = f"median error of the {title} over the scored disks, by the rule: {words}"
        part.fact(f"error.{name}.{method}", score.median(method), "share", n=scored, source="lives and captures", note=note)
    quiet = len(score.quiet)
    note = f"disks on which an effect on the {title} beyond the margin was predicted and none was measured"
    part.fact(f"alarms.{name}", score.alarms, "disks", n=quiet, source="lives and captures", note=note)
    _claim(part, server, metric, score)


def _claim(part: Statement, server: Predicted, metric: str, score: Score) -> None:
    name, title = fact_name(metric), METRICS[metric][1]
    own, rivals = score.median("predicted"), [score.median(method) for method in METHODS if method != "predicted"]
    errors = ", ".join(f"{words} {percent(score.median(method))}" for method, words in METHODS.items())
    known = isfinite(own)
    kept = known and own < LARGEST and all(own < rival for rival in rivals)
    what = "a captured life that the method gives back" if server.invalid == server.captures else f"an effect on the {title}"
    n = len(score.errors("predicted"))
    part.bound(
        f"predicts.{name}",
        source=THIS_PROJECT,
        statement=(
            f"{server.title}: The {title} on slower disks is predicted from one capture with a median error below "
            f"{percent(LARGEST)}, and better than by either rival"
        ),
        verdict="not valid" if not known else "kept" if kept else "missed",
        evidence=f"median errors: {errors}; {number(score.alarms)} false alarms on {number(len(score.quiet))} other disks",
        causes=() if known else (stats.NotMeasured(what=what),),
        effect=f"error.{name}.predicted",
        facts=[f"error.{name}.nothing", f"error.{name}.serial", f"alarms.{name}", f"scored.{name}"],
        n=n,
        counted="disks",
    )
