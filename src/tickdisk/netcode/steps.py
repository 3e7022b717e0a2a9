"""Describes the steps of a server life, each in one row."""

from collections.abc import Hashable, Mapping
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd

from tickdisk.foundation.errors import TickdiskError
from tickdisk.netcode.life import StackLife
from tickdisk.netcode.schedule import Step

UPDATE_NS = 1_000_000_000 // 60
"""Time from one update of the server to the next."""
_LATE = 2
"""An update that comes later than the link's own delay by more than this many updates, or never comes, is late."""
_FAR_NS = 1_000_000_000
"""Time from a bound of a step within which the counters must have been read."""
_PARTS = ("server", "clients", "link")
MOST_LAG_MS, MOST_BUSY = 2.0, 0.8
"""Largest 99th percentile of the clients' lag, and largest share of their cores, with which clients are not saturated."""


def describe_steps(life: StackLife) -> pd.DataFrame:
    """Returns one row for the steady part of each step of a life, in the order of time.

    The columns are `players`; `pings` and `unanswered` (numbers); `rtt_mean_ms`, `rtt_p50_ms` and `rtt_p99_ms` of answered pings;
    `jitter_ms`, the mean difference between one round-trip time of a player and its next; `transport_rtt_ms`, the median of what
    the stack tells; `age_p50_ms` and `age_p99_ms` of updates; `lost_updates`, the share of the updates that players should have
    got and did not, and `late_updates`, the share of those that were lost or came more than two updates later than the link's own
    delay; `gap_p50_ms`, `gap_p99_ms`
    and `gap_max_ms` between updates of the server; `server_share`, `clients_share` and `link_share`, parts of the cores that each
    may use; `system_share`, for which all cores were busy as the kernel's clock ticks sample it, which sees little of work that
    is shorter than a tick; `server_thread_share`, `clients_thread_share` and `link_thread_share`, for which the busiest thread of
    each ran; `memory_bytes` of the server, if no more players were there before; `sent_bytes_per_s`, `sent_datagrams_per_s`,
    `received_bytes_per_s` and `received_datagrams_per_s` of the server's device; `lag_p99_ms` of the clients; `busiest`, which of
    server, clients and link had the busiest thread; and `reason`, the words that say why the step says nothing about the stack,
    or an empty text. Values that are not known are NaN.
    """
    most = list(accumulate((step.players for step in life.schedule.steps), max))
    rows = [{"players": step.players, **_players(life, step), **_system(life, step)} for step in life.schedule.steps]
    for row, before in zip(rows, most, strict=True):
        # The memory that a process has had is seldom given back.
        row["memory_bytes"] = row["memory_bytes"] if row["players"] == before else np.nan
    steps = pd.DataFrame(rows)
    shares = steps[[f"{part}_thread_share" for part in _PARTS]].fillna(0)
    steps["busiest"] = [_PARTS[place] for place in shares.to_numpy().argmax(axis=1)]
    return steps.assign(reason=[_reason(life, row) for row in steps.to_dict("records")]).drop(columns="are_all_there")


def _reason(life: StackLife, row: Mapping[Hashable, Any]) -> str:
    """Returns why a step says nothing about the stack, or an empty text."""
    if life.lost and row["players"]:
        return "a player was lost"
    if not row["are_all_there"]:
        return "players were missing, or were still there from the step before"
    if row["unanswered"]:
        return "a ping had no answer"
    if row["busiest"] != "server" and row["players"]:
        return f"the busiest thread was not the server's but one of the {row['busiest']}"
    return _lateness(row)


def _lateness(row: Mapping[Hashable, Any]) -> str:
    """Returns who made the clients late, or an empty text if they were not."""
    share = row["clients_share"] + row["link_share"]
    if share >= MOST_BUSY:
        return "the clients were saturated"
    if row["lag_p99_ms"] >= MOST_LAG_MS:
        return f"other work on the machine delayed the clients, which needed {100 * share:.0f} % of their cores"
    return ""


def steady_pings(life: StackLife) -> pd.DataFrame:
    """Returns one row per ping of the steady parts.

    The columns are `players` of the step, `player`, `at_s` from the begin of the steady part, and `rtt_ms`, which is NaN if no
    answer came.
    """
    parts = [_pings(life, step).assign(players=step.players) for step in life.schedule.steps]
    return pd.concat(parts, ignore_index=True)[["players", "player", "at_s", "rtt_ms"]]


def _bounds(life: StackLife, step: Step) -> tuple[int, int]:
    return life.start_ns + step.begin_ns, life.start_ns + step.end_ns


