"""The switchback notebook: the device changes inside one server life."""

from math import nan

import numpy as np
import numpy.typing as npt
import pandas as pd
from IPython.display import SVG

from tickdisk import plot, qos, stats
from tickdisk.report.experiment import OURS, Experiment
from tickdisk.report.parameters import check_parameters
from tickdisk.report.runs import LifeTables, Runs, epoch_rows
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
_FEWEST_CYCLES = 2


class Switchback(Experiment):
    """Effects of storage latency on tick gaps and on one kind of action, paired within cycles."""

    def __init__(
        self,
        plan: str,
        *,
        runs: str,
        output: str | None,
        tick_metric: str,
        action: str,
        margin: float | None,
        bootstrap_samples: int | None,
        seed: int | None,
    ) -> None:
        check_parameters()
        data = Runs(plan, runs, "switchback")
        self.tick_metric, self.action = tick_metric, action
        self.action_metric = f"{action}_mean_ms"
        self._lives, invalid = data.valid_lives()
        table = pd.concat(
            [epoch_rows(life) for life in self._lives],
            ignore_index=True,
        )
        metrics = {
            ALWAYS: METRICS[ALWAYS],
            tick_metric: METRICS.get(tick_metric, tick_metric),
            self.action_metric: f"mean {action} latency",
        }
        planned, asked = (scale.switchback for scale in (data.scale, data.asked))
        super().__init__(
            "switchback",
            data,
            table,
            metrics,
            output=output,
            invalid=invalid,
            planned=planned.lives * planned.cycles,
            asked=asked.lives * asked.cycles,
            margin=margin,
            bootstrap_samples=bootstrap_samples,
            seed=seed,
        )
        self._state_counts()
        self._state_claims()

    def _state_counts(self) -> None:
        self.fact("ticks", int(sum(life.manifest["ticks"]["ticks"] for life in self._lives)), "ticks", source="ticks tables")
        self.fact(
            "missing_ticks", int(sum(life.manifest["ticks"]["missing"] for life in self._lives)), "ticks", source="ticks tables"
        )
        self.fact("actions", sum(len(life.actions) for life in self._lives), "actions", source="actions tables")
        for outcome in ("timed_out", "failed"):
            self.fact(
                f"actions_{outcome}",
                int(sum((life.actions["outcome"] == outcome).sum() for life in self._lives)),
                "actions",
                source="actions tables",
            )
        self.fact("device_requests", sum(life.manifest["requests"] for life in self._lives), "requests", source="device tables")

    def _state_claims(self) -> None:
        self.state_control_claims(list(self.metrics))
        for arm in self.treatments():
            latency = self.data.latency_ms(arm)
            for metric in self.metrics:
                source = OURS if metric == self.action_metric else _POKESTO
                self.state_effect_claim(
                    f"{arm}.{self.fact_name(metric)}",
                    source,
                    metric,
                    arm,
                    f"{latency:g} ms of storage latency instead of {self.data.latency_ms(self.baseline):g} ms changes "
                    f"the {self.metrics[metric]}",
                )
        self._fits = {metric: self._fit(metric) for metric in self.metrics}
        p = stats.adjusted([nan if fit is None else fit.per_ms.p for fit in self._fits.values()], "confirmatory")
        for (metric, fit), adjusted in zip(self._fits.items(), p.tolist(), strict=True):
            self._state_dose(metric, fit, adjusted)

    def _fit(self, metric: str) -> stats.DoseResponse | None:
        """Fits the baseline and the doses, and draws the line on to the positive control; None where there are too few cycles.

        That control has to be slower before anything is decided, so a slope that rests on it would be there by design.
        """
        all_rows = self._dose_rows(metric)
        rows = self._with_two_doses(all_rows[all_rows["arm"] != self.data.role("positive")])
        if rows["cycle"].nunique() < _FEWEST_CYCLES:
            return None
        at_ms = np.geomspace(rows["latency_ms"].min(), all_rows["latency_ms"].max(), _CURVE_POINTS)
        return stats.dose_response(
            rows["latency_ms"], rows[metric], rows["cycle"], at_ms=at_ms, rng=self.rng, samples=self.samples
        )

    def _state_dose(self, metric: str, fit: stats.DoseResponse | None, p: float) -> None:
        """States slope, good-enough latency and the claim; `p` is the slope's, adjusted over the metrics, a family of its own."""
        name, rows = self.fact_name(metric), self._dose_rows(metric)
        pairs = min(self.contrasts[metric, arm].n for arm in self.treatments())
        needed = max(self.plan.n, self.plan.minimum_n)
        few = [f"{pairs} cycles of the {needed} that a verdict needs"] if pairs < needed else []
        obstacles = [*few, *self.invalid, *self.controls[metric].reasons]
        alike = [f"at {self.data.latency_ms(arm):g} ms {said}" for arm in self.treatments() for said in self.alike(metric, arm)]
        slope, enough = None, None
        word, evidence = "not valid", "too few cycles for a fit"
        if fit is not None:
            slope = fit.per_ms
            enough = stats.dose_for_margin(
                rows["latency_ms"], rows[metric], rows["cycle"], margin=self.margin, rng=self.rng, samples=self.samples
            )
            word = "different" if p < self.plan.alpha and slope.value > 0 else "inconclusive"
            evidence = (
                f"{slope.value:.3g} [{slope.low:.3g}, {slope.high:.3g}] ms per ms (HC3), "
                f"[{slope.blocks_low:.3g}, {slope.blocks_high:.3g}] by bootstrap over cycles, p = {p:.2g}"
            )
        self.fact(
            f"{name}_slope",
            None if slope is None else slope.value,
            "ms per ms",
            interval=None if slope is None else (slope.low, slope.high),
            n=None if fit is None else fit.n,
            source=f"{0 if fit is None else fit.blocks} cycles, OLS with an effect a cycle, HC3",
            note=f"{self.metrics[metric]}: rise for each ms of device latency, without the positive control",
        )
        self.fact(
            f"{name}_good_enough",
            None if enough is None else enough.dose,
            "ms",
            interval=None if enough is None else (enough.low, enough.high),
            n=None if enough is None else enough.blocks,
            source="paired ratios made monotone, a line between doses, bootstrap over cycles",
            note=f"device latency at which the {self.metrics[metric]} exceeds the baseline's by {self.margin:.0%}",
        )
        self.claim(
            f"dose_{name}",
            source=OURS,
            statement=f"The {self.metrics[metric]} rises with the storage latency",
            verdict="not valid" if obstacles else word,
            evidence="; ".join([*(obstacles or [evidence]), *self.caveats, *alike]),
            facts=[f"{name}_slope", f"{name}_good_enough"],
            n=pairs,
        )

    def _dose_rows(self, metric: str) -> pd.DataFrame:
        controls = {self.data.role("null"), self.data.role("sham")}
        rows = self.table[~self.table["arm"].isin(controls)].dropna(subset=[metric])
        rows = rows.assign(
            latency_ms=rows["arm"].map(self.data.latency_ms), cycle=rows["life"].astype(str) + "." + rows["cycle"].astype(str)
        )
        return self._with_two_doses(rows)

    @staticmethod
    def _with_two_doses(rows: pd.DataFrame) -> pd.DataFrame:
        return rows[rows.groupby("cycle")["latency_ms"].transform("nunique") > 1]

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
        return np.concatenate([qos.gaps_ms(life.ticks, start, end) for start, end in ends])

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
        return self.figure(
            name,
            plot.dose_response(
                self._dose_rows(metric), metric, self._fits[metric], margin=self.margin, title=self.metrics[metric]
            ),
        )

    def carry_over(self) -> pd.DataFrame:
        """Returns what the epoch before and the place in the cycle do to each metric, and states the carry-over."""
        rows = []
        table = self.table.assign(block=self.table["life"].astype(str) + "." + self.table["cycle"].astype(str))
        previous = table["previous_arm"].map({arm.arm: self.data.latency_ms(arm.arm) for arm in self.data.arms})
        for metric, title in self.metrics.items():
            effect = stats.order_effect(np.log(table[metric]), table["arm"], table["block"], table["position"], previous)
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
