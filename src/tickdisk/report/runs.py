"""The run folders of an experiment, as a notebook needs them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk import device, player, qos, server, table
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
    ticks: pd.DataFrame
    actions: pd.DataFrame
    epochs: pd.DataFrame


def epoch_rows(life: LifeTables) -> pd.DataFrame:
    """Returns one row an epoch of the life, with the metrics of its steady part; the block is the `life` of pairing."""
    timeout_ns = round(player.TIMEOUT_S * 1e9)
    return qos.epoch_table(
        life.ticks, life.actions, life.epochs, life=life.block, budget_ns=server.BUDGET_NS, timeout_ns=timeout_ns
    )


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

    def latency_ms(self, arm: str) -> float:
        """Returns the read latency of an arm's device in ms."""
        return device.DeviceModel(**self.manifests[0]["models"][arm]).latency_ns[0] / 1e6

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
                    *(table.read(name, at / f"{name}.parquet") for name in ("ticks", "actions", "epochs")),
                )

    def valid_lives(self) -> tuple[list[LifeTables], list[str]]:
        """Returns the lives that count and no reasons; when none counts, all of them and why they do not."""
        lives = list(self.lives())
        valid = [life for life in lives if not life.manifest["reasons"]]
        return (valid, []) if valid else (lives, self.reasons())

    def reasons(self) -> list[str]:
        """Returns why lives do not count, in words, with the block; empty when all do."""
        return [
            f"block {manifest['block'] + 1}, {name}: {reason}"
            for manifest in self.manifests
            for name, life in manifest["lives"].items()
            for reason in life["reasons"]
        ]

    def spoilt_lives(self) -> int:
        """Returns how many lives do not count."""
        return sum(bool(life["reasons"]) for manifest in self.manifests for life in manifest["lives"].values())

    def left_out(self, *arms: str) -> list[str]:
        """Returns a sentence for each arm with lives of its own of which some do not count: what they would say is not known."""
        said = []
        for arm in arms:
            own = [manifest["lives"][arm] for manifest in self.manifests if arm in manifest["lives"]]
            spoilt = sum(bool(life["reasons"]) for life in own)
            said += [f"{spoilt} of {len(own)} lives of {arm} did not count"] if spoilt else []
        return said

    def summary(self) -> pd.DataFrame:
        """Returns one row a cell: what ran, how loaded the machine was, what was counted."""
        rows = []
        for manifest in self.manifests:
            load, lives = manifest["attempts"][-1]["load"], manifest["lives"].values()
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
                    "steal": f"{load['steal_share']:.1%}",
                    "CPU pressure": f"{load['pressure_cpu_share']:.0%}",
                    "repeats": len(manifest["attempts"]) - 1,
                    "marked": manifest["marked"] or "",
                    "not valid": "; ".join(reason for life in lives for reason in life["reasons"]),
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
