"""Computes what each change does to the effect of a slow disk, and what power cuts lose with it, on every server of the plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import server, stats
from tickdisk.experiment import AGAIN, CHANGES, CUT, DELAYED, UNCHANGED, Changes
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.studies.changes.lost import Losses, losses_of
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import LifeTables, Runs

LONGEST = "gap_max_ms"
"""The longest tick gap of the analysed part of an epoch, which is as long in lives with rarer saves as in all others."""
METRICS: Mapping[str, str] = {
    LONGEST: "longest tick gap",
    "gap_mean_ms": "mean tick gap",
    "teleport_mean_ms": "mean teleport latency",
    "place_mean_ms": "mean latency of placing a block",
}
"""The metrics, each with its name in prose."""


@dataclass(frozen=True)
class Changed:
    """The lives of one server, with each change and without."""

    data: Runs
    changes: Mapping[str, str]
    """The changes that were tried, each in words."""
    rows: pd.DataFrame
    """One row per metric, block and life without power cuts: metric, block, life, fast and slow (the value in ms on either disk),
    ended_on (the disk that was in force when the server ended by itself: fast or slow, or else empty), level (the logarithm of
    slow), and effect (the logarithm of slow over fast). Values that are not known are NaN."""
    contrasts: Mapping[stats.Key, stats.Contrast]
    """By metric and life the ratio of two ratios: slow over fast with the change, over slow over fast without it."""
    plain: Mapping[stats.Key, stats.Contrast]
    """By metric and life the plain ratio: slow with the change over slow without it."""
    decision: stats.Verdicts
    """Verdicts on `contrasts`."""
    plan: stats.DecisionPlan
    """Rules of the decision, which counts blocks."""
    slow: str
    """Name of the arm with the slow disk."""
    losses: Mapping[str, Losses]
    """The losses by power cuts, by life: `UNCHANGED` and the changes. Empty if there were no power cuts."""

    @property
    def design(self) -> Changes:
        """The sizes of the experiment on the server, with its save periods and the length of what is analysed."""
        return self.data.design(CHANGES)

    @property
    def title(self) -> str:
        """The name of the server for people."""
        return self.data.manifests[0].server.title

    @property
    def lives(self) -> list[str]:
        """The lives of the table of prices: without a change, and with each change."""
        return [UNCHANGED, *self.changes]

    def words(self, life: str) -> str:
        """Returns in words what a life of `lives` changes."""
        return self.changes.get(life, "nothing is changed")

    def ended_on_slow(self, life: str) -> tuple[int, int]:
        """Returns the number of lives of a name whose server ended by itself on the slow disk, and that of all of them."""
        disks = self.rows[(self.rows["metric"] == LONGEST) & (self.rows["life"] == life)]["ended_on"]
        return int((disks == "slow").sum()), len(disks)

    def mean_ms(self, metric: str, life: str, disk: str) -> stats.Mean:
        """Returns the mean of a metric over the blocks in ms. `disk` is `fast` or `slow`."""
        own = self.rows[(self.rows["metric"] == metric) & (self.rows["life"] == life)]
        return stats.over_lives(own[disk].dropna(), self.plan.alpha)


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[Changed]
    main: str
    """Name of the server that the other studies are about."""


def compute(plan: str, *, runs: str, margin: float | None, seed: int | None) -> Results:
    """Analyses how changes of settings alter the effect of a slow disk, and what power cuts lose.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders. `margin` is a ratio less 1, and `seed` that
    of random draws. If one of them is None, it is the plan's. Raises TickdiskError if no cell of the experiment has run.
    """
    planned = read_plan(Path(plan))
    main = planned.config.server
    ran = dict.fromkeys(
        cell.server for cell in planned.cells if cell.experiment == CHANGES.name and has_run(Path(runs) / cell.hash)
    )
    if not ran:
        raise TickdiskError(f"no cell of {CHANGES.name} has run under {runs}; run `make paper STUDY={CHANGES.name}` first")
    del seed  # Nothing is drawn here.
    return Results(
        [_changed(Runs(plan, runs, CHANGES.name, name), margin) for name in sorted(ran, key=lambda n: n != main)], main
    )


def _changed(data: Runs, margin: float | None) -> Changed:
    design = data.design(CHANGES)
    plan = decide_by(data.decision, data.asked(CHANGES).blocks, margin)
    lives = data.lives
    changes = {name: server.SERVERS[data.server].changes[name].title for name in design.changes}
    rows = _with_logs(pd.concat([_values(data, life) for life in lives if not life.name.startswith(CUT)], ignore_index=True))
    effects, plain = (
        {
            (metric, name): data.contrast(ratios, margin=plan.margin, alpha=plan.alpha)
            for metric in METRICS
            for name, ratios in _ratios(rows[rows["metric"] == metric], logs, list(changes)).items()
        }
        for logs in ("effect", "level")
    )
    decision = stats.decide(
        effects,
        plan,
        stats.Roles(null=AGAIN, sham=None, positive=dict.fromkeys(METRICS, DELAYED), treatments=list(changes)),
        obstacles=_saturated(lives, UNCHANGED) + _saturated(lives, AGAIN),
        obstacles_by_arm={name: _saturated(lives, name) for name in (DELAYED, *changes)},
        unreached={name: _unreached(rows, name) for name in (AGAIN, DELAYED, *changes)},
    )
    return Changed(
        data=data,
        changes=changes,
        rows=rows,
        contrasts=effects,
        plain=plain,
        decision=decision,
        plan=plan,
        slow=data.role("dose"),
        losses=losses_of(lives, (UNCHANGED, *changes), plan.alpha),
    )


def _values(data: Runs, life: LifeTables) -> pd.DataFrame:
    """Returns the rows of `Changed.rows` of one life, without logarithms. A value that the life does not have is NaN.

    In the epoch in which a server ended by itself, metrics have their worst values (`qos.epoch_table`).
    """
    rows = life.epoch_rows(data.design(CHANGES).tau_ns).set_index("arm") if len(life.epochs) else pd.DataFrame()
    fast, ended = data.role("baseline"), life.manifest.ended
    slow = next(arm for arm in life.arms if arm != fast)
    found = rows.reindex(index=[fast, slow], columns=list(METRICS)).astype(float)
    return pd.DataFrame(
        {
            "metric": list(METRICS),
            "block": life.block,
            "life": life.name,
            "fast": found.loc[fast].to_numpy(),
            "slow": found.loc[slow].to_numpy(),
            "ended_on": "" if ended is None else "fast" if ended.arm == fast else "slow",
        }
    )


def _with_logs(rows: pd.DataFrame) -> pd.DataFrame:
    """Adds level and effect to the rows of `Changed.rows`.

    If the slow disk ended a server before the fast disk came, the life still has the worst value on the slow disk. The fast value
    is then that of the other blocks of this life: their mean on the logarithmic scale. The effect is NaN if either is not known.
    """
    slow, fast = (np.log(rows[disk].where((rows[disk] > 0) & np.isfinite(rows[disk]))) for disk in ("slow", "fast"))
    usual = fast.where(rows["ended_on"] != "fast").groupby([rows["metric"], rows["life"]]).transform("mean")
    fast = fast.where(fast.notna() | (rows["ended_on"] != "slow"), usual)
    return rows.assign(level=slow, effect=slow - fast)


def _ratios(values: pd.DataFrame, logs: str, changes: Sequence[str]) -> dict[str, "pd.Series[float]"]:
    """Returns the logarithms of the ratios to the lives without a change by life, with one number per block that has both lives.

    `values` are rows of `Changed.rows` of one metric, and `logs` names the column with the logarithms: effect or level.
    """
    names = [UNCHANGED, AGAIN, DELAYED, *changes]
    effects = values.pivot_table(index="block", columns="life", values=logs).reindex(columns=names)
    contrasts = stats.life_contrasts(effects.to_numpy(float), baseline=0, null=1)
    return {name: pd.Series(contrasts[:, place], effects.index).dropna() for place, name in enumerate(names) if place}


def _unreached(rows: pd.DataFrame, name: str) -> int:
    """Returns the number of blocks that have no ratio for a life, because its server or those without a change ended too early.

    Lives without a change are compared with each other, and all other lives with either of them.
    """
    lacking = rows[rows["effect"].isna() & (rows["ended_on"] != "")]
    own, first, again = (set(lacking.loc[lacking["life"] == life, "block"]) for life in (name, UNCHANGED, AGAIN))
    return len(own | first if name == AGAIN else own | (first & again))


def _saturated(lives: Sequence[LifeTables], name: str) -> list[stats.ClientsSaturated]:
    """Returns the causes for which lives of a name say nothing: their clients were short of processor time on a disk."""
    return [
        stats.ClientsSaturated(life=life.title, detail=detail)
        for life in lives
        if life.name == name
        for detail in life.manifest.not_valid.values()
    ]
