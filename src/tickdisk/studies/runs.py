"""Reads the run folders of an experiment: the plan, the manifests, and the tables of every server life."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from tickdisk import qos, stats
from tickdisk.config import Config, Decision, arms_of
from tickdisk.experiment import DesignType, Experiment, PlannedLife
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import LifeRecord, Manifest, has_run, read_manifest
from tickdisk.project import OTHER_CODE, kept, read_plan

_OF_EACH_SERVER = ("ticks", "actions")
"""Tables that each server of a life has. All others are those of the device or of the whole life."""


@dataclass(frozen=True)
class LifeTables:
    """One server life as an analysis reads it: its recorded tables, and its part of the manifest of its cell."""

    block: int
    """Number of the block, from 0. In an experiment without blocks, every life has a block of its own."""
    name: str
    """Name of the life in its cell: `life`, or one of its own in an experiment with several lives in a block."""
    folder: Path
    """Folder of the life's Parquet files, in the run folder."""
    manifest: LifeRecord
    """Record of the life in manifest.json of the run folder, which says how the life ran and what disturbed it."""
    budget_ns: int
    """Time in ns from the start of one tick of the server to the start of the next, if both are on time."""
    planned: PlannedLife
    """The life as it was planned, with its epochs and power cuts."""
    instance: int = 0
    """Number of the server whose ticks and actions these are. Only a life with several servers has others than 0."""

    @cached_property
    def ticks(self) -> pd.DataFrame:
        """One row per tick of the server, with its start and end in ns. docs/columns.md describes the columns of all tables."""
        return self._read("ticks")

    @cached_property
    def actions(self) -> pd.DataFrame:
        """One row per action of a player, with the times in ns at which it was due and completed."""
        return self._read("actions")

    @cached_property
    def epochs(self) -> pd.DataFrame:
        """One row per epoch that the life reached, with its arm and the times in ns of its start, its steady part and its end.

        The steady part is the epoch without its first part, which is cut. It is the part that is analysed.
        """
        return self._read("epochs")

    @property
    def instances(self) -> "tuple[LifeTables, ...]":
        """The life as each of its servers saw it, the first one first."""
        return tuple(replace(self, instance=number) for number in range(self.planned.instances or 1))

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms of the planned epochs, in order."""
        return tuple(epoch.arm for epoch in self.planned.epochs)

    @property
    def title(self) -> str:
        """The name of the life in messages, such as "life 3" or "block 3, hdd"."""
        return f"life {self.block + 1}" if self.name == "life" else f"block {self.block + 1}, {self.name}"

    @property
    def marked(self) -> bool:
        """Whether something outside the system under test disturbed even the last permitted repetition of the life."""
        return bool(self.manifest.marked)

    def epoch_rows(self, tau_ns: int) -> pd.DataFrame:
        """Returns the metrics of the steady part of each epoch, with the columns of `qos.epoch_table` and `marked`.

        `tau_ns` is the latency in ns that an action counts with if it failed, timed out or took longer. The column `life` holds
        the number of the block.
        """
        ended = self.manifest.ended
        return qos.epoch_table(
            self.ticks,
            self.actions,
            self.epochs,
            life=self.block,
            budget_ns=self.budget_ns,
            tau_ns=tau_ns,
            ended_epoch=None if ended is None else ended.epoch,
        ).assign(marked=self.marked)

    def saves(self) -> pd.DataFrame:
        """Returns the begin and the end in ns of each periodic save that Tickdisk asked the server for.

        The table is empty for a server that decides by itself when it saves.
        """
        return self._read("saves")

    def pauses(self) -> pd.DataFrame:
        """Returns the times in ns in which the runtime of the server stopped all threads, such as for garbage collection.

        The table is empty if the runtime does not tell its pauses.
        """
        return self._read("pauses")

    def device(self) -> pd.DataFrame:
        """Returns the log of the emulated device, with one row per request in the order of arrival."""
        return self._read("device")

    def _read(self, name: str) -> pd.DataFrame:
        own = self.folder / f"instance{self.instance}" if self.instance and name in _OF_EACH_SERVER else self.folder
        return table.read(name, own / f"{name}.parquet")

    def requests(self) -> pd.DataFrame:
        """Returns one row per epoch with the columns of `qos.requests_table`, and `late_p99_ms`.

        The latter is the 99th percentile of the time in ms from the completion that the device's model computes to the reply.
        """
        requests = self.device()
        arrival_ns, late_ms = requests["arrival_ns"], (requests["replied_ns"] - requests["nominal_ns"]) / 1e6
        ends = zip(self.epochs["start_ns"], self.epochs["end_ns"], strict=True)
        late_p99_ms = [float(late_ms[(arrival_ns >= start) & (arrival_ns < end)].quantile(0.99)) for start, end in ends]
        return qos.requests_table(requests, self.epochs, life=self.block).assign(late_p99_ms=late_p99_ms)


class Runs:
    """The cells of one experiment on one server that are in the plan and have run. Studies read their server lives from them.

    `plan` is the path of plan.json, and `runs` that of the folder of the run folders. If `server` is None, it is the server that
    the configuration names. Raises TickdiskError if no cell has run, or if cells ran on machines of more than one kind.
    """

    def __init__(self, plan: str, runs: str, experiment: str, server: str | None = None) -> None:
        read = read_plan(Path(plan))
        self.experiment = experiment
        self.config: Config = read.config
        self.server = self.config.server if server is None else server
        self.arms = arms_of(read.arms, experiment, self.server)
        self.pairs = {(cell.experiment, cell.server) for cell in read.cells}
        """The experiments of the plan, each with a server on which it runs."""
        self.planned = [cell for cell in read.cells if (cell.experiment, cell.server) == (experiment, self.server)]
        folders = [Path(runs) / cell.hash for cell in self.planned]
        self.folders = [folder for folder in folders if has_run(folder)]
        """The run folders of the cells that have run."""
        self.manifests = [read_manifest(folder) for folder in self.folders]
        if not self.manifests:
            raise TickdiskError(f"no cell of {experiment} has run under {runs}; run `snakemake --cores all` first")
        _check_machines(self.manifests, runs, experiment)
        others = [one for one in kept(read, Path(runs)) if (one.experiment, one.reason) == (experiment, OTHER_CODE)]
        self.not_used: list[str] = [one.sentence(Path(runs)) for one in others]
        """Sentences about cells of the experiment that lie in the folder but are not used, because other code made them."""

    @property
    def decision(self) -> Decision:
        """The rules by which verdicts are decided, such as the margin. They were fixed before the runs."""
        return self.config.decision

    def design(self, entry: Experiment[DesignType]) -> DesignType:
        """Returns the sizes of an experiment as the scale fixed them before the runs, whatever the option `blocks` asks for."""
        return self.config.scales[self.config.scale].design(entry, self.server)

    def asked(self, entry: Experiment[DesignType]) -> DesignType:
        """Returns the sizes of an experiment that this run was asked for, with the option `blocks` of the configuration."""
        return self.config.chosen.design(entry, self.server)

    @property
    def budget_ns(self) -> int:
        """Time in ns from the start of one tick of the server to the start of the next, if both are on time."""
        return self.manifests[0].server.tick_budget_ns

    def contrast(self, log_ratios: "pd.Series[float]", *, margin: float, alpha: float) -> stats.Contrast:
        """Tests log ratios, indexed by the block in which each was found, by `stats.contrast`.

        If the blocks ran on several nodes of a cluster, their difference is tested, too. All lives of a block run on one node.
        """
        nodes = {manifest.block: manifest.node or "" for manifest in self.manifests}
        of_each = [nodes[int(block)] for block in log_ratios.index] if len(set(nodes.values())) > 1 else None
        return stats.contrast(log_ratios.to_numpy(float), margin=margin, alpha=alpha, nodes=of_each)

    @property
    def calibrations(self) -> int:
        """Number of different calibrations that the cells ran with. It is above 1 if devices were calibrated between cells."""
        return len({manifest.calibration for manifest in self.manifests})

    def role(self, role: str) -> str:
        """Returns the first arm with a role, such as `baseline`, `null` or `sham`. Raises TickdiskError if no arm has it."""
        return self._first((arm.arm for arm in self.arms if arm.role == role), f"the role {role}")

    def positive_for(self, metrics: str) -> str:
        """Returns the arm that is the positive control of the metrics of a kind, `ticks` or `actions`.

        Raises TickdiskError if there is no such arm.
        """
        return self._first((arm.arm for arm in self.arms if metrics in arm.positive_for), f"{metrics} in the column positive_for")

    def _first(self, arms: Iterator[str], wanted: str) -> str:
        found = next(arms, None)
        if found is None:
            raise TickdiskError(f"experiments.tsv: no arm of {self.experiment} on {self.server} has {wanted}; add one")
        return found

    def latency_ms(self, arm: str) -> float:
        """Returns the nominal read latency of an arm's device in ms."""
        return self.manifests[0].models[arm].latency_ns[0] / 1e6

    def dose_ms(self, arm: str) -> float:
        """Returns the dose of an arm in ms: the latency that calibration realised on this machine, as a mean over cells.

        If no cell has a calibrated latency of the arm's device, the nominal latency is returned.
        """
        realised = [manifest.realised_ns[arm] for manifest in self.manifests]
        known = [value / 1e6 for value in realised if value is not None]
        return sum(known) / len(known) if known else self.latency_ms(arm)

    @cached_property
    def lives(self) -> tuple[LifeTables, ...]:
        """The lives of the cells that have run, in the order of the plan."""
        return tuple(
            LifeTables(manifest.block, life.name, folder / life.name, manifest.lives[life.name], self.budget_ns, life)
            for manifest, folder in zip(self.manifests, self.folders, strict=True)
            for life in manifest.plan
        )

    def label(self, arm: str) -> str:
        """Returns the name of an arm in facts: `fast`, `again` or `slow` for a baseline, a null control or a dose, or its own."""
        names = {"baseline": "fast", "null": "again", "dose": "slow"}
        return next(names.get(each.role, arm) for each in self.arms if each.arm == arm)

    def not_valid(self) -> dict[str, list[stats.ClientsSaturated]]:
        """Returns the causes for which lives say nothing about an arm, by arm.

        The clients of such a life were short of processor time in the arm's epoch, but not in the baseline's epochs.
        """
        found: dict[str, list[stats.ClientsSaturated]] = {}
        for life in self.lives:
            for arm, detail in life.manifest.not_valid.items():
                found.setdefault(arm, []).append(stats.ClientsSaturated(life=life.title, detail=detail))
        return found

    def marked(self) -> list[str]:
        """Returns one sentence that counts the marked lives, in a list that is empty if no life is marked."""
        lives = [life for manifest in self.manifests for life in manifest.lives.values()]
        count = sum(bool(life.marked) for life in lives)
        return [f"{count} of {len(lives)} lives were disturbed from outside even in their last replacement"] if count else []

    def unreached(self) -> dict[str, int]:
        """Returns the number of lives whose server ended before the epoch of an arm, by arm."""
        found: dict[str, int] = {}
        for life in self.lives:
            for arm in set(life.arms) - set(life.epochs["arm"]):
                found[arm] = found.get(arm, 0) + 1
        return found

    def summary(self) -> pd.DataFrame:
        """Returns a table for display, with one row per cell: counts of its lives, and the largest load of the machine in them.

        The loads are those of the last attempt of each life.
        """
        rows = []
        for manifest in self.manifests:
            lives = list(manifest.lives.values())
            attempts = [attempt for life in lives for attempt in life.attempts]
            kept = [life.attempts[-1].load for life in lives]
            others = [load.other_programs_share for load in kept if load.other_programs_share is not None]
            rows.append(
                {
                    "cell": manifest.hash,
                    "block": manifest.block + 1,
                    "lives": len(lives),
                    "ticks": sum(life.ticks.ticks for life in lives),
                    "missing ticks": sum(life.ticks.missing for life in lives),
                    "late ticks": sum(life.ticks.late for life in lives),
                    "merged steps": sum(life.ticks.merged for life in lives),
                    "actions": sum(life.trace_events for life in lives),
                    "backlog": max(life.client.backlog_max for life in lives),
                    "device requests": sum(life.requests for life in lives),
                    "steal": f"{max(load.steal_share for load in kept):.1%}",
                    "other programs": f"{max(others):.1%}" if others else "not known",
                    "CPU pressure": f"{max(load.pressure_cpu_share for load in kept):.0%}",
                    "replaced lives": len(attempts) - len(lives),
                    "marked": "; ".join(reason for life in lives for reason in life.marked),
                    "noted": "; ".join(said for life in lives for said in life.noted),
                }
            )
        return pd.DataFrame(rows).set_index("cell")


