"""The run folders of an experiment, as a notebook needs them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import device, qos, server, table
from tickdisk.config import Arm, Config, Decision, Scale, parse_config
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json
from tickdisk.project import OTHER_CODE, kept


@dataclass(frozen=True)
class LifeTables:
    """One server life: its tables, and its part of the manifest."""

    block: int
    name: str
    folder: Path
    manifest: dict[str, Any]
    arms: tuple[str, ...]
    """The arms that were to have an epoch in it."""
    ticks: pd.DataFrame
    actions: pd.DataFrame
    epochs: pd.DataFrame

    @property
    def title(self) -> str:
        """Returns the words by which a person finds the life."""
        return f"life {self.block + 1}" if self.name == "life" else f"block {self.block + 1}, {self.name}"

    @property
    def marked(self) -> bool:
        """Whether something outside the system under test disturbed the life at its last replacement, too."""
        return bool(self.manifest["marked"])

    def epoch_rows(self, tau_ns: int) -> pd.DataFrame:
        """Returns one row an epoch with the metrics of its steady part; the block is the `life` of the contrasts."""
        ended = self.manifest["ended"]
        return qos.epoch_table(
            self.ticks,
            self.actions,
            self.epochs,
            life=self.block,
            budget_ns=server.BUDGET_NS,
            tau_ns=tau_ns,
            ended_epoch=None if ended is None else ended["epoch"],
        ).assign(marked=self.marked)

    def device(self) -> pd.DataFrame:
        """Returns the device's log of the life, one row a request."""
        return table.read("device", self.folder / "device.parquet")

    def requests(self) -> pd.DataFrame:
        """Returns one row an epoch: the requests that the device's log holds, their median latency, and how late replies were.

        `late_p99_ms` is the 99th percentile of the time from the moment at which the model answers a request to its reply.
        """
        requests = self.device()
        arrival_ns, late_ms = requests["arrival_ns"], (requests["replied_ns"] - requests["nominal_ns"]) / 1e6
        ends = zip(self.epochs["start_ns"], self.epochs["end_ns"], strict=True)
        late_p99_ms = [float(late_ms[(arrival_ns >= start) & (arrival_ns < end)].quantile(0.99)) for start, end in ends]
        return qos.requests_table(requests, self.epochs, life=self.block).assign(late_p99_ms=late_p99_ms)


