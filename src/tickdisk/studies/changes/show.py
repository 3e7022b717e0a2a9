"""Makes the tables and figures of changes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot, stats
from tickdisk.foundation.numbers import interval, number, with_interval
from tickdisk.studies.changes.compute import LONGEST, METRICS, Changed, Results
from tickdisk.studies.runs import summaries


def gains(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the longest tick gap on both disks beside the play that a power cut loses, for each change of each server."""
    first = results.servers[0]
    gaps, losses = [], []
    for server in results.servers:
        for life in server.lives:
            for disk in ("slow", "fast"):
                mean = server.mean_ms(LONGEST, life, disk)
                row = {"server": server.title, "change": _label(life), "disk": disk}
                gaps.append({**row, "ms": mean.value, "low": mean.low, "high": mean.high})
            if life in server.losses:
                lost, mean = server.losses[life], server.losses[life].seconds
                row = {"server": server.title, "change": _label(life)}
                note = "" if lost.opened == len(lost.cuts) else f"{lost.opened} of {len(lost.cuts)} worlds opened"
                losses.append({**row, "seconds": mean.value, "low": mean.low, "high": mean.high, "note": note})
    return plot.gains_and_losses(
        pd.DataFrame(gaps),
        pd.DataFrame(losses, columns=["server", "change", "seconds", "low", "high", "note"]),
        metric=f"{METRICS[LONGEST].capitalize()} in {number(first.design.analysed_s)} s",
        slow_ms=first.data.latency_ms(first.slow),
        fast_ms=first.data.latency_ms(first.data.role("baseline")),
        level=first.plan.confidence,
        theme=theme,
    )


def _label(life: str) -> str:
    return life.replace("_", " ")


def prices(results: Results) -> pd.DataFrame:
    """Returns the price list, one row per server and change: the metrics on the slow disk, and what a power cut loses.

    The ratio is that of the longest tick gap on the slow disk to the one without the change. Lives with power cuts save at a
    period of their own, so that both periods stand beside the numbers.
    """
    rows = []
    for server in results.servers:
        for life in server.lives:
            save_s, cut_save_s = server.design.periods_s(life)
            row = {"server": server.title, "change": server.words(life), "a save every (s)": number(save_s)}
            for metric, title in METRICS.items():
                mean = server.mean_ms(metric, life, "slow")
                row[f"{title} (ms)"] = with_interval(mean.value, mean.low, mean.high)
            row["longest tick gap, with over without"] = _ratio(server.plain[LONGEST, life]) if life in server.changes else ""
            row["servers that the slow disk ended"] = _ended(server, life)
            if life in server.losses:
                lost = server.losses[life]
                row |= {
                    "a save before a cut every (s)": number(cut_save_s),
                    "play lost (s)": with_interval(lost.seconds.value, lost.seconds.low, lost.seconds.high),
                    "edits lost": f"{number(lost.lost)} of {number(lost.edits)}",
                    "worlds that opened": f"{lost.opened} of {len(lost.cuts)}",
                }
            rows.append(row)
    return pd.DataFrame(rows).set_index(["server", "change"]).fillna("")


def effects(results: Results) -> pd.DataFrame:
    """Returns one row per server, metric and change: the plain ratio, and the ratio of ratios with its verdict."""
    rows = []
    for server in results.servers:
        for (metric, name), effect in server.contrasts.items():
            rows.append(
                {
                    "server": server.title,
                    "metric": METRICS[metric],
                    "life": name,
                    "slow disk, with over without": _ratio(server.plain[metric, name]),
                    "servers that the slow disk ended": _ended(server, name),
                    "n": effect.n,
                    "ratio of ratios": number(effect.ratio, trailing_zeros=True),
                    "interval": interval(effect.low, effect.high),
                    "verdict": server.decision.verdicts[metric, name].word,
                }
            )
    return pd.DataFrame(rows).set_index(["server", "metric", "life"])


def _ratio(contrast: stats.Contrast) -> str:
    return with_interval(contrast.ratio, contrast.low, contrast.high)


def _ended(server: Changed, life: str) -> str:
    ended, lives = server.ended_on_slow(life)
    return f"{ended} of {lives}"


def cuts(results: Results) -> pd.DataFrame:
    """Returns one row per power cut: the outcome, and the edits that were acknowledged before it and lost in it."""
    tables = [
        lost.cuts.assign(server=server.title, change=life) for server in results.servers for life, lost in server.losses.items()
    ]
    columns = ["server", "change", "life", "cut", "outcome", "kind", "pages_dropped", "pages_kept", "edits", "lost", "not_seen"]
    columns += ["lost_s", "tries"]
    return pd.concat(tables)[columns] if tables else pd.DataFrame(columns=columns)


FIGURES: Mapping[str, Callable[[Results], Any]] = {"gains": gains, "paper_changes": partial(gains, theme=plot.PAPER)}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: summaries(server.data for server in results.servers),
    "prices": prices,
    "effects": effects,
    "cuts": cuts,
}