def summaries(servers: Iterable[Runs]) -> pd.DataFrame:
    """Returns the tables of the cells that ran on some servers, with the counts of their lives and their largest loads."""
    return pd.concat([data.summary().assign(server=data.manifests[0].server.title) for data in servers])


def all_servers(plan: Path, runs: Path, experiment: str) -> list[Runs]:
    """Returns the cells of an experiment on every server on which it has run, the server of the other studies first.

    `plan` is plan.json, and `runs` the folder of the run folders. Raises TickdiskError if no cell has run.
    """
    read = read_plan(plan)
    ran = {cell.server for cell in read.cells if cell.experiment == experiment and has_run(runs / cell.hash)}
    if not ran:
        raise TickdiskError(f"no cell of {experiment} has run under {runs}; run `make paper STUDY={experiment}` first")
    ordered = sorted(ran, key=lambda name: (name != read.config.server, name))
    return [Runs(str(plan), str(runs), experiment, name) for name in ordered]


def _check_machines(manifests: Sequence[Manifest], runs: str, experiment: str) -> None:
    """Raises TickdiskError if cells ran on machines of more than one kind, because their times cannot be pooled.

    A machine of which they could use another number of cores counts as another one.
    """
    counts = Counter(
        ", ".join(f"{name} {value}" for name, value in [*sorted(one.machine), ("usable cores", one.host.cores)])
        for one in manifests
    )
    if len(counts) > 1:
        ran = "; ".join(f"{count} on {machine}" for machine, count in counts.most_common())
        raise TickdiskError(
            f"the cells of {experiment} in {runs} ran on {len(counts)} machines ({ran}); move the folders of all but one of them "
            f"out of {runs}, or analyse them elsewhere"
        )
