"""States the facts and claims about the other servers: effects, controls, doses, and requests, for each experiment."""

from tickdisk.report import contrasts
from tickdisk.report.other_servers.compute import Part, Results, growth
from tickdisk.report.statement import Statement

NAME = "other_servers"


def state(results: Results) -> Statement:
    """Returns the facts and claims. The names of a server's begin with its name and the experiment."""
    said = Statement(NAME)
    said.fact("servers", len({part.server for part in results.others}), "servers", source="manifests")
    for part in results.others:
        _state_part(said.part(f"{part.server}.{part.experiment}"), part)
    return said


def _state_part(said: Statement, part: Part) -> None:
    found = part.found
    said.word("title", part.title, source="manifests", note="name of the server")
    said.fact("budget", found.data.budget_ns / 1e6, "ms", source="manifests", note="time between the starts of two ticks on time")
    contrasts.state_found(said, found)
    contrasts.state_controls(said, found, {role: f"{part.title}: {words}" for role, words in contrasts.CONTROL_WORDS.items()})
    baseline_ms = found.data.latency_ms(found.baseline)
    for metric, arm in contrasts.treatment_claims(found):
        statement = (
            f"{part.title}: Effect of {found.data.latency_ms(arm):g} ms of storage latency instead of {baseline_ms:g} ms on the "
            f"{found.metrics[metric]}"
        )
        contrasts.state_claim(said, found, f"{arm}.{contrasts.fact_name(metric)}", (metric, arm), statement)
    bounds = contrasts.dose_bounds(found, part.doses)
    for metric in found.metrics:
        contrasts.state_doses(said, found, part.doses, bounds, metric, facts=(), about=f"{part.title}: ")
    if len(part.saves):
        duration_ms = float(part.saves.loc[part.saves["arm"] == found.baseline, "ms"].median())
        said.fact("save", duration_ms, "ms", n=len(part.saves), source="saves tables", note=f"median save at {found.baseline}")
        grown = growth(part)
        if grown is not None:
            note = (
                "natural logarithm of the duration of saves in the last epoch of a life over that in the first, mean over lives"
            )
            ends = (grown.low, grown.high)
            said.fact("save_growth_log", grown.value, "", interval=ends, n=grown.n, source="saves tables", note=note)
