"""Makes the tables and figures of players as a dose."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import interval, number, with_interval
from tickdisk.studies.players.compute import GAP, Results, arm_of
from tickdisk.studies.runs import summaries


def added(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws what the slow device adds to the longest gap of each life by the number of players, with a panel for each server."""
    points, lines = [], []
    for server in results.servers:
        points.append(server.counting[["players", "added_ms"]].assign(server=server.title))
        for players in sorted(set(server.counting["players"])) if len(server.lines) else ():
            mean = server.over_blocks(players)
            row = {"fit": mean.value, "low": mean.low, "high": mean.high}
            lines.append({"server": server.title, "players": players, **{key: ms * server.latency_ms for key, ms in row.items()}})
    first = results.servers[0]
    return plot.added_by_players(
        pd.concat(points),
        pd.DataFrame(lines, columns=["server", "players", "fit", "low", "high"]),
        latency_ms=first.data.latency_ms(first.slow),
        level=first.plan.confidence,
        theme=theme,
    )


def effects(results: Results) -> pd.DataFrame:
    """Returns one row per server and number of players: what the slow device adds to the longest gap, and the verdict."""
    rows = []
    for server in results.servers:
        for players in server.numbers:
            effect, verdict = server.contrasts[GAP, arm_of(players)], server.decision.verdicts[GAP, arm_of(players)]
            mean, of_number = server.added[players], server.lives[server.lives["players"] == players]
            rows.append(
                {
                    "server": server.title,
                    "players": players,
                    "lives": len(of_number),
                    "saturated": int((of_number["saturated"] != "").sum()),
                    "n": effect.n,
                    "added (ms)": with_interval(mean.value, mean.low, mean.high),
                    "ratio": number(effect.ratio, trailing_zeros=True),
                    "interval": interval(effect.low, effect.high),
                    "verdict": verdict.word,
                }
            )
    return pd.DataFrame(rows).set_index(["server", "players"])


def slopes(results: Results) -> pd.DataFrame:
    """Returns one row per server with its line: ms of the longest gap for each ms of latency, with no player and per player."""
    rows = []
    for server in results.servers:
        none, each = server.over_blocks(0), server.over_blocks()
        rows.append(
            {
                "server": server.title,
                "blocks": each.n,
                "at no player (ms per ms)": with_interval(none.value, none.low, none.high),
                "per player (ms per ms)": with_interval(each.value, each.low, each.high),
            }
        )
    return pd.DataFrame(rows).set_index("server")


def captured(results: Results) -> pd.DataFrame:
    """Returns what a player costs in a save, counted in captured lives. Raises TickdiskError if no such save was captured."""
    counts = results.captured
    if counts is None:
        raise TickdiskError("no save of players was captured; run the experiment inside_tick on Luanti")
    names = {"flushes": "flushes", "requests": "requests of the device", "in_series": "of these, one after another"}
    rows = [
        {"in a save, per player": name, "count": number(getattr(counts, key) / counts.players)} for key, name in names.items()
    ]
    return pd.DataFrame(rows).set_index("in a save, per player")


FIGURES: Mapping[str, Callable[[Results], Any]] = {"added": added, "paper_players": partial(added, theme=plot.PAPER)}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: summaries(server.data for server in results.servers),
    "effects": effects,
    "slopes": slopes,
    "captured": captured,
}
