"""States the facts and claims of the replay study: counts, lags and times lost of each replay, and the bounds on them."""

from tickdisk import stats
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.studies.quantiles import state_quantile
from tickdisk.studies.replay.compute import (
    EQUAL_MS,
    LEAST_REQUESTS,
    LIMIT_MS,
    STREAMS,
    AnalysedReplay,
    Difference,
    Results,
    bound_verdict,
    delay_verdict,
    drift_verdict,
)
from tickdisk.studies.statement import THIS_PROJECT, Statement
from tickdisk.studies.tiers import tier_name

_NOTES = {
    "lag": "time of issue less the due time, or less the previous completion in the stream if that is later",
    "late": "time of issue less due time, which is the lag plus the time lost to the device",
    "lost": "previous completion in the stream less due time, or 0 if the request is due later",
}
"""Definitions of the quantities, for the notes of their facts."""


def state(results: Results) -> Statement:
    """Returns the facts and claims of the replay study."""
    statement, source = Statement("replay"), f"{number(results.seconds)} s of a captured server life, replayed"
    _state_counts(statement, results, source)
    for run in results.runs.values():
        _state_times(statement, run, source, results.confidence)
    _state_nothing_lost(statement, results)
    _state_lag(statement, results)
    for whose, drift in results.drifts.items():
        run = results.fast if whose == "ours" or results.fio is None else results.fio
        _state_drift(statement, whose, run, drift, source)
    _state_delay(statement, results, source)
    return statement


def _state_counts(statement: Statement, results: Results, source: str) -> None:
    statement.fact("streams", results.streams, "streams", source=source, note="a stream is a captured thread")
    statement.fact("captured", results.captured, "requests", source="capture")
    statement.fact("replayed", results.replayed, "requests", n=results.captured, source=source)
    for name in ("backend", "file_system"):
        here = dict.fromkeys(str(getattr(run.described, name) or "none") for run in results.runs.values())
        statement.word(name, ", ".join(here), source="replay.json", note="used for the devices under test")
    reasons = "; ".join(f"{number(count)} {reason}" for reason, count in results.refused.items())
    statement.fact("refused", sum(results.refused.values()), "requests", n=results.captured, source="plan", note=reasons)


def _state_times(statement: Statement, run: AnalysedReplay, source: str, confidence: float) -> None:
    for name, found in run.quantiles.items():
        part = "lag of the first tenth of the requests" if "first" in name else "lag of the last tenth of the requests"
        note = part if name.endswith("tenth_p99") else _NOTES[name.partition("_")[0]]
        state_quantile(
            statement, f"{run.key}.{name}", found.quantile, "ms", n=found.n, source=source, note=note, confidence=confidence
        )
    lag = run.lag_ms
    statement.fact(f"{run.key}.lag_longest", float(lag.max()) if len(lag) else None, "ms", n=len(lag), source=source)
    note = "time in which a stream had a request that was due and could not be issued, summed over streams"
    behind_s = run.described.behind_ns / 1e9
    statement.fact(f"{run.key}.behind", behind_s, "s", n=run.described.streams, source=source, note=note)
    statement.fact(
        f"{run.key}.differing", run.differing, "requests", n=len(run.timings), source="results beside captured results"
    )


def _state_nothing_lost(statement: Statement, results: Results) -> None:
    refused, ours = sum(results.refused.values()), results.ours
    is_whole = all(len(run.timings) == results.replayed == results.captured - refused and run.differing == 0 for run in ours)
    verdict: stats.BoundWord = "kept" if is_whole else "missed"
    parts = [f"{number(results.captured)} requests were captured"]
    parts += [
        f"{number(len(run.timings))} were replayed on {run.device}, {number(run.differing) if run.differing else 'none'} of them "
        "with another result"
        for run in ours
    ]
    reasons = statement["refused"].note.replace("; ", ", ")
    parts.append(f"the number of refused requests is {number(refused)} ({reasons})" if refused else "none was refused")
    statement.bound(
        "nothing_lost",
        source=THIS_PROJECT,
        statement="Every captured request is made again and moves as many bytes, or is refused for a stated reason",
        verdict=verdict if results.captured else "not valid",
        evidence="; ".join(parts) if results.captured else "nothing was captured",
        causes=[] if results.captured else [stats.NothingCaptured()],
        effect="replayed",
        facts=["captured", "refused", *(f"{run.key}.differing" for run in ours)],
        n=results.captured,
        counted="requests",
    )


