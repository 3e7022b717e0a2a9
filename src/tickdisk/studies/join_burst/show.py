"""Makes the tables and figures of the join burst."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import plot, qos
from tickdisk.studies import contrasts
from tickdisk.studies.join_burst.compute import JOIN, Results


def joins(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the mean join time of every life by arm."""
    effects = results.contrasts
    return plot.dots_by_arm(effects.table, JOIN, title=effects.metrics[JOIN], words=contrasts.arm_words(effects), theme=theme)


def gap_tail(results: Results) -> Any:
    """Draws the distribution of the tick gaps during the burst for each arm that has gaps, over all of its lives."""
    words = contrasts.arm_words(results.contrasts)
    parts: dict[str, list[npt.NDArray[np.float64]]] = {label: [] for label in words.values()}
    for life in results.lives:
        for epoch in life.epochs.to_dict("records"):
            parts[words[life.name]].append(qos.gaps_ms(life.ticks, int(epoch["steady_ns"]), int(epoch["end_ns"])))
    drawn = {arm: np.concatenate(gaps) for arm, gaps in parts.items() if any(each.size for each in gaps)}
    return plot.tails(drawn, budget_ms=results.contrasts.data.budget_ns / 1e6)


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "joins": joins,
    "paper_joins": partial(joins, theme=plot.PAPER),
    "effects": lambda results: contrasts.effects(results.contrasts),
    "gap_tail": gap_tail,
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: contrasts.runs(results.contrasts),
    "power": lambda results: contrasts.power(results.contrasts),
    "manipulation": lambda results: contrasts.manipulation(results.contrasts),
    "effects": lambda results: contrasts.effects_table(results.contrasts),
}
