"""Makes the tables and figures of the capture cost."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.studies import contrasts
from tickdisk.studies.capture_cost.compute import BUSY, NO_TOOL, Results

_TOOLS = (NO_TOOL, "bpftrace", "strace_positioned", "strace")


def micro(results: Results) -> Any:
    """Draws the time of a 4 KiB pread from memory under each tool and under none, with one dot per round."""
    rows = results.micro.rename(columns={"tool": "arm", "round": "life"})
    rows["us_per_pread"] = rows["ns_per_pread"] / 1000
    title = "time of a 4 KiB pread from memory"
    return plot.paired_dots(rows, "us_per_pread", title=title, order=_TOOLS, unit="µs", what="tools", within="round")


def busy(results: Results) -> Any:
    """Draws the CPU time of the tick thread per tick by arm, with a dot for each epoch. A line connects the epochs of a life."""
    effects = results.contrasts
    order = [arm.arm for arm in effects.data.arms]
    return plot.paired_dots(effects.table, BUSY, title=effects.metrics[BUSY], order=order, what="epochs", within="life")


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "micro": micro,
    "busy": busy,
    "effects": lambda results: contrasts.effects(results.contrasts),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: contrasts.runs(results.contrasts),
    "power": lambda results: contrasts.power(results.contrasts),
    "effects": lambda results: contrasts.effects_table(results.contrasts),
}
