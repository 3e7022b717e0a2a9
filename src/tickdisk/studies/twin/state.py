"""States the facts and claims about the emulated twin of a real disk."""

from tickdisk import stats
from tickdisk.device import OPS
from tickdisk.experiment import REAL, TWIN, TWIN_ARM, WRONG
from tickdisk.studies.statement import THIS_PROJECT, Statement
from tickdisk.studies.twin.compute import Compared, Results

_SCAN = "the claim is one of a scan (Benjamini-Hochberg)"


def state(results: Results) -> Statement:
    """Returns the facts and claims about a real disk and its twin. Names begin with `twin.`."""
    statement = Statement(TWIN.name)
    _state_disk(statement, results)
    for compared in results.compared:
        _state_metric(statement, results, compared)
    return statement


def _state_disk(statement: Statement, results: Results) -> None:
    data, source = results.data, "manifests"
    statement.fact("blocks", results.lives["block"].nunique(), "blocks", source=source, note="one life on each disk")
    statement.fact("lives", len(results.lives), "lives", source=source, note="on the real disk, the twin and the wrong twin")
    statement.fact("marked", int(results.lives["marked"].sum()), "lives", source=source, note="disturbed from outside")
    statement.fact("unpaired", int(results.lives["unpaired"].sum()), "requests", source=source, note="seen without begin or end")
    statement.fact("floor", results.floor_ns / 1e3, "us", source="calibration", note="floor of the twin")
    twin = results.twin
    for op, latency_ns, share in zip(OPS[:3], twin.latency_ns[:3], twin.shares_up_to(results.floor_ns), strict=True):
        note = f"median latency of a {op} by the profile of the disk"
        statement.fact(f"profile.{op}", latency_ns / 1e3, "us", source="profile of the disk", note=note)
        note = f"share of {op} operations of the profile that take at most as long as the floor"
        statement.fact(f"up_to_floor.{op}", share, "share", source="profile and calibration", note=note)
    name = data.config.disk_name or "without a name"
    statement.word("disk_name", name, source="plan", note="name of the real disk")
    statement.word("file_system", str(data.config.file_system), source="plan", note="file system on all disks")
    limited, note = ", ".join(cause.operation for cause in results.limited), "operations that are too fast for the emulator"
    statement.word("limited", limited or "none", source="profile and calibration", note=note)


def _state_metric(statement: Statement, results: Results, compared: Compared) -> None:
    name, title = compared.metric.name, compared.metric.title
    source = "traced requests of lives" if compared.metric.operation is not None else "ticks and actions of lives"
    for arm, what in ((REAL, "the real disk"), (TWIN_ARM, "the emulated twin"), (WRONG, "the wrong twin")):
        values = results.lives.loc[results.lives["arm"] == arm, name].dropna()
        mean, note = stats.over_lives(values, results.plan.alpha), f"{title} on {what}, mean over lives"
        statement.fact(f"{name}.{arm}", mean.value, "ms", interval=(mean.low, mean.high), n=mean.n, source=source, note=note)
    for arm, effect, what in (("ratio", compared.twin, "the twin"), ("wrong_ratio", compared.wrong, "the wrong twin")):
        note = f"{title} on {what}, as a ratio to the real disk"
        ends = (effect.low, effect.high)
        statement.fact(
            f"{name}.{arm}", effect.ratio, "ratio", interval=ends, n=effect.n, source="log ratios of blocks", note=note
        )
    cannot_tell = compared.outcome == "cannot tell"
    words = [compared.verdict.shown] if compared.verdict.shown else []
    statement.comparison(
        name,
        source=THIS_PROJECT,
        statement=f"Effect of the emulated twin instead of the real disk on {title}",
        verdict="inconclusive" if cannot_tell else compared.verdict.word,
        evidence="; ".join([*words, *(cause.sentence for cause in _told(compared.causes)), _SCAN]),
        causes=compared.causes,
        effect=f"{name}.ratio",
        facts=[f"{name}.wrong_ratio", f"{name}.{REAL}", f"{name}.{TWIN_ARM}"],
        n=compared.verdict.n,
        counted="blocks",
    )


def _told(causes: tuple[stats.Cause, ...]) -> list[stats.Obstacle | stats.BelowFloor | stats.WrongTwinNotFound | stats.Undecided]:
    """Returns the causes that have a sentence, which are all that this study makes."""
    silent = (stats.PointsNotJudged, stats.LivesFailed, stats.NotShown, stats.NotMeasured, stats.NotSettled, stats.Censored)
    return [cause for cause in causes if not isinstance(cause, silent)]
