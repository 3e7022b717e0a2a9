"""Tables and figures of contrasts over lives."""

from typing import Any

import pandas as pd

from tickdisk import plot, stats
from tickdisk.numbers import interval, number
from tickdisk.report.contrasts.compute import Contrasts
from tickdisk.report.contrasts.state import without_marked


def runs(found: Contrasts) -> pd.DataFrame:
    """Returns one row a cell: what ran, how loaded the machine was, what was counted."""
    return found.data.summary()


def power(found: Contrasts) -> pd.DataFrame:
    """Returns the simulated power of the confirmatory family with the planned number of lives."""
    if not found.powers:
        return pd.DataFrame({"question": ["every claim here is one of a scan, so no power was planned"]}).set_index("question")
    rows = [
        {"question": each.question, "claims": each.claims, "lives": found.plan.lives, "power": number(each.power)}
        for each in found.powers.values()
    ]
    return pd.DataFrame(rows).set_index("question")


def manipulation(found: Contrasts) -> pd.DataFrame:
    """Returns for each arm the requests that met it and their latency, beside what calibration realised."""
    rows = [
        {
            "arm": arm,
            "epochs": len(own),
            "requests, median": own["requests"].median(),
            "requests, fewest": own["requests"].min(),
            "latency, median (ms)": number(float(own["latency_ms"].median())),
            "calibrated (ms)": number(found.data.dose_ms(str(arm))),
            "tried": "; ".join(found.untried(str(arm))) or "yes",
        }
        for arm, own in found.requests.groupby("arm", sort=False)
    ]
    return pd.DataFrame(rows).set_index("arm")


def effects_table(found: Contrasts) -> pd.DataFrame:
    """Returns every contrast with interval, p, equivalence, sensitivity and verdict."""
    rows = []
    for (metric, arm), effect in found.outcome.contrasts.items():
        logs = found.outcome.logs[metric, arm].to_numpy(float)
        beside = stats.sensitivity(logs, rng=found.random(f"flips {metric} {arm}"))
        verdict, unmarked = found.verdicts.get((metric, arm)), without_marked(found, (metric, arm))
        rows.append(
            {
                "metric": found.metrics[metric],
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


def effects(found: Contrasts) -> Any:
    """Returns the forest plot of all contrasts."""
    rows = pd.DataFrame(
        [
            {
                "arm": arm,
                "metric": found.metrics[metric],
                "ratio": effect.ratio,
                "low": effect.low,
                "high": effect.high,
                "n": effect.n,
                "verdict": found.verdicts[metric, arm].word if (metric, arm) in found.verdicts else "",
            }
            for (metric, arm), effect in found.outcome.contrasts.items()
        ]
    )
    return plot.forest(rows, margin=found.margin, baseline=found.baseline, level=1 - found.plan.alpha)
