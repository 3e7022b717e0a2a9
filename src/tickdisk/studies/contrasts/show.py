"""Tables and figures of contrasts over lives."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tickdisk import plot, stats
from tickdisk.foundation.numbers import interval, number
from tickdisk.studies.contrasts.compute import Contrasts
from tickdisk.studies.contrasts.state import without_marked


def runs(effects: Contrasts) -> pd.DataFrame:
    """Returns the table of the cells that ran, with the counts of their lives and their largest loads."""
    return effects.data.summary()


def power(effects: Contrasts) -> pd.DataFrame:
    """Returns the table of the simulated power of the confirmatory tests, with one row per question.

    If the experiment has no confirmatory claims, the only row is a sentence that says so.
    """
    if not effects.powers:
        return pd.DataFrame({"question": ["every claim here is one of a scan, so no power was planned"]}).set_index("question")
    rows = [
        {"question": each.question, "claims": each.claims, "lives": effects.plan.lives, "power": number(each.power)}
        for each in effects.powers.values()
    ]
    return pd.DataFrame(rows).set_index("question")


def manipulation(effects: Contrasts) -> pd.DataFrame:
    """Returns the table that shows whether the server made enough requests in each arm to put the arm's latency to the test."""
    rows = [
        {
            "arm": arm,
            "epochs": len(own),
            "requests, median": own["requests"].median(),
            "requests, fewest": own["requests"].min(),
            "latency, median (ms)": number(float(own["latency_ms"].median())),
            "calibrated (ms)": number(effects.data.dose_ms(str(arm))),
            "tried": "; ".join(effects.untested_latency(str(arm))) or "yes",
        }
        for arm, own in effects.requests.groupby("arm", sort=False)
    ]
    return pd.DataFrame(rows).set_index("arm")


def effects_table(effects: Contrasts) -> pd.DataFrame:
    """Returns the table of all effects, with p values, verdicts, and the range of the ratio without any one life."""
    rows = []
    for (metric, arm), effect in effects.outcome.contrasts.items():
        logs = effects.outcome.logs[metric, arm].to_numpy(float)
        beside = stats.sensitivity(logs, rng=effects.random(f"flips {metric} {arm}"))
        verdict, unmarked = effects.verdicts.get((metric, arm)), without_marked(effects, (metric, arm))
        rows.append(
            {
                "metric": effects.metrics[metric],
                "arm": arm,
                "n": effect.n,
                "ratio": number(effect.ratio, trailing_zeros=True),
                "interval": interval(effect.low, effect.high),
                "p": effect.p,
                "p equivalent": effect.p_equivalent,
                "p sign flip": beside.p_sign_flip,
                "without one life": interval(beside.ratio_low, beside.ratio_high),
                "family": "" if verdict is None else verdict.family,
                "verdict": "" if verdict is None else verdict.word,
                **({"without marked lives": unmarked} if unmarked else {}),
            }
        )
    return pd.DataFrame(rows).set_index(["metric", "arm"])


def effects(effects: Contrasts, words: Mapping[str, str] | None = None, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the ratios to the baseline of all arms on all metrics as a forest plot, with intervals and verdicts.

    `words` has the labels of the arms, which are called by their names if it is None.
    """
    rows = pd.DataFrame(
        [
            {
                "arm": arm if words is None else words[arm],
                "metric": effects.metrics[metric],
                "ratio": effect.ratio,
                "low": effect.low,
                "high": effect.high,
                "n": effect.n,
                "verdict": effects.verdicts[metric, arm].word if (metric, arm) in effects.verdicts else "",
            }
            for (metric, arm), effect in effects.outcome.contrasts.items()
        ]
    )
    baseline = effects.baseline if words is None else "the baseline"
    return plot.forest(rows, margin=effects.margin, baseline=baseline, level=1 - effects.plan.alpha, theme=theme)