class Runs:
    """The cells of one experiment that the plan names and that have run."""

    def __init__(self, plan: str, runs: str, experiment: str) -> None:
        values = read_json(Path(plan))
        self.config: Config = parse_config(values["config"], plan)
        self.arms = [Arm.model_validate(arm) for arm in values["arms"] if arm["experiment"] == experiment]
        self.planned = [cell for cell in values["cells"] if cell["experiment"] == experiment]
        self._folders = [Path(runs) / cell["hash"] for cell in self.planned]
        self.manifests = [read_json(folder / "manifest.json") for folder in self._folders if (folder / "manifest.json").exists()]
        if not self.manifests:
            raise TickdiskError(f"no cell of {experiment} under {runs}; run `snakemake --cores all` first")
        _check_machines(self.manifests, runs, experiment)
        others = [one for one in kept(values, Path(runs)) if (one.experiment, one.reason) == (experiment, OTHER_CODE)]
        self.not_used: list[str] = [one.sentence(Path(runs)) for one in others]
        """Sentences about cells of the experiment that are there, and were made by other code."""

    @property
    def decision(self) -> Decision:
        """What was fixed before the runs."""
        return self.config.decision

    @property
    def scale(self) -> Scale:
        """The scale as it was fixed beforehand, without `blocks`."""
        return self.config.scales[self.config.scale]

    @property
    def asked(self) -> Scale:
        """The scale with `blocks`, which may add to its runs or leave some out."""
        return self.config.chosen

    @property
    def calibrations(self) -> int:
        """How many calibrations the cells were made with."""
        return len({manifest["calibration"] for manifest in self.manifests})

    def role(self, role: str) -> str:
        """Returns the one arm with this role."""
        return next(arm.arm for arm in self.arms if arm.role == role)

    def positive_for(self, metrics: str) -> str:
        """Returns the arm that is the positive control of `ticks` or `actions`."""
        return next(arm.arm for arm in self.arms if arm.positive_for == metrics)

    def latency_ms(self, arm: str) -> float:
        """Returns the read latency of an arm's device in ms, as its model has it."""
        return device.DeviceModel(**self.manifests[0]["models"][arm]).latency_ns[0] / 1e6

    def dose_ms(self, arm: str) -> float:
        """Returns the latency in ms that calibration realised for an arm's device on this machine, the mean over cells.

        A device that was not calibrated goes by the latency of its model.
        """
        realised = [manifest["realised_ns"][arm] for manifest in self.manifests]
        known = [value / 1e6 for value in realised if value is not None]
        return sum(known) / len(known) if known else self.latency_ms(arm)

    def lives(self) -> Iterator[LifeTables]:
        """Yields the lives in plan order."""
        for manifest, folder in zip(self.manifests, (f for f in self._folders if (f / "manifest.json").exists()), strict=True):
            for life in manifest["plan"]:
                at = folder / life["name"]
                yield LifeTables(
                    manifest["block"],
                    life["name"],
                    at,
                    manifest["lives"][life["name"]],
                    tuple(epoch["arm"] for epoch in life["epochs"]),
                    *(table.read(name, at / f"{name}.parquet") for name in ("ticks", "actions", "epochs")),
                )

    def not_valid(self) -> dict[str, list[str]]:
        """Returns for each arm the lives whose clients were short of CPU there, and not at the baseline, in words."""
        found: dict[str, list[str]] = {}
        for life in self.lives():
            for arm, reason in life.manifest["not_valid"].items():
                found.setdefault(arm, []).append(f"{life.title}: {reason}")
        return found

    def marked(self) -> list[str]:
        """Returns a sentence if something outside disturbed lives at their last replacement, too."""
        lives = [life for manifest in self.manifests for life in manifest["lives"].values()]
        count = sum(bool(life["marked"]) for life in lives)
        return [f"{count} of {len(lives)} lives were disturbed from outside at the last replacement, too"] if count else []

    def unreached(self) -> dict[str, int]:
        """Returns for each arm the number of lives whose server ended before the arm's turn."""
        found: dict[str, int] = {}
        for life in self.lives():
            for arm in set(life.arms) - set(life.epochs["arm"]):
                found[arm] = found.get(arm, 0) + 1
        return found

    def summary(self) -> pd.DataFrame:
        """Returns one row a cell: what ran, how loaded the machine was, what was counted."""
        rows = []
        for manifest in self.manifests:
            lives = list(manifest["lives"].values())
            attempts = [attempt for life in lives for attempt in life["attempts"]]
            kept = [life["attempts"][-1]["load"] for life in lives]
            others = [load["other_programs_share"] for load in kept if load["other_programs_share"] is not None]
            rows.append(
                {
                    "cell": manifest["hash"],
                    "block": manifest["block"] + 1,
                    "lives": len(lives),
                    "ticks": sum(life["ticks"]["ticks"] for life in lives),
                    "missing ticks": sum(life["ticks"]["missing"] for life in lives),
                    "late ticks": sum(life["ticks"]["late"] for life in lives),
                    "merged steps": sum(life["ticks"]["merged"] for life in lives),
                    "actions": sum(life["trace_events"] for life in lives),
                    "backlog": max(life["client"]["backlog_max"] for life in lives),
                    "device requests": sum(life["requests"] for life in lives),
                    "steal": f"{max(load['steal_share'] for load in kept):.1%}",
                    "other programs": f"{max(others):.1%}" if others else "not known",
                    "CPU pressure": f"{max(load['pressure_cpu_share'] for load in kept):.0%}",
                    "replaced lives": len(attempts) - len(lives),
                    "marked": "; ".join(reason for life in lives for reason in life["marked"]),
                    "noted": "; ".join(said for life in lives for said in life["noted"]),
                }
            )
        return pd.DataFrame(rows).set_index("cell")


def _check_machines(manifests: Sequence[Mapping[str, Any]], runs: str, experiment: str) -> None:
    """Raises TickdiskError when cells ran on machines of more than one kind: their times are not those of one system."""
    machines = [manifest["machine"] for manifest in manifests if "machine" in manifest]
    counts = Counter(", ".join(f"{name} {value}" for name, value in sorted(machine.items())) for machine in machines)
    if len(counts) > 1:
        ran = "; ".join(f"{count} on {machine}" for machine, count in counts.most_common())
        raise TickdiskError(
            f"the cells of {experiment} in {runs} ran on {len(counts)} machines ({ran}); move the folders of all but one of them "
            f"out of {runs}, or analyse them elsewhere"
        )
