"""Computes what storage latency adds to the longest tick gap, by the number of players, on every server of the plan."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import accesses, qos, stats
from tickdisk.experiment import INSIDE_TICK, PLAYERS, SWITCHBACK
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.studies import contrasts
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import LifeTables, Runs
from tickdisk.studies.switchback.compute import compute as compute_switchback

GAP = "gap_max_ms"
"""The metric: the longest tick gap of an epoch in ms."""
_ACTION = "teleport"
_POSITIVE = "positive"
"""Name of the positive control that the switchback of the same run has."""


@dataclass(frozen=True)
class ServerPlayers:
    """The lives of one server, and what they say about the number of players."""

    data: Runs
    lives: pd.DataFrame
    """One row per server life: block, players, one column with `GAP` for each arm, base_ms (mean of both baselines), added_ms
    (beyond base_ms on the slow device), per_ms (added_ms for each ms of latency), requests (in the epoch of the slow device),
    marked, and saturated (words, or empty).

    A life whose clients were saturated does not count for anything.
    """
    added: Mapping[int, stats.Mean]
    """Time in ms that the slow device adds to the longest gap, by number of players, as the mean over lives."""
    contrasts: Mapping[stats.Key, stats.Contrast]
    """The effects as ratios, by `GAP` and arm: the slow device with each number of players (`arm_of`), and the controls."""
    decision: stats.Verdicts
    """Verdicts on `contrasts`."""
    plan: stats.DecisionPlan
    """Rules of the decision. It counts blocks."""
    lines: pd.DataFrame
    """One row per block with the line of per_ms over players that least squares fit to its lives: per_player, at_none (at no
    player), and relative (what the line adds from the fewest players to the most, as a share of the block's mean base_ms)."""
    line: stats.Contrast
    """Test of `relative` over blocks in the place of a log ratio, so that the margin is one of the gap at the baseline."""
    slow: str
    """Arm with the slow device."""

    @property
    def title(self) -> str:
        """The name of the server for people."""
        return self.data.manifests[0].server.title

    @property
    def numbers(self) -> list[int]:
        """The numbers of players that were planned, from small to large."""
        return sorted(self.data.design(PLAYERS).players)

    @property
    def counting(self) -> pd.DataFrame:
        """The lives that count, which are those whose clients were not saturated."""
        return self.lives[self.lives["saturated"] == ""]

    @property
    def latency_ms(self) -> float:
        """The latency in ms that the slow device adds to a request, as calibration realised it."""
        return _latency_ms(self.data, self.slow)

    def over_blocks(self, at: float | None = None) -> stats.Mean:
        """Returns the mean of the blocks' lines at a number of players, in ms per ms, or of their slopes if it is None."""
        lines = self.lines
        return stats.over_lives(
            lines["per_player"] if at is None else lines["at_none"] + at * lines["per_player"], self.plan.alpha
        )


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[ServerPlayers]
    main: str
    """Name of the server that the other studies are about."""
    captured: accesses.PlayerSaves | None
    """Requests by which this server saves players, counted in captured lives. None if none was captured."""


def arm_of(players: int) -> str:
    """Returns the name of the effect of the slow device with a number of players, in facts and claims."""
    return f"players_{players}"


def compute(plan: str, *, runs: str, margin: float | None, seed: int | None) -> Results:
    """Analyses how the effect of the device's latency on the longest tick gap depends on the number of players.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders. `margin` is a ratio less 1. If it or `seed`
    is None, it is the plan's. Raises TickdiskError if no cell of the experiment has run.
    """
    planned = read_plan(Path(plan))
    main = planned.config.server
    ran = {(cell.experiment, cell.server) for cell in planned.cells if has_run(Path(runs) / cell.hash)}
    names = [server for experiment, server in ran if experiment == PLAYERS.name]
    if not names:
        raise TickdiskError(f"no cell of {PLAYERS.name} has run under {runs}; run `snakemake --cores all` first")
    servers = []
    for name in sorted(names, key=lambda name: (name != main, name)):
        beside = None
        if (SWITCHBACK.name, name) in ran:
            beside = compute_switchback(
                plan, runs=runs, server=name, tick_metric=GAP, action=_ACTION, margin=margin, seed=seed
            ).contrasts
        servers.append(_server(Runs(plan, runs, PLAYERS.name, name), beside, margin))
    captured = _captured(Runs(plan, runs, INSIDE_TICK.name)) if (INSIDE_TICK.name, main) in ran else None
    return Results(servers, main, captured)


def _server(data: Runs, beside: contrasts.Contrasts | None, margin: float | None) -> ServerPlayers:
    """Analyses one server. `beside` is its switchback, which lends the positive control and the sham. None if it did not run."""
    design, lenders = data.design(PLAYERS), dict[str, str]()
    if beside is not None:
        lenders = {_POSITIVE: beside.roles.positive[GAP], **({} if beside.roles.sham is None else {"sham": beside.roles.sham})}
    plan = decide_by(data.decision, design.blocks, margin)
    slow, null, baseline = (data.role(role) for role in ("dose", "null", "baseline"))
    tables = data.lives
    rows = pd.concat([life.epoch_rows(design.tau_ns).assign(life=number) for number, life in enumerate(tables)])
    lives = rows.pivot_table(index="life", columns="arm", values=GAP).reindex(range(len(tables)), columns=[baseline, null, slow])
    base_ms = lives[[baseline, null]].mean(axis=1)
    planned = {life.name: int(life.players or 0) for manifest in data.manifests for life in manifest.plan}
    lives = lives.assign(
        block=[life.block for life in tables],
        players=[planned[life.name] for life in tables],
        base_ms=base_ms,
        added_ms=lives[slow] - base_ms,
        per_ms=(lives[slow] - base_ms) / _latency_ms(data, slow),
        requests=[_requests(life, slow) for life in tables],
        marked=[life.marked for life in tables],
        saturated=["; ".join(dict.fromkeys(life.manifest.saturated.values())) for life in tables],
    )
    counts = lives[lives["saturated"] == ""]
    ratios = qos.contrasts_by_life(rows[rows["life"].isin(counts.index)], GAP, baseline=baseline, null=null)
    numbers = sorted(design.players)

    def contrast(values: "pd.Series[float]") -> stats.Contrast:
        return data.contrast(values.set_axis(lives.loc[values.index, "block"]), margin=plan.margin, alpha=plan.alpha)

    none = pd.Series(dtype=float)
    effects = {} if beside is None else {(GAP, name): beside.outcome.contrasts[GAP, arm] for name, arm in lenders.items()}
    effects.setdefault((GAP, _POSITIVE), contrast(none))
    effects[GAP, null] = contrast(ratios.get(null, none))
    for players in numbers:
        own = ratios.get(slow, none)
        effects[GAP, arm_of(players)] = contrast(own[own.index.isin(counts.index[counts["players"] == players])])
    lines_of_blocks = _lines(counts, _latency_ms(data, slow))
    roles = stats.Roles(
        null=null,
        sham="sham" if "sham" in lenders else None,
        positive={GAP: _POSITIVE},
        treatments=[arm_of(players) for players in numbers],
    )
    return ServerPlayers(
        data=data,
        lives=lives,
        added={
            players: stats.over_lives(counts.loc[counts["players"] == players, "added_ms"], plan.alpha) for players in numbers
        },
        contrasts=effects,
        decision=_decided(effects, plan, roles, tables, lives, slow, beside, lenders),
        plan=plan,
        lines=lines_of_blocks,
        line=data.contrast(lines_of_blocks.set_index("block")["relative"], margin=plan.margin, alpha=plan.alpha),
        slow=slow,
    )


def _decided(
    effects: Mapping[stats.Key, stats.Contrast],
    plan: stats.DecisionPlan,
    roles: stats.Roles,
    tables: Sequence[LifeTables],
    lives: pd.DataFrame,
    slow: str,
    beside: contrasts.Contrasts | None,
    lenders: Mapping[str, str],
) -> stats.Verdicts:
    """Decides on one server. The controls that the switchback lends are decided by its plan and with its own obstacles."""
    obstacles: dict[str, Sequence[stats.Obstacle]] = {**_saturated(tables, lives)}
    unreached = _ended(lives, slow)
    if beside is not None:
        before = beside.data.unreached()
        obstacles |= {name: beside.not_valid.get(arm, ()) for name, arm in lenders.items()}
        unreached |= {name: before.get(arm, 0) for name, arm in lenders.items()}
    lent = {} if beside is None else dict.fromkeys(lenders, beside.plan)
    return stats.decide(effects, plan, roles, obstacles_by_arm=obstacles, unreached=unreached, lent=lent)


def _requests(life: LifeTables, slow: str) -> float:
    """Returns the number of requests in the epoch of the slow device. NaN if the server ended before it."""
    counted = qos.requests_table(life.device(), life.epochs, life=life.block)
    return float(counted.loc[counted["arm"] == slow, "requests"].sum()) if slow in set(counted["arm"]) else float("nan")


def _latency_ms(data: Runs, slow: str) -> float:
    return data.dose_ms(slow) - data.dose_ms(data.role("baseline"))


def _lines(lives: pd.DataFrame, latency_ms: float) -> pd.DataFrame:
    """Fits a line to the lives of each block that has at least two numbers of players. The columns are those of `lines`."""
    fitted, known = [], lives.dropna(subset=["per_ms"])
    more = float(known["players"].max() - known["players"].min())
    for block, own in known.groupby("block"):
        if len(own) > 1:
            per_player, at_none = np.polyfit(own["players"], own["per_ms"], 1).tolist()
            relative = more * per_player * latency_ms / float(own["base_ms"].mean())
            fitted.append((block, per_player, at_none, relative))
    return pd.DataFrame(fitted, columns=["block", "per_player", "at_none", "relative"], dtype=float)


def _saturated(tables: Sequence[LifeTables], lives: pd.DataFrame) -> dict[str, list[stats.ClientsSaturated]]:
    """Returns the causes for which a number of players has no valid result, by `arm_of` the number."""
    found: dict[str, list[stats.ClientsSaturated]] = {}
    for number, life in lives[lives["saturated"] != ""].iterrows():
        cause = stats.ClientsSaturated(life=tables[int(str(number))].title, detail=life["saturated"])
        found.setdefault(arm_of(life["players"]), []).append(cause)
    return found


def _ended(lives: pd.DataFrame, slow: str) -> dict[str, int]:
    """Returns the number of lives whose server ended before the slow device came, by `arm_of` their number of players."""
    return {arm_of(int(str(players))): int(own[slow].isna().sum()) for players, own in lives.groupby("players")}


def _captured(data: Runs) -> accesses.PlayerSaves | None:
    """Counts the saves of players in captured lives. None if these lives have no saves as Luanti makes them."""
    counts = []
    for life in data.lives:
        with suppress(TickdiskError):
            found = accesses.select(table.read("requests", life.folder / "requests.parquet")).table
            saves = accesses.saves(found, np.asarray(life.ticks["start_ns"], dtype="int64"))
            counts.append(accesses.player_saves(found, saves, life.device()))
    total = reduce(add, counts, accesses.PlayerSaves(0, 0, 0, 0, 0))
    return total if total.players else None
