"""The part that switchback, join burst and capture cost share: contrasts over lives, controls, planned power, verdicts."""

from collections.abc import Collection, Mapping, Sequence
from math import log

import numpy as np
import pandas as pd
from IPython.display import SVG

from tickdisk import plot, qos, stats
from tickdisk.report.runs import LifeTables, Runs
from tickdisk.report.study import OURS, Study

_SCAN = "one of a scan (Benjamini-Hochberg)"


class Experiment(Study):
    """An experiment's table of epochs and the contrasts in it; `metrics` are the columns that are decided on.

    A server life (or a block, where every arm has a life of its own) gives one contrast for each arm, and every test is over
    these. Verdicts rest on all lives; those without marked lives stand beside them.
    """

    control_words: Mapping[str, str] = {
        "ticks": "A known delay of {delay} ms in the tick makes the {metric} longer (positive control)",
        "actions": "A storage latency of {latency:g} ms makes the {metric} longer from a cold cache (positive control)",
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
        actions: Collection[str],
        output: str | None,
        planned: int,
        asked: int,
        margin: float | None,
        seed: int | None,
    ) -> None:
        """Makes the contrasts and decides; `actions` are the metrics of actions, all others are of ticks.

        `planned` lives are the scale's, which a verdict needs, `asked` those that `blocks` makes of them.
        """
        super().__init__(name, output)
        self.data, self.table, self.metrics, self._actions = runs, table, dict(metrics), actions
        decision = runs.decision
        self.margin = decision.margin if margin is None else margin
        self._seed = runs.config.seed if seed is None else seed
        extended = f"{planned} lives were planned: confirmatory only if BLOCKS was set before the first run"
        self.caveats = [extended] if asked > planned else []
        self.plan = stats.Plan(planned, decision.minimum_lives, decision.control_minimum_lives, self.margin, decision.alpha)
        self.baseline = runs.role("baseline")
        self.arms = [arm.arm for arm in runs.arms if arm.role != "baseline"]
        self.roles = self._find_roles()
        self.not_valid, self.unreached = runs.not_valid(), runs.unreached()
        self.logs, self.contrasts, self.decision = self._decide(table)
        clean = table[~table["marked"]]
        self.unmarked = self._decide(clean) if 0 < len(clean) < len(table) else None
        self.requests = pd.concat([life.requests() for life in runs.lives()], ignore_index=True)
        self._state_effects()
        self._state_lives()
        self._state_requests()

    def random(self, purpose: str) -> np.random.Generator:
        """Returns the generator of one purpose: its draws depend on the seed and on its name alone."""
        words = [int.from_bytes(word.encode()[:8].ljust(8), "little") for word in (self.name, purpose)]
        return np.random.default_rng(np.random.SeedSequence([self._seed, *words]))

    def _find_roles(self) -> stats.Roles:
        sham = next((arm.arm for arm in self.data.arms if arm.role == "sham"), None)
        fixed = self.data.decision.confirmatory
        keys = [(fixed.tick_metric, fixed.arm), (f"{fixed.action}_mean_ms", fixed.arm)]
        return stats.Roles(
            null=self.data.role("null"),
            sham=sham,
            positive={metric: self.data.positive_for(self._kind(metric)) for metric in self.metrics},
            treatments=[arm.arm for arm in self.data.arms if arm.role in ("dose", "treatment")],
            confirmatory=frozenset(keys if fixed.experiment == self.name else ()),
        )

    def _kind(self, metric: str) -> str:
        return "actions" if metric in self._actions else "ticks"

    def _decide(
        self, table: pd.DataFrame
    ) -> tuple[dict[stats.Key, "pd.Series[float]"], dict[stats.Key, stats.Contrast], stats.Decision]:
        """Returns the lives' log ratios, their contrasts and the verdicts that follow."""
        logs: dict[stats.Key, pd.Series[float]] = {}
        for metric in self.metrics:
            found = qos.contrasts_by_life(table, metric, baseline=self.baseline, null=self.roles.null)
            logs |= {(metric, arm): found.get(arm, pd.Series(dtype=float)) for arm in self.arms}
        contrasts = {
            key: stats.contrast(values.to_numpy(float), margin=self.margin, alpha=self.plan.alpha) for key, values in logs.items()
        }
        decision = stats.decide(contrasts, self.plan, self.roles, of_arms=self.not_valid, unreached=self.unreached)
        return logs, contrasts, decision

    @property
    def verdicts(self) -> Mapping[stats.Key, stats.Verdict]:
        """The verdict of every control and of every claim about a treatment."""
        return self.decision.verdicts

    @property
    def treatments(self) -> Sequence[str]:
        """The arms that claims are about: neither baseline nor null nor sham control."""
        return self.roles.treatments

    def fact_name(self, metric: str) -> str:
        """Returns the metric as it stands in names of facts: without its unit, because ratios have none."""
        return metric.removesuffix("_ms")

    def _state_effects(self) -> None:
        level = f"{100 * (1 - self.plan.alpha):g} % interval"
        for row in self.data.arms:
            note = "realised by calibration on this machine"
            self.fact(f"latency.{row.arm}", self.data.latency_ms(row.arm), "ms", source="device models", note="nominal")
            self.fact(f"dose.{row.arm}", self.data.dose_ms(row.arm), "ms", source="calibration", note=note)
        source = f"{len(self.data.manifests)} cells of {self.name}, log ratios of lives"
        for (metric, arm), effect in self.contrasts.items():
            reference = self.baseline if arm == self.roles.null else f"the mean of {self.baseline} and {self.roles.null}"
            self.fact(
                f"{self.fact_name(metric)}_ratio.{arm}",
                effect.ratio,
                "ratio",
                interval=(effect.low, effect.high),
                n=effect.n,
                source=source,
                note=f"{self.metrics[metric]}: {arm} over {reference}, geometric mean, {level}",
            )
        for metric in self.metrics:
            rows = self.table[(self.table["arm"] == self.baseline) & (self.table[metric] > 0)]
            of_lives = np.log(rows.groupby("life")[metric].mean())
            mean = stats.contrast(of_lives.to_numpy(float), margin=self.margin, alpha=self.plan.alpha)
            self.fact(
                f"{self.fact_name(metric)}_baseline",
                mean.ratio,
                "ms",
                interval=(mean.low, mean.high),
                n=mean.n,
                source=source,
                note=f"{self.metrics[metric]} of {self.baseline}, geometric mean over lives",
            )
            controls = self.decision.controls[metric]
            self.fact(
                f"{self.fact_name(metric)}_detectable_ratio",
                controls.detectable,
                "ratio",
                n=controls.null.n,
                source=source,
                note=f"{self.metrics[metric]}: the A/A control would have found it with 80 % power (unadjusted level)",
            )

    def _state_lives(self) -> None:
        lives = list(self.data.lives())
        attempts = [attempt for life in lives for attempt in life.manifest["attempts"][:-1]]
        reasons = "; ".join(list(dict.fromkeys(reason for attempt in attempts for reason in attempt["reasons"]))[:3])
        self.fact("lives", len(lives), "lives", source="manifests")
        self.fact("replaced_lives", len(attempts), "lives", source="manifests", note=reasons)
        marked = "disturbed from outside at the last replacement, too; they count"
        self.fact("marked_lives", sum(life.marked for life in lives), "lives", source="manifests", note=marked)
        ended = sum(life.manifest["ended"] is not None for life in lives)
        self.fact("ended_lives", ended, "lives", source="manifests", note="the server ended by itself; they count")
        self.fact("cells", len(self.data.manifests), "cells", source="manifests", note="; ".join(self.data.not_used))
        note = "contrasts are within a life, so calibrations are strata"
        self.fact("calibrations", self.data.calibrations, "calibrations", source="manifests", note=note)
        note = f"verdicts from {self.plan.minimum} on"
        self.fact("planned_lives", self.plan.lives, "lives", source="plan", note=note)
        most = max((effect.n for effect in self.contrasts.values()), default=0)
        self.fact("contrasts", most, "lives", source="manifests", note=f"lives with a contrast, of {self.plan.lives} planned")

    def _state_requests(self) -> None:
        for arm, own in self.requests.groupby("arm", sort=False):
            note = "median over lives of the device's log; the check that the arm was put to the test"
            source = f"{len(own)} epochs"
            self.fact(f"requests.{arm}", float(own["requests"].median()), "requests", n=len(own), source=source, note=note)
            self.fact(f"request_latency.{arm}", float(own["latency_ms"].median()), "ms", n=len(own), source=source, note=note)

    def untried(self, arm: str) -> list[str]:
        """Returns a sentence if the server made too few requests in the arm's epochs for its latency to have been tried.

        An arm with the baseline's latency has nothing to try.
        """
        if self.data.latency_ms(arm) == self.data.latency_ms(self.baseline):
            return []
        median = float(self.requests.loc[self.requests["arm"] == arm, "requests"].median())
        enough = self.data.decision.enough_requests
        if median >= enough:
            return []
        return [
            f"in the median epoch the server made {median:g} requests, fewer than the {enough} that put a latency to the test"
        ]

    def manipulation(self) -> pd.DataFrame:
        """Returns for each arm the requests that met it and their latency, beside what calibration realised."""
        rows = []
        for arm, own in self.requests.groupby("arm", sort=False):
            rows.append(
                {
                    "arm": arm,
                    "epochs": len(own),
                    "requests, median": own["requests"].median(),
                    "requests, fewest": own["requests"].min(),
                    "latency, median ms": round(float(own["latency_ms"].median()), 3),
                    "calibrated ms": round(self.data.dose_ms(str(arm)), 3),
                    "tried": "; ".join(self.untried(str(arm))) or "yes",
                }
            )
        return pd.DataFrame(rows).set_index("arm")

    def runs(self) -> pd.DataFrame:
        """Returns one row a cell: what ran, how loaded the machine was, what was counted."""
        return self.data.summary()

    def power(self) -> pd.DataFrame:
        """Returns the simulated power of the confirmatory family with the planned number of lives, and states it."""
        claims = len(self.roles.confirmatory)
        if claims == 0:
            return pd.DataFrame({"question": ["every claim here is one of a scan, so no power was planned"]}).set_index(
                "question"
            )
        sd, rows = self.data.decision.planned_life_sd, []
        for name, effect, question in (
            ("difference", log(1 + self.margin), f"an effect of {self.margin:.0%} is found"),
            ("equivalence", 0.0, f"no effect is found equivalent within {self.margin:.0%}"),
        ):
            shares = stats.family_power(
                self.plan.lives,
                claims,
                sd=sd,
                effect=effect,
                margin=self.margin,
                alpha=self.plan.alpha,
                rng=self.random(f"power {name}"),
            )
            power = shares[0] if name == "difference" else shares[1]
            self.fact(
                f"power_{name}",
                power,
                "probability",
                n=self.plan.lives,
                source="simulation with the planned standard deviation",
                note=f"that {question}: {claims} claims (Holm), SD of a life's contrast {sd} (log scale)",
            )
            rows.append({"question": question, "claims": claims, "lives": self.plan.lives, "power": round(power, 3)})
        return pd.DataFrame(rows).set_index("question")

    def effects_table(self) -> pd.DataFrame:
        """Returns every contrast with interval, p, equivalence, sensitivity and verdict."""
        rows = []
        for (metric, arm), effect in self.contrasts.items():
            beside = stats.sensitivity(self.logs[metric, arm].to_numpy(float), rng=self.random(f"flips {metric} {arm}"))
            found = self.verdicts.get((metric, arm))
            rows.append(
                {
                    "metric": self.metrics[metric],
                    "arm": arm,
                    "n": effect.n,
                    "ratio": round(effect.ratio, 3),
                    "interval": f"{effect.low:.3g} to {effect.high:.3g}",
                    "p": effect.p,
                    "p equivalent": effect.p_equivalent,
                    "p sign flip": beside.p_sign_flip,
                    "without one life": f"{beside.ratio_low:.3g} to {beside.ratio_high:.3g}",
                    "family": "" if found is None else found.family,
                    "verdict": "" if found is None else found.word,
                    **self._without_marked(metric, arm),
                }
            )
        return pd.DataFrame(rows).set_index(["metric", "arm"])

    def _without_marked(self, metric: str, arm: str) -> dict[str, str]:
        if self.unmarked is None:
            return {}
        _, contrasts, decision = self.unmarked
        found, effect = decision.verdicts.get((metric, arm)), contrasts[metric, arm]
        word = "" if found is None else f", {found.word}"
        return {"without marked lives": f"{effect.ratio:.3g} [{effect.low:.3g}, {effect.high:.3g}], n = {effect.n}{word}"}

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
                    "verdict": self.verdicts[metric, arm].word if (metric, arm) in self.verdicts else "",
                }
                for (metric, arm), effect in self.contrasts.items()
            ]
        )
        return self.figure("effects", plot.forest(rows, margin=self.margin, baseline=self.baseline, level=1 - self.plan.alpha))

    def state_control_claims(self) -> None:
        """States what the controls say, for each metric."""
        for metric, title in self.metrics.items():
            kind, positive = self._kind(metric), self.roles.positive[metric]
            words = {"positive": (positive, self.control_words[kind]), "null": (self.roles.null, self.control_words["null"])}
            if self.roles.sham is not None:
                words["sham"] = (self.roles.sham, self.control_words["sham"])
            delays = {arm.arm: arm.tick_delay_ms for arm in self.data.arms}
            for role, (arm, statement) in words.items():
                said = statement.format(metric=title, latency=self.data.latency_ms(arm), delay=delays[arm])
                self.state_claim(f"{role}.{self.fact_name(metric)}", OURS, metric, arm, said)

    def state_claim(self, name: str, source: str, metric: str, arm: str, statement: str) -> None:
        """States the claim about an arm and a metric; a control's own metric has its claim among the controls."""
        verdict, effect = self.verdicts[metric, arm], self.contrasts[metric, arm]
        said = [verdict.reason]
        if verdict.word == "inconclusive":
            needed = stats.lives_to_decide(effect, verdict, self.plan)
            said.append("no feasible number of lives would decide" if needed is None else f"{needed} lives would decide")
        if verdict.family == "scan":
            said.append(_SCAN)
        said += [f"without marked lives {text}" for text in self._without_marked(metric, arm).values()]
        self.claim(
            name,
            source=source,
            statement=statement,
            verdict=verdict.word,
            evidence="; ".join([*said, *self.caveats, *self.untried(arm)]),
            facts=[f"{self.fact_name(metric)}_ratio.{arm}", f"requests.{arm}"],
            n=verdict.n,
        )

    def claimed(self) -> list[stats.Key]:
        """Returns metric and arm of every claim about a treatment."""
        return [key for key, found in self.verdicts.items() if found.family != "control"]


def epoch_rows(lives: Sequence[LifeTables], tau_ns: int) -> pd.DataFrame:
    """Returns one row an epoch of all lives; `tau_ns` is the worst latency that an action counts with."""
    return pd.concat([life.epoch_rows(tau_ns) for life in lives], ignore_index=True)
