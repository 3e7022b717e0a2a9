"""States the facts and claims about the state of a server's memory."""

from tickdisk import stats
from tickdisk.experiment import MEMORY
from tickdisk.foundation.numbers import number
from tickdisk.studies.conditions import effect_of, over_first
from tickdisk.studies.memory.compute import METRICS, Results, ServerMemory
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `memory.SERVER.`."""
    statement = Statement(MEMORY.name)
    for server in results.servers:
        part, found = statement.part(server.found.data.server), server.found
        _state_lives(part, server)
        for metric, (kind, words) in METRICS.items():
            for arm in found.slow:
                for condition in found.names:
                    _claim(part, server, metric, arm, condition)
            null, positive = found.data.role("null"), found.data.positive_for(kind)
            name = fact_name(metric)
            again = f"Effect of the same disk under another name on {words} (A/A control)"
            found.compare(part, metric, null, fact=f"{name}_ratio.again", question=again, claim=f"again.{name}")
            known = f"Effect of known delays on {words} (positive control)"
            found.compare(part, metric, positive, fact=f"{name}_ratio.{positive}", question=known, claim=f"{positive}.{name}")
        _claim_limits(part, server)
    return statement


def _state_lives(part: Statement, server: ServerMemory) -> None:
    found, design, source = server.found, server.design, "manifests"
    found.state_lives(part)
    latency = found.data.latency_ms(found.data.role("dose"))
    part.fact("latency", latency, "ms", source="device models", note="nominal latency of the slow device")
    part.fact("hot_places", design.hot_places, "places", source="plan", note="places to which players go again and again")
    for condition in found.names:
        own = server.states[server.states["condition"] == condition]
        for column, unit, words in (
            ("refaults", "pages/s", "pages that were read again for want of memory"),
            ("cached_mib", "MiB", "page cache of the server at the end"),
            ("hot_mib", "MiB", "pages of the world that the server had read when its memory was limited"),
            ("limit_mib", "MiB", "limit of the memory of the server with its page cache"),
        ):
            if own[column].isna().all():  # there is no limit
                continue
            mean = stats.over_lives(own[column].astype(float), found.plan.alpha)
            note, ends = f"{words}, mean over lives ({condition})", (mean.low, mean.high)
            part.fact(f"{column}.{condition}", mean.value, unit, interval=ends, n=mean.n, source=source, note=note)
        for arm in (found.data.role("baseline"), *found.slow):
            reads = found.mean(arm, condition, "reads_per_s")
            note, ends = f"reads of the device on {arm}, mean over blocks ({condition})", (reads.low, reads.high)
            part.fact(
                f"reads.{found.data.label(arm)}.{condition}",
                reads.value,
                "reads/s",
                interval=ends,
                n=reads.n,
                source="epochs",
                note=note,
            )


def _claim(part: Statement, server: ServerMemory, metric: str, arm: str, condition: str) -> None:
    """States what the slow disk does in a state of memory, and how this compares with warm memory."""
    found, name, words = server.found, fact_name(metric), METRICS[metric][1]
    slow, fast = (number(found.data.latency_ms(each)) for each in (arm, found.arms.baseline))
    for disk in (found.arms.baseline, arm):
        level = found.mean(disk, condition, metric)
        part.fact(
            f"{name}.{effect_of(found.data.label(disk), condition)}",
            level.value,
            "ms",
            interval=(level.low, level.high),
            n=level.n,
            source="epochs",
            note=f"{words} on {disk}, mean over blocks ({condition})",
        )
    effect, more = effect_of(arm, condition), over_first(arm, condition)
    question = f"Effect of {slow} ms of storage latency instead of {fast} ms on {words}, with {condition} memory"
    key = effect_of(found.data.label(arm), condition)
    found.compare(part, metric, effect, fact=f"{name}_ratio.{key}", question=question, claim=f"{name}.{key}")
    if (metric, more) in found.contrasts:
        question = f"Effect of {slow} ms on {words} with {condition} memory as a ratio to that with {found.names[0]} memory"
        key = over_first(found.data.label(arm), condition)
        found.compare(part, metric, more, fact=f"{name}_ratio.{key}", question=question, claim=f"{name}.{key}")


def _claim_limits(part: Statement, server: ServerMemory) -> None:
    """States whether too little memory made the server read pages again, which is what the limits are for."""
    met, needed = server.limits_met, server.found.plan.control_minimum
    part.fact("limits_met", sum(met), "blocks", n=len(met), source="manifests", note="blocks in which every limit was met")
    is_few = len(met) < needed
    part.bound(
        "limits",
        source=THIS_PROJECT,
        statement=f"{server.found.title}: In every block pages are read again more often with too little memory than with enough",
        verdict="not valid" if is_few else "kept" if all(met) else "missed",
        evidence=f"in {sum(met)} of {len(met)} blocks",
        causes=[stats.TooFew(n=len(met), needed=needed, counted="blocks")] if is_few else (),
        effect="limits_met",
        n=len(met),
        counted="blocks",
    )
