"""What switchback and join burst have in common: contrasts with the baseline, planned power, controls, verdicts."""

from collections.abc import Mapping, Sequence
from math import log, nan
from typing import Literal

import numpy as np
import pandas as pd
from IPython.display import SVG

from tickdisk import plot, qos, stats
from tickdisk.report.runs import Runs
from tickdisk.report.study import Study

_POWER_SIMULATIONS = 4000
OURS = "this project"
CONTROLS = ("positive", "null", "sham")


class Experiment(Study):
    """An experiment's table of epochs and the contrasts in it; `metrics` are the columns that are decided on."""

    control_words: Mapping[str, str] = {
        "positive": "A storage latency of {latency:g} ms makes the {metric} longer (positive control)",
        "null": "The same device under two names changes the {metric} (A/A control)",
        "sham": "The emulator's CPU time alone changes the {metric} (sham control)",
    }

    def __init__(
        self,
        name: str,
        runs: Runs,
        table: pd.DataFrame,
        metrics: Mapping[str, str],
        *,
        output: str | None,
        invalid: list[str],
        planned: int,
        asked: int,
        margin: float | None,
        bootstrap_samples: int | None,
        seed: int | None,
    ) -> None:
        """`planned` pairs are the scale's, which a verdict needs, `asked` those that `blocks` makes of them."""
        super().__init__(name, output)
        self.data, self.table, self.metrics, self.invalid = runs, table, dict(metrics), invalid
        decision = runs.decision
        self.margin = decision.margin if margin is None else margin
        self.samples = decision.bootstrap_samples if bootstrap_samples is None else bootstrap_samples
        self.rng = np.random.default_rng(np.random.SeedSequence(runs.config.seed if seed is None else seed))
        extended = f"{planned} pairs were planned: confirmatory only if BLOCKS was set before the first run"
        self.caveats = [extended] if asked > planned else []
        self.plan = stats.Plan(planned, decision.minimum_pairs, self.margin, decision.alpha)
        self.control_plan = stats.Plan(planned, decision.control_minimum_pairs, self.margin, decision.alpha)
        self.baseline = runs.role("baseline")
        self.arms = [arm for arm in runs.arms if arm.role != "baseline"]
        self._roles = [role for role in CONTROLS if any(arm.role == role for arm in runs.arms)]
        self.contrasts = {(metric, arm.arm): self._contrast(metric, arm.arm) for metric in self.metrics for arm in self.arms}
        self.controls = self._check_controls()
        self.verdicts = self._decide()
        self._state_effects()

    def _contrast(self, metric: str, arm: str) -> stats.Contrast:
        ratios = qos.paired_log_ratios(self.table, metric, arm=arm, baseline=self.baseline)["log_ratio"].to_numpy(float)
        return stats.contrast(ratios[np.isfinite(ratios)], margin=self.margin, rng=self.rng, alpha=self.plan.alpha)

    def alike(self, metric: str, arm: str) -> list[str]:
        """Returns a sentence where a contrast differs more between lives than between the cycles of a life (p, unadjusted)."""
        pairs = qos.paired_log_ratios(self.table, metric, arm=arm, baseline=self.baseline)
        p = stats.blocks_differ_p(pairs["log_ratio"], pairs["life"])
        if not p < self.plan.alpha:
            return []
        lives = self._by_life(pairs)
        interval = f"{lives.ratio:.3g} [{lives.low:.3g}, {lives.high:.3g}], n = {lives.n}"
        return [f"lives differ (p = {p:.2g}), by lives the ratio is {interval}"]

    def _by_life(self, pairs: pd.DataFrame) -> stats.Contrast:
        return stats.block_contrast(pairs["log_ratio"], pairs["life"], margin=self.margin, rng=self.rng, alpha=self.plan.alpha)

    def treatments(self) -> list[str]:
        """Returns the arms that claims are about: neither baseline nor control."""
        return [arm.arm for arm in self.arms if arm.role in ("dose", "treatment")]

    def _adjusted(self, arms: Sequence[str], test: Literal["p", "p_equivalent"]) -> dict[tuple[str, str], float]:
        """Returns p by Holm; a family is the given arms with all decided metrics."""
        keys = [(metric, arm) for metric in self.metrics for arm in arms]
        p = stats.adjusted([getattr(self.contrasts[key], test) for key in keys], "confirmatory")
        return dict(zip(keys, p.tolist(), strict=True))

    def _check_controls(self) -> dict[str, stats.Controls]:
        arms = [self.data.role(role) for role in self._roles]
        p, equivalent = (self._adjusted(arms[:1], test) | self._adjusted(arms[1:], test) for test in ("p", "p_equivalent"))
        found = {}
        for metric in self.metrics:
            positive, null, *sham = (self.contrasts[metric, arm] for arm in arms)
            found[metric] = stats.check_controls(
                positive,
                null,
                sham[0] if sham else None,
                self.control_plan,
                null_plan=self.plan,
                invalid=self.invalid,
                p=[p[metric, arm] for arm in arms] + [nan] * (not sham),
                p_equivalent=[equivalent[metric, arm] for arm in arms] + [nan] * (not sham),
            )
        return found

    def _decide(self) -> dict[tuple[str, str], stats.Verdict]:
        """Three Holm families of contrasts: positive controls, null and sham controls, treatments; each over all metrics."""
        arms = self.treatments()
        p, equivalent = self._adjusted(arms, "p"), self._adjusted(arms, "p_equivalent")
        found = {
            key: stats.verdict(
                self.contrasts[key],
                self.plan,
                controls=self.controls[key[0]],
                invalid=self.invalid,
                p=p[key],
                p_equivalent=equivalent[key],
            )
            for key in p
        }
        for metric, controls in self.controls.items():
            found |= {(metric, self.data.role(role)): getattr(controls, role) for role in self._roles}
        return found

    def fact_name(self, metric: str) -> str:
        """Returns the metric as it stands in names of facts: without its unit, because ratios have none."""
        return metric.removesuffix("_ms")

    def _state_effects(self) -> None:
        for row in self.data.arms:
            self.fact(
                f"latency.{row.arm}", self.data.latency_ms(row.arm), "ms", source="device models", note="nominal read latency"
            )
        source = f"{len(self.data.manifests)} cells of {self.name}, paired log ratios"
        for (metric, arm), effect in self.contrasts.items():
            self.fact(
                f"{self.fact_name(metric)}_ratio.{arm}",
                effect.ratio,
                "ratio",
                interval=(effect.low, effect.high),
                n=effect.n,
                source=source,
                note=f"{self.metrics[metric]}: {arm} over {self.baseline}, geometric mean, 95 % interval",
            )
        for metric in self.metrics:
            values = self.table.loc[self.table["arm"] == self.baseline, metric].dropna().to_numpy(float)
            mean = stats.contrast(np.log(values), margin=self.margin, rng=self.rng)
            self.fact(
                f"{self.fact_name(metric)}_baseline",
                mean.ratio,
                "ms",
                interval=(mean.low, mean.high),
                n=mean.n,
                source=source,
                note=f"{self.metrics[metric]} of {self.baseline}, geometric mean over epochs or runs",
            )
            self.fact(
                f"{self.fact_name(metric)}_detectable_ratio",
                self.controls[metric].detectable,
                "ratio",
                n=self.controls[metric].null.n,
                source=source,
                note=f"{self.metrics[metric]}: the A/A control would have found it with 80 % power (unadjusted level)",
            )
        reasons, attempts = self.data.reasons(), [len(manifest["attempts"]) - 1 for manifest in self.data.manifests]
        self.fact("spoilt_lives", self.data.spoilt_lives(), "lives", source="manifests", note="; ".join(reasons[:3]))
        self.fact("cells", len(attempts), "cells", source="manifests")
        note = "the machine was too loaded"
        self.fact("repeated_cells", sum(map(bool, attempts)), "cells", source="manifests", note=note)
        marked = sum(bool(manifest["marked"]) for manifest in self.data.manifests)
        self.fact("marked_cells", marked, "cells", source="manifests", note=f"{note} at the last repeat, too")
        self.fact("planned_pairs", self.plan.n, "pairs", source="plan", note=f"verdicts from {self.plan.minimum_n} on")
        self.fact(
            "pairs",
            max((effect.n for effect in self.contrasts.values()), default=0),
            "pairs",
            source=source,
            note=f"pairs that ran, of {self.plan.n} planned",
        )

    def by_life(self) -> pd.DataFrame:
        """Returns whether the cycles of a life are alike: contrasts of the lives' means (the conservative reading), and the test.

        Facts are stated for every contrast; with one cycle a life the reading is the same as by pairs, and the test is empty.
        """
        rows = []
        for metric, arm in self.contrasts:
            pairs = qos.paired_log_ratios(self.table, metric, arm=arm, baseline=self.baseline)
            effect = self._by_life(pairs)
            differ = stats.blocks_differ_p(pairs["log_ratio"], pairs["life"])
            name = f"{self.fact_name(metric)}_ratio_by_life.{arm}"
            self.fact(
                name,
                effect.ratio,
                "ratio",
                interval=(effect.low, effect.high),
                n=effect.n,
                source="means of lives",
                note=f"{self.metrics[metric]}: {arm} over {self.baseline}, a life counting once",
            )
            interval = f"{effect.low:.3g} to {effect.high:.3g}"
            rows.append(
                {
                    "metric": self.metrics[metric],
                    "arm": arm,
                    "lives": effect.n,
                    "ratio": effect.ratio,
                    "95 % interval": interval,
                    "p": effect.p,
                    "p lives differ": differ,
                }
            )
        return pd.DataFrame(rows).set_index(["metric", "arm"])

    def runs(self) -> pd.DataFrame:
        """Returns one row a cell: what ran, how loaded the machine was, what was counted."""
        return self.data.summary()

    def power(self) -> pd.DataFrame:
        """Returns the simulated power of the planned number of pairs, and states it."""
        decision, rows = self.data.decision, []
        # The level of the least of the family's p values, the strictest that Holm asks for.
        alpha = decision.alpha / max(1, len(self.treatments()) * len(self.metrics))
        questions: dict[Literal["difference", "equivalence"], tuple[float, str]] = {
            "difference": (log(1 + self.margin), f"an effect of {self.margin:.0%} is found"),
            "equivalence": (0.0, f"no effect is found equivalent within {self.margin:.0%}"),
        }
        for kind, (effect, question) in questions.items():
            power = stats.simulate_power(
                kind,
                self.plan.n,
                run_sd=decision.planned_run_sd,
                block_sd=decision.planned_block_sd,
                rng=self.rng,
                margin=self.margin,
                effect=effect,
                alpha=alpha,
                simulations=_POWER_SIMULATIONS,
            )
            self.fact(
                f"power_{kind}",
                power,
                "probability",
                n=self.plan.n,
                source="simulation with the planned standard deviations",
                note=f"that {question}: {self.plan.n} pairs, level {alpha:.2g}, run SD {decision.planned_run_sd} (log scale)",
            )
            rows.append(
                {"question": question, "pairs": self.plan.n, "power": round(power, 3), "least pairs": self.plan.minimum_n}
            )
        return pd.DataFrame(rows).set_index("question")

    def effects_table(self) -> pd.DataFrame:
        """Returns every contrast with interval, p, equivalence and verdict."""
        return pd.DataFrame(
            [
                {
                    "metric": self.metrics[metric],
                    "arm": arm,
                    "n": effect.n,
                    "ratio": round(effect.ratio, 3),
                    "95 % interval": f"{effect.low:.3g} to {effect.high:.3g}",
                    "p": effect.p,
                    "p sign flip": effect.p_sign_flip,
                    "p equivalent": effect.p_equivalent,
                    "Hodges-Lehmann": round(effect.hodges_lehmann, 3),
                    "Cliff's delta": round(effect.dominance, 2),
                    "verdict": self.verdicts[metric, arm].word,
                }
                for (metric, arm), effect in self.contrasts.items()
            ]
        ).set_index(["metric", "arm"])

    def effects(self) -> SVG:
        """Returns the forest plot of all contrasts."""
        rows = pd.DataFrame(
            [
                {
                    "arm": arm,
                    "metric": self.metrics[metric],
                    "ratio": effect.ratio,
                    "low": effect.low,
                    "high": effect.high,
                    "n": effect.n,
                    "verdict": self.verdicts[metric, arm].word,
                }
                for (metric, arm), effect in self.contrasts.items()
            ]
        )
        return self.figure("effects", plot.forest(rows, margin=self.margin, baseline=self.baseline))

    def state_control_claims(self, metrics: Sequence[str]) -> None:
        """States what the controls say, for each metric."""
        for metric in metrics:
            for role in self._roles:
                arm, statement = self.data.role(role), self.control_words[role]
                self._claim(
                    f"{role}.{self.fact_name(metric)}",
                    OURS,
                    metric,
                    arm,
                    statement.format(metric=self.metrics[metric], latency=self.data.latency_ms(arm)),
                )

    def state_effect_claim(self, name: str, source: str, metric: str, arm: str, statement: str) -> None:
        """States a claim about a treatment."""
        self._claim(name, source, metric, arm, statement)

    def _claim(self, name: str, source: str, metric: str, arm: str, statement: str) -> None:
        verdict = self.verdicts[metric, arm]
        self.claim(
            name,
            source=source,
            statement=statement,
            verdict=verdict.word,
            evidence="; ".join(
                [verdict.reason, *self.caveats, *self.data.left_out(arm, self.baseline), *self.alike(metric, arm)]
            ),
            facts=[f"{self.fact_name(metric)}_ratio.{arm}"],
            n=verdict.n,
        )
