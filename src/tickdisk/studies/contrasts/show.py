"""Tables and figures of contrasts over lives."""

from typing import Any

import pandas as pd

from tickdisk import plot, stats
from tickdisk.experiment import Arm
from tickdisk.foundation.numbers import interval, number, p_text
from tickdisk.studies.contrasts.compute import Contrasts
from tickdisk.studies.contrasts.state import without_marked
from tickdisk.studies.tiers import tier_name


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
                "p": p_text(effect.p),
                "p equivalent": p_text(effect.p_equivalent),
                "p sign flip": p_text(beside.p_sign_flip),
                "without one life": interval(beside.ratio_low, beside.ratio_high),
                "family": "" if verdict is None else verdict.family,
                "verdict": "" if verdict is None else verdict.word,
                **({"without marked lives": unmarked} if unmarked else {}),
            }
        )
    return pd.DataFrame(rows).set_index(["metric", "arm"])


def arm_words(effects: Contrasts) -> dict[str, str]:
    """Returns the label of each arm in figures: what it is among the controls, its latency, or else its name."""
    return {arm.arm: _label(effects, arm) for arm in effects.data.arms}


def _label(effects: Contrasts, arm: Arm) -> str:
    controls = {"baseline": "baseline", "null": "A/A", "sham": "sham"}
    if arm.role in controls:
        return controls[arm.role]
    if arm.role == "delay":
        return "answer delay" if arm.delays_only_actions else "both delays" if arm.action_delay_ms else "tick delay"
    latency_ms = effects.data.latency_ms(arm.arm)
    if latency_ms == effects.data.latency_ms(effects.baseline):
        return arm.arm.replace("_", " ")
    return f"{latency_ms:g} ms" if arm.role == "dose" else f"{tier_name(arm.device)}, {latency_ms:g} ms"


def effects(effects: Contrasts, theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws the ratios to the baseline of all arms on all metrics as a forest plot, with intervals and verdicts."""
    words = arm_words(effects)
    rows = pd.DataFrame(
        [
            {
                "arm": words[arm],
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
    return plot.forest(rows, margin=effects.margin, baseline="the baseline", level=1 - effects.plan.alpha, theme=theme)
