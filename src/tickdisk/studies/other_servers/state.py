"""States the facts and claims about the other servers: effects, controls, doses, and requests, for each experiment."""

from collections.abc import Mapping, Sequence

from tickdisk import stats
from tickdisk.blame import FEWEST_STALLS
from tickdisk.experiment import JOIN_BURST, regions_per_s
from tickdisk.foundation.numbers import percent
from tickdisk.studies import contrasts
from tickdisk.studies.other_servers.compute import InjectedStalls, Part, Results, growth
from tickdisk.studies.published import burst_finding, steady_finding
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name

NAME = "other_servers"
_EXPLAINED_SHARE = 0.9
"""Least share of the stalls of the device after which something was late that blame must explain."""
_FEWEST_LATE = 10
"""Number of such stalls from which the claim is decided."""


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server but `main`. Their names begin with `other_servers.SERVER.EXPERIMENT.`."""
    statement = Statement(NAME)
    statement.fact("servers", len({part.server for part in results.others}), "servers", source="manifests")
    for part in results.others:
        _state_part(statement.part(f"{part.server}.{part.experiment}"), part, results.findings)
    for stalls in results.stalls:
        _state_stalls(statement.part(f"{stalls.server}.inside_tick"), stalls)
    return statement


def _state_stalls(statement: Statement, stalls: InjectedStalls) -> None:
    source = "injections, device log and extents against blame"
    late, explained, blamed = stalls.late, stalls.explained, stalls.blamed
    counts = {
        "device_stalls.late": (late, "stalls of the device after which a tick or an action was slow"),
        "device_stalls.explained": (explained, "stalls among these of which blame names a stalled request and file"),
        "cpu_stalls.blamed": (blamed, "stalls of the processor that blame puts down to storage"),
    }
    for name, (one, note) in counts.items():
        statement.fact(name, one.k, "stalls", n=one.n, source=source, note=note)
        share = one.k / one.n if one.n else None
        statement.fact(
            f"{name}_share", share, "share", interval=one.exact, n=one.n, source=source, note=f"{note}; Clopper-Pearson"
        )
    few = [] if explained.n >= _FEWEST_LATE else [stats.TooFew(n=explained.n, needed=_FEWEST_LATE, counted="stalls")]
    unknown = [] if stalls.knows_files else [stats.FilesUnknown()]
    obstacles = [obstacle.sentence for obstacle in stalls.obstacles]
    causes: list[stats.Obstacle] = [*stalls.obstacles, *few, *unknown]
    statement.bound(
        "device_stalls",
        source=THIS_PROJECT,
        statement=f"{stalls.title}: Blame names request and file of at least {percent(_EXPLAINED_SHARE)} of the injected stalls "
        "of the device after which a tick or an action was slow",
        verdict=_verdict(causes, is_kept=explained.k >= _EXPLAINED_SHARE * explained.n),
        evidence="; ".join(
            [
                *obstacles,
                f"{late.k} of {late.n} stalls made something slow, and blame explains {explained.k} of these",
                *(f"{each.needed} stalls that make something late would decide" for each in few),
                *(each.sentence for each in unknown),
            ]
        ),
        causes=causes,
        effect="device_stalls.explained_share",
        facts=["device_stalls.late"],
        n=explained.n,
        counted="stalls",
    )
    few = [] if blamed.n >= FEWEST_STALLS else [stats.TooFew(n=blamed.n, needed=FEWEST_STALLS, counted="stalls")]
    causes = [*stalls.obstacles, *few]
    would_decide = [each.would_decide for each in few]
    statement.bound(
        "cpu_stalls",
        source=THIS_PROJECT,
        statement=f"{stalls.title}: Blame puts no injected stall of the processor down to storage",
        verdict=_verdict(causes, is_kept=blamed.k == 0),
        evidence="; ".join([*obstacles, f"blame puts {blamed.k} of {blamed.n} stalls down to storage", *would_decide]),
        causes=causes,
        effect="cpu_stalls.blamed_share",
        n=blamed.n,
        counted="stalls",
    )


def _verdict(obstacles: Sequence[stats.Obstacle], *, is_kept: bool) -> stats.BoundWord:
    if obstacles:
        return "not valid"
    return "kept" if is_kept else "missed"


def _finding(findings: Mapping[str, stats.Finding], part: Part, metric: str, arm: str) -> stats.Finding | None:
    """Returns the published finding that a claim tests on another server, if there is one."""
    latency_ms = part.effects.data.latency_ms(arm)
    if part.experiment != JOIN_BURST.name:
        return steady_finding(findings, latency_ms=latency_ms, of_ticks=part.effects.kind(metric) == "ticks")
    rate = regions_per_s(part.effects.data.design(JOIN_BURST))
    return burst_finding(findings, metric, latency_ms=latency_ms, regions_per_s=rate)


def _state_part(statement: Statement, part: Part, findings: Mapping[str, stats.Finding]) -> None:
    effects = part.effects
    statement.word("title", part.title, source="manifests", note="name of the server")
    statement.fact(
        "budget", effects.data.budget_ns / 1e6, "ms", source="manifests", note="time between the starts of two ticks on time"
    )
    contrasts.state_effects(statement, effects)
    contrasts.state_controls(
        statement, effects, {role: f"{part.title}: {words}" for role, words in contrasts.CONTROL_WORDS.items()}
    )
    contrasts.state_held(statement, part.held, f"{part.title}: ")
    baseline_ms = effects.data.latency_ms(effects.baseline)
    for metric, arm in contrasts.treatment_claims(effects):
        latencies = f"{effects.data.latency_ms(arm):g} ms of storage latency instead of {baseline_ms:g} ms"
        question = f"{part.title}: Effect of {latencies} on the {effects.metrics[metric]}"
        finding = _finding(findings, part, metric, arm)
        contrasts.state_claim(statement, effects, f"{arm}.{fact_name(metric)}", (metric, arm), question, finding=finding)
    bounds = contrasts.dose_bounds(effects, part.doses)
    for metric in effects.metrics:
        contrasts.state_doses(statement, effects, part.doses, bounds, metric, facts=(), about=f"{part.title}: ")
    if part.pauses_ms:
        note = "longest time in which the runtime stopped all threads, from the first epoch on"
        statement.fact("longest_pause", max(part.pauses_ms), "ms", n=len(part.pauses_ms), source="pauses tables", note=note)
    if len(part.saves):
        duration_ms = float(part.saves.loc[part.saves["arm"] == effects.baseline, "ms"].median())
        statement.fact(
            "save", duration_ms, "ms", n=len(part.saves), source="saves tables", note=f"median save at {effects.baseline}"
        )
        grown = growth(part)
        if grown is not None:
            note = (
                "natural logarithm of the duration of saves in the last epoch of a life over that in the first, mean over lives"
            )
            ends = (grown.low, grown.high)
            statement.fact("save_growth_log", grown.value, "", interval=ends, n=grown.n, source="saves tables", note=note)
