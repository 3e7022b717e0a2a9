"""Makes the tables and figures of slow reads, writes and flushes, with all servers side by side."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import interval, number, with_interval
from tickdisk.studies import contrasts
from tickdisk.studies.operations.classes import Answer
from tickdisk.studies.operations.compute import Results
from tickdisk.studies.operations.kinds import ALL, KINDS, SUM
from tickdisk.studies.tiers import tier_name

ANSWERS: Mapping[Answer, str] = {
    "good": "good enough",
    "slow": "too slow",
    "open": "not decided",
    "outside": "slower than every dose",
    "not valid": "not valid",
}
_LABELS = {"read": "Reads", "write": "Writes", "flush": "Flushes", SUM: "Their sum", ALL: "All together"}


def added(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the time that slow operations add to each metric, with a row of panels for each server."""
    rows = [
        {
            "server": part.title,
            "metric": part.effects.metrics[metric].removesuffix(" of an epoch").removesuffix(" latency"),
            "op": _LABELS[name],
            "ms": mean.value,
            "low": mean.low,
            "high": mean.high,
            "within": part.effects.margin * part.baseline_ms[metric],
        }
        for part in results.parts
        for metric in part.effects.metrics
        for name, mean in ((name, part.added[metric, name]) for name in _LABELS)
    ]
    first = results.parts[0]
    slow_ms, level = first.effects.data.latency_ms(first.arms[ALL]), first.effects.plan.confidence
    return plot.added_by_operation(pd.DataFrame(rows), slow_ms=slow_ms, margin=first.effects.margin, level=level, theme=theme)


def added_table(results: Results) -> pd.DataFrame:
    """Returns one row per server, metric and operation: what it adds in ms, the ratio to the baseline, and the verdict."""
    rows = []
    for part in results.parts:
        for metric, title in part.effects.metrics.items():
            for name, label in _LABELS.items():
                mean = part.added[metric, name]
                effect = None if name == SUM else part.effects.outcome.contrasts[metric, part.arms[name]]
                rows.append(
                    {
                        "server": part.title,
                        "metric": title,
                        "slow": label,
                        "added (ms)": number(mean.value),
                        "interval": interval(mean.low, mean.high),
                        "n": mean.n,
                        "ms per ms": number(mean.value / part.more_ms),
                        "ratio": "" if effect is None else number(effect.ratio, trailing_zeros=True),
                        "verdict": "" if effect is None else part.effects.verdicts[metric, part.arms[name]].word,
                    }
                )
    return pd.DataFrame(rows).set_index(["server", "metric", "slow"])


def together(results: Results) -> pd.DataFrame:
    """Returns one row per server and metric with the interaction in ms, and the verdict on whether effects add up."""
    rows = [
        {
            "server": part.title,
            "metric": part.effects.metrics[metric],
            "interaction (ms)": number(each.interaction_ms.value),
            "interval": interval(each.interaction_ms.low, each.interaction_ms.high),
            "all over the sum": number(each.ratio.ratio, trailing_zeros=True),
            "interval of the ratio": interval(each.ratio.low, each.ratio.high),
            "n": each.ratio.n,
            "verdict": each.verdict.word,
        }
        for part in results.parts
        for metric, each in part.together.items()
    ]
    return pd.DataFrame(rows).set_index(["server", "metric"])


def met(results: Results) -> pd.DataFrame:
    """Returns the number of requests of each operation in an epoch of each arm, and their median latency, by server."""
    tables = [part.met.assign(server=part.title, operation=part.met["op"].map(KINDS)) for part in results.parts]
    every = pd.concat(tables).rename(columns={"requests": "requests, median", "latency_ms": "latency, median (ms)"})
    every["latency, median (ms)"] = [number(float(ms)) if pd.notna(ms) else "" for ms in every["latency, median (ms)"]]
    return every.drop(columns="op").set_index(["server", "arm", "operation"])


def waited(results: Results) -> pd.DataFrame:
    """Returns how many requests captured ticks waited for one after another, beside the measured rise of the longest gap.

    There is a row for each server and operation. Raises TickdiskError if no life of a server was captured.
    """
    rows = []
    for part in results.parts:
        if part.waited is None:
            continue
        ticks = part.waited.ticks
        saving, other = ticks[ticks["saves"]], ticks[~ticks["saves"]]
        for op, word in KINDS.items():
            slopes = {
                f"rise of the {title} (ms per ms)": number(part.added[metric, op].value / part.more_ms)
                for metric, title in part.effects.metrics.items()
                if metric not in part.effects.actions
            }
            rows.append(
                {
                    "server": part.title,
                    "operation": word,
                    "in a tick that saves, mean": number(float(saving[op].mean())),
                    "most": number(int(saving[op].max())) if len(saving) else "",
                    "ticks": len(saving),
                    "in another tick, mean": number(float(other[op].mean())),
                    **slopes,
                }
            )
    if not rows:
        raise TickdiskError("no life of inside_tick was captured; run the experiment as well")
    return pd.DataFrame(rows).set_index(["server", "operation"])


def classes(results: Results) -> pd.DataFrame:
    """Returns one row per class, server and metric with the predicted and the measured ratio to the baseline, and the answer."""
    rows = []
    for part in results.parts:
        for (metric, name), effect in part.classes.items():
            predicted, trial = effect.predicted, effect.trial
            latencies = "/".join(number(ns / 1e6) for ns in results.classes[name].latencies_ns)
            live = {}
            if trial is not None:
                live = {
                    "predicted interval": interval(*trial.predicted),
                    "measured": number(trial.measured.ratio, trailing_zeros=True),
                    "inside": "yes" if trial.is_inside else "no",
                    "above the margin": "yes" if trial.is_hard else "no",
                    "measured over predicted": with_interval(trial.apart.ratio, trial.apart.low, trial.apart.high),
                    "verdict": trial.verdict.word,
                }
            rows.append(
                {
                    "class": tier_name(name),
                    "read/write/flush (ms)": latencies,
                    "server": part.title,
                    "metric": part.effects.metrics[metric],
                    "equivalent (ms)": with_interval(effect.equivalent.ms, effect.equivalent.low_ms, effect.equivalent.high_ms),
                    "predicted": number(predicted.ratio, trailing_zeros=True),
                    "bounds": interval(predicted.low_one_sided, predicted.high_one_sided),
                    **live,
                    "answer": ANSWERS[effect.answer],
                }
            )
    return pd.DataFrame(rows).fillna("").set_index(["class", "read/write/flush (ms)", "server", "metric"])


def runs(results: Results) -> pd.DataFrame:
    """Returns the table of the cells that ran on every server."""
    return pd.concat([contrasts.runs(part.effects).assign(server=part.title) for part in results.parts])


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "added": added,
    "paper_operations": lambda results: added(results, plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": runs,
    "met": met,
    "added": added_table,
    "together": together,
    "waited": waited,
    "classes": classes,
}
