"""Makes the tables and figures of a real disk beside its emulated twin."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.device import OPS
from tickdisk.experiment import REAL, TWIN_ARM, WRONG
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.twin.compute import Results

_PANELS = ("twin", "wrong twin")


def ratios(results: Results, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the ratio of each metric to the real disk with its interval, in a panel for the twin and one for the wrong twin."""
    rows = [
        {
            "arm": compared.metric.title.removeprefix("the "),
            "metric": panel,
            "ratio": effect.ratio,
            "low": effect.low,
            "high": effect.high,
            "n": effect.n,
            "verdict": word,
        }
        for compared in results.compared
        for panel, effect, word in (
            (_PANELS[0], compared.twin, compared.outcome),
            (_PANELS[1], compared.wrong, compared.wrong_verdict.word),
        )
    ]
    plan = results.plan
    return plot.forest(pd.DataFrame(rows), margin=plan.margin, baseline="the real disk", level=plan.confidence, theme=theme)


def runs(results: Results) -> pd.DataFrame:
    """Returns one row per cell that ran, with the counts of its lives and its largest loads."""
    return results.data.summary()


def disk(results: Results) -> pd.DataFrame:
    """Returns one row per operation: its latency by the profile, beside the floor, and whether the emulator can be as fast."""
    limited = {cause.operation for cause in results.limited}
    rows = [
        {
            "operation": op,
            "profiled median (us)": number(latency_ns / 1e3),
            "floor of the twin (us)": number(results.floor_ns / 1e3),
            "at most the floor": percent(share),
            "the twin can be as fast": "no" if op in limited else "yes",
        }
        for op, latency_ns, share in zip(
            OPS[:3], results.twin.latency_ns[:3], results.twin.shares_up_to(results.floor_ns), strict=True
        )
    ]
    return pd.DataFrame(rows).set_index("operation")


def effects(results: Results) -> pd.DataFrame:
    """Returns one row per metric: its mean on the three disks, the ratios of both twins to the real disk, and the outcome."""
    rows = []
    for compared in results.compared:
        name, twin, wrong = compared.metric.name, compared.twin, compared.wrong
        rows.append(
            {
                "metric": compared.metric.title.removeprefix("the "),
                **{f"{arm.replace('_', ' ')} (ms)": number(results.mean_ms(name, arm)) for arm in (REAL, TWIN_ARM, WRONG)},
                "blocks": twin.n,
                "twin / real": with_interval(twin.ratio, twin.low, twin.high),
                "wrong twin / real": with_interval(wrong.ratio, wrong.low, wrong.high),
                "the wrong twin is": compared.wrong_verdict.word,
                "outcome": compared.outcome,
            }
        )
    return pd.DataFrame(rows).set_index("metric")


def truth(results: Results) -> pd.DataFrame:
    """Returns the delays of a disk that was made slow on purpose beside its profile and the lives on it and on its twin.

    Raises TickdiskError for any other disk, whose true speed nobody knows.
    """
    if results.truth is None:
        raise TickdiskError("nobody knows the true speed of this disk; `python -m benchmarks.slow_disk` makes one that is known")
    told = {"read": results.truth.read_ms, "write": results.truth.write_ms}
    rows = [
        {
            "operation": op,
            "true delay (ms)": number(told[op]),
            "profiled median (ms)": number(latency_ns / 1e6),
            "real disk (ms)": number(results.mean_ms(f"{op}_p50", REAL)),
            "twin (ms)": number(results.mean_ms(f"{op}_p50", TWIN_ARM)),
            "twin less the delay (ms)": number(results.mean_ms(f"{op}_p50", TWIN_ARM) - told[op]),
        }
        for op, latency_ns in zip(told, results.twin.latency_ns, strict=False)
    ]
    return pd.DataFrame(rows).set_index("operation")


FIGURES: Mapping[str, Callable[[Results], Any]] = {"ratios": ratios, "paper_twin": partial(ratios, theme=plot.PAPER)}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": runs,
    "disk": disk,
    "effects": effects,
    "truth": truth,
}
