"""States the facts and claims of the study of pools."""

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.foundation.numbers import number
from tickdisk.studies.pools.compute import LARGE, MAIN, SMALL, Results
from tickdisk.studies.statement import THIS_PROJECT, Statement

NAME = "pools"
_FOUR = 4
"""Number of pools of the published finding."""
_RUNS = "simulations with different seeds"


def state(results: Results) -> Statement:
    """Returns the facts and claims of the study of pools."""
    statement = Statement(NAME)
    statement.fact("runs", results.rules.lives, "runs", source="configuration", note="simulations with different seeds")
    for phase, workload in results.workloads.items():
        source = f"capture {workload.name}"
        own = len(workload.requests)
        statement.fact(f"{phase}.requests", own, "requests", source=source, note="with inserted writes")
        note = "writes that were put before reads of pages that nothing had written"
        statement.fact(f"{phase}.inserted", workload.inserted, "writes", n=own, source=source, note=note)
        statement.fact(f"{phase}.rejected", sum(workload.rejected.values()), "requests", source=source, note="they do not count")
        note = "requests for which the two readings of the dependency rule differ"
        statement.fact(f"{phase}.differ", workload.differ / own, "share", n=own, source=source, note=note)
        for depth in results.depths:
            throughput = results.of(workload=phase, queue_depth=depth)["mb_per_s"]
            _mean(statement, results, f"{phase}.mb_per_s.depth_{depth}", throughput, "MB/s")
        for name in results.described:
            rows = results.of(workload=phase, pool=name, queue_depth=LARGE)
            _mean(statement, results, f"{phase}.mb_per_s.{name}", rows["mb_per_s"], "MB/s")
            _mean(statement, results, f"{phase}.response_p99.{name}", rows["response_p99_us"] / 1e3, "ms")
            _mean(statement, results, f"{phase}.device_writes.{name}", rows["device_writes"], "ratio")
            _mean(statement, results, f"{phase}.device_reads.{name}", rows["device_reads"], "ratio")
    _state_identity(statement, results)
    _state_four(statement, results)
    _state_depth(statement, results)
    _state_rule(statement, results)
    return statement


def _mean(statement: Statement, results: Results, name: str, values: pd.Series, unit: str) -> None:
    mean = stats.over_lives(values, results.rules.alpha)
    statement.fact(name, mean.value, unit, interval=(mean.low, mean.high), n=mean.n, source=_RUNS, note="mean over seeds")


def _state_identity(statement: Statement, results: Results) -> None:
    broken = int((~results.runs["holds_identity"]).sum())
    statement.fact("identity.broken", broken, "runs", n=len(results.runs), source=_RUNS)
    statement.bound(
        "identity",
        statement="The number of requests is reads plus first and later writes of segments less splits (printed with a minus "
        "before the later writes)",
        verdict="missed" if broken else "kept",
        evidence=f"{broken} of {number(len(results.runs))} simulations break it",
        effect="identity.broken",
        n=len(results.runs),
        counted="simulations",
        finding=results.findings["pools.identity"],
    )


def _state_four(statement: Statement, results: Results) -> None:
    counts = set(results.runs["pools"])
    if _FOUR not in counts:
        return
    ratios = _ratio(results, {"pools": _FOUR, "queue_depth": SMALL}, {"queue_depth": SMALL})
    effect = stats.contrast(np.log(ratios), margin=results.rules.margin, alpha=results.rules.alpha)
    note = f"throughput of {_FOUR} pools over that of one, workload p2"
    statement.fact("four_pools", effect.ratio, "ratio", interval=(effect.low, effect.high), n=effect.n, source=_RUNS, note=note)
    finding = results.findings["pools.four_pools"]
    statement.bound(
        "four_pools",
        statement=f"Four pools carry about four times the throughput of one, {finding.criterion}",
        verdict=stats.BOUND_WORDS[finding.outcome(effect.low, effect.high)],
        evidence=f"ratio {statement['four_pools'].text}; here pools share nothing, so that no other outcome was possible",
        effect="four_pools",
        n=effect.n,
        counted="runs",
        finding=finding,
        is_fitted=True,
    )


def _ratio(
    results: Results, above: dict[str, object], below: dict[str, object]
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    first, second = (results.of(workload="p2", **asked)["mb_per_s"].to_numpy(dtype=float) for asked in (above, below))
    return np.asarray(first / second)


def _state_depth(statement: Statement, results: Results) -> None:
    _state_ratio(
        statement,
        results,
        "depth",
        _ratio(results, {"queue_depth": LARGE}, {"queue_depth": SMALL}),
        f"Throughput with a queue of {LARGE} requests against {SMALL}, workload p2",
        "the publication contradicts itself: its text speaks of depth 1 and of more, and the headings of its table say 32 and 24",
    )


def _state_rule(statement: Statement, results: Results) -> None:
    _state_ratio(
        statement,
        results,
        "rule",
        _ratio(results, {"rule": "highest", "queue_depth": LARGE}, {"queue_depth": LARGE}),
        "Throughput if a request depends on the highest number among those ended, against the one that ended last, workload p2",
        f"the readings differ for {statement['p2.differ'].text} of the requests",
    )


def _state_ratio(
    statement: Statement,
    results: Results,
    name: str,
    ratios: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    question: str,
    words: str,
) -> None:
    rules = results.rules
    effect = stats.contrast(np.log(ratios), margin=rules.margin, alpha=rules.alpha)
    verdict = stats.verdict(effect, rules, counted="runs")
    interval = (effect.low, effect.high)
    statement.fact(f"{name}_ratio", effect.ratio, "ratio", interval=interval, n=effect.n, source=_RUNS, note=question)
    few = [cause.would_decide for cause in verdict.obstacles if isinstance(cause, stats.TooFew)]
    statement.comparison(
        name,
        source=THIS_PROJECT,
        statement=f"{question} ({MAIN} pool)",
        verdict=verdict.word,
        evidence="; ".join([f"ratio {statement[f'{name}_ratio'].text}", words, *few]),
        causes=verdict.obstacles,
        effect=f"{name}_ratio",
        n=effect.n,
        counted="runs",
    )
