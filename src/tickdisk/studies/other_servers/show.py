"""Makes the tables and figures that show all servers side by side."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.blame import CAUSE_WORDS
from tickdisk.foundation.numbers import interval, number
from tickdisk.studies import contrasts
from tickdisk.studies.other_servers.compute import Results

PLAY = "switchback"


def effects_over_latency(results: Results) -> Any:
    """Draws the ratio to the baseline of each latency and metric for the paper, with a panel for each server. The join burst has
    only its join time in the figure.
    """
    first = results.parts[0].effects
    return plot.server_effects(_rows(results), margin=first.margin)


def _rows(results: Results) -> pd.DataFrame:
    rows = []
    for part in results.parts:
        effects = part.effects
        for metric in part.metrics:
            # The burst has a panel's place for its joins alone. Its tick gaps are in the table.
            for arm in part.doses if part.experiment == PLAY or metric in effects.actions else ():
                effect = effects.outcome.contrasts[metric, arm]
                rows.append(
                    {
                        "server": part.title,
                        "metric": effects.metrics[metric].removesuffix(" of an epoch").removesuffix(" of a burst"),
                        "latency_ms": effects.data.dose_ms(arm),
                        "ratio": effect.ratio,
                        "low": effect.low,
                        "high": effect.high,
                    }
                )
    return pd.DataFrame(rows)


def effects_table(results: Results) -> pd.DataFrame:
    """Returns one row per server, experiment, metric and latency. The baseline is the median over the epochs of its arm, and the
    effect is the ratio that is formed within lives, with its interval.
    """
    rows = []
    for part in results.parts:
        effects = part.effects
        for metric in part.metrics:
            base = effects.table.loc[effects.table["arm"] == effects.baseline, metric]
            for arm in part.doses:
                effect, verdict = effects.outcome.contrasts[metric, arm], effects.verdicts.get((metric, arm))
                rows.append(
                    {
                        "server": part.title,
                        "experiment": part.experiment,
                        "metric": effects.metrics[metric],
                        "latency (ms)": number(effects.data.latency_ms(arm)),
                        "baseline (ms)": number(float(base.median())),
                        "ratio": number(effect.ratio, trailing_zeros=True),
                        "interval": interval(effect.low, effect.high),
                        "n": effect.n,
                        "verdict": "" if verdict is None else verdict.word,
                    }
                )
    return pd.DataFrame(rows).set_index(["server", "experiment", "metric", "latency (ms)"])


def manipulation(results: Results) -> pd.DataFrame:
    """Returns `contrasts.manipulation` of each server and experiment: whether it made enough requests to test the latency."""
    tables = [
        contrasts.manipulation(part.effects).assign(server=part.title, experiment=part.experiment).reset_index()
        for part in results.parts
    ]
    return pd.concat(tables).set_index(["server", "experiment", "arm"])


def saves(results: Results) -> pd.DataFrame:
    """Returns the number and the median duration of periodic saves by server, experiment and arm, or one sentence if none.

    A server that saves by itself has no rows, because only a program of this project tells its saves.
    """
    tables = [part.saves.assign(server=part.title, experiment=part.experiment) for part in results.parts if len(part.saves)]
    if not tables:
        return pd.DataFrame({"saves": ["no server saved by our program"]})
    grouped = pd.concat(tables).groupby(["server", "experiment", "arm"], sort=False)["ms"]
    return pd.DataFrame({"saves": grouped.size(), "median (ms)": grouped.median().map(number)})


def stalls(results: Results) -> pd.DataFrame:
    """Returns one row per injected stall on each other server with the slow tick and action, or one sentence if none."""
    if not results.stalls:
        return pd.DataFrame({"stalls": ["no life of another server was captured"]})
    tables = [one.checks.assign(server=one.title) for one in results.stalls]
    checks = pd.concat(tables, ignore_index=True)
    return pd.DataFrame(
        {
            "server": checks["server"],
            "kind": checks["kind"].str.replace("_", " "),
            "requests stalled": checks["stalled"],
            "gap (ms)": [number(float(ns) / 1e6) if pd.notna(ns) else "" for ns in checks["gap_ns"]],
            "cause": checks["cause"].map(CAUSE_WORDS).fillna(""),
            "slow action": checks["action"],
            "action (ms)": [number(ns / 1e6) if ns else "" for ns in checks["action_ns"]],
            "named in the tick": checks["named"].astype(bool),
            "named in the action": checks["action_named"].astype(bool),
            "blamed on storage": checks["blamed"].astype(bool),
        }
    ).set_index(["server", "kind"])


FIGURES: Mapping[str, Callable[[Results], Any]] = {"paper_servers": effects_over_latency}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "effects": effects_table,
    "manipulation": manipulation,
    "saves": saves,
    "stalls": stalls,
}
