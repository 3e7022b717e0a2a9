"""Makes the tables and figures of the capture cost."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.studies import contrasts
from tickdisk.studies.capture_cost.compute import BUSY, NO_TOOL, Results

_TOOLS = {NO_TOOL: "no tool", "bpftrace": "bpftrace", "strace_positioned": "strace with positions", "strace": "strace"}
"""Labels of the tools, in the order of the figure."""


def micro(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the time of a 4 KiB pread from memory under each tool and under none, with one dot per round."""
    rows = results.micro.rename(columns={"tool": "arm", "round": "life"})
    rows["us_per_pread"] = rows["ns_per_pread"] / 1000
    title = "time of a 4 KiB pread from memory"
    return plot.dots_by_arm(rows, "us_per_pread", title=title, words=_TOOLS, unit="µs", within=("round", "rounds"), theme=theme)


def busy(results: Results) -> Any:
    """Draws the CPU time of the tick thread per tick by arm, with a dot for each epoch."""
    effects = results.contrasts
    words = contrasts.arm_words(effects)
    return plot.dots_by_arm(effects.table, BUSY, title=effects.metrics[BUSY], words=words, within=("life", "lives"))


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "micro": micro,
    "paper_micro": partial(micro, theme=plot.PAPER),
    "busy": busy,
    "effects": lambda results: contrasts.effects(results.contrasts),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: contrasts.runs(results.contrasts),
    "power": lambda results: contrasts.power(results.contrasts),
    "effects": lambda results: contrasts.effects_table(results.contrasts),
}
