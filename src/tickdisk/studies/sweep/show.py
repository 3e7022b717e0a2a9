"""Makes the table and the figure of a sweep."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.experiment import SWITCHBACK
from tickdisk.foundation.numbers import interval, number
from tickdisk.studies.sweep.compute import Outcome, Results

_UNITS = {"latency_ms": "Latency (ms)", "save_period_s": "Save period (s)"}


def outcome(results: Results) -> Any:
    """Draws the ratio of each metric to the baseline over the column of the points that has the most values."""
    over, *others = results.varied or ["latency_ms"]
    rows = [
        {
            "at": each.point.stated.get(over, _planned(each, over)),
            "series": ", ".join(f"{_name(key)} {_value(each, key)}" for key in others),
            "metric": title,
            "ratio": each.ratios[metric].ratio,
            "low": each.ratios[metric].low,
            "high": each.ratios[metric].high,
            "n": each.ratios[metric].n,
        }
        for metric, title in results.metrics.items()
        for each in results.outcomes
    ]
    return plot.swept_effects(pd.DataFrame(rows), over=_name(over), margin=results.margin, level=1 - results.alpha)


def _planned(each: Outcome, column: str) -> float | str:
    """Returns the value of a column that a point leaves to the plan."""
    if column == "latency_ms":
        return each.latency_ms
    data = each.effects.data
    planned: Mapping[str, float | str] = {
        "players": data.design(SWITCHBACK).players,
        "save_period_s": data.design(SWITCHBACK).save_period_s,
        "device": next(arm.device for arm in data.arms if arm.arm == each.arm),
        "server": data.server,
        "lives": data.design(SWITCHBACK).lives,
    }
    return planned[column]


def _name(column: str) -> str:
    return _UNITS.get(column, column.capitalize())


def _value(each: Outcome, column: str) -> str:
    value = each.point.stated.get(column, "as planned")
    return value if isinstance(value, str) else number(value)


def points(results: Results) -> pd.DataFrame:
    """Returns one row for each point and metric, with the ratio, and the verdict of the point's own notebook."""
    rows = [_row(results, each, metric) for each in results.outcomes for metric in results.metrics]
    return pd.DataFrame(rows).set_index(["point", "metric"])


def _row(results: Results, each: Outcome, metric: str) -> dict[str, Any]:
    effect, verdict = each.ratios[metric], each.effects.verdicts.get((metric, each.arm))
    table = each.effects.table
    return {
        "point": each.point.name,
        "metric": results.metrics[metric],
        "n": effect.n,
        "baseline (ms)": number(float(table.loc[table["arm"] == each.effects.baseline, metric].mean())),
        "ratio": number(effect.ratio, trailing_zeros=True),
        "simultaneous interval": interval(effect.low, effect.high),
        "verdict at the point": "" if verdict is None else verdict.word,
    }


FIGURES: Mapping[str, Callable[[Results], Any]] = {"outcome": outcome}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {"points": points}
