"""States the facts and claims of the join burst: joins, effects, controls and doses."""

from tickdisk.experiment import JOIN_BURST, regions_per_s
from tickdisk.studies import contrasts
from tickdisk.studies.join_burst.compute import Results
from tickdisk.studies.published import burst_finding
from tickdisk.studies.statement import Statement, fact_name
from tickdisk.studies.tiers import tier_name


def state(results: Results) -> Statement:
    """Returns the facts and claims: controls, the effect of each latency, and the latencies up to which a metric is good."""
    statement, effects = Statement("join_burst"), results.contrasts
    contrasts.state_effects(statement, effects)
    joins = results.joins
    statement.fact("joins", len(joins), "joins", source="actions tables")
    completed = int((joins["outcome"] == "completed").sum())
    statement.fact("joins_completed", completed, "joins", n=len(joins), source="actions tables")
    contrasts.state_controls(statement, effects)
    baseline_ms = effects.data.latency_ms(effects.baseline)
    tiers = {arm.arm: arm.device for arm in effects.data.arms if arm.latency_us is None}
    for metric, arm in contrasts.treatment_claims(effects):
        finding = burst_finding(
            results.findings,
            metric,
            latency_ms=effects.data.latency_ms(arm),
            regions_per_s=regions_per_s(effects.data.design(JOIN_BURST)),
        )
        own = tiers.get(arm)
        tier = "" if own is None else f" (the {tier_name(own)} tier)"
        question = (
            f"Effect of {effects.data.latency_ms(arm):g} ms of storage latency{tier} instead of {baseline_ms:g} ms on the "
            f"{effects.metrics[metric]}"
        )
        name = f"{arm}.{fact_name(metric)}"
        contrasts.state_claim(statement, effects, name, (metric, arm), question, finding=finding)
    for metric in effects.metrics:
        contrasts.state_doses(statement, effects, results.doses, results.bounds, metric, facts=())
    return statement
