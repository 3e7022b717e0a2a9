"""States the facts and claims of the study of accesses: counts, means, coefficients, and the test of each published finding."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from tickdisk import accesses, stats
from tickdisk.foundation.numbers import interval, number, p_value, percent, with_interval
from tickdisk.studies.accesses.compute import LINEAR, Results, Tested
from tickdisk.studies.statement import THIS_PROJECT, Statement

_SCAN = "one of a scan (Benjamini-Hochberg)"
_CAPTURES = "captures"
_DATA_WORDS = {"npc": "NPC"}
_MEANS = {
    "share_4_8_kib": ("share", "reads and writes of exactly 4 or 8 KiB"),
    "share_sequential_reads": ("share", "reads that begin where the access before in their file ended"),
    "share_sequential_writes": ("share", "writes that begin where the access before in their file ended"),
    "save_period_s": ("s", "time from the end of a save to the end of the next"),
    "save_syncs": ("syncs", "sync calls of a save"),
    "save_requests": ("requests", "writes and syncs of a save"),
    "save_requests_per_s": ("requests/s", "writes and syncs per second while a save writes"),
    "share_saved_bytes_terrain": (
        "share",
        "terrain bytes that are written in saves; the others are written when blocks are unloaded",
    ),
    "share_saved_bytes_player": ("share", "player bytes that are written in saves; the others are written at joins and leaves"),
    "model.held_out_error": ("share", "error of the predicted requests per minute of lives that the model was not fitted to"),
    "model.in_turn_error": ("share", "error of the requests per minute of a life that is predicted from all others"),
}
"""Means that are stated as facts, by name, with unit and note."""


@dataclass(frozen=True)
class _Question:
    """A question about a ratio, with the published finding that it comes from."""

    statement: str
    ratio: str
    """Description of the ratio, which becomes the note of its fact."""
    finding: str = ""
    """Name of the published finding, or an empty text."""
    tested: str = ""
    """Fact with the quantity that was published, if that is not the ratio."""


_QUESTIONS: Mapping[str, _Question] = {
    **{
        name: _Question(
            f"Terrain reads per region in the phase of {kind} with the most regions against the phase with the fewest",
            "reads of terrain per region in the phase with the most regions over those in the phase with the fewest",
            "linear",
        )
        for kind, name in LINEAR.items()
    },
    "writes": _Question("Number of writes against number of reads", "writes over reads", "writes"),
    "sizes": _Question(
        "Number of requests of 4 or 8 KiB against number of requests of other sizes",
        "requests of 4 or 8 KiB over others",
        "sizes",
        "share_4_8_kib",
    ),
    "random.reads": _Question(
        "Number of random reads against number of sequential reads",
        "random over sequential reads",
        "random.reads",
        "share_sequential_reads",
    ),
    "random.writes": _Question(
        "Number of random writes against number of sequential writes",
        "random over sequential writes",
        "random.writes",
        "share_sequential_writes",
    ),
    "flush_interval": _Question(
        "Interval between saves as captured against the interval as set", "interval as captured over interval as set"
    ),
}


def state(results: Results) -> Statement:
    """Returns the facts and claims of the study of accesses."""
    statement = Statement("accesses")
    _state_counts(statement, results)
    _state_means(statement, results)
    _state_lines(statement, results)
    _state_coefficients(statement, results)
    for name, question in _QUESTIONS.items():
        _state_question(statement, results, name, question, results.tested[name])
    _state_prediction(statement, results)
    _state_interactions(statement, results)
    return statement


def _state_counts(statement: Statement, results: Results) -> None:
    capture, source = results.capture, _CAPTURES
    statement.fact("lives", len(results.lives), "lives", source="manifests", note="lives that were captured")
    note = "the last third of the lives, which the model is not fitted to"
    statement.fact("held_out_lives", len(results.held_out), "lives", source="manifests", note=note)
    statement.fact("lost_events", capture.lost_events, "events", source=source)
    note = "requests after the last save, which the server makes as it ends; they are not studied"
    statement.fact("at_end", capture.at_end, "requests", source=source, note=note)
    reasons = "; ".join(f"{reason}: {number(count)}" for reason, count in capture.left_out.items())
    note = f"calls that are not studied, by reason: {reasons}" if reasons else ""
    statement.fact("left_out", sum(capture.left_out.values()), "calls", source=source, note=note)
    for op in ("reads", "writes", "syncs"):
        statement.fact(op, int(results.summary[op].sum()), "requests", n=len(results.lives), source=source)


def _state_means(statement: Statement, results: Results) -> None:
    """States the means over lives. The share in saves of a data type that was not written is not estimable."""
    for name, (unit, note) in _MEANS.items():
        mean = results.means.get(name)
        statement.fact(
            name,
            None if mean is None else mean.value,
            unit,
            interval=None if mean is None else (mean.low, mean.high),
            n=0 if mean is None else mean.n,
            source="captures, mean of lives",
            note=note,
        )


def _state_lines(statement: Statement, results: Results) -> None:
    for kind, line in results.lines.items():
        ends, note = (line.low, line.high), f"reads of terrain over regions, phases of {kind}"
        explained = "share of the variance that a line explains:"
        statement.fact(f"{kind}.per_region", line.slope, "requests", interval=ends, n=line.lives, source=_CAPTURES, note=note)
        statement.fact(f"{kind}.r_squared", line.r_squared, "share", n=line.points, source=_CAPTURES, note=f"{explained} {note}")
        every, note = results.lines_all[kind], f"{explained} all requests over regions, phases of {kind}"
        statement.fact(f"{kind}.r_squared_all", every.r_squared, "share", n=every.points, source=_CAPTURES, note=note)


def _state_coefficients(statement: Statement, results: Results) -> None:
    for unit, model in (("requests", results.model), ("bytes", results.model_bytes)):
        lives = "1 life" if model.lives == 1 else f"{model.lives} lives"
        source = f"non-negative least squares over {model.windows} windows of {lives}"
        for row in accesses.nonzero_coefficients(model).to_dict("records"):
            name = f"model.{unit}.{row['routine']}.{row['data']}.{row['op']}".replace(" ", "_")
            ends, note = (row["low"], row["high"]), f"{row['op']}s of {_data(row['data'])} data by one {row['routine']}"
            statement.fact(name, row["value"], unit, interval=ends, n=model.lives, source=source, note=note)


def _state_question(statement: Statement, results: Results, name: str, question: _Question, tested: Tested) -> None:
    ratio, verdict = tested.ratio, tested.verdict
    ends, source = (ratio.low, ratio.high), "captures, geometric mean of lives"
    statement.fact(f"{name}_ratio", ratio.ratio, "ratio", interval=ends, n=ratio.n, source=source, note=question.ratio)
    causes = stats.causes_of(ratio, verdict, results.plan)
    words = [*([verdict.shown] if verdict.shown else []), *(cause.sentence for cause in causes)]
    statement.comparison(
        name,
        statement=question.statement,
        verdict=verdict.word,
        evidence="; ".join([*words, _SCAN, *results.data.marked()]),
        causes=causes,
        effect=f"{name}_ratio",
        n=ratio.n,
        counted="lives",
        finding=results.findings[question.finding] if question.finding else None,
        tested=question.tested,
    )


def _state_prediction(statement: Statement, results: Results) -> None:
    """States whether the model predicts the requests per minute within the margin. Each life is predicted from all others."""
    ratio, plan = results.prediction, results.plan
    ends, note = (ratio.low, ratio.high), "predicted over observed, each life predicted from all others"
    source = "captures, geometric mean of lives"
    statement.fact("model_ratio", ratio.ratio, "ratio", interval=ends, n=ratio.n, source=source, note=note)
    decided = stats.verdict(ratio, plan)
    beyond = ratio.low_one_sided > 1 + plan.margin or ratio.high_one_sided < 1 / (1 + plan.margin)
    place = "inside" if ratio.p_equivalent < plan.alpha else "outside" if beyond else "partly outside"
    word: stats.BoundWord = "kept" if decided.word == "equivalent" else "missed" if beyond else "inconclusive"
    margin, ends_words = percent(plan.margin), interval(ratio.low_one_sided, ratio.high_one_sided)
    size = f"ratio {with_interval(ratio.ratio, ratio.low, ratio.high)}, n = {ratio.n}"
    reason = f"{size}; the {percent(1 - 2 * plan.alpha)} interval {ends_words} is {place} the margin of {margin}"
    statement.bound(
        "model",
        source=THIS_PROJECT,
        statement=f"Requests per minute of a life that the model was not fitted to are predicted within {margin}",
        verdict="not valid" if decided.obstacles else word,
        evidence="; ".join([decided.reason if decided.obstacles else reason, *results.data.marked()]),
        causes=decided.obstacles,
        effect="model_ratio",
        facts=["model.in_turn_error", "model.held_out_error"],
        n=ratio.n,
        counted="lives",
    )


def _state_interactions(statement: Statement, results: Results) -> None:
    """States, for each published interaction that players perform here, whether it causes the published accesses."""
    effects = results.effects
    for row in effects[effects["published"] & (effects["lives"] > 0)].to_dict("records"):
        cause, data, op, lives = row["interaction"], row["data"], row["op"], int(row["lives"])
        name = f"interaction.{cause.lower().replace(' ', '_')}.{data}.{op}"
        ends, note = (row["low"], row["high"]), "requests per interaction beyond those of quiet windows"
        fact = statement.fact(name, row["per_event"], "requests", interval=ends, n=lives, source=_CAPTURES, note=note)
        obstacles = _obstacles(results, row)
        found: stats.Word = "different" if row["p_adjusted"] < results.plan.alpha else "inconclusive"
        size = f"{fact.text} each, adjusted {p_value(row['p_adjusted'])}"
        statement.comparison(
            name,
            statement=f"Number of {_data(data)} {op}s in windows of {cause} against quiet windows",
            verdict="not valid" if obstacles else found,
            evidence="; ".join([*([each.sentence for each in obstacles] or [size]), _SCAN, *results.data.marked()]),
            causes=obstacles,
            effect=name,
            n=lives,
            counted="lives",
            finding=results.findings["interaction"].about(f"{_data(data)} {op}s per {cause} beyond those of quiet windows"),
        )


def _obstacles(results: Results, row: Mapping[Hashable, Any]) -> list[stats.Obstacle]:
    """Returns the causes for which an interaction can have no verdict. In some lives it may have no window of its own."""
    plan, lives = results.plan, int(row["lives"])
    if lives < plan.minimum:
        return [stats.TooFew(n=lives, needed=plan.minimum, counted="lives")]
    if len(results.lives) < plan.lives:
        return [stats.FewerThanPlanned(n=len(results.lives), planned=plan.lives, counted="lives")]
    return [] if isfinite(row["p_adjusted"]) else [stats.NoInterval(n=lives, counted="lives")]


def _data(data: str) -> str:
    return _DATA_WORDS.get(data, data)
