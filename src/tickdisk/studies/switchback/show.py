"""Makes the tables and figures of the switchback."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import plot, qos
from tickdisk.foundation.numbers import p_text
from tickdisk.studies import contrasts
from tickdisk.studies.runs import LifeTables
from tickdisk.studies.switchback.compute import ALWAYS, Results, dose_rows


def timeline(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the first server life over time, with the latency of the device above and the tick gaps below."""
    life, data = results.lives[0], results.contrasts.data
    epochs = life.epochs.assign(latency_ms=life.epochs["arm"].map(data.latency_ms))
    words = contrasts.arm_words(results.contrasts)
    return plot.switchback_timeline(epochs, qos.gaps(life.ticks), budget_ms=data.budget_ns / 1e6, words=words, theme=theme)


def gap_tail(results: Results) -> Any:
    """Draws the distribution of the tick gaps of each arm, over the steady parts of its epochs."""
    words = contrasts.arm_words(results.contrasts)
    parts = {label: np.concatenate([_gaps_ms(life, arm) for life in results.lives]) for arm, label in words.items()}
    return plot.tails(parts, budget_ms=results.contrasts.data.budget_ns / 1e6)


def _gaps_ms(life: LifeTables, arm: str) -> npt.NDArray[np.float64]:
    epochs = life.epochs[life.epochs["arm"] == arm]
    ends = zip(epochs["steady_ns"].tolist(), epochs["end_ns"].tolist(), strict=True)
    return np.concatenate([np.empty(0), *(qos.gaps_ms(life.ticks, start, end) for start, end in ends)])


def doses(results: Results, *metrics: str, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws metrics of each epoch over the latency that the device realised, with the line fitted within lives."""
    effects = results.contrasts
    shown = [
        plot.Dose(effects.metrics[metric], dose_rows(effects, metric).rename(columns={metric: "value"}), results.slopes[metric])
        for metric in metrics
    ]
    return plot.dose_response(shown, margin=effects.margin, level=1 - effects.plan.alpha, theme=theme)


def carry_over(results: Results) -> pd.DataFrame:
    """Returns one row per metric on whether the order of epochs affects it.

    Effects are changes of its logarithm, with their p values: for a tenfold latency in the epoch before, and for each place
    further back in the life.
    """
    rows = [
        {
            "metric": results.contrasts.metrics[metric],
            "epochs": effect.n,
            "carry-over": effect.carry_over,
            "p carry-over": p_text(effect.carry_over_p),
            "per place": effect.position,
            "p place": p_text(effect.position_p),
        }
        for metric, effect in results.orders.items()
    ]
    return pd.DataFrame(rows).set_index("metric")


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "timeline": timeline,
    "gap_tail": gap_tail,
    "effects": lambda results: contrasts.effects(results.contrasts),
    "dose_gap_mean": lambda results: doses(results, ALWAYS),
    "dose_gap": lambda results: doses(results, results.tick_metric),
    "dose_action": lambda results: doses(results, results.action_metric),
    "paper_timeline": partial(timeline, theme=plot.PAPER),
    "paper_effects": lambda results: contrasts.effects(results.contrasts, plot.PAPER),
    "paper_dose": lambda results: doses(results, *results.contrasts.metrics, theme=plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: contrasts.runs(results.contrasts),
    "power": lambda results: contrasts.power(results.contrasts),
    "manipulation": lambda results: contrasts.manipulation(results.contrasts),
    "effects": lambda results: contrasts.effects_table(results.contrasts),
    "carry_over": carry_over,
}
