"""Computes the effects of slow reads, writes and flushes on each server, their sum beside the effect of all, and counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import blame, stats
from tickdisk.config import PlannedCell
from tickdisk.experiment import INSIDE_TICK, OPERATIONS, Arm
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import has_run
from tickdisk.project import SizingClass, read_plan
from tickdisk.studies import contrasts
from tickdisk.studies.operations.classes import ClassEffect, class_effects
from tickdisk.studies.operations.kinds import ALL, KINDS, SUM
from tickdisk.studies.runs import LifeTables, Runs
from tickdisk.studies.switchback.compute import compute as compute_switchback


@dataclass(frozen=True)
class Together:
    """One metric with all operations slow, beside the sum of what each of them adds alone."""

    interaction_ms: stats.Mean
    """Time that all operations together add beyond this sum. It is 0 if effects add up."""
    ratio: stats.Contrast
    """The metric with all operations slow, over the baseline with the sum added to it."""
    verdict: stats.Verdict
    """Verdict on the ratio, which is 1 if, and only if, the interaction is 0."""


@dataclass(frozen=True)
class Waited:
    """The requests of the device that captured ticks of a server waited for one after another."""

    ticks: pd.DataFrame
    """Rows of `blame.requests_in_a_row`, with `saves`: whether the server saved in the tick."""
    players: int
    latency_ms: float
    """Nominal latency of the captured lives."""


@dataclass(frozen=True)
class Part:
    """The experiment on one server."""

    server: str
    title: str
    """Name of the server for people."""
    effects: contrasts.Contrasts
    doses: contrasts.Contrasts
    """The contrasts of the switchback on the same server."""
    arms: Mapping[str, str]
    """Names of the arms by operation, and under `ALL` the one in which all are slow."""
    more_ms: float
    """Latency of a slow operation beyond that of the baseline."""
    baseline_ms: Mapping[str, float]
    """Mean over lives of each metric at both baselines."""
    added: Mapping[tuple[str, str], stats.Mean]
    """Time in ms that slow operations add to a metric, as the mean over lives, by the metric and by operation, `ALL` or `SUM`."""
    together: Mapping[str, Together]
    """The test whether effects add up, by metric."""
    met: pd.DataFrame
    """Number of requests of each operation and their median latency in ms, by arm (columns arm, op, requests, latency_ms). Both
    are medians over the epochs of the arm."""
    waited: Waited | None
    """None if no life of the server was captured."""
    classes: Mapping[tuple[str, str], ClassEffect]
    """The metrics on classes of disks, by metric and class, with the fastest class first."""


@dataclass(frozen=True)
class Results:
    """The experiment on every server on which it ran, with the server of the other studies first."""

    parts: Sequence[Part]
    classes: Mapping[str, SizingClass]
    """The classes of disks, by name."""


def compute(plan: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Results:
    """Compares the effects of slow reads, writes and flushes with each other and with all of them together, on each server.

    `tick_metric` is one of `switchback.METRICS` and is tested beside the mean gap. `action` is the kind of action whose mean
    latency is tested, such as "teleport". `margin` is a ratio less 1. If it or `seed` is None, it is the plan's. The positive
    controls and the sham are those of the switchback on the same server. Raises TickdiskError if no cell of the experiment has
    run, or if no cell of the switchback has run on one of its servers.
    """
    planned = read_plan(Path(plan))
    ran = dict.fromkeys(cell.server for cell in planned.cells if _has_run(runs, cell, OPERATIONS.name))
    captured = {cell.server for cell in planned.cells if _has_run(runs, cell, INSIDE_TICK.name)}
    if not ran:
        raise TickdiskError(f"no cell of {OPERATIONS.name} has run under {runs}; run `snakemake --cores all` first")
    parts = []
    for server in ran:
        control = compute_switchback(
            plan, runs=runs, server=server, tick_metric=tick_metric, action=action, margin=margin, seed=seed
        )
        waited = _waited(Runs(plan, runs, INSIDE_TICK.name, server)) if server in captured else None
        data = Runs(plan, runs, OPERATIONS.name, server)
        parts.append(_part(data, control.contrasts, waited, planned.classes, len(ran), margin, seed))
    return Results(sorted(parts, key=lambda part: part.server != planned.config.server), planned.classes)


def _has_run(runs: str, cell: PlannedCell, experiment: str) -> bool:
    return cell.experiment == experiment and has_run(Path(runs) / cell.hash)


def _part(
    data: Runs,
    control: contrasts.Contrasts,
    waited: Waited | None,
    classes: Mapping[str, SizingClass],
    servers: int,
    margin: float | None,
    seed: int | None,
) -> Part:
    lives, tau_ns = data.lives, data.design(OPERATIONS).tau_ns
    effects = contrasts.compute(
        OPERATIONS.name,
        data,
        [life.epoch_rows(tau_ns) for life in lives],
        control.metrics,
        actions=control.actions,
        planned=data.design(OPERATIONS).lives,
        asked=data.asked(OPERATIONS).lives,
        margin=margin,
        seed=seed,
        controlled_by=control,
    )
    arms, alpha = _arms(data.arms), effects.plan.alpha
    values = {metric: _added_ms(effects, metric, arms) for metric in effects.metrics}
    return Part(
        data.server,
        data.manifests[0].server.title,
        effects,
        control,
        arms,
        data.latency_ms(arms[ALL]) - data.latency_ms(effects.baseline),
        {metric: float(own["baseline"].mean()) for metric, own in values.items()},
        {(metric, name): stats.over_lives(own[name], alpha) for metric, own in values.items() for name in (*arms, SUM)},
        _together(effects, values),
        _met(lives, [arm.arm for arm in data.arms]),
        waited,
        class_effects(effects, control, values, classes, rows=servers * len(values)),
    )


def _arms(arms: Sequence[Arm]) -> dict[str, str]:
    """Returns the names of the arms by operation and under `ALL`. Raises TickdiskError if the table lacks one of them."""
    found = {}
    for arm in arms:
        latencies_us = arm.latencies_us
        if arm.role != "treatment" or latencies_us is None:
            continue
        slow = [op for op, us in zip(KINDS, latencies_us, strict=True) if us == max(latencies_us)]
        found[slow[0] if len(slow) == 1 else ALL] = arm.arm
    lacking = [name for name in (*KINDS, ALL) if name not in found]
    if lacking:
        raise TickdiskError(f"experiments.tsv: no arm of {OPERATIONS.name} has slow {KINDS.get(lacking[0], ALL)} alone; add one")
    return {name: found[name] for name in (*KINDS, ALL)}


def _added_ms(effects: contrasts.Contrasts, metric: str, arms: Mapping[str, str]) -> pd.DataFrame:
    """Returns one row per life: the baseline in ms, and what each operation, all, and the sum of the three add to it in ms."""
    values = effects.table.pivot_table(index="life", columns="arm", values=metric).reindex(
        columns=[effects.baseline, effects.roles.null, *arms.values()]
    )
    baseline = values[[effects.baseline, effects.roles.null]].mean(axis=1)
    added = pd.DataFrame({name: values[arm] - baseline for name, arm in arms.items()})
    return added.assign(**{SUM: added[list(KINDS)].sum(axis=1, skipna=False), "baseline": baseline})


def _together(effects: contrasts.Contrasts, values: Mapping[str, pd.DataFrame]) -> dict[str, Together]:
    plan, tested = effects.plan, dict[str, stats.Contrast]()
    for metric, own in values.items():
        expected = own["baseline"] + own[SUM]
        ratios = ((own["baseline"] + own[ALL]) / expected)[expected > 0].dropna()
        tested[metric] = effects.data.contrast(np.log(ratios), margin=plan.margin, alpha=plan.alpha)
    p, p_equivalent = (
        stats.adjusted([getattr(each, test) for each in tested.values()], "scan").tolist() for test in ("p", "p_equivalent")
    )
    return {
        metric: Together(
            stats.over_lives(values[metric][ALL] - values[metric][SUM], plan.alpha),
            ratio,
            stats.verdict(
                ratio,
                plan,
                obstacles=[
                    *(effects.outcome.decision.controls[metric].failed if ratio.n >= plan.minimum else ()),
                    *(obstacle for arm in effects.arms for obstacle in effects.not_valid.get(arm, ())),
                ],
                undecided=effects.outcome.decision.controls[metric].undecided,
                p=p[place],
                p_equivalent=p_equivalent[place],
            ),
        )
        for place, (metric, ratio) in enumerate(tested.items())
    }


def _met(lives: Sequence[LifeTables], arms: Sequence[str]) -> pd.DataFrame:
    rows = []
    for life in lives:
        device = life.device()
        device = device.assign(ms=(device["replied_ns"] - device["arrival_ns"]) / 1e6)
        for arm, start, end in life.epochs[["arm", "start_ns", "end_ns"]].itertuples(index=False):
            own = (
                device[(device["arrival_ns"] >= start) & (device["arrival_ns"] < end)].groupby("op")["ms"].agg(["size", "median"])
            )
            own = own.reindex(list(KINDS)).fillna({"size": 0})
            rows += [(arm, op, count, median_ms) for op, count, median_ms in own.itertuples()]
    met = pd.DataFrame(rows, columns=["arm", "op", "requests", "latency_ms"])
    order = pd.MultiIndex.from_product([arms, list(KINDS)], names=["arm", "op"])
    return met.groupby(["arm", "op"]).median().reindex(order).dropna(subset=["requests"]).reset_index()


def _waited(data: Runs) -> Waited:
    """Counts the requests that each tick of the captured lives waited for one after another, and finds the ticks of saves.

    A tick saves if the thread that ticks syncs a file in it, or if it overlaps a save that our program asked for.
    """
    counted = []
    for folder in data.folders:
        for evidence in blame.load_evidence(folder):
            one = blame.attribute(evidence)
            ticks = blame.requests_in_a_row(one)
            asked, own = evidence.requests, evidence.requests["thread_name"] == one.thread_name
            synced = asked.loc[own & (asked["op"] == "sync"), "start_ns"]
            saves = table.read("saves", folder / evidence.name / "saves.parquet")
            begins = np.concatenate([synced, saves["begin_ns"]])
            ends = np.concatenate([synced + 1, saves["end_ns"]])
            starts = ticks["start_ns"].to_numpy()
            first, last = np.searchsorted(starts, begins, "right") - 1, np.searchsorted(starts, ends, "left")
            saving = {tick for low, high in zip(first, last, strict=True) for tick in range(max(low, 0), high)}
            counted.append(ticks.assign(saves=[place in saving for place in range(len(ticks))]))
    return Waited(pd.concat(counted, ignore_index=True), data.design(INSIDE_TICK).players, data.latency_ms(data.role("baseline")))
