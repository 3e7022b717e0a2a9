"""Computes what a backup on the same disk costs ticks and teleports, by disk and by the way in which it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tickdisk.experiment import BACKUP, Backup
from tickdisk.studies.conditions import Arms, Conditions, analyse, effect_of
from tickdisk.studies.runs import LifeTables, Runs, all_servers

if TYPE_CHECKING:
    from tickdisk import stats

METRICS = {"gap_max_ms": ("ticks", "the longest tick gap"), "teleport_mean_ms": ("actions", "the mean latency of teleports")}
"""The metrics, each with the kind of its positive control, and with words in the middle of a sentence."""
ALONE, AGAIN, MOVED = "alone", "alone_again", "moved_mb_per_s"
WAYS = {
    "tar": "tar at full speed",
    "tar_limited": "tar with a limit",
    "tar_idle": "tar at idle priority",
    "rsync": "rsync at full speed",
}
"""The ways of making a backup, with words in the middle of a sentence."""
FULL = "tar"
REMEDIES = [way for way in WAYS if way != FULL]
"""The ways that are meant to cost players less than tar at full speed."""


@dataclass(frozen=True)
class ServerBackup:
    """The lives of one server, and what they say about backups on its disk."""

    by_disk: Mapping[str, Conditions]
    """The effects of each way of making a backup on each disk, with controls of its own. Beside the metrics, their epochs have
    moved_mb_per_s (bytes that the disk read and wrote)."""

    @property
    def first(self) -> Conditions:
        """The effects on the first disk, whose data and plan are those of all disks."""
        return next(iter(self.by_disk.values()))

    @property
    def copied(self) -> list[bool]:
        """For each block, whether the disk moved more bytes in every epoch with a backup than in any without, on each disk."""
        epochs = pd.concat([found.epochs for found in self.by_disk.values()])
        more = []
        for _, own in epochs.groupby("block"):
            found = True
            for _, life in own.groupby("condition"):
                is_backup = life["arm"].isin(list(WAYS))
                found &= bool(life.loc[is_backup, MOVED].min() > life.loc[~is_backup, MOVED].max())
            more.append(found)
        return more

    @property
    def design(self) -> Backup:
        """The sizes of the experiment on the server."""
        return self.first.data.design(BACKUP)


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[ServerBackup]


def compute(plan: str, *, runs: str, margin: float | None) -> Results:
    """Analyses what a backup on the same disk costs.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders. `margin` is a ratio less 1, or None for the
    plan's. Raises TickdiskError if no cell of the experiment has run.
    """
    return Results([_server(data, margin) for data in all_servers(Path(plan), Path(runs), BACKUP.name)])


def _server(data: Runs, margin: float | None) -> ServerBackup:
    design = data.design(BACKUP)
    of_arm = {arm.arm: (arm.device, ALONE if arm.role == "baseline" else arm.copying or _alone(arm.arm)) for arm in data.arms}
    control = data.positive_for("ticks")
    of_arm[control] = (of_arm[control][0], control)
    epochs = pd.concat([_rows(life, design.tau_ns) for life in data.lives], ignore_index=True)
    epochs = epochs.assign(condition=[of_arm[arm][0] for arm in epochs["arm"]], arm=[of_arm[arm][1] for arm in epochs["arm"]])
    arms = Arms(ALONE, AGAIN, dict.fromkeys(METRICS, control), list(WAYS))
    disks = list(dict.fromkeys(disk for disk, _ in of_arm.values()))
    not_valid: dict[str, list[stats.ClientsSaturated]] = {}
    for arm, causes in data.not_valid().items():
        disk, way = of_arm[arm]
        # Every effect on a disk rests on its epochs without a backup.
        for each in WAYS if way == ALONE else (way,):
            not_valid.setdefault(effect_of(each, disk), []).extend(causes)
    pairs = [(remedy, FULL) for remedy in REMEDIES]
    blocks = data.asked(BACKUP).blocks
    by_disk = {}
    for disk in disks:
        # The life of the positive control is on one disk, and vouches for all.
        own = epochs[(epochs["condition"] == disk) | (epochs["life"] == control)]
        by_disk[disk] = analyse(
            data, own, [disk], arms, blocks=blocks, margin=margin, not_valid=not_valid, pairs=pairs, with_first=False
        )
    return ServerBackup(by_disk)


def _alone(arm: str) -> str:
    """Returns the name of an arm without a backup, which is the same on every disk."""
    return AGAIN if arm.endswith(AGAIN) else ALONE


def _rows(life: LifeTables, tau_ns: int) -> pd.DataFrame:
    """Returns the rows of the epochs of `ServerBackup.found` for a life, with the arms of the table of experiments."""
    epochs, device = life.epoch_rows(tau_ns), life.device()
    moved = device[device["op"].isin(("read", "write"))]
    rates = []
    for start_ns, end_ns in zip(epochs["steady_ns"], epochs["end_ns"], strict=True):
        inside = moved[(moved["arrival_ns"] >= start_ns) & (moved["arrival_ns"] < end_ns)]
        rates.append(float(inside["length"].sum()) / 1e6 / ((end_ns - start_ns) / 1e9))
    own = epochs.rename(columns={"life": "block"})[["block", "arm", *METRICS]]
    return own.assign(life=life.name, **{MOVED: rates})
