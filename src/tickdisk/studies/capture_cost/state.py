"""States the facts and claims of the capture cost: captures, the micro-workload, effects and controls."""

import pandas as pd

from tickdisk import stats
from tickdisk.studies import contrasts
from tickdisk.studies.capture_cost.compute import Results
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name

_LIMIT = 5.0
"""Bound on the time of a 4 KiB pread from memory under a bpftrace capture, as a ratio to the time without a capture."""


def state(results: Results) -> Statement:
    """Returns the facts and claims of the study of the capture cost."""
    statement, found = Statement("capture_cost"), results.contrasts
    contrasts.state_found(statement, found)
    _state_captures(statement, results)
    _state_micro(statement, results)
    contrasts.state_controls(statement, found, contrasts.NO_CAPTURE_WORDS)
    for metric, arm in contrasts.treatment_claims(found):
        words = f"Effect of a capture by {arm.replace('_', ' ')} on the {found.metrics[metric]}"
        contrasts.state_claim(statement, found, f"{arm}.{fact_name(metric)}", (metric, arm), words)
    return statement


def _state_captures(statement: Statement, results: Results) -> None:
    captures = pd.DataFrame([dict(capture) for life in results.lives for capture in life.manifest.captures])
    for arm, own in captures.groupby("arm"):
        source = f"captures of {len(own)} epochs"
        statement.fact(f"lost_events.{arm}", int(own["lost_events"].sum()), "events", n=int(own["events"].sum()), source=source)
        statement.fact(f"captured_requests.{arm}", int(own["requests"].sum()), "requests", n=len(own), source=source)


def _state_micro(statement: Statement, results: Results) -> None:
    for tool, level in results.micro_ns.items():
        interval, source = (level.low, level.high), "micro-workload: 4 KiB preads from memory"
        note = "geometric mean over rounds"
        statement.fact(f"micro_ns.{tool}", level.ratio, "ns", interval=interval, n=level.n, source=source, note=note)
    for tool, cost in results.micro_ratio.items():
        interval, source = (cost.low, cost.high), "micro-workload, paired within rounds"
        note = f"time of a 4 KiB pread from memory under {tool} over none"
        statement.fact(f"micro_ratio.{tool}", cost.ratio, "ratio", interval=interval, n=cost.n, source=source, note=note)
        own = results.micro[results.micro["tool"] == tool]
        lost, seen = int(own["lost_events"].sum()), int(own["events"].sum())
        note = "n is the number of captured preads"
        statement.fact(f"micro_lost.{tool}", lost, "events", n=seen, source="micro-workload", note=note)
    bpftrace, minimum = results.micro_ratio["bpftrace"], results.contrasts.plan.minimum
    few = [stats.TooFew(n=bpftrace.n, needed=minimum, counted="rounds")] if bpftrace.n < minimum else []
    verdict: stats.BoundWord = "kept" if bpftrace.high < _LIMIT else "missed" if bpftrace.low > _LIMIT else "inconclusive"
    evidence = f"ratio {statement['micro_ratio.bpftrace'].text}, {statement['micro_lost.bpftrace'].text} lost"
    statement.bound(
        "micro_bpftrace",
        source=THIS_PROJECT,
        statement=f"A 4 KiB pread from memory takes less than {_LIMIT:g} times as long under a capture by bpftrace",
        verdict="not valid" if few else verdict,
        evidence="; ".join([evidence, *(each.would_decide for each in few)]),
        causes=few,
        effect="micro_ratio.bpftrace",
        facts=["micro_ratio.strace", "micro_ratio.strace_positioned", "micro_lost.bpftrace"],
        n=bpftrace.n,
        counted="rounds",
    )
