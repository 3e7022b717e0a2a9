"""Makes the tables and figures of several servers on one disk."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.conditions import effect_of, over_first
from tickdisk.studies.instances.compute import GAP, Results, condition_of
from tickdisk.studies.runs import summaries


def by_instances(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the longest gap over the number of servers on one disk, with a line for each disk and a panel for each server."""
    gaps = [server.found.means(GAP, {condition_of(each): each for each in server.numbers}) for server in results.servers]
    return plot.gaps_by_number(
        pd.concat(gaps),
        level=results.servers[0].found.plan.confidence,
        number="Servers on the disk",
        title="The longest tick gap of servers that share a disk",
        theme=theme,
    )


def effects(results: Results) -> pd.DataFrame:
    """Returns one row per server, disk and number of servers: the gap, the effect, its ratio to that on one server, and more."""
    rows = []
    for server in results.servers:
        found = server.found
        for arm in found.slow:
            for instances in server.numbers:
                condition = condition_of(instances)
                name, more = effect_of(arm, condition), over_first(arm, condition)
                effect, over = found.contrasts[GAP, name], found.contrasts.get((GAP, more))
                gap, fairness, queue = (found.mean(arm, condition, column) for column in (GAP, "fairness", "queue"))
                decided = found.decision.verdicts
                rows.append(
                    {
                        "server": found.title,
                        "disk": found.disk(arm),
                        "servers": instances,
                        "n": effect.n,
                        "longest gap (ms)": with_interval(gap.value, gap.low, gap.high),
                        "slow / fast": with_interval(effect.ratio, effect.low, effect.high),
                        "is": decided[GAP, name].word,
                        "over one server": "" if over is None else with_interval(over.ratio, over.low, over.high),
                        "which is": "" if over is None else decided[GAP, more].word,
                        "fairness": number(fairness.value),
                        "requests at once": number(queue.value),
                        "throttled": percent(server.throttled.get(instances)),
                    }
                )
    return pd.DataFrame(rows).set_index("server")


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "by_instances": by_instances,
    "paper_instances": partial(by_instances, theme=plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: summaries(server.found.data for server in results.servers),
    "effects": effects,
}
