"""Makes the tables and figures of the state of a server's memory."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.studies.conditions import effect_of, over_first
from tickdisk.studies.memory.compute import METRICS, Results
from tickdisk.studies.runs import summaries


def effects_figure(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the effect of the slow disk with its interval in each state of memory, in a panel for each metric."""
    rows = [
        server.found.forest_row(
            metric, effect_of(arm, state), arm=f"{server.found.title}, {state}", words=words.removeprefix("the ")
        )
        for server in results.servers
        for metric, (_, words) in METRICS.items()
        for arm in server.found.slow
        for state in server.found.names
    ]
    plan = results.servers[0].found.plan
    return plot.forest(pd.DataFrame(rows), margin=plan.margin, baseline="the fast disk", level=plan.confidence, theme=theme)


def states(results: Results) -> pd.DataFrame:
    """Returns one row per server and state of memory: its limit, its page cache, its refaults, and the reads of the device."""
    rows = []
    for server in results.servers:
        found = server.found
        for state, own in server.states.groupby("condition", sort=False):
            reads = found.mean(found.slow[0], str(state), "reads_per_s")
            rows.append(
                {
                    "server": found.title,
                    "memory": state,
                    "lives": len(own),
                    "hot part (MiB)": number(float(own["hot_mib"].mean())),
                    "limit (MiB)": number(float(own["limit_mib"].mean())),
                    "page cache at the end (MiB)": number(float(own["cached_mib"].mean())),
                    "refaults/s": number(float(own["refaults"].mean())),
                    "reads/s on the slow disk": with_interval(reads.value, reads.low, reads.high),
                }
            )
    return pd.DataFrame(rows).set_index("server")


def effects(results: Results) -> pd.DataFrame:
    """Returns one row per server, metric and state of memory: the effect of the slow disk, and its ratio to that if warm."""
    rows = []
    for server in results.servers:
        found = server.found
        for metric, (_, words) in METRICS.items():
            for arm in found.slow:
                for state in found.names:
                    name, more = effect_of(arm, state), over_first(arm, state)
                    effect, over = found.contrasts[metric, name], found.contrasts.get((metric, more))
                    level, decided = found.mean(arm, state, metric), found.decision.verdicts
                    rows.append(
                        {
                            "server": found.title,
                            "metric": words.removeprefix("the "),
                            "memory": state,
                            "n": effect.n,
                            "on the slow disk (ms)": with_interval(level.value, level.low, level.high),
                            "slow / fast": with_interval(effect.ratio, effect.low, effect.high),
                            "is": decided[metric, name].word,
                            "over warm": "" if over is None else with_interval(over.ratio, over.low, over.high),
                            "which is": "" if over is None else decided[metric, more].word,
                        }
                    )
    return pd.DataFrame(rows).set_index("server")


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "effects": effects_figure,
    "paper_memory": partial(effects_figure, theme=plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: summaries(server.found.data for server in results.servers),
    "states": states,
    "effects": effects,
}
