"""Computes the contrasts of the switchback and of the join burst on every server of the plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import blame, stats
from tickdisk.experiment import INSIDE_TICK, JOIN_BURST, SWITCHBACK
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.studies import contrasts
from tickdisk.studies.join_burst.compute import compute as compute_join_burst
from tickdisk.studies.published import load_findings
from tickdisk.studies.runs import LifeTables, Runs
from tickdisk.studies.switchback.compute import compute as compute_switchback


@dataclass(frozen=True)
class Part:
    """One experiment on one server: its effects, and the saves and pauses of the server."""

    experiment: str
    """Name of the experiment: `switchback` or `join_burst`."""
    server: str
    title: str
    """Name of the server for people."""
    effects: contrasts.Contrasts
    doses: Sequence[str]
    """Arms with a latency of their own, from the lowest realised latency to the highest."""
    saves: pd.DataFrame
    """The periodic saves of the world, with the columns life, arm, position (of the epoch in its life), and ms (the duration).
    There are rows only for servers that are libraries, for which a program of this project makes the saves.
    """
    pauses_ms: Sequence[float]
    """Length of each time from the first epoch on in which the runtime stopped all threads, as far as it tells."""
    held: contrasts.Held | None
    """The time by which answers that were held back came later. None if no arm only holds answers back."""

    @property
    def metrics(self) -> list[str]:
        """Names of the tested metrics, which are columns of `effects.table`."""
        return list(self.effects.metrics)


@dataclass(frozen=True)
class InjectedStalls:
    """The stalls that were injected into captured lives of one server, and whether blame explains what they made late."""

    server: str
    title: str
    """Name of the server for people."""
    checks: pd.DataFrame
    """Rows of `blame.check_injections`, one per injected stall."""
    late: blame.Count
    """Stalls of the device after which a tick was slow or an action was slow."""
    explained: blame.Count
    """Stalls among these of which blame names a stalled request and file."""
    blamed: blame.Count
    """Stalls of the processor that blame puts down to storage."""
    knows_files: bool
    """Whether the evidence of every life tells the file of a device's request."""
    obstacles: Sequence[stats.Obstacle]
    """Causes for which the lives cannot decide anything."""


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiments. The other studies are about one of these servers."""

    parts: Sequence[Part]
    """Each experiment on each server that has run. The server of the other studies comes first."""
    stalls: Sequence[InjectedStalls]
    """The stalls of each server but `main` whose lives were captured."""
    main: str
    """Name of the server that the other studies are about."""
    findings: Mapping[str, stats.Finding]
    """Published findings by name. It is empty if none is tested."""

    @property
    def others(self) -> list[Part]:
        """The parts of all servers but `main`."""
        return [part for part in self.parts if part.server != self.main]


def compute(
    plan: str,
    *,
    runs: str,
    published: str | None = None,
    tick_metric: str,
    action: str,
    margin: float | None,
    seed: int | None,
) -> Results:
    """Compares the effects of storage latency on ticks, actions and joins between servers.

    `tick_metric` is one of `switchback.METRICS` and is tested beside the mean gap. `action` is the kind of action whose mean
    latency is tested, such as "teleport". `published` is the YAML file of findings. `margin` is a ratio less 1. If it or `seed`
    is None, it is the plan's. Raises TickdiskError if neither a switchback nor a join burst of another server has run.
    """
    planned = read_plan(Path(plan))
    main = planned.config.server
    pairs = dict.fromkeys((cell.server, cell.experiment) for cell in planned.cells)
    ran = {(cell.server, cell.experiment) for cell in planned.cells if has_run(Path(runs) / cell.hash)}
    parts, stalls = [], []
    for server, experiment in (pair for pair in pairs if pair in ran):
        if experiment == SWITCHBACK.name:
            steady = compute_switchback(
                plan, runs=runs, server=server, tick_metric=tick_metric, action=action, margin=margin, seed=seed
            )
            effects, lives = steady.contrasts, steady.lives
        elif experiment == JOIN_BURST.name:
            burst = compute_join_burst(plan, runs=runs, server=server, tick_metric=tick_metric, margin=margin, seed=seed)
            effects, lives = burst.contrasts, burst.lives
        else:
            if experiment == INSIDE_TICK.name and server != main:
                stalls.append(_stalls(Runs(plan, runs, experiment, server)))
            continue
        doses = contrasts.dose_arms(effects, "dose", "treatment")
        title = effects.data.manifests[0].server.title
        parts.append(
            Part(experiment, server, title, effects, doses, _saves(lives), _pauses_ms(lives), contrasts.held_back(effects, lives))
        )
    if all(part.server == main for part in parts):
        raise TickdiskError(
            f"no switchback and no join burst of another server than {main} has run under {runs}; "
            "run `snakemake --cores all` first"
        )
    findings = {} if published is None else load_findings(published)
    return Results(sorted(parts, key=lambda part: part.server != main), stalls, main, findings)


def growth(part: Part) -> stats.Mean | None:
    """Returns the natural logarithm of the duration of saves in a life's last epoch over that in its first, as the mean over
    lives. It shows whether a server saves changed terrain again and again. It is None if no life has saves in two epochs.
    """
    factors = []
    for _, life in part.saves.groupby("life"):
        by_position = life.groupby("position")["ms"].mean()
        if len(by_position) > 1:
            factors.append(float(np.log(by_position.iloc[-1] / by_position.iloc[0])))
    return stats.over_lives(factors, part.effects.plan.alpha) if factors else None


def _stalls(data: Runs) -> InjectedStalls:
    evidences = [evidence for folder in data.folders for evidence in blame.load_evidence(folder)]
    blames = [blame.attribute(evidence) for evidence in evidences if len(evidence.waits)]
    if not blames:
        raise TickdiskError(f"no wait of {data.server} was captured in {data.folders[0]}; run the experiment again")
    checks = pd.concat([blame.check_injections(one) for one in blames], ignore_index=True)
    device, cpu = (checks[checks["kind"] == kind] for kind in ("device_stall", "cpu_stall"))
    alpha = data.decision.alpha
    was_late = device["tick"].notna() | (device["action"] != "")
    named = (device["named"] | device["action_named"]).astype(bool)
    return InjectedStalls(
        data.server,
        data.manifests[0].server.title,
        checks,
        blame.count(was_late, alpha),
        blame.count(named[was_late], alpha),
        blame.count(cpu["blamed"].astype(bool), alpha),
        all(one.evidence.knows_files for one in blames),
        list(dict.fromkeys(obstacle for evidence in evidences for obstacle in evidence.obstacles)),
    )


def _pauses_ms(lives: Sequence[LifeTables]) -> list[float]:
    """Returns the lengths of the pauses that began within epochs. A runtime also pauses while the server starts."""
    lengths_ms = []
    for life in lives:
        pauses = life.pauses()
        first, last = int(life.epochs["start_ns"].min()), int(life.epochs["end_ns"].max())
        inside = pauses[pauses["begin_ns"].between(first, last)]
        lengths_ms += [float(ns) / 1e6 for ns in inside["end_ns"] - inside["begin_ns"]]
    return lengths_ms


def _saves(lives: Sequence[LifeTables]) -> pd.DataFrame:
    rows = []
    for life in lives:
        saves = life.saves()
        for position, epoch in enumerate(life.epochs.to_dict("records")):
            inside = saves[(saves["begin_ns"] >= epoch["steady_ns"]) & (saves["begin_ns"] < epoch["end_ns"])]
            rows += [
                {"life": life.block, "arm": epoch["arm"], "position": position, "ms": (end - begin) / 1e6}
                for begin, end in inside[["begin_ns", "end_ns"]].itertuples(index=False)
            ]
    return pd.DataFrame(rows, columns=["life", "arm", "position", "ms"])
