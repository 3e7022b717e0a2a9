"""States the facts and claims about bursts of joins."""

from tickdisk.experiment import BURSTS
from tickdisk.foundation.numbers import number
from tickdisk.studies.bursts.compute import METRICS, Results, ServerBursts, condition_of
from tickdisk.studies.conditions import effect_of
from tickdisk.studies.published import burst_finding
from tickdisk.studies.statement import Statement, fact_name

_COLUMNS = {
    "gap_max_ms": ("gap", "ms", "longest tick gap"),
    "join_mean_ms": ("join", "ms", "mean join time"),
    "reads": ("reads", "reads", "reads of the device for a join"),
    "reached": ("reached", "regions/s", "rate at which players began to join"),
    "served": ("served", "regions/s", "rate until the terrain of all players was there"),
}
_NEAR = 0.1
"""The most by which the rate that was reached may differ from the planned one, as a share of it, if a finding is tested."""


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `bursts.SERVER.`."""
    statement = Statement(BURSTS.name)
    for server in results.servers:
        part, found = statement.part(server.found.data.server), server.found
        _state_lives(part, server)
        for metric, words in METRICS.items():
            name = fact_name(metric)
            for arm in found.slow:
                for rate in server.rates:
                    _claim(part, server, metric, arm, rate, results)
            null, positive = found.arms.null, found.arms.positive[metric]
            again = f"Effect of the same disk under another name on {words} of bursts (A/A control)"
            found.compare(part, metric, null, fact=f"{name}_ratio.again", question=again, claim=f"again.{name}")
            known = f"Effect of known delays of ticks on {words} of a burst (positive control)"
            found.compare(part, metric, positive, fact=f"{name}_ratio.{positive}", question=known, claim=f"{positive}.{name}")
    return statement


def _state_lives(part: Statement, server: ServerBursts) -> None:
    found, design = server.found, server.design
    found.state_lives(part)
    latency = found.data.latency_ms(found.data.role("dose"))
    part.fact("latency", latency, "ms", source="device models", note="nominal latency of the slow device")
    part.fact("most", server.rates[-1], "regions/s", source="plan", note="fastest planned burst")
    part.fact("players", design.players, "players", source="plan", note="players that join in a burst")
    for arm in (found.arms.baseline, *found.slow):
        for rate in server.rates:
            condition = condition_of(rate)
            for column, (name, unit, words) in _COLUMNS.items():
                mean = found.mean(arm, condition, column)
                part.fact(
                    f"{name}.{found.data.label(arm)}.{condition}",
                    mean.value,
                    unit,
                    interval=(mean.low, mean.high),
                    n=mean.n,
                    source="epochs",
                    note=f"{words} in bursts of {rate} regions/s on {arm}, mean over blocks",
                )


def _claim(part: Statement, server: ServerBursts, metric: str, arm: str, rate: int, results: Results) -> None:
    """States what a slow disk does in bursts of a rate, beside the published finding about it."""
    found, condition, data = server.found, condition_of(rate), server.found.data
    fast, slow = (f"{number(data.latency_ms(each))} ms" for each in (found.arms.baseline, arm))
    name, key = fact_name(metric), effect_of(data.label(arm), condition)
    finding = burst_finding(results.published, metric, latency_ms=data.latency_ms(arm), regions_per_s=rate)
    if finding is not None:
        regions = "" if server.has_regions else ", without files of regions, a join counts as four"
        finding = finding.about(f"{METRICS[metric]} of a burst of {rate} regions/s, {slow} over {fast}{regions}")
    reached = found.mean(arm, condition, "reached").value
    found.compare(
        part,
        metric,
        effect_of(arm, condition),
        fact=f"{name}_ratio.{key}",
        question=f"Effect of {slow} of storage latency instead of {fast} on {METRICS[metric]} of a burst of {rate} regions/s",
        claim=f"{name}.{key}",
        finding=finding,
        is_same=reached is not None and abs(reached / rate - 1) < _NEAR,
    )
