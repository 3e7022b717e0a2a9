"""States the facts and claims about a backup on the same disk."""

from tickdisk import stats
from tickdisk.experiment import BACKUP
from tickdisk.studies.backup.compute import ALONE, FULL, METRICS, MOVED, REMEDIES, WAYS, Results, ServerBackup
from tickdisk.studies.conditions import Conditions, effect_of, over
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `backup.SERVER.`."""
    statement = Statement(BACKUP.name)
    for server in results.servers:
        part = statement.part(server.first.data.server)
        _state_lives(part, server)
        for metric, (_, words) in METRICS.items():
            name = fact_name(metric)
            for disk, found in server.by_disk.items():
                for way in (ALONE, *WAYS):
                    _state(part, found, metric, disk, way)
                for remedy in REMEDIES:
                    _compare(part, found, metric, disk, remedy)
                again, null = (
                    f"Effect of no backup under another name on {words}, on {_disk(disk)} (A/A control)",
                    found.arms.null,
                )
                found.compare(part, metric, null, fact=f"{name}_ratio.null.{disk}", question=again, claim=f"null.{name}.{disk}")
            known, positive = f"Effect of known delays on {words} (positive control)", server.first.arms.positive[metric]
            fact, claim = f"{name}_ratio.{positive}", f"{positive}.{name}"
            server.first.compare(part, metric, positive, fact=fact, question=known, claim=claim)
        _claim_copied(part, server)
    return statement


def _disk(name: str) -> str:
    return name.replace("_", " ")


def _state_lives(part: Statement, server: ServerBackup) -> None:
    design = server.design
    server.first.state_lives(part)
    part.fact("limit", design.limit_mb_per_s, "MB/s", source="plan", note="rate of a backup with a limit")
    part.fact("copied", design.copied_mib, "MiB", source="plan", note="size of the folder that is copied")


def _state(part: Statement, found: Conditions, metric: str, disk: str, way: str) -> None:
    """States a metric on a disk while a backup is made in one way, and the effect of that."""
    name, words = fact_name(metric), METRICS[metric][1]
    level, key = found.mean(way, disk, metric), effect_of(way, disk)
    note, ends = f"{words} on {disk}, mean over blocks ({way.replace('_', ' ')})", (level.low, level.high)
    part.fact(f"{name}.{key}", level.value, "ms", interval=ends, n=level.n, source="epochs", note=note)
    if metric == next(iter(METRICS)):
        moved = found.mean(way, disk, MOVED)
        note, ends = f"read and written on {disk}, mean over blocks ({way.replace('_', ' ')})", (moved.low, moved.high)
        part.fact(f"moved.{key}", moved.value, "MB/s", interval=ends, n=moved.n, source="epochs", note=note)
    if way != ALONE:
        question = f"Effect of a backup on {words}, by {WAYS[way]} on {_disk(disk)}"
        found.compare(part, metric, key, fact=f"{name}_ratio.{key}", question=question, claim=f"{name}.{key}")


def _compare(part: Statement, found: Conditions, metric: str, disk: str, remedy: str) -> None:
    """States whether a remedy helps on a disk, as the ratio to tar at full speed."""
    name, words, key = fact_name(metric), METRICS[metric][1], effect_of(over(remedy, FULL), disk)
    question = f"Effect of {WAYS[remedy]} instead of {WAYS[FULL]} on {words}, on {_disk(disk)}"
    found.compare(part, metric, key, fact=f"{name}_ratio.{key}", question=question, claim=f"{name}.{key}")


def _claim_copied(part: Statement, server: ServerBackup) -> None:
    """States whether every backup reached the disk, which is what its effects rest on."""
    copied, needed = server.copied, server.first.plan.control_minimum
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
        statement=f"{server.first.title}: In every block the disk moves more bytes during each backup than without one",
        verdict="not valid" if is_few else "kept" if all(copied) else "missed",
        evidence=f"in {sum(copied)} of {len(copied)} blocks",
        causes=[stats.TooFew(n=len(copied), needed=needed, counted="blocks")] if is_few else (),
        effect="copied_blocks",
        n=len(copied),
        counted="blocks",
    )
