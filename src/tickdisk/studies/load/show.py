"""Makes the tables and figures of the load that a device carries."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median_low
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.studies.load.compute import CARRIED, METRICS, Results, searches_of
from tickdisk.studies.runs import summaries


def by_players(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws how late ticks are and how long actions take over the number of players, on the fast and on the slow disk."""
    rows = []
    for server in results.servers:
        for arm in (each for each in server.arms if each != server.data.role("null")):
            disk = f"{number(server.data.latency_ms(arm))} ms"
            for metric in METRICS:
                for players in server.design.players:
                    mean = server.mean(arm, players, metric)
                    ends = {"mean": mean.value, "low": mean.low, "high": mean.high}
                    rows.append({"server": server.title, "disk": disk, "metric": metric, "players": players, **ends})
    first = results.servers[0]
    limits = {"most_late": first.design.most_late_s_per_min, "most_p95": first.design.most_action_p95_ms}
    return plot.late_by_players(pd.DataFrame(rows), **limits, level=first.plan.confidence, theme=theme)


def searches(results: Results) -> pd.DataFrame:
    """Returns one row per server and device: the players that it carried in each block, and how often each resource ended it."""
    rows = []
    for server in results.servers:
        for arm in server.arms:
            own, effect = server.of_arm(arm), server.contrasts.get((CARRIED, arm))
            verdict = server.decision.verdicts.get((CARRIED, arm))
            endings = Counter(search.ended_by for search in own)
            rows.append(
                {
                    "server": server.title,
                    "device": arm.replace("_", " "),
                    "searches": len(own),
                    "carried players, by block": ", ".join(
                        f"{search.carried}{'' if search.failed_at is not None else '+'}" if search.carried else "none"
                        for search in own
                    ),
                    **{f"ended by {name}": endings[name] for name in ("device", "processor", "clients", "other", "nothing")},
                    "carried / baseline": "" if effect is None else with_interval(effect.ratio, effect.low, effect.high),
                    "verdict": "" if verdict is None else verdict.word,
                }
            )
    return pd.DataFrame(rows).set_index("server")


def steps(results: Results) -> pd.DataFrame:
    """Returns one row per server, device and number of players: how late ticks and actions were, and the load of the device."""
    rows = []
    for server in results.servers:
        for (arm, players), own in server.steps.groupby(["arm", "players"], sort=True):
            late, p95 = (server.mean(str(arm), int(str(players)), metric) for metric in METRICS)
            rows.append(
                {
                    "server": server.title,
                    "device": str(arm).replace("_", " "),
                    "players": players,
                    "lives": len(own),
                    "ticks late by (s/min)": with_interval(late.value, late.low, late.high),
                    "p95 of actions (ms)": with_interval(p95.value, p95.low, p95.high),
                    "requests/s": number(float(own["requests_per_s"].mean())),
                    "server busy": number(float(own["busy"].mean())),
                    "clients saturated": int(own["saturated"].sum()),
                }
            )
    return pd.DataFrame(rows).set_index("server")


def limits(results: Results) -> pd.DataFrame:
    """Returns one row per server and device: the carried players, median over blocks, with halved and with doubled limits."""
    rows = []
    for server in results.servers:
        found = {times: searches_of(server.steps, server.design, server.data, times) for times in (0.5, 1.0, 2.0)}
        for arm in server.arms:
            medians = {
                f"{times:g} of the limits": median_low([search.carried for search in own if search.arm == arm])
                for times, own in found.items()
            }
            rows.append({"server": server.title, "device": arm.replace("_", " "), **medians})
    return pd.DataFrame(rows).set_index("server")


FIGURES: Mapping[str, Callable[[Results], Any]] = {"by_players": by_players, "paper_load": partial(by_players, theme=plot.PAPER)}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: summaries(server.data for server in results.servers),
    "searches": searches,
    "steps": steps,
    "limits": limits,
}
