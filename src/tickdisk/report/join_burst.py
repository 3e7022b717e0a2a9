"""The join burst notebook: everybody at once, from cold."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from IPython.display import SVG

from tickdisk import plot, qos
from tickdisk.report.experiment import Experiment
from tickdisk.report.parameters import check_parameters
from tickdisk.report.runs import Runs, epoch_rows
from tickdisk.report.switchback import ALWAYS, METRICS
from tickdisk.server import BUDGET_NS

_SOURCES = {
    "join_p50_ms": "PokeSto, MF2: no difference",
    "tick": "PokeSto, MF1: up to 3.5x",
}


class JoinBurst(Experiment):
    """Effects of the device on join times and on ticks during the burst, paired within blocks."""

    def __init__(
        self,
        plan: str,
        *,
        runs: str,
        output: str | None,
        tick_metric: str,
        margin: float | None,
        bootstrap_samples: int | None,
        seed: int | None,
    ) -> None:
        check_parameters()
        data = Runs(plan, runs, "join_burst")
        self.tick_metric = tick_metric
        self._lives, invalid = data.valid_lives()
        # A block takes the place of a life: its arms are paired with each other.
        table = pd.concat(
            [epoch_rows(life) for life in self._lives],
            ignore_index=True,
        )
        super().__init__(
            "join_burst",
            data,
            table,
            {"join_p50_ms": "median join time", ALWAYS: METRICS[ALWAYS], tick_metric: METRICS.get(tick_metric, tick_metric)},
            output=output,
            invalid=invalid,
            planned=data.scale.join_burst.blocks,
            asked=data.asked.join_burst.blocks,
            margin=margin,
            bootstrap_samples=bootstrap_samples,
            seed=seed,
        )
        joins = pd.concat([life.actions[life.actions["action"] == "join"] for life in self._lives])
        self.fact("joins", len(joins), "joins", source="actions tables")
        self.fact("joins_completed", int((joins["outcome"] == "completed").sum()), "joins", source="actions tables")
        self._state_claims()

    def _state_claims(self) -> None:
        self.state_control_claims(list(self.metrics))
        for arm in self.treatments():
            for metric, title in self.metrics.items():
                self.state_effect_claim(
                    f"{arm}.{self.fact_name(metric)}",
                    _SOURCES.get(metric, _SOURCES["tick"]),
                    metric,
                    arm,
                    f"The {arm} tier instead of {self.baseline} changes the {title} of a join burst",
                )

    def joins(self) -> SVG:
        """Returns the median join time of every run, runs of a block joined by a line."""
        return self.figure(
            "joins",
            plot.paired_dots(
                self.table, "join_p50_ms", title=self.metrics["join_p50_ms"], order=[arm.arm for arm in self.data.arms]
            ),
        )

    def gap_tail(self) -> SVG:
        """Returns the share of gaps longer than x, by arm, over all runs; an arm of which no life counts is not drawn."""
        parts: dict[str, list[npt.NDArray[np.float64]]] = {arm.arm: [] for arm in self.data.arms}
        for life in self._lives:
            steady_ns, end_ns = (int(life.epochs[name].iloc[0]) for name in ("steady_ns", "end_ns"))
            parts[life.name].append(qos.gaps_ms(life.ticks, steady_ns, end_ns))
        return self.figure(
            "gap_tail", plot.tails({arm: np.concatenate(gaps) for arm, gaps in parts.items() if gaps}, budget_ms=BUDGET_NS / 1e6)
        )
