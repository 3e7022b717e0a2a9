"""Makes the tables and figures of bursts of joins."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.studies.bursts.compute import METRICS, Results, condition_of
from tickdisk.studies.conditions import effect_of
from tickdisk.studies.runs import summaries

_GAP = "gap_max_ms"


def by_rate(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the longest gap over the rate of a burst, with a line for each disk and a panel for each server."""
    gaps = [server.found.means(_GAP, {condition_of(rate): rate for rate in server.rates}) for server in results.servers]
    return plot.gaps_by_number(
        pd.concat(gaps),
        level=results.servers[0].found.plan.confidence,
        number="Regions that players load in a second (log)",
        title="The longest tick gap in a burst of joins",
        theme=theme,
    )


def effects(results: Results) -> pd.DataFrame:
    """Returns one row per server, disk, metric and rate, with the effect of the disk, reads, and the rate that was reached."""
    rows = []
    for server in results.servers:
        found = server.found
        for arm in found.slow:
            for metric, words in METRICS.items():
                for rate in server.rates:
                    condition = condition_of(rate)
                    key = (metric, effect_of(arm, condition))
                    effect, value = found.contrasts[key], found.mean(arm, condition, metric)
                    rows.append(
                        {
                            "server": found.title,
                            "disk": found.disk(arm),
                            "metric": words,
                            "regions/s": rate,
                            "reached": number(found.mean(arm, condition, "reached").value),
                            "served": number(found.mean(arm, condition, "served").value),
                            "n": effect.n,
                            "value (ms)": with_interval(value.value, value.low, value.high),
                            "slow / fast": with_interval(effect.ratio, effect.low, effect.high),
                            "is": found.decision.verdicts[key].word,
                            "reads for a join": number(found.mean(arm, condition, "reads").value),
                        }
                    )
    return pd.DataFrame(rows).set_index("server")


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "by_rate": by_rate,
    "paper_bursts": partial(by_rate, theme=plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: summaries(server.found.data for server in results.servers),
    "effects": effects,
}
