"""States the facts and claims about several servers on one disk."""

from tickdisk import stats
from tickdisk.experiment import INSTANCES
from tickdisk.foundation.numbers import number
from tickdisk.studies.conditions import effect_of, over_first
from tickdisk.studies.instances.compute import GAP, Results, SharedDisk, condition_of
from tickdisk.studies.statement import Statement

_COLUMNS = {
    GAP: ("gap", "ms", "longest tick gap"),
    "fairness": ("fairness", "", "shortest of the servers' longest gaps over the longest"),
    "queue": ("queue", "requests", "requests on the device when another arrives"),
    "requests_per_s": ("requests", "requests/s", "requests of all servers"),
}
_PUBLISHED_SERVERS = 4
"""Number of servers on one hard disk in the published finding."""


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `instances.SERVER.`."""
    statement = Statement(INSTANCES.name)
    for server in results.servers:
        part, found = statement.part(server.found.data.server), server.found
        _state_lives(part, server)
        for arm in found.slow:
            for instances in server.numbers:
                _claim(part, server, arm, instances, results.published)
        null, positive = found.data.role("null"), found.data.positive_for("ticks")
        again = "Effect of the same disk under another name on the longest tick gap (A/A control)"
        found.compare(part, GAP, null, fact="ratio.again", question=again, claim="again")
        known = "Effect of known delays on the longest tick gap (positive control)"
        found.compare(part, GAP, positive, fact=f"ratio.{positive}", question=known, claim=positive)
    return statement


def _state_lives(part: Statement, server: SharedDisk) -> None:
    found, design, source = server.found, server.design, "manifests"
    found.state_lives(part)
    latency = found.data.latency_ms(found.data.role("dose"))
    part.fact("latency", latency, "ms", source="device models", note="nominal latency of the slow device")
    part.fact("most", server.numbers[-1], "servers", source="plan", note="largest number of servers on a disk")
    part.fact("players", design.players, "players", source="plan", note="players of each server")
    part.fact("cores", design.cores_per_instance, "cores", source="plan", note="share of the processor of each server")
    part.fact("memory", design.memory_mib_per_instance, "MiB", source="plan", note="memory of each server with its page cache")
    for arm in (found.data.role("baseline"), *found.slow):
        for instances in server.numbers:
            condition = condition_of(instances)
            for column, (name, unit, words) in _COLUMNS.items():
                mean = found.mean(arm, condition, column)
                note = f"{words} with {instances} servers on {arm}, mean over blocks"
                ends = (mean.low, mean.high)
                part.fact(
                    f"{name}.{found.data.label(arm)}.{condition}",
                    mean.value,
                    unit,
                    interval=ends,
                    n=mean.n,
                    source="epochs",
                    note=note,
                )
    for arm, level in server.levels.items():
        note = f"longest tick gap with {server.numbers[-1]} servers over that with 1 server, both on {arm}"
        ends = (level.low, level.high)
        part.fact(
            f"level.{found.data.label(arm)}",
            level.ratio,
            "ratio",
            interval=ends,
            n=level.n,
            source="log ratios of blocks",
            note=note,
        )
    for instances, share in server.throttled.items():
        note = f"time for which the first of {instances} servers waited for its share of the processor"
        part.fact(f"throttled.{condition_of(instances)}", share, "share", source=source, note=note)


def _claim(part: Statement, server: SharedDisk, arm: str, instances: int, published: stats.Finding) -> None:
    """States what a slow disk does to so many servers, and how this compares with one server."""
    found, condition = server.found, condition_of(instances)
    fast, slow = f"{number(found.data.latency_ms(found.data.role('baseline')))} ms", arm.replace("_", " ")
    words = "1 server" if instances == 1 else f"{instances} servers"
    name, question = effect_of(arm, condition), f"Effect of {slow} instead of {fast} on the longest tick gap of {words}"
    key = effect_of(found.data.label(arm), condition)
    found.compare(part, GAP, name, fact=f"ratio.{key}", question=question, claim=key)
    more = over_first(arm, condition)
    if (GAP, more) in found.contrasts:
        question = f"Effect of {slow} on {words} as a ratio to its effect on 1 server"
        # The published finding is about four servers (PokeSto, MF3).
        finding = published if instances == _PUBLISHED_SERVERS else None
        key = over_first(found.data.label(arm), condition)
        found.compare(part, GAP, more, fact=f"ratio.{key}", question=question, claim=key, finding=finding)
