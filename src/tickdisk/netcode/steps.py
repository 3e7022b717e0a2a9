"""Describes the steps of a server life, each in one row."""

from typing import Any

import numpy as np
import pandas as pd

from tickdisk.netcode.life import Life
from tickdisk.netcode.schedule import Step

UPDATE_NS = 1_000_000_000 // 60
"""Time from one update of the server to the next."""
_LATE = 2
"""An update that is older than this many updates when it comes is late."""
_PARTS = ("server", "clients", "link")
MOST_LAG_MS, MOST_BUSY = 2.0, 0.8
"""Largest 99th percentile of the clients' lag, and largest share of their cores, with which clients are not saturated."""


def describe_steps(life: Life) -> pd.DataFrame:
    """Describes the steady part of each step.

    Parameters
    ----------
    life
        Record of the life.

    Returns
    -------
    DataFrame
        One row per step, in the order of time, with these columns. `players`; `pings` and `unanswered` (numbers);
        `rtt_mean_ms`, `rtt_p50_ms` and `rtt_p99_ms` of answered pings; `jitter_ms`, the mean difference between one
        round-trip time of a player and its next; `transport_rtt_ms`, the median of what the stack tells; `age_p50_ms` and
        `age_p99_ms` of updates; `lost_updates` and `late_updates`, shares of the updates that the players should have
        got; `gap_p50_ms`, `gap_p99_ms` and `gap_max_ms` between updates of the server; `server_share`, `clients_share`
        and `link_share`, parts of the cores that each may use; `system_share`, for which all cores were busy as the
        kernel's clock ticks sample it, which sees little of work that is shorter than a tick; `server_thread_share`,
        `clients_thread_share` and `link_thread_share`, for which the busiest thread of each ran (a client process has one
        thread, and at most 10 players); `memory_bytes` of the server; `sent_bytes_per_s`, `sent_datagrams_per_s`,
        `received_bytes_per_s` and `received_datagrams_per_s` of the server's device; `lag_p99_ms` of the clients;
        `busiest`, which of server, clients and link had the busiest thread; and `is_valid`, whether that was the server
        and the clients were not saturated. Values that are not known are NaN.
    """
    rows = [{"players": step.players, **_players(life, step), **_system(life, step)} for step in life.schedule.steps]
    steps = pd.DataFrame(rows)
    shares = steps[[f"{part}_thread_share" for part in _PARTS]].fillna(0)
    steps["busiest"] = [_PARTS[place] for place in shares.to_numpy().argmax(axis=1)]
    is_free = (steps["clients_share"] + steps["link_share"] < MOST_BUSY) & ~(steps["lag_p99_ms"] >= MOST_LAG_MS)
    return steps.assign(is_valid=(steps["busiest"] == "server") & is_free)


def steady_pings(life: Life) -> pd.DataFrame:
    """Returns the pings of the steady parts.

    Parameters
    ----------
    life
        Record of the life.

    Returns
    -------
    DataFrame
        One row per ping: `players` of the step, `player`, `at_s` from the begin of the steady part, and `rtt_ms`, which is NaN if
        no answer came.
    """
    parts = [_pings(life, step).assign(players=step.players) for step in life.schedule.steps]
    return pd.concat(parts, ignore_index=True)[["players", "player", "at_s", "rtt_ms"]]


def _bounds(life: Life, step: Step) -> tuple[int, int]:
    return life.start_ns + step.begin_ns, life.start_ns + step.end_ns


def _pings(life: Life, step: Step) -> pd.DataFrame:
    begin_ns, end_ns = _bounds(life, step)
    own = life.pings[(life.pings["due_ns"] >= begin_ns) & (life.pings["due_ns"] < end_ns)]
    rtt_ms = (own["received_ns"] - own["sent_ns"]).astype("Float64").to_numpy(dtype=float, na_value=np.nan) / 1e6
    lag_ms = (own["sent_ns"] - own["due_ns"]).to_numpy(dtype=float) / 1e6
    return pd.DataFrame(
        {"player": own["player"], "at_s": (own["due_ns"] - begin_ns) / 1e9, "rtt_ms": rtt_ms, "lag_ms": lag_ms}
    ).astype({"at_s": float})


def _players(life: Life, step: Step) -> dict[str, Any]:
    """Describes what the players of a step saw."""
    begin_ns, end_ns = _bounds(life, step)
    pings = _pings(life, step).sort_values(["player", "at_s"])
    rtt, differences = pings["rtt_ms"], pings.groupby("player")["rtt_ms"].diff().abs()
    transport = life.transport[life.transport["at_ns"].between(begin_ns, end_ns)]
    updates = life.updates[life.updates["started_ns"].between(begin_ns, end_ns)]
    ages = life.ages[life.ages["number"].isin(updates["number"])]
    wanted = len(updates) * step.players
    gaps_ms = np.diff(updates["started_ns"].to_numpy()) / 1e6
    late = (ages["age_ns"] > _LATE * UPDATE_NS).sum()
    return {
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


def _system(life: Life, step: Step) -> dict[str, float]:
    """Describes what the step cost, from the readings next to its begin and its end."""
    counters = life.counters.astype(float)
    at_ns = counters["at_ns"].to_numpy()
    first, last = (int(np.abs(at_ns - bound).argmin()) for bound in _bounds(life, step))
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


def _busiest(life: Life, part: str, begin_ns: float, end_ns: float) -> float:
    """Returns the share of a time for which the busiest thread of a part ran."""
    own = life.threads[(life.threads["part"] == part) & life.threads["at_ns"].between(begin_ns, end_ns)]
    used = own.groupby("thread")["cpu_ns"].agg(np.ptp)
    return float(used.max() / (end_ns - begin_ns)) if len(used) else np.nan
