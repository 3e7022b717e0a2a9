"""Makes the tables and figures of predictions."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, percent
from tickdisk.studies.predictions.compute import METHODS, METRICS, Results


def compared(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the ratio by each method over the measured ratio, with a panel for each server."""
    rows = [
        {"server": server.title, "metric": METRICS[metric][1], "method": words, "measured": row["measured"], "ratio": row[method]}
        for server in results.servers
        for metric, score in server.scores.items()
        for row in score.rows.to_dict("records")
        for method, words in METHODS.items()
        if method != "nothing"  # Its ratio is 1 everywhere.
    ]
    return plot.predicted_and_measured(pd.DataFrame(rows), margin=results.margin, theme=theme)


def runs(results: Results) -> pd.DataFrame:
    """Returns the tables of the cells that ran on all servers, with the counts of their lives and their largest loads."""
    return pd.concat([server.data.summary().assign(server=server.title) for server in results.servers])


def ratios(results: Results) -> pd.DataFrame:
    """Returns one row per server, metric and disk: the measured ratio beside those by each method."""
    rows = [
        {
            "server": server.title,
            "metric": METRICS[metric][1],
            "disk": f"{number(row['latency_ms'])} ms ({row['arm']})",
            "measured": number(row["measured"], trailing_zeros=True),
            **{words: number(row[method], trailing_zeros=True) for method, words in METHODS.items()},
            "scored": "yes" if row["is_scored"] else "no",
        }
        for server in results.servers
        for metric, score in server.scores.items()
        for row in score.rows.to_dict("records")
    ]
    return pd.DataFrame(rows).set_index(["server", "metric", "disk"])


def errors(results: Results) -> pd.DataFrame:
    """Returns one row per server and metric: the median error of each method, and the false alarms."""
    rows = [
        {
            "server": server.title,
            "metric": METRICS[metric][1],
            "scored disks": int(score.rows["is_scored"].sum()),
            **{words: percent(score.median(method)) for method, words in METHODS.items()},
            "false alarms": f"{score.alarms} of {len(score.quiet)}",
        }
        for server in results.servers
        for metric, score in server.scores.items()
    ]
    return pd.DataFrame(rows).set_index(["server", "metric"])


def captures(results: Results) -> pd.DataFrame:
    """Returns one row per captured life and disk: whether the method gives the capture back, and how many waits it follows."""
    rows = [
        {
            "server": each.server,
            "capture": each.capture,
            "device": each.device,
            "verdict": each.verdict,
            "ticks": each.ticks,
            "waits followed": each.waits_followed,
            "waits kept": each.waits_kept,
            **{f"control, {one.metric}": number(one.control_ratio) for one in each.forecasts[:2]},
        }
        for server in results.servers
        for each in server.predictions
    ]
    return pd.DataFrame(rows).set_index(["server", "capture", "device"])


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "compared": compared,
    "paper_predictions": partial(compared, theme=plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": runs,
    "ratios": ratios,
    "errors": errors,
    "captures": captures,
}
