"""The join burst notebook: everybody at once, from cold."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from IPython.display import SVG

from tickdisk import plot, qos
from tickdisk.report.experiment import Experiment, epoch_rows
from tickdisk.report.parameters import check_parameters
from tickdisk.report.runs import Runs
from tickdisk.report.switchback import ALWAYS, METRICS
from tickdisk.server import BUDGET_NS

_JOIN = "join_mean_ms"
_SOURCES = {
    _JOIN: "PokeSto, MF2: no difference",
    "tick": "PokeSto, MF1: up to 3.5x",
}


class JoinBurst(Experiment):
    """Effects of the device on join times and on ticks during the burst, from contrasts within blocks."""

    def __init__(
        self,
        plan: str,
        *,
        runs: str,
        output: str | None,
        tick_metric: str,
        margin: float | None,
        seed: int | None,
    ) -> None:
        check_parameters()
        data = Runs(plan, runs, "join_burst")
        self.tick_metric = tick_metric
        # A block takes the place of a life: its arms are compared with each other.
        self._lives = list(data.lives())
        super().__init__(
            "join_burst",
            data,
            # A join that takes longer than the stay would reach into the leaves.
            epoch_rows(self._lives, tau_ns=round(data.scale.join_burst.stay_s * 1e9)),
            {_JOIN: "mean join time", ALWAYS: METRICS[ALWAYS], tick_metric: METRICS.get(tick_metric, tick_metric)},
            actions={_JOIN},
            output=output,
            planned=data.scale.join_burst.blocks,
            asked=data.asked.join_burst.blocks,
            margin=margin,
            seed=seed,
        )
        joins = pd.concat([life.actions[life.actions["action"] == "join"] for life in self._lives])
        self.fact("joins", len(joins), "joins", source="actions tables")
        self.fact("joins_completed", int((joins["outcome"] == "completed").sum()), "joins", source="actions tables")
        self._state_claims()

    def _state_claims(self) -> None:
        self.state_control_claims()
        for metric, arm in self.claimed():
            statement = f"{arm} instead of {self.baseline} changes the {self.metrics[metric]} of a join burst"
            source = _SOURCES.get(metric, _SOURCES["tick"])
            self.state_claim(f"{arm}.{self.fact_name(metric)}", source, metric, arm, statement)

    def joins(self) -> SVG:
        """Returns the mean join time of every life, lives of a block joined by a line."""
        order = [arm.arm for arm in self.data.arms]
        return self.figure("joins", plot.paired_dots(self.table, _JOIN, title=self.metrics[_JOIN], order=order))

    def gap_tail(self) -> SVG:
        """Returns the share of gaps longer than x, by arm, over all lives; an arm without a gap is not drawn."""
        parts: dict[str, list[npt.NDArray[np.float64]]] = {arm.arm: [] for arm in self.data.arms}
        for life in self._lives:
            for epoch in life.epochs.to_dict("records"):
                parts[life.name].append(qos.gaps_ms(life.ticks, int(epoch["steady_ns"]), int(epoch["end_ns"])))
        found = {arm: np.concatenate(gaps) for arm, gaps in parts.items() if any(each.size for each in gaps)}
        return self.figure("gap_tail", plot.tails(found, budget_ms=BUDGET_NS / 1e6))