def _state_lag(statement: Statement, results: Results) -> None:
    key = results.fast.key
    fact = statement[f"{key}.lag_p99"]
    n = fact.n or 0
    too_few = [stats.TooFew(n=results.streams, needed=STREAMS, counted="streams")] if results.streams < STREAMS else []
    no_interval = [stats.NoInterval(n=n, counted="requests")] if fact.low is None else []
    evidence = f"p99 is {fact.text} on {results.fast.device}, with {statement['streams'].text}"
    if too_few:
        evidence += f", fewer than the {STREAMS} that the bound is for"
    elif no_interval:
        evidence += "; too few requests for an interval"
    statement.bound(
        "lag",
        source=THIS_PROJECT,
        statement=f"p99 of the issuer's lag is at most {number(LIMIT_MS)} ms, with {STREAMS} or more streams",
        verdict="not valid" if too_few else bound_verdict(fact.low, fact.high, LIMIT_MS),
        evidence=evidence,
        causes=too_few or no_interval,
        effect=f"{key}.lag_p99",
        facts=["streams", f"{key}.lag_longest"],
        n=n,
        counted="requests",
    )


def _state_drift(statement: Statement, whose: str, run: AnalysedReplay, drift: Difference | None, source: str) -> None:
    quantity, judged = ("lag", run.lag_ms) if whose == "ours" else ("time of issue less due time", run.late_ms)
    replayer = f"{'Our replay' if whose == 'ours' else 'fio'} on the {tier_name(run.device)} tier"
    note = f"mean {quantity} of the last tenth of the requests less that of the first"
    _state_difference(statement, f"{whose}.drift", drift, source, note)
    statement.bound(
        f"no_drift_{whose}",
        source=THIS_PROJECT,
        statement=f"{replayer}: the mean {quantity} of the last tenth of the requests is within {number(EQUAL_MS)} ms of that of "
        "the first",
        verdict=drift_verdict(drift),
        evidence="there are too few requests" if drift is None else f"the mean of the last tenth is {_written(drift)} longer",
        causes=[] if drift else [stats.TooFew(n=len(judged), needed=LEAST_REQUESTS, counted="requests")],
        effect=f"{whose}.drift",
        facts=[f"{run.key}.late_p99"],
        n=0 if drift is None else drift.n,
        counted="requests",
    )


def _state_delay(statement: Statement, results: Results, source: str) -> None:
    fast, slow, delay = results.fast, results.slow, results.delay
    note = f"mean over requests of the time of issue on {slow.name} less the time of issue on {fast.name}, both less the due time"
    _state_difference(statement, "device.delay", delay, source, note)
    statement.comparison(
        "time_lost_to_the_device",
        source=THIS_PROJECT,
        statement=f"Effect of the {tier_name(slow.device)} tier instead of the {tier_name(fast.device)} tier on how late the "
        "same requests are issued",
        verdict=delay_verdict(delay),
        evidence="there are no replays on two devices" if delay is None else f"requests are {_written(delay)} later on average",
        causes=[] if delay else [stats.NotMeasured(what="the delay by another device")],
        effect="device.delay",
        facts=[f"{fast.key}.behind", f"{slow.key}.behind"],
        n=0 if delay is None else delay.n,
        counted="requests",
    )


def _state_difference(statement: Statement, name: str, found: Difference | None, source: str, note: str) -> None:
    if found is None:
        statement.fact(name, None, "ms", source=source, note=note)
    else:
        statement.fact(name, found.value, "ms", interval=(found.low, found.high), n=found.n, source=source, note=note)


def _written(found: Difference) -> str:
    return f"{with_interval(found.value, found.low, found.high)} ms"
