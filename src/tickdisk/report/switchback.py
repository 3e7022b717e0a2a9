"""The switchback notebook: the device changes inside one server life."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from IPython.display import SVG

from tickdisk import plot, qos, stats
from tickdisk.report.experiment import Experiment, epoch_rows
from tickdisk.report.parameters import check_parameters
from tickdisk.report.runs import LifeTables, Runs
from tickdisk.report.study import OURS
from tickdisk.server import BUDGET_NS

METRICS = {
    "gap_p50_ms": "median tick gap",
    "gap_p95_ms": "95th percentile of the tick gap",
    "gap_mean_ms": "mean tick gap",
    "gap_max_ms": "longest tick gap of an epoch",
}
ALWAYS = "gap_mean_ms"
"""Estimable in every epoch, however few ticks a stalled server makes: the controls of the smallest scale rest on it."""
_POKESTO = "PokeSto, MF2: no difference"
_CURVE_POINTS = 60


class Switchback(Experiment):
    """Effects of storage latency on tick gaps and on one kind of action, from contrasts within lives."""

    def __init__(
        self,
        plan: str,
        *,
        runs: str,
        output: str | None,
        tick_metric: str,
        action: str,
        margin: float | None,
        seed: int | None,
    ) -> None:
        check_parameters()
        data = Runs(plan, runs, "switchback")
        self.tick_metric, self.action = tick_metric, action
        self.action_metric = f"{action}_mean_ms"
        self._lives = list(data.lives())
        metrics = {
            ALWAYS: METRICS[ALWAYS],
            tick_metric: METRICS.get(tick_metric, tick_metric),
            self.action_metric: f"mean {action} latency",
        }
        super().__init__(
            "switchback",
            data,
            # An action that takes longer than the cut after a switch would reach into the next epoch.
            epoch_rows(self._lives, tau_ns=round(data.scale.switchback.save_period_s * 1e9)),
            metrics,
            actions={self.action_metric},
            output=output,
            planned=data.scale.switchback.lives,
            asked=data.asked.switchback.lives,
            margin=margin,
            seed=seed,
        )
        self._state_counts()
        self._state_claims()

    def _state_counts(self) -> None:
        ticks = [life.manifest["ticks"] for life in self._lives]
        self.fact("ticks", int(sum(each["ticks"] for each in ticks)), "ticks", source="ticks tables")
        self.fact("missing_ticks", int(sum(each["missing"] for each in ticks)), "ticks", source="ticks tables")
        self.fact("actions", sum(len(life.actions) for life in self._lives), "actions", source="actions tables")
        for outcome in ("timed_out", "failed"):
            count = int(sum((life.actions["outcome"] == outcome).sum() for life in self._lives))
            self.fact(f"actions_{outcome}", count, "actions", source="actions tables")
        tau_s = self.data.scale.switchback.save_period_s
        for arm, own in self.table.groupby("arm", sort=False):
            name, note = f"{self.action}_at_tau.{arm}", f"failed, timed out, or later than {tau_s:g} s: they count as that"
            offered = int(own[f"{self.action}_offered"].sum())
            self.fact(name, int(own[f"{self.action}_at_tau"].sum()), "actions", n=offered, source="actions tables", note=note)
        self.fact("device_requests", sum(life.manifest["requests"] for life in self._lives), "requests", source="device tables")

    def _state_claims(self) -> None:
        self.state_control_claims()
        baseline_ms = self.data.latency_ms(self.baseline)
        for metric, arm in self.claimed():
            source = OURS if metric == self.action_metric else _POKESTO
            statement = (
                f"{self.data.latency_ms(arm):g} ms of storage latency instead of {baseline_ms:g} ms changes "
                f"the {self.metrics[metric]}"
            )
            self.state_claim(f"{arm}.{self.fact_name(metric)}", source, metric, arm, statement)
        self._slopes = {metric: self._slope(metric) for metric in self.metrics}
        for metric in self.metrics:
            self._state_dose(metric)

    def _doses(self) -> list[str]:
        return [arm.arm for arm in self.data.arms if arm.role == "dose"]

    def _slope(self, metric: str) -> stats.Slope | None:
        """Fits the baselines and doses of each life without the arm that is slower by construction."""
        rows = self._dose_rows(metric)
        chosen = rows[rows["arm"] != self.roles.positive[metric]]
        at_ms = np.geomspace(rows["latency_ms"].min(), rows["latency_ms"].max(), _CURVE_POINTS)
        return stats.slope(chosen["latency_ms"], chosen[metric], chosen["life"], at_ms=at_ms, alpha=self.plan.alpha)

    def _state_dose(self, metric: str) -> None:
        """States up to which dose the metric is good, from which one it suffers, the slope beside, and the claim."""
        name, title, alpha = self.fact_name(metric), self.metrics[metric], self.plan.alpha
        doses = sorted((self.data.dose_ms(arm), arm) for arm in self._doses())
        effects = [(dose, self.contrasts[metric, arm]) for dose, arm in doses]
        found, slope = stats.dose_bounds(effects, margin=self.margin), self._slopes[metric]
        controls = self.decision.controls[metric].reasons
        enough = found.lives >= max(self.plan.lives, self.plan.minimum)
        few = [] if enough else [f"{found.lives} lives of the {max(self.plan.lives, self.plan.minimum)} that a verdict needs"]
        of_arms = [reason for arm in self._doses() for reason in self.not_valid.get(arm, ())]
        obstacles = [*(few or controls), *of_arms]
        source = f"fixed-sequence tests over {found.lives} lives, one-sided at {alpha:g}"
        for key, value, note in (
            ("good_up_to", found.good_up_to, f"largest latency at which the {title} is shown to stay within {self.margin:.0%}"),
            (
                "hurts_from",
                found.hurts_from,
                f"smallest latency from which the {title} is shown to be more than {self.margin:.0%} longer",
            ),
        ):
            self.fact(f"{name}_{key}", None if obstacles else value, "ms", n=found.lives, source=source, note=note)
        self.fact(
            f"{name}_slope",
            None if slope is None else slope.per_ms,
            "ms per ms",
            interval=None if slope is None else (slope.low, slope.high),
            n=None if slope is None else slope.lives,
            source="a line within each life, t test over lives",
            note=f"{title}: rise for each ms of device latency; secondary, because slack hides the first milliseconds",
        )
        most_ms = self.data.latency_ms(doses[-1][1])
        word = (
            "different" if found.hurts_from is not None else "equivalent" if found.good_up_to == doses[-1][0] else "inconclusive"
        )
        good = "no latency is shown to be good" if found.good_up_to is None else f"good up to {found.good_up_to:.3g} ms"
        hurts = "none is shown to hurt" if found.hurts_from is None else f"hurts from {found.hurts_from:.3g} ms"
        self.claim(
            f"dose_{name}",
            source=OURS,
            statement=f"A storage latency of up to {most_ms:g} ms makes the {title} more than {self.margin:.0%} longer",
            verdict="not valid" if obstacles else word,
            evidence="; ".join([*(obstacles or [f"{good}, {hurts}, between them it is not known ({source})"]), *self.caveats]),
            facts=[f"{name}_good_up_to", f"{name}_hurts_from", f"{name}_slope"],
            n=found.lives,
        )

    def _dose_rows(self, metric: str) -> pd.DataFrame:
        """Baseline epochs, both of them, and those of the doses, with the realised latency of each."""
        arms = [self.baseline, self.roles.null, *self._doses()]
        rows = self.table[self.table["arm"].isin(arms)].dropna(subset=[metric])
        return rows.assign(latency_ms=rows["arm"].map(self.data.dose_ms))

    def timeline(self) -> SVG:
        """Returns the first server life: device latency above, tick gaps below."""
        life = self._lives[0]
        epochs = life.epochs.assign(latency_ms=life.epochs["arm"].map(self.data.latency_ms))
        order = [arm.arm for arm in self.data.arms]
        return self.figure(
            "timeline", plot.switchback_timeline(epochs, qos.gaps(life.ticks), budget_ms=BUDGET_NS / 1e6, order=order)
        )

    def gap_tail(self) -> SVG:
        """Returns the share of gaps longer than x, by arm, over all steady epochs."""
        parts = {arm.arm: np.concatenate([self._gaps(life, arm.arm) for life in self._lives]) for arm in self.data.arms}
        return self.figure("gap_tail", plot.tails(parts, budget_ms=BUDGET_NS / 1e6))

    @staticmethod
    def _gaps(life: LifeTables, arm: str) -> npt.NDArray[np.float64]:
        epochs = life.epochs[life.epochs["arm"] == arm]
        ends = zip(epochs["steady_ns"].tolist(), epochs["end_ns"].tolist(), strict=True)
        return np.concatenate([np.empty(0), *(qos.gaps_ms(life.ticks, start, end) for start, end in ends)])

    def dose_gap(self) -> SVG:
        """Returns the dose-response of the tick metric."""
        return self._dose_figure("dose_gap", self.tick_metric)

    def dose_gap_mean(self) -> SVG:
        """Returns the dose-response of the mean tick gap."""
        return self._dose_figure("dose_gap_mean", ALWAYS)

    def dose_action(self) -> SVG:
        """Returns the dose-response of the action's latency."""
        return self._dose_figure(f"dose_{self.action}", self.action_metric)

    def _dose_figure(self, name: str, metric: str) -> SVG:
        chart = plot.dose_response(
            self._dose_rows(metric),
            metric,
            self._slopes[metric],
            margin=self.margin,
            title=self.metrics[metric],
            level=1 - self.plan.alpha,
        )
        return self.figure(name, chart)

    def carry_over(self) -> pd.DataFrame:
        """Returns what the epoch before and the place in the life do to each metric, and states the carry-over."""
        rows = []
        previous = self.table["previous_arm"].map({arm.arm: self.data.latency_ms(arm.arm) for arm in self.data.arms})
        for metric, title in self.metrics.items():
            values = np.log(self.table[metric].where(self.table[metric] > 0))
            life, place = self.table["life"], self.table["position"]
            effect = stats.order_effect(values, self.table["arm"], life, place, previous, alpha=self.plan.alpha)
            self.fact(
                f"{self.fact_name(metric)}_carry_over",
                effect.carry_over,
                "log ratio per decade",
                interval=(effect.carry_over_low, effect.carry_over_high),
                n=effect.n,
                source="switchback epochs but the first",
                note=f"{title}: effect of a tenfold latency in the epoch before",
            )
            rows.append(
                {
                    "metric": title,
                    "epochs": effect.n,
                    "carry-over": effect.carry_over,
                    "p carry-over": effect.carry_over_p,
                    "per place": effect.position,
                    "p place": effect.position_p,
                }
            )
        return pd.DataFrame(rows).set_index("metric")
