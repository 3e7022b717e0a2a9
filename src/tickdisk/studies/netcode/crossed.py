"""Asks whether a slow disk shows in the round-trip time of a ping on the game servers, from the epochs of the switchback."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tickdisk import stats
from tickdisk.experiment import SWITCHBACK
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.studies import contrasts
from tickdisk.studies.runs import Runs

METRIC = "ping_mean_ms"
"""Mean time from a ping of a player to the server's answer, in the steady part of an epoch."""


@dataclass(frozen=True)
class Crossed:
    """The pings of one game server on disks of different latency."""

    server: str
    title: str
    """Name of the server for people."""
    effects: contrasts.Contrasts
    """Effects of every arm on the mean round-trip time of pings. Its positive control is the arm that delays ticks."""
    arm: str
    """Arm of the claim: the one that the confirmatory claims of the configuration are about."""

    @property
    def baseline(self) -> stats.Mean:
        """The round-trip time in ms on the baseline device, as the mean over lives."""
        rows = self.effects.table
        own = rows[rows["arm"].isin([self.effects.baseline, self.effects.roles.null])]
        return stats.over_lives(own.groupby("life")[METRIC].mean(), self.effects.plan.alpha)


def compute_crossed(plan: str, *, runs: str, margin: float | None) -> Sequence[Crossed]:
    """Computes the effects of slow disks on pings for every server whose switchback has run. There may be none."""
    cells = [cell for cell in read_plan(Path(plan)).cells if cell.experiment == SWITCHBACK.name]
    servers = dict.fromkeys(cell.server for cell in cells if has_run(Path(runs) / cell.hash))
    return [_crossed(Runs(plan, runs, SWITCHBACK.name, server), margin) for server in servers]


def _crossed(data: Runs, margin: float | None) -> Crossed:
    design = data.design(SWITCHBACK)
    effects = contrasts.compute(
        "pings",
        data,
        [life.epoch_rows(design.tau_ns) for life in data.lives],
        {METRIC: "mean round-trip time of a ping"},
        actions=(),
        planned=design.lives,
        asked=data.asked(SWITCHBACK).lives,
        margin=margin,
        seed=None,
    )
    return Crossed(data.server, data.manifests[0].server.title, effects, data.decision.confirmatory.arm)
