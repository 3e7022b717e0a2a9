"""Makes the tables and figures of the study of network stacks."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tickdisk import plot, stats
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.netcode.compute import Results, title
from tickdisk.studies.netcode.crossed import METRIC

_COLUMNS = {
    "mean RTT (ms)": ("rtt_mean_ms", 1.0),
    "p99 (ms)": ("rtt_p99_ms", 1.0),
    "jitter (ms)": ("jitter_ms", 1.0),
    "the stack's RTT (ms)": ("transport_rtt_ms", 1.0),
    "age of updates (ms)": ("age_p50_ms", 1.0),
    "age, p99 (ms)": ("age_p99_ms", 1.0),
    "late updates (%)": ("late_updates", 100.0),
    "lost updates (%)": ("lost_updates", 100.0),
    "gap of updates, p99 (ms)": ("gap_p99_ms", 1.0),
    "server (% of its cores)": ("server_share", 100.0),
    "memory (MiB)": ("memory_bytes", 2.0**-20),
    "sent (kB/s)": ("sent_bytes_per_s", 1e-3),
    "sent (datagrams/s)": ("sent_datagrams_per_s", 1.0),
    "received (kB/s)": ("received_bytes_per_s", 1e-3),
    "received (datagrams/s)": ("received_datagrams_per_s", 1.0),
}
_PANELS = (
    ("RTT (ms)", "rtt_mean_ms", 1.0),
    ("Server (% of its cores)", "server_share", 100.0),
    ("Memory (MiB)", "memory_bytes", 2.0**-20),
    ("Sent (kB/s a player)", "sent_bytes_per_s", 1e-3),
)
"""Panels of the figure of costs, each with its column and a factor."""
_POINTS = 60
"""Number of points of a line that settles."""


def _text(results: Results, values: pd.Series, *, is_valid: bool = True) -> str:
    mean = stats.over_lives(values, results.rules.alpha)
    return with_interval(mean.value, mean.low, mean.high) if mean.n else "not known" if is_valid else "not valid"


def cells(results: Results) -> pd.DataFrame:
    """Returns one row per arm, stack and number of players, with means over the lives in which the step is valid."""
    rows = []
    for arm, stack, players in results.cells:
        own = {name: results.values(column, arm, stack, players) * factor for name, (column, factor) in _COLUMNS.items()}
        is_valid = bool((results.steps(arm, stack, players)["reason"] == "").any())
        texts = {name: _text(results, values, is_valid=is_valid) for name, values in own.items()}
        rows.append({"arm": arm, "players": players, "stack": title(stack), **texts})
    return pd.DataFrame(rows).set_index(["arm", "players", "stack"])


def busiest(results: Results) -> pd.DataFrame:
    """Returns one row per arm, stack and number of players: the share of the busiest thread of each part, and the verdict."""
    rows = []
    for arm, stack, players in results.cells:
        own = results.steps(arm, stack, players)
        shares = {part: percent(own[f"{part}_thread_share"].mean()) for part in ("server", "clients")}
        link = own["link_thread_share"].mean()
        rows.append(
            {
                "arm": arm,
                "players": players,
                "stack": title(stack),
                **{f"busiest thread of the {part}": share for part, share in shares.items()},
                "busiest thread of the link": "" if np.isnan(link) else percent(link),
                "cores of the clients": percent(own["clients_share"].mean()),
                "lag of the clients, p99 (ms)": _text(results, own["lag_p99_ms"]),
                "valid lives": f"{int((own['reason'] == '').sum())} of {len(own)}",
                "why not": "; ".join(fault.sentence for fault in results.faults(arm, stack, players)),
            }
        )
    return pd.DataFrame(rows).set_index(["arm", "players", "stack"])


def background(results: Results) -> pd.DataFrame:
    """Returns one row per stack: what a server without players computes and sends."""
    rows = []
    for stack in results.stacks:
        own = {
            "server (% of its cores)": 100 * results.values("server_share", "idle", stack, 0),
            "memory (MiB)": results.values("memory_bytes", "idle", stack, 0) / 2**20,
            "sent (datagrams/s)": results.values("sent_datagrams_per_s", "idle", stack, 0),
            "received (datagrams/s)": results.values("received_datagrams_per_s", "idle", stack, 0),
        }
        rows.append({"stack": title(stack), **{name: _text(results, values) for name, values in own.items()}})
    return pd.DataFrame(rows).set_index("stack")


def published(results: Results) -> pd.DataFrame:
    """Returns the published round-trip times beside ours. The libraries are other ones, which are built alike."""
    fewest, most = results.idle_players[0], results.idle_players[-1]
    rows = []
    for stack in results.stacks:
        library = results.published.library(stack)
        rows.append(
            {
                "stack": title(stack),
                "published library": "none" if library is None else library.library,
                "published, 20 players (ms)": "" if library is None else f"{library.rtt_20_ms:g}",
                "published, 200 players (ms)": "" if library is None else f"{library.rtt_200_ms:g}",
                f"RTT, {fewest} players (ms)": _text(
                    results, results.values("rtt_mean_ms", "idle", stack, fewest), is_valid=False
                ),
                f"RTT, {most} players (ms)": _text(results, results.values("rtt_mean_ms", "idle", stack, most), is_valid=False),
            }
        )
    return pd.DataFrame(rows).set_index("stack")


def pings(results: Results) -> pd.DataFrame:
    """Returns one row per game server and arm of the switchback: the mean round-trip time of a ping, and its ratio."""
    rows = []
    for crossed in results.crossed:
        effects = crossed.effects
        by_arm = effects.table.groupby(["arm", "life"])[METRIC].mean()
        for arm in (effects.baseline, *effects.arms):
            effect, verdict = effects.outcome.contrasts.get((METRIC, arm)), effects.verdicts.get((METRIC, arm))
            rows.append(
                {
                    "server": crossed.title,
                    "arm": arm,
                    "storage latency (ms)": number(effects.data.latency_ms(arm)),
                    "RTT of a ping (ms)": _text(results, by_arm.get(arm, pd.Series(dtype=float))),
                    "ratio": "" if effect is None else with_interval(effect.ratio, effect.low, effect.high),
                    "verdict": "" if verdict is None else verdict.word,
                }
            )
    columns = ["server", "arm", "storage latency (ms)", "RTT of a ping (ms)", "ratio", "verdict"]
    return pd.DataFrame(rows, columns=columns).set_index(["server", "arm"])


def _titles(results: Results) -> list[str]:
    return [title(stack) for stack in results.stacks]


def _curves(results: Results) -> pd.DataFrame:
    rows = []
    for panel, column, factor in _PANELS:
        for stack in results.stacks:
            for players in results.idle_players:
                values = results.values(column, "idle", stack, players) * factor
                mean = stats.over_lives(values / players if column == "sent_bytes_per_s" else values, results.rules.alpha)
                own = {"panel": panel, "stack": title(stack), "players": players}
                rows.append({**own, "value": mean.value, "low": mean.low, "high": mean.high})
    return pd.DataFrame(rows)


def _settling(results: Results) -> pd.DataFrame:
    pings, most = results.findings.pings, results.idle_players[-1]
    parts = []
    for stack in results.stacks:
        own = pings[(pings["arm"] == "idle") & (pings["stack"] == stack) & (pings["players"] == most) & (pings["run"] == 0)]
        own = own.sort_values("at_s").dropna(subset=["rtt_ms"])
        settled = own["rtt_ms"].expanding(min_periods=2).std()
        places = np.unique(np.linspace(1, max(len(own) - 1, 1), _POINTS).astype(int))
        places = places[places < len(own)]
        parts.append(
            pd.DataFrame({"stack": title(stack), "at_s": own["at_s"].to_numpy()[places], "sd_ms": settled.to_numpy()[places]})
        )
    return pd.concat(parts, ignore_index=True)


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "paper_network": lambda results: plot.stack_costs(_curves(results), _titles(results), results.published.thresholds_ms),
    "settled_rtt": lambda results: plot.settled_rtt(_settling(results), _titles(results), results.idle_players[-1]),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "cells": cells,
    "busiest": busiest,
    "background": background,
    "published": published,
    "pings": pings,
}
