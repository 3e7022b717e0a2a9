"""Computes how many times as large each metric is on the twin, and on the wrong twin, as on the real disk, over blocks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from tickdisk import profile, qos, stats
from tickdisk.device import OPS, DeviceModel
from tickdisk.experiment import REAL, TWIN, TWIN_ARM, WRONG
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import NS_PER_MS
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import LifeTables, Runs

SMALL_BYTES = 4096
"""Largest size of the reads and writes whose latencies are compared."""
_FEWEST = 10
"""Number of requests of a kind below which a life says nothing about their latency."""
_SHARE_BELOW_FLOOR = 0.05
"""Share of the requests of a kind above which the disk is too fast for its twin, if they take at most as long as the floor."""
Outcome = Literal["equivalent", "different", "inconclusive", "cannot tell", "not valid"]
"""The outcome for one metric. It is `cannot tell` for a kind of request that is too fast for the emulator, and where the twin is
equivalent and the wrong twin was not found to be slower."""


@dataclass(frozen=True)
class Metric:
    """A quantity in ms that each life has."""

    name: str
    """Name in facts and claims, and of the column of `Results.lives`."""
    title: str
    """Name for people, in the middle of a sentence."""
    operation: str | None = None
    """The operation whose latency it is, or None for a metric of players."""


METRICS = (
    Metric("gap_max", "the longest tick gap"),
    Metric("gap_mean", "the mean tick gap"),
    Metric("join_mean", "the mean join time"),
    Metric("teleport_mean", "the mean teleport latency"),
    *(
        Metric(f"{op}_{name}", f"the {name if name == 'mean' else 'median'} latency of {words}", op)
        for op, words in (("read", "small reads"), ("write", "small writes"), ("flush", "flushes"))
        for name in ("p50", "mean")
    ),
)
"""The metrics, in the order in which they are shown."""


@dataclass(frozen=True)
class Compared:
    """One metric on both twins, beside the real disk."""

    metric: Metric
    twin: stats.Contrast
    wrong: stats.Contrast
    """Ratios to the real disk, over blocks."""
    verdict: stats.Verdict
    wrong_verdict: stats.Verdict
    causes: tuple[stats.Cause, ...]
    """Causes for which the outcome leaves the question open. There are none for an outcome that decides."""

    @property
    def outcome(self) -> Outcome:
        """The answer of the metric about the twin."""
        cannot_tell = any(isinstance(cause, stats.BelowFloor | stats.WrongTwinNotFound) for cause in self.causes)
        return "cannot tell" if cannot_tell and self.verdict.word != "not valid" else self.verdict.word


@dataclass(frozen=True)
class Results:
    """The lives beside a real disk, and what they say about its twin."""

    data: Runs
    disk: Path
    """Folder on the real disk."""
    lives: pd.DataFrame
    """One row per server life: block, arm, marked, requests (that were traced), unpaired, and a column for each metric in ms. A
    value that a life cannot estimate is NaN.
    """
    compared: Sequence[Compared]
    plan: stats.DecisionPlan
    """Rules of the decision. It counts blocks."""
    twin: DeviceModel
    """The device that was profiled from the disk."""
    floor_ns: int
    """Floor of the twin on this machine."""
    limited: Sequence[stats.BelowFloor]
    """The operations of the disk that are too fast for the emulator, whose latencies decide nothing."""
    truth: profile.DiskTruth | None
    """The delays of a disk that was made slow on purpose. None for any other disk."""

    def mean_ms(self, metric: str, arm: str) -> float:
        """Returns the mean of a metric in ms over the lives of an arm."""
        return float(self.lives.loc[self.lives["arm"] == arm, metric].mean())


def compute(plan: str, *, runs: str, margin: float | None) -> Results:
    """Compares the lives on the twin, and on the wrong twin, with those on the real disk.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders. `margin` is a ratio less 1, or None for the
    plan's. Raises TickdiskError if no cell has run, or if the disk was profiled again between cells.
    """
    data = Runs(plan, runs, TWIN.name)
    design, rules = data.design(TWIN), decide_by(data.decision, data.design(TWIN).blocks, margin)
    twins = {manifest.models[TWIN_ARM].model_dump_json(): manifest.models[TWIN_ARM] for manifest in data.manifests}
    if len(twins) > 1:
        raise TickdiskError(
            f"the disk was profiled again between the cells of {TWIN.name} under {runs}; remove their folders and run them again"
        )
    model, floor_ns = next(iter(twins.values())), data.manifests[0].lives[TWIN_ARM].floors_ns[TWIN_ARM]
    limited = list(_limited(model, floor_ns))
    lives = pd.DataFrame([_row(life, design.tau_ns) for life in data.lives])
    disk = Path(data.config.disk or "")
    return Results(
        data=data,
        disk=disk,
        lives=lives,
        compared=_compared(data, lives, rules, limited),
        plan=rules,
        twin=model,
        floor_ns=floor_ns,
        limited=limited,
        truth=profile.read_truth(disk),
    )


def _limited(model: DeviceModel, floor_ns: int) -> Iterator[stats.BelowFloor]:
    """Yields the operations of which too many do not exceed the floor, so that the emulator cannot be as fast."""
    for op, latency_ns, share in zip(OPS[:3], model.latency_ns[:3], model.shares_up_to(floor_ns), strict=True):
        if share > _SHARE_BELOW_FLOOR:
            yield stats.BelowFloor(operation=op, latency_ns=latency_ns, floor_ns=floor_ns, share=share)


def _row(life: LifeTables, tau_ns: int) -> dict[str, object]:
    """Returns the row of `Results.lives`. Ticks and teleports are those of the epoch; joins and requests those of all play."""
    start_ns, traced = life.manifest.started_ns, life.manifest.blocks
    end_ns = int(life.epochs["end_ns"].max()) if len(life.epochs) else start_ns
    epochs = life.epoch_rows(tau_ns).to_dict("records")
    epoch = epochs[0] if epochs else {}
    joins = qos.latencies_ms(life.actions, start_ns, end_ns, "join", tau_ns)
    row = {
        "block": life.block,
        "arm": life.name,
        "marked": life.marked,
        "requests": 0 if traced is None else traced.requests,
        "unpaired": 0 if traced is None else traced.unpaired,
        "gap_max": epoch.get("gap_max_ms", np.nan),
        "gap_mean": epoch.get("gap_mean_ms", np.nan),
        "join_mean": float(joins.mean()) if joins.size else np.nan,
        "teleport_mean": epoch.get("teleport_mean_ms", np.nan),
    }
    return row | latencies(table.read("blocks", life.folder / "blocks.parquet"), start_ns, end_ns)


def latencies(blocks: pd.DataFrame, start_ns: int, end_ns: int) -> dict[str, float]:
    """Returns median and mean latency in ms of small reads and writes, and of flushes, that were issued in a window.

    The columns are those of the table `blocks`. An operation with fewer than ten requests has NaN.
    """
    own = blocks[(blocks["issued_ns"] >= start_ns) & (blocks["issued_ns"] < end_ns) & (blocks["length"] <= SMALL_BYTES)]
    found = {}
    for op in OPS[:3]:
        asked = own[own["op"] == op]
        took_ms = (asked["completed_ns"] - asked["issued_ns"]).to_numpy(float) / NS_PER_MS
        is_told = len(took_ms) >= _FEWEST
        found[f"{op}_p50"] = float(np.median(took_ms)) if is_told else np.nan
        found[f"{op}_mean"] = float(took_ms.mean()) if is_told else np.nan
    return found


def _compared(data: Runs, lives: pd.DataFrame, rules: stats.DecisionPlan, limited: Sequence[stats.BelowFloor]) -> list[Compared]:
    saturated, unreached = data.not_valid(), data.unreached()
    effects = {arm: [_contrast(data, lives, metric.name, arm, rules) for metric in METRICS] for arm in (TWIN_ARM, WRONG)}
    decided: Mapping[str, list[stats.Verdict]] = {
        arm: [
            stats.verdict(
                effect,
                rules,
                obstacles=[*saturated.get(REAL, ()), *saturated.get(arm, ())],
                unreached=unreached.get(REAL, 0) + unreached.get(arm, 0),
                p=p,
                p_equivalent=p_equivalent,
                counted="blocks",
            )
            for effect, p, p_equivalent in zip(own, *_adjusted(own), strict=True)
        ]
        for arm, own in effects.items()
    }
    return [
        Compared(metric, twin, wrong, verdict, beside, _causes(metric, limited, twin, wrong, verdict, beside, rules))
        for metric, twin, wrong, verdict, beside in zip(
            METRICS, effects[TWIN_ARM], effects[WRONG], decided[TWIN_ARM], decided[WRONG], strict=True
        )
    ]


def _adjusted(effects: Sequence[stats.Contrast]) -> tuple[list[float], list[float]]:
    """Returns the p values of a difference and of equivalence, each adjusted as one scan over all metrics."""
    p = stats.adjusted([effect.p for effect in effects], "scan").tolist()
    return p, stats.adjusted([effect.p_equivalent for effect in effects], "scan").tolist()


def _contrast(data: Runs, lives: pd.DataFrame, metric: str, arm: str, rules: stats.DecisionPlan) -> stats.Contrast:
    values = lives.pivot_table(index="block", columns="arm", values=metric).reindex(columns=[REAL, arm])
    above = values[(values > 0).all(axis=1)]
    return data.contrast((above[arm] / above[REAL]).map(np.log), margin=rules.margin, alpha=rules.alpha)


def _causes(
    metric: Metric,
    limited: Sequence[stats.BelowFloor],
    twin: stats.Contrast,
    wrong: stats.Contrast,
    verdict: stats.Verdict,
    beside: stats.Verdict,
    rules: stats.DecisionPlan,
) -> tuple[stats.Cause, ...]:
    if too_fast := [cause for cause in limited if cause.operation == metric.operation]:
        return (*verdict.obstacles, *too_fast)
    is_found = beside.word == "different" and wrong.ratio > 1  # It is slower than the disk by construction.
    if verdict.word == "equivalent" and not is_found:
        low, high = (end if isfinite(end) else None for end in (wrong.low, wrong.high))
        return (stats.WrongTwinNotFound(n=wrong.n, low=low, high=high),)
    if verdict.word == "inconclusive" and not verdict.obstacles:
        needed = stats.lives_to_decide(twin, verdict, rules)
        return (stats.Undecided(n=verdict.n, needed=needed, counted="blocks"),)
    return verdict.obstacles