def _pings(life: StackLife, step: Step) -> pd.DataFrame:
    begin_ns, end_ns = _bounds(life, step)
    own = life.pings[(life.pings["due_ns"] >= begin_ns) & (life.pings["due_ns"] < end_ns)]
    rtt_ms = (own["received_ns"] - own["sent_ns"]).astype("Float64").to_numpy(dtype=float, na_value=np.nan) / 1e6
    lag_ms = (own["sent_ns"] - own["due_ns"]).to_numpy(dtype=float) / 1e6
    return pd.DataFrame(
        {"player": own["player"], "at_s": (own["due_ns"] - begin_ns) / 1e9, "rtt_ms": rtt_ms, "lag_ms": lag_ms}
    ).astype({"at_s": float})


def _players(life: StackLife, step: Step) -> dict[str, Any]:
    """Describes what the players of a step saw."""
    begin_ns, end_ns = _bounds(life, step)
    pings = _pings(life, step).sort_values(["player", "at_s"])
    rtt, differences = pings["rtt_ms"], pings.groupby("player")["rtt_ms"].diff().abs()
    transport = life.transport[life.transport["at_ns"].between(begin_ns, end_ns)]
    updates = life.updates[life.updates["started_ns"].between(begin_ns, end_ns)]
    ages = life.ages[life.ages["number"].isin(updates["number"])]
    wanted = len(updates) * step.players
    gaps_ms = np.diff(updates["started_ns"].to_numpy()) / 1e6
    delay_ns = 0 if life.setting.conditions is None else round(life.setting.conditions.delay_ms * 1e6)
    late = (ages["age_ns"] - delay_ns > _LATE * UPDATE_NS).sum() + wanted - len(ages)
    return {
        "are_all_there": bool(len(updates)) and bool((updates["players"] == step.players).all()),
        "pings": len(pings),
        "unanswered": int(rtt.isna().sum()),
        "rtt_mean_ms": rtt.mean(),
        "rtt_p50_ms": rtt.quantile(0.5),
        "rtt_p99_ms": rtt.quantile(0.99),
        "jitter_ms": differences.mean(),
        "transport_rtt_ms": transport["rtt_ns"].astype(float).median() / 1e6,
        "age_p50_ms": ages["age_ns"].astype(float).quantile(0.5) / 1e6,
        "age_p99_ms": ages["age_ns"].astype(float).quantile(0.99) / 1e6,
        "lost_updates": 1 - len(ages) / wanted if wanted else np.nan,
        "late_updates": late / wanted if wanted else np.nan,
        "gap_p50_ms": np.quantile(gaps_ms, 0.5) if len(gaps_ms) else np.nan,
        "gap_p99_ms": np.quantile(gaps_ms, 0.99) if len(gaps_ms) else np.nan,
        "gap_max_ms": gaps_ms.max() if len(gaps_ms) else np.nan,
        "lag_p99_ms": pings["lag_ms"].quantile(0.99),
    }


def _system(life: StackLife, step: Step) -> dict[str, float]:
    """Describes what the step cost, from the readings next to its begin and its end."""
    counters = life.counters.astype(float)
    at_ns = counters["at_ns"].to_numpy()
    bounds = _bounds(life, step)
    first, last = (int(np.abs(at_ns - bound).argmin()) for bound in bounds)
    if max(abs(at_ns[first] - bounds[0]), abs(at_ns[last] - bounds[1])) > _FAR_NS:
        raise TickdiskError(f"the counters were not read near a step with {step.players} players; run again on a quieter machine")
    grown = counters.iloc[last] - counters.iloc[first]
    length_ns = grown["at_ns"]
    cores = {"server": len(life.cores.server), "clients": len(life.cores.others), "link": len(life.cores.others)}
    every = len({*life.cores.server, *life.cores.others})
    per_s = {name: grown[name] * 1e9 / length_ns for name in counters.columns if name.startswith(("sent_", "received_"))}
    return {
        **{f"{name}_share": grown[f"{name}_ns"] / (length_ns * count) for name, count in cores.items()},
        **{f"{name}_thread_share": _busiest(life, name, at_ns[first], at_ns[last]) for name in _PARTS},
        "system_share": grown["all_cores_ns"] / (length_ns * every),
        "memory_bytes": counters["server_memory_bytes"].iloc[first : last + 1].max(),
        **{f"{name}_per_s": value for name, value in per_s.items()},
    }


def _busiest(life: StackLife, part: str, begin_ns: float, end_ns: float) -> float:
    """Returns the share of a time for which the busiest thread of a part ran."""
    own = life.threads[(life.threads["part"] == part) & life.threads["at_ns"].between(begin_ns, end_ns)]
    used = own.groupby("thread")["cpu_ns"].agg(np.ptp)
    return float(used.max() / (end_ns - begin_ns)) if len(used) else np.nan
