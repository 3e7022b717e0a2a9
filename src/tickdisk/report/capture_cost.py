"""The cost of capture notebook: what looking on costs a server, and a single system call."""

from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import SVG

from tickdisk import plot, stats, table
from tickdisk.report.experiment import Experiment
from tickdisk.report.parameters import check_parameters
from tickdisk.report.runs import LifeTables, Runs
from tickdisk.report.study import OURS, display
from tickdisk.report.switchback import ALWAYS, METRICS

_BUSY = "busy_ms"
_TICK_THREAD = "tick thread"
_LIMIT = 5.0
"""A bpftrace capture is to cost a 4 KiB pread from memory less than this, as a ratio to no capture."""


class CaptureCost(Experiment):
    """Effects of a capture on the server's ticks, from contrasts within lives, and on a micro-workload, within rounds."""

    control_words = {  # noqa: RUF012 - read only, as in the class above
        "ticks": "A known delay of {delay} ms in the tick makes the {metric} longer (positive control)",
        "null": "No capture under two names changes the {metric} (A/A control)",
    }

    def __init__(
        self,
        plan: str,
        *,
        runs: str,
        micro: str,
        output: str | None,
        margin: float | None,
        seed: int | None,
    ) -> None:
        check_parameters()
        data = Runs(plan, runs, "capture_cost")
        self._lives = list(data.lives())
        tau_ns = round(data.scale.capture_cost.cut_s * 1e9)
        super().__init__(
            "capture_cost",
            data,
            pd.concat([_with_busy(life.epoch_rows(tau_ns), life) for life in self._lives], ignore_index=True),
            {_BUSY: "CPU time of the tick thread per tick", ALWAYS: METRICS[ALWAYS]},
            actions=(),
            output=output,
            planned=data.scale.capture_cost.lives,
            asked=data.asked.capture_cost.lives,
            margin=margin,
            seed=seed,
        )
        self.micro_table = table.read("micro", Path(micro))
        self._state_captures()
        self._state_micro()
        self.state_control_claims()
        for metric, arm in self.claimed():
            words = f"A capture by {arm.replace('_', ' ')} changes the {self.metrics[metric]}"
            self.state_claim(f"{arm}.{self.fact_name(metric)}", OURS, metric, arm, words)

    def _state_captures(self) -> None:
        captures = pd.DataFrame([capture for life in self._lives for capture in life.manifest["captures"]])
        for arm, own in captures.groupby("arm"):
            source = f"{len(own)} captures of an epoch"
            self.fact(f"lost_events.{arm}", int(own["lost_events"].sum()), "events", n=int(own["events"].sum()), source=source)
            self.fact(f"captured_requests.{arm}", int(own["requests"].sum()), "requests", n=len(own), source=source)

    def _state_micro(self) -> None:
        wide = self.micro_table.pivot_table(index="round", columns="tool", values="ns_per_pread")
        for tool in wide.columns:
            level = stats.contrast(np.log(wide[tool].to_numpy(float)), margin=self.margin, alpha=self.plan.alpha)
            self.fact(
                f"micro_ns.{tool}",
                level.ratio,
                "ns",
                interval=(level.low, level.high),
                n=level.n,
                source="micro-workload: 4 KiB preads from memory",
                note="geometric mean over rounds",
            )
            if tool == "none":
                continue
            ratios = np.log(wide[tool].to_numpy(float) / wide["none"].to_numpy(float))
            cost = stats.contrast(ratios, margin=self.margin, alpha=self.plan.alpha)
            self.fact(
                f"micro_ratio.{tool}",
                cost.ratio,
                "ratio",
                interval=(cost.low, cost.high),
                n=cost.n,
                source="micro-workload, paired within rounds",
                note=f"time of a 4 KiB pread from memory under {tool} over none",
            )
            own = self.micro_table[self.micro_table["tool"] == tool]
            lost, seen = int(own["lost_events"].sum()), int(own["events"].sum())
            self.fact(
                f"micro_lost.{tool}", lost, "events", n=seen, source="micro-workload", note="beside n preads that were captured"
            )
        bpftrace = self.facts[f"{self.name}.micro_ratio.bpftrace"]
        lost_words = display(self.facts[f"{self.name}.micro_lost.bpftrace"])
        high = bpftrace.high if bpftrace.high is not None else bpftrace.value
        assert high is not None
        assert bpftrace.value is not None
        few = (bpftrace.n or 0) < self.plan.minimum
        verdict = "equivalent" if high < _LIMIT else "different" if bpftrace.value > _LIMIT else "inconclusive"
        self.claim(
            "micro_bpftrace",
            source=OURS,
            statement=f"A capture by bpftrace costs a 4 KiB pread from memory less than {_LIMIT:g} times its time",
            verdict="not valid" if few else verdict,
            evidence=(
                f"ratio {bpftrace.value:.3g} [{bpftrace.low or bpftrace.value:.3g}, {high:.3g}], {lost_words} lost"
                + (f"; {self.plan.minimum} rounds would decide" if few else "")
            ),
            facts=["micro_ratio.bpftrace", "micro_ratio.strace", "micro_ratio.strace_positioned", "micro_lost.bpftrace"],
            n=bpftrace.n or 0,
        )

    def micro(self) -> SVG:
        """Returns the time of a pread under each tool, a dot a round."""
        rows = self.micro_table.rename(columns={"tool": "arm", "round": "life"})
        rows["us_per_pread"] = rows["ns_per_pread"] / 1000
        order = ["none", "bpftrace", "strace_positioned", "strace"]
        title = "time of a 4 KiB pread from memory"
        chart = plot.paired_dots(rows, "us_per_pread", title=title, order=order, unit="us", what="tools", within="round")
        return self.figure("micro", chart)

    def busy(self) -> SVG:
        """Returns the tick thread's CPU time per tick of every epoch, epochs of a life joined by a line."""
        order = [arm.arm for arm in self.data.arms]
        chart = plot.paired_dots(self.table, _BUSY, title=self.metrics[_BUSY], order=order, what="epochs", within="life")
        return self.figure("busy", chart)


def _with_busy(rows: pd.DataFrame, life: LifeTables) -> pd.DataFrame:
    """Adds the CPU time that the tick thread used in the steady part of each epoch, per tick that started in it."""
    load = table.read("load", life.folder / "load.parquet")
    load = load[load["process"] == _TICK_THREAD]
    at, used = load["monotonic_ns"].to_numpy(float), load["cpu_ns"].to_numpy(float)
    cpu_ms = (np.interp(rows["end_ns"], at, used) - np.interp(rows["steady_ns"], at, used)) / 1e6
    return rows.assign(**{_BUSY: cpu_ms / rows["gap_n"]})
