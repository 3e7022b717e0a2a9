"""States the facts about loads, and the claims that hold published findings about games against them."""

from collections.abc import Callable, Mapping

import numpy as np

from tickdisk import stats
from tickdisk.characterise import NUMBERS, Description, PublishedLoad
from tickdisk.foundation.numbers import number
from tickdisk.studies.inspect.compute import Results
from tickdisk.studies.statement import Statement

NAME = "inspect"
_TABLES = "requests tables"


def state(results: Results) -> Statement:
    """Returns the facts about each load, and claims if the loads are those of a planned run.

    The names of a load's facts begin with `inspect.LOAD.`. There is a claim for each published finding about games that a load
    can be held against.
    """
    statement = Statement(NAME)
    statement.fact("loads", len(results.descriptions), "loads", source=_TABLES)
    statement.word("first", results.descriptions[0].key, source=_TABLES, note="key of the load that is drawn in detail")
    for reference in results.references:
        _state_reference(statement.part(f"published.{reference.load.lower().replace(' ', '_')}"), reference, results.source)
    for description in results.descriptions:
        part = statement.part(description.key)
        _state_load(part, description)
        if results.rules is not None:
            _state_claims(part, description, results.findings, results.rules)
    return statement


def _state_reference(statement: Statement, reference: PublishedLoad, source: str) -> None:
    values = {
        "share_reads": (reference.share_reads, "share"),
        "least_size": (reference.least_kib, "KiB"),
        "most_size": (reference.most_kib, "KiB"),
        "peak_ratio": (reference.peak_ratio, "ratio"),
        "hot_ratio": (reference.hot_ratio, "ratio"),
        "queue_most": (reference.queue_most, ""),
    }
    for name, (value, unit) in values.items():
        if value is not None:
            statement.fact(name, value, unit, source=source, note=reference.said)


def _state_load(statement: Statement, description: Description) -> None:
    n = len(description.runs)
    statement.word("title", description.title, source=_TABLES, note="name of the load")
    statement.word("kind", description.kind.sentence, source=_TABLES, note="the load in one sentence")
    statement.word(
        "nearest", description.kind.nearest, source=_TABLES, note="published load with the most similar share of reads"
    )
    statement.fact("runs", n, "runs", source=_TABLES)
    statement.fact("failed", description.failed, "requests", n=n, source=_TABLES, note="reads and writes that failed")
    for name, (unit, note) in NUMBERS.items():
        mean = description.means[name]
        ends, words = (mean.low, mean.high), f"{note}; mean over runs"
        statement.fact(name, mean.value, unit, interval=ends, n=mean.n, source=_TABLES, note=words)
    if description.level == "syscall" and "reuse" in description.parts:
        found = description.part("reuse")
        note = "different pages of 4 KiB in the first run"
        statement.fact("distinct", found.distinct_mib, "MiB", n=1, source=_TABLES, note=note)


def _state_claims(
    statement: Statement, description: Description, findings: Mapping[str, stats.Finding], rules: stats.DecisionPlan
) -> None:
    for name, (question, ratio, compute, finding, tested) in _QUESTIONS.items():
        logs = np.array([np.log(value) for run in description.runs if np.isfinite(value := compute(run)) and value > 0])
        effect = stats.contrast(logs, margin=rules.margin, alpha=rules.alpha)
        verdict = stats.verdict(effect, rules, p=effect.p, p_equivalent=effect.p_equivalent)
        statement.fact(
            f"{name}_ratio", effect.ratio, "ratio", interval=(effect.low, effect.high), n=effect.n, source=_TABLES, note=ratio
        )
        few = [cause.would_decide for cause in verdict.obstacles if isinstance(cause, stats.TooFew)]
        statement.comparison(
            name,
            statement=f"{description.title}: {question}",
            verdict=verdict.word,
            evidence="; ".join([f"ratio {statement[f'{name}_ratio'].text}, n = {number(effect.n)}", *few]),
            causes=verdict.obstacles,
            effect=f"{name}_ratio",
            n=effect.n,
            counted="lives",
            finding=findings[finding].about(f"{description.title}: {findings[finding].quantity}"),
            tested=tested,
        )


_QUESTIONS: Mapping[str, tuple[str, str, Callable[[Mapping[str, float]], float], str, str]] = {
    "reads_over_writes": (
        "Number of reads against number of writes",
        "reads over writes",
        lambda run: (run["reads"] + 0.5) / (run["writes"] + 0.5),
        "games.reads",
        "share_reads",
    ),
    "tails": (
        "99th percentile of the latency of the largest requests against that of the smallest",
        "p99 of the largest class of sizes over that of the smallest",
        lambda run: run["tail_ratio"],
        "games.tails",
        "",
    ),
}
"""Questions about a ratio: statement, description of the ratio, its value, the name of the published finding, and the fact with
the published quantity, if that is not the ratio.
"""
