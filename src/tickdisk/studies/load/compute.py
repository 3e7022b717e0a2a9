"""Computes how many players each device carries, and what ended each search for more, on every server of the plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from tickdisk import qos, stats
from tickdisk.experiment import LOAD, Load
from tickdisk.foundation import table
from tickdisk.foundation.numbers import NS_PER_MS
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import LifeTables, Runs, all_servers

CARRIED = "carried"
"""The metric: the number of players of the last step before ticks or actions come too late."""
Ending = Literal["device", "processor", "clients", "other", "nothing"]
"""The resource that ended a search. It is `nothing` if the device carries the players of every step."""
ACTIONS = ("teleport", "place", "dig", "ping")
"""The kinds of actions whose latencies count."""
_BUSY = 0.9
"""Share of its cores above which the server, or the thread that ticks, is short of processor time."""
_MINUTE_S = 60.0
METRICS = {"late": "late_s_per_min", "p95": "action_p95_ms"}
"""The columns of the steps that are judged, by the names that the figure and the facts give them."""


@dataclass(frozen=True)
class Search:
    """The search of one life: the players that its device carried, and the end."""

    block: int
    arm: str
    carried: int
    """Number of players of the last step before the first that failed. It is 0 if the first step failed (censored)."""
    failed_at: int | None
    """Number of players of the first step that failed. None if every step was carried, and the true number may be larger."""
    ended_by: Ending

    @property
    def is_censored(self) -> bool:
        """Whether the true number of players may be smaller (the first step failed) or larger (no step failed)."""
        return self.carried == 0 or self.failed_at is None


@dataclass(frozen=True)
class ServerLoad:
    """The lives of one server, and what they say about the players that a device carries."""

    data: Runs
    steps: pd.DataFrame
    """One row per step of a life: block, arm, players, late_s_per_min (time by which late ticks came too late), action_p95_ms,
    requests_per_s (of the device), busy (share of its cores that the server used, or the thread that ticks), saturated (whether
    the clients were), and marked (whether the life was disturbed).
    """
    searches: Sequence[Search]
    """One for each life but those of the positive control, in the order of blocks and arms."""
    contrasts: Mapping[stats.Key, stats.Contrast]
    """Ratios by `CARRIED` and arm: carried players to those on the fast device, and for the positive control the time by which
    ticks came too late to the limit."""
    censored: Mapping[str, stats.Censored]
    """The arms with searches that are censored, on them or on the fast device. Such a ratio is nearer to 1 than the true one. A
    search that failed at its first step counts with half of that step."""
    decision: stats.Verdicts
    """Verdicts on `contrasts`."""
    plan: stats.DecisionPlan
    """Rules of the decision. It counts blocks."""

    @property
    def title(self) -> str:
        """The name of the server for people."""
        return self.data.manifests[0].server.title

    @property
    def design(self) -> Load:
        """The sizes of the experiment on the server."""
        return self.data.design(LOAD)

    @property
    def arms(self) -> list[str]:
        """The arms that search, in the order of the table of experiments."""
        return [arm.arm for arm in self.data.arms if arm.role != "delay"]

    @property
    def apart(self) -> list[int]:
        """For each block in which both searches on the fast device carried a step, the number of steps between their ends."""
        numbers, found = list(self.design.players), []
        carried = self.carried()
        for first, again in carried[[self.data.role("baseline"), self.data.role("null")]].itertuples(index=False):
            if first > 0 and again > 0:
                found.append(abs(numbers.index(int(first)) - numbers.index(int(again))))
        return found

    def carried(self) -> pd.DataFrame:
        """Returns the carried players with a row for each block and a column for each arm. NaN for a life that is missing."""
        rows = [(search.block, search.arm, search.carried) for search in self.searches]
        wide = pd.DataFrame(rows, columns=["block", "arm", CARRIED]).pivot_table(index="block", columns="arm", values=CARRIED)
        return wide.reindex(columns=self.arms)

    def mean(self, arm: str, players: int, metric: str) -> stats.Mean:
        """Returns the mean over blocks of a metric of `METRICS` on the device of an arm with a number of players."""
        own = self.steps[(self.steps["arm"] == arm) & (self.steps["players"] == players)]
        return stats.over_lives(own[METRICS[metric]], self.plan.alpha)

    def of_arm(self, arm: str) -> list[Search]:
        """Returns the searches on the device of an arm."""
        return [search for search in self.searches if search.arm == arm]


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[ServerLoad]


def compute(plan: str, *, runs: str, margin: float | None) -> Results:
    """Analyses how many players each device carries.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders. `margin` is a ratio less 1, or None for the
    plan's. Raises TickdiskError if no cell of the experiment has run.
    """
    return Results([_server(data, margin) for data in all_servers(Path(plan), Path(runs), LOAD.name)])


def _server(data: Runs, margin: float | None) -> ServerLoad:
    design = data.design(LOAD)
    rules = decide_by(data.decision, data.asked(LOAD).blocks, margin)
    cores = data.manifests[0].cores
    own_cores = 1 if cores is None else len(cores.server)
    steps = pd.DataFrame([row for life in data.lives for row in _rows(life, design, own_cores)])
    baseline, null, positive = data.role("baseline"), data.role("null"), data.positive_for("ticks")
    searches = searches_of(steps, design, data)
    slow = [arm.arm for arm in data.arms if arm.role not in ("baseline", "null", "delay")]
    least = design.players[0] / 2
    of_arm = {
        arm: {search.block: max(search.carried, least) for search in searches if search.arm == arm}
        for arm in (baseline, null, *slow)
    }
    censored, effects = dict[str, stats.Censored](), dict[stats.Key, stats.Contrast]()
    for arm in (null, *slow):
        ratios = {block: float(np.log(carried / of_arm[baseline][block])) for block, carried in of_arm[arm].items()}
        effect = data.contrast(pd.Series(ratios, dtype=float), margin=rules.margin, alpha=rules.alpha)
        compared = [search for search in searches if search.arm in (arm, baseline)]
        open_ended = [search for search in compared if search.is_censored]
        if open_ended:
            # Both ends make the ratio nearer to 1 than it is. A difference is still one, and equivalence is not shown.
            censored[arm] = stats.Censored(n=len(open_ended), of=len(compared))
            effect = replace(effect, p_equivalent=1.0)
        effects[CARRIED, arm] = effect
    late = steps[(steps["arm"] == positive) & (steps["late_s_per_min"] > 0)].set_index("block")["late_s_per_min"]
    beyond = (late / design.most_late_s_per_min).map(np.log)
    effects[CARRIED, positive] = data.contrast(beyond, margin=rules.margin, alpha=rules.alpha)
    roles = stats.Roles(null=null, sham=None, positive={CARRIED: positive}, treatments=slow)
    reference, fast = design.reference_players, [search for search in searches if search.arm == baseline]
    passed = sum(search.carried >= reference for search in fast)
    narrow = [] if passed == len(fast) else [stats.LimitTooNarrow(players=reference, n=passed, of=len(fast))]
    return ServerLoad(
        data=data,
        steps=steps,
        searches=searches,
        contrasts=effects,
        censored=censored,
        decision=stats.decide(effects, rules, roles, obstacles=narrow, counted="blocks"),
        plan=rules,
    )


def _rows(life: LifeTables, design: Load, cores: int) -> list[dict[str, object]]:
    """Returns a row of `ServerLoad.steps` for each planned step of a life. A step that the server did not live to see failed."""
    arrivals = life.device()["arrival_ns"].to_numpy()
    reached = {int(row["epoch"]): row for row in life.epochs.to_dict("records")}
    ended = life.manifest.ended
    rows = []
    for number, planned in enumerate(life.planned.epochs):
        row: dict[str, object] = {"block": life.block, "arm": planned.arm, "players": planned.players, "marked": life.marked}
        if number not in reached or (ended is not None and ended.epoch == number):
            lacking = dict.fromkeys(("late_s_per_min", "action_p95_ms", "requests_per_s", "busy"), float("nan"))
            rows.append({**row, **lacking, "saturated": False})
            continue
        start_ns, end_ns = int(reached[number]["steady_ns"]), int(reached[number]["end_ns"])
        late = late_s_per_min(life.ticks, start_ns, end_ns, life.budget_ns)
        took_ms = np.concatenate([qos.latencies_ms(life.actions, start_ns, end_ns, kind, design.tau_ns) for kind in ACTIONS])
        p95_ms = float(np.quantile(took_ms, 0.95)) if took_ms.size else float("nan")
        requests = int(((arrivals >= start_ns) & (arrivals < end_ns)).sum())
        saturated = life.manifest.client.saturation(life.manifest.started_ns, [(start_ns, end_ns)]) is not None
        rows.append(
            {
                **row,
                "late_s_per_min": late,
                "action_p95_ms": p95_ms,
                "requests_per_s": requests / ((end_ns - start_ns) / 1e9),
                "busy": _busy(life, start_ns, end_ns, cores),
                "saturated": saturated,
            }
        )
    return rows


def late_s_per_min(ticks: pd.DataFrame, start_ns: int, end_ns: int, budget_ns: int) -> float:
    """Returns the time in s of each minute by which late ticks of a window came too late.

    It is the sum of what the tick gaps last beyond the budget, over gaps of at least two budgets. The columns of `ticks` are tick
    and start_ns.
    """
    gaps_ms, budget_ms = qos.gaps_ms(ticks, start_ns, end_ns), budget_ns / NS_PER_MS
    late_ms = gaps_ms[gaps_ms >= qos.LATE * budget_ms] - budget_ms
    return float(late_ms.sum()) / 1e3 * _MINUTE_S / ((end_ns - start_ns) / 1e9)


def _busy(life: LifeTables, start_ns: int, end_ns: int, cores: int) -> float:
    """Returns the larger share of processor time in a window: that of the server on its cores, or of its thread that ticks."""
    load = table.read("load", life.folder / "load.parquet")
    shares = []
    for process, own_cores in (("server", cores), ("tick thread", 1)):
        own = load[load["process"] == process].sort_values("monotonic_ns")
        if len(own) > 1:
            used_ns = np.diff(np.interp([start_ns, end_ns], own["monotonic_ns"].to_numpy(float), own["cpu_ns"].to_numpy(float)))
            shares.append(float(used_ns[0]) / (end_ns - start_ns) / own_cores)
    return max(shares, default=float("nan"))


def searches_of(steps: pd.DataFrame, design: Load, data: Runs, times: float = 1.0) -> list[Search]:
    """Returns the search of each life but those of the positive control, in the order of blocks and arms.

    `steps` is that of `ServerLoad`, and the limits are those of the design, multiplied by `times`.
    """
    late, p95 = (times * limit for limit in (design.most_late_s_per_min, design.most_action_p95_ms))
    is_carried = ~steps["saturated"] & (steps["late_s_per_min"] <= late) & (steps["action_p95_ms"] <= p95)
    judged, fast = steps.assign(is_carried=is_carried), (data.role("baseline"), data.role("null"))
    return [
        _search(own, judged[(judged["block"] == block) & judged["arm"].isin(fast)])
        for (block, arm), own in judged.groupby(["block", "arm"], sort=True)
        if arm != data.positive_for("ticks")
    ]


def _search(own: pd.DataFrame, fast: pd.DataFrame) -> Search:
    """Returns the search of the life with the steps `own`. `fast` has the steps of the same block on the fast device."""
    ordered = own.sort_values("players")
    block, arm = int(ordered["block"].iloc[0]), str(ordered["arm"].iloc[0])
    failed = ordered[~ordered["is_carried"]]
    if failed.empty:
        return Search(block, arm, int(ordered["players"].iloc[-1]), None, "nothing")
    first = failed.iloc[0]
    before = ordered.loc[ordered["players"] < first["players"], "players"]
    carried_fast = bool(fast.loc[(fast["players"] == first["players"]) & (fast["arm"] != arm), "is_carried"].any())
    is_slow = arm not in set(fast["arm"])
    ended_by: Ending = (
        "clients"
        if first["saturated"]
        else "device"
        if is_slow and carried_fast
        else "processor"
        if first["busy"] > _BUSY
        else "other"
    )
    return Search(block, arm, int(before.max()) if len(before) else 0, int(first["players"]), ended_by)
