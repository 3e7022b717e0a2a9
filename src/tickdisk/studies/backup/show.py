"""Makes the tables and figures of a backup on the same disk."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.studies.backup.compute import FULL, METRICS, MOVED, REMEDIES, WAYS, Results
from tickdisk.studies.conditions import effect_of, over
from tickdisk.studies.runs import summaries


def effects_figure(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the effect of each way of making a backup on each disk, with its interval, in a panel for each metric."""
    rows = [
        found.forest_row(
            metric,
            effect_of(way, disk),
            arm=f"{found.title}, {disk.replace('_', ' ')}, {way.replace('_', ' ')}",
            words=words.removeprefix("the "),
        )
        for server in results.servers
        for metric, (_, words) in METRICS.items()
        for disk, found in server.by_disk.items()
        for way in WAYS
    ]
    plan = results.servers[0].first.plan
    return plot.forest(pd.DataFrame(rows), margin=plan.margin, baseline="no backup", level=plan.confidence, theme=theme)


def effects(results: Results) -> pd.DataFrame:
    """Returns one row per server, disk, way of making a backup and metric: the level, the effect, and its verdict."""
    rows = []
    for server in results.servers:
        for disk, found in server.by_disk.items():
            for way, shown in WAYS.items():
                moved = found.mean(way, disk, MOVED)
                for metric, (_, words) in METRICS.items():
                    name = effect_of(way, disk)
                    effect, level = found.contrasts[metric, name], found.mean(way, disk, metric)
                    rows.append(
                        {
                            "server": found.title,
                            "disk": disk.replace("_", " "),
                            "backup": shown,
                            "moved (MB/s)": number(moved.value),
                            "metric": words.removeprefix("the "),
                            "n": effect.n,
                            "with the backup (ms)": with_interval(level.value, level.low, level.high),
                            "over no backup": with_interval(effect.ratio, effect.low, effect.high),
                            "is": found.decision.verdicts[metric, name].word,
                        }
                    )
    return pd.DataFrame(rows).set_index("server")


def remedies(results: Results) -> pd.DataFrame:
    """Returns one row per server, disk, remedy and metric: its ratio to tar at full speed, and the verdict."""
    rows = []
    for server in results.servers:
        for disk, found in server.by_disk.items():
            for remedy in REMEDIES:
                for metric, (_, words) in METRICS.items():
                    name = effect_of(over(remedy, FULL), disk)
                    effect = found.contrasts[metric, name]
                    rows.append(
                        {
                            "server": found.title,
                            "disk": disk.replace("_", " "),
                            "backup": WAYS[remedy],
                            "metric": words.removeprefix("the "),
                            "n": effect.n,
                            "over tar at full speed": with_interval(effect.ratio, effect.low, effect.high),
                            "is": found.decision.verdicts[metric, name].word,
                        }
                    )
    return pd.DataFrame(rows).set_index("server")


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "effects": effects_figure,
    "paper_backup": partial(effects_figure, theme=plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: summaries(server.first.data for server in results.servers),
    "effects": effects,
    "remedies": remedies,
}
