"""States the facts and claims of the switchback: counts, effects, controls, doses, and the effect of the epoch before."""

from math import exp

from tickdisk.studies import contrasts
from tickdisk.studies.published import steady_finding
from tickdisk.studies.statement import Statement, fact_name
from tickdisk.studies.switchback.compute import Results


def state(results: Results) -> Statement:
    """Returns the facts and claims: controls, the effect of each arm, and the doses up to which a metric is good."""
    statement = Statement("switchback")
    contrasts.state_effects(statement, results.contrasts)
    _state_counts(statement, results)
    contrasts.state_controls(statement, results.contrasts)
    contrasts.state_held(statement, contrasts.held_back(results.contrasts, results.lives))
    _state_effects(statement, results)
    for metric in results.contrasts.metrics:
        _state_dose(statement, results, metric)
        _state_order(statement, results, metric)
    return statement


def _state_counts(statement: Statement, results: Results) -> None:
    ticks = [life.manifest.ticks for life in results.lives]
    statement.fact("ticks", sum(each.ticks for each in ticks), "ticks", source="ticks tables")
    statement.fact("missing_ticks", sum(each.missing for each in ticks), "ticks", source="ticks tables")
    source = "actions tables"
    statement.fact(
        "step", results.contrasts.data.budget_ns / 1e6, "ms", source="server", note="time between the starts of two ticks on time"
    )
    statement.fact("actions", sum(len(life.actions) for life in results.lives), "actions", source=source)
    for outcome in ("timed_out", "failed"):
        count = int(sum((life.actions["outcome"] == outcome).sum() for life in results.lives))
        statement.fact(f"actions_{outcome}", count, "actions", source=source)
    for arm, own in results.contrasts.table.groupby("arm", sort=False):
        name = f"{results.action}_at_tau.{arm}"
        note = f"actions that failed, timed out or took longer than {results.tau_s:g} s, and count as that latency"
        offered, late = (int(own[f"{results.action}_{part}"].sum()) for part in ("offered", "at_tau"))
        statement.fact(name, late, "actions", n=offered, source=source, note=note)
    reads, note = results.reads_per_action, "reads that reached the device, per action; players who walk cause reads, too"
    name = f"reads_per_{results.action}"
    statement.fact(
        name, reads.value, "reads", interval=(reads.low, reads.high), n=reads.n, source="device and actions tables", note=note
    )
    requests = sum(life.manifest.requests for life in results.lives)
    statement.fact("device_requests", requests, "requests", source="device tables")


def _state_effects(statement: Statement, results: Results) -> None:
    effects = results.contrasts
    baseline_ms = effects.data.latency_ms(effects.baseline)
    for metric, arm in contrasts.treatment_claims(effects):
        bounds, notes = results.bounds[metric], []
        is_good = bounds.good_up_to is not None and effects.data.dose_ms(arm) <= bounds.good_up_to
        if is_good and effects.verdicts[metric, arm].word == "inconclusive":
            # The dose test may decide here. It asks only if the metric is longer by more than the margin, and has its own level.
            notes.append(f"the test of doses shows that it is not more than {effects.margin:.0%} longer")
        contrasts.state_claim(
            statement,
            effects,
            f"{arm}.{fact_name(metric)}",
            (metric, arm),
            f"Effect of {effects.data.latency_ms(arm):g} ms of storage latency instead of {baseline_ms:g} ms on the "
            f"{effects.metrics[metric]}",
            finding=steady_finding(
                results.findings,
                latency_ms=effects.data.latency_ms(arm),
                of_ticks=effects.kind(metric) == "ticks",
            ),
            notes=notes,
        )


def _state_dose(statement: Statement, results: Results, metric: str) -> None:
    effects, slope, name = results.contrasts, results.slopes[metric], fact_name(metric)
    statement.fact(
        f"{name}_slope",
        None if slope is None else slope.per_ms,
        "ms per ms",
        interval=None if slope is None else (slope.low, slope.high),
        n=None if slope is None else slope.lives,
        source="a line within each life, t test over lives",
        note=f"{effects.metrics[metric]}: rise per ms of device latency; secondary, because slack hides the first milliseconds",
    )
    contrasts.state_doses(statement, effects, results.doses, results.bounds, metric, facts=[f"{name}_slope"])


def _state_order(statement: Statement, results: Results, metric: str) -> None:
    effect = results.orders[metric]
    statement.fact(
        f"{fact_name(metric)}_carry_over",
        exp(effect.carry_over),
        "ratio",
        interval=(exp(effect.carry_over_low), exp(effect.carry_over_high)),
        n=effect.n,
        source="switchback epochs but the first of each life",
        note=f"{results.contrasts.metrics[metric]}: factor by which it changes if the epoch before has a tenfold latency",
    )
