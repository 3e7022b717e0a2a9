"""States the facts and claims about a backup on the same disk."""

from tickdisk import stats
from tickdisk.experiment import BACKUP
from tickdisk.studies.backup.compute import ALONE, FULL, METRICS, MOVED, REMEDIES, WAYS, Results, ServerBackup
from tickdisk.studies.conditions import effect_of, over
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `backup.SERVER.`."""
    statement = Statement(BACKUP.name)
    for server in results.servers:
        part, found = statement.part(server.found.data.server), server.found
        _state_lives(part, server)
        for metric, (_, words) in METRICS.items():
            for disk in found.names:
                for way in (ALONE, *WAYS):
                    _state(part, server, metric, disk, way)
                for remedy in REMEDIES:
                    _compare(part, server, metric, disk, remedy)
            name = fact_name(metric)
            again = f"Effect of no backup under another name on {words} (A/A control)"
            found.compare(part, metric, found.arms.null, fact=f"{name}_ratio.null", question=again, claim=f"null.{name}")
            known, positive = f"Effect of known delays on {words} (positive control)", found.arms.positive[metric]
            found.compare(part, metric, positive, fact=f"{name}_ratio.{positive}", question=known, claim=f"{positive}.{name}")
        _claim_copied(part, server)
    return statement


def _state_lives(part: Statement, server: ServerBackup) -> None:
    found, design = server.found, server.design
    found.state_lives(part)
    part.fact("limit", design.limit_mb_per_s, "MB/s", source="plan", note="rate of a backup with a limit")
    part.fact("copied", design.copied_mib, "MiB", source="plan", note="size of the folder that is copied")


def _state(part: Statement, server: ServerBackup, metric: str, disk: str, way: str) -> None:
    """States a metric on a disk while a backup is made in one way, and the effect of that."""
    found, name, words = server.found, fact_name(metric), METRICS[metric][1]
    level, key = found.mean(way, disk, metric), effect_of(way, disk)
    note, ends = f"{words} on {disk}, mean over blocks ({way.replace('_', ' ')})", (level.low, level.high)
    part.fact(f"{name}.{key}", level.value, "ms", interval=ends, n=level.n, source="epochs", note=note)
    if metric == next(iter(METRICS)):
        moved = found.mean(way, disk, MOVED)
        note, ends = f"read and written on {disk}, mean over blocks ({way.replace('_', ' ')})", (moved.low, moved.high)
        part.fact(f"moved.{key}", moved.value, "MB/s", interval=ends, n=moved.n, source="epochs", note=note)
    if way != ALONE:
        question = f"Effect of a backup on {words}, by {WAYS[way]} on {disk.replace('_', ' ')}"
        found.compare(part, metric, key, fact=f"{name}_ratio.{key}", question=question, claim=f"{name}.{key}")


def _compare(part: Statement, server: ServerBackup, metric: str, disk: str, remedy: str) -> None:
    """States whether a remedy helps on a disk, as the ratio to tar at full speed."""
    name, words, key = fact_name(metric), METRICS[metric][1], effect_of(over(remedy, FULL), disk)
    question = f"Effect of {WAYS[remedy]} instead of {WAYS[FULL]} on {words}, on {disk.replace('_', ' ')}"
    server.found.compare(part, metric, key, fact=f"{name}_ratio.{key}", question=question, claim=f"{name}.{key}")


def _claim_copied(part: Statement, server: ServerBackup) -> None:
    """States whether every backup reached the disk, which is what its effects rest on."""
    copied, needed = server.copied, server.found.plan.control_minimum
    part.fact(
        "copied_blocks",
        sum(copied),
        "blocks",
        n=len(copied),
        source="epochs",
        note="blocks whose backups reached the disk",
    )
    is_few = len(copied) < needed
    part.bound(
        "copied",
        source=THIS_PROJECT,
        statement=f"{server.found.title}: In every block the disk moves more bytes during each backup than without one",
        verdict="not valid" if is_few else "kept" if all(copied) else "missed",
        evidence=f"in {sum(copied)} of {len(copied)} blocks",
        causes=[stats.TooFew(n=len(copied), needed=needed, counted="blocks")] if is_few else (),
        effect="copied_blocks",
        n=len(copied),
        counted="blocks",
    )
