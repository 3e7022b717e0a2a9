"""Makes the tables and figures of predictions."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.predictions.compute import GAPS, METHODS, METRICS, Results
from tickdisk.studies.predictions.score import mean
from tickdisk.studies.runs import summaries


def compared(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the mean ratio by each method over the measured ratio, with a panel for each server."""
    rows = [
        {
            "server": server.title,
            "metric": METRICS[metric][1],
            "method": words,
            "is_held_out": group == "held out",
            "measured": disk.measured.ratio,
            "ratio": mean(disk.ratios[method]),
        }
        for server in results.servers
        for group, scores in server.scores.items()
        for metric, score in scores.items()
        for disk in score.disks
        for method, words in METHODS.items()
        if method != "nothing"  # Its ratio is 1 everywhere.
    ]
    return plot.predicted_and_measured(pd.DataFrame(rows), margin=results.margin, theme=theme)


def ratios(results: Results) -> pd.DataFrame:
    """Returns one row per server, metric and disk: the measured ratio beside those by each method, as means over captures."""
    rows = [
        {
            "server": server.title,
            "metric": METRICS[metric][1],
            "disk": f"{number(disk.latency_ms)} ms",
            "rules": group,
            "measured": with_interval(disk.measured.ratio, disk.measured.low, disk.measured.high),
            "lives": disk.measured.n,
            **{words: number(mean(disk.ratios[method]), trailing_zeros=True) for method, words in METHODS.items()},
            "captured lives": len(disk.ratios),
            "outcome": disk.outcome,
            "error of the prediction": percent(disk.error("predicted")),
        }
        for server in results.servers
        for metric in METRICS
        for group, scores in server.scores.items()
        for disk in scores[metric].disks
    ]
    return pd.DataFrame(rows).set_index(["server", "metric", "disk"])


def errors(results: Results) -> pd.DataFrame:
    """Returns one row per server, metric and group of disks: the median error by each method, the worst disk, false alarms."""
    rows = []
    for server in results.servers:
        for metric in METRICS:
            for group, scores in server.scores.items():
                score = scores[metric]
                worst = score.worst
                rows.append(
                    {
                        "server": server.title,
                        "metric": METRICS[metric][1],
                        "rules": group,
                        "scored disks": f"{len(score.having('scored'))} of {len(score.disks)}",
                        "undecided disks": len(score.having("undecided")),
                        **{words: percent(score.median(method)) for method, words in METHODS.items()},
                        "worst disk": f"{number(worst.latency_ms)} ms, {percent(worst.error('predicted'))}" if worst else "none",
                        "false alarms": f"{score.alarms[0]} of {score.alarms[1]}",
                    }
                )
    return pd.DataFrame(rows).set_index(["server", "metric", "rules"])


def by_capture(results: Results) -> pd.DataFrame:
    """Returns one row per server and captured life that counts: the median error for each metric on the held-out disks."""
    rows = [
        {
            "server": server.title,
            "capture": capture,
            **{METRICS[metric][1]: percent(score.by_capture.get(capture)) for metric, score in server.held_out.items()},
        }
        for server in results.servers
        for capture in dict.fromkeys(each.capture for each in server.predictions if each.is_valid)
    ]
    return pd.DataFrame(rows, columns=["server", "capture", *(title for _, title in METRICS.values())]).set_index(
        ["server", "capture"]
    )


def again(results: Results) -> pd.DataFrame:
    """Returns one row per server and metric: the repeated fast disk over the fast disk, with its interval and its verdict."""
    rows = [
        {
            "server": server.title,
            "metric": METRICS[metric][1],
            "lives": effect.n,
            "again / first": with_interval(effect.ratio, effect.low, effect.high),
            "verdict": server.verdicts[metric].word,
        }
        for server in results.servers
        for metric, effect in server.again.items()
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
            **{f"control, {METRICS[name][1]}": number(each.of(METRICS[name][0]).control_ratio) for name in GAPS},
            "settled": "yes" if each.is_settled else "no",
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
    "runs": lambda results: summaries(server.data for server in results.servers),
    "ratios": ratios,
    "errors": errors,
    "captures": captures,
    "by_capture": by_capture,
    "again": again,
}
