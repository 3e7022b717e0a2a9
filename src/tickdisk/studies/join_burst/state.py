"""States the facts and claims of the join burst: joins, effects, controls and doses."""

from tickdisk.studies import contrasts
from tickdisk.studies.join_burst.compute import JOIN, Results
from tickdisk.studies.statement import THIS_PROJECT, Finding, Statement, fact_name
from tickdisk.studies.tiers import tier_name

_SLOWEST_MS = 6.0
"""Latency of the slowest device of the published study, which says nothing about slower devices."""
_JOIN_FINDING: tuple[str, Finding | None] = ("PokeSto, MF2: no difference", "no difference")
_TICK_FINDING: tuple[str, Finding | None] = ("PokeSto, MF1: longer, up to 3.5 times", "longer")
"""Source and finding of the published study, for join times and for tick gaps."""


def state(results: Results) -> Statement:
    """Returns the facts and claims: controls, the effect of each latency, and the latencies up to which a metric is good."""
    statement, found = Statement("join_burst"), results.contrasts
    contrasts.state_found(statement, found)
    joins = results.joins
    statement.fact("joins", len(joins), "joins", source="actions tables")
    completed = int((joins["outcome"] == "completed").sum())
    statement.fact("joins_completed", completed, "joins", n=len(joins), source="actions tables")
    contrasts.state_controls(statement, found)
    baseline_ms = found.data.latency_ms(found.baseline)
    tiers = {arm.arm: arm.device for arm in found.data.arms if arm.latency_us is None}
    for metric, arm in contrasts.treatment_claims(found):
        source, finding = _JOIN_FINDING if metric == JOIN else _TICK_FINDING
        if found.data.latency_ms(arm) > _SLOWEST_MS:
            source, finding = THIS_PROJECT, None
        own = tiers.get(arm)
        tier = "" if own is None else f" (the {tier_name(own)} tier)"
        question = (
            f"Effect of {found.data.latency_ms(arm):g} ms of storage latency{tier} instead of {baseline_ms:g} ms on the "
            f"{found.metrics[metric]}"
        )
        name = f"{arm}.{fact_name(metric)}"
        contrasts.state_claim(statement, found, name, (metric, arm), question, source=source, finding=finding)
    for metric in found.metrics:
        contrasts.state_doses(statement, found, results.doses, results.bounds, metric, facts=())
    return statement
