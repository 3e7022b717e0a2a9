"""All that one attempt at a planned server life is played with, and where its files lie."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tickdisk import calibrate, device
from tickdisk.config import Cell
from tickdisk.experiment import REAL, SHARES, Copying, PlannedLife, Tool
from tickdisk.foundation import host
from tickdisk.project import Project
from tickdisk.run.quota import Quota
from tickdisk.server import Change, Server, named

DEVICE_LOG = "device.log"
"""Name of the file in which the device records its requests, in the folder in memory."""
APART_LOG = "device_apart.log"
"""The same for the other device, in a life with two."""


@dataclass(frozen=True)
class Stage:
    """All that one attempt at a planned server life is played with."""

    project: Project
    cell: Cell
    life: PlannedLife
    models: Mapping[str, device.DeviceModel]
    """Device models by the name of the arm."""
    calibration: calibrate.Calibration
    folder: Path
    """Folder for the tables and logs of the life."""

    @property
    def logs(self) -> Path:
        """Folder for the command, the output and the exit code of every program."""
        return self.folder / "logs"

    @property
    def raw(self) -> Path:
        """Folder for what the programs recorded, as they wrote it."""
        return self.folder / "raw"

    @property
    def trace(self) -> Path:
        """File of the player trace."""
        return self.folder / "players.jsonl"

    @property
    def server(self) -> Server:
        """The kind of server that the cell runs on."""
        return named(self.cell.server)

    @property
    def change(self) -> Change | None:
        """The change of the server in the life, or None."""
        return None if self.life.change is None else self.server.changes[self.life.change]

    @property
    def settings(self) -> dict[str, str]:
        """Settings of the server that differ from those of the project, by name."""
        own = {} if self.change is None else dict(self.change.settings)
        return {**(self.cell.resolved.design.get("settings") or {}), **own}

    @property
    def save_period_s(self) -> float | None:
        """Time between two periodic saves of the server's world, or None for its usual one."""
        return self.life.save_period_s or self.cell.resolved.design.get("save_period_s")

    def world(self) -> Path:
        """Returns the folder of the world that was generated for the server. Every life runs on a copy of it on the device.

        If the life's change asks for another store, the world is converted before the first such life.
        """
        return self.server.world_with(self.project.world(self.cell.server), self.change, self.logs)

    @property
    def quota(self) -> Quota | None:
        """Limits of each server from its start, which may all be None. It is None itself if the life is not about limits."""
        design = self.cell.resolved.design
        if self.life.memory is not None:
            return Quota()
        if self.life.instances is not None:
            return Quota(design["cores_per_instance"], design["memory_mib_per_instance"] << 20)
        return None

    @property
    def cached_share(self) -> float | None:
        """The share of what the server has read of its world that fits into memory, from the first epoch on. None for all."""
        return None if self.life.memory is None else SHARES[self.life.memory]

    @property
    def tools(self) -> dict[str, Tool]:
        """The tool that captures in each arm of the life, by the name of the arm."""
        arms = {epoch.arm for epoch in self.life.epochs} | {self.life.first_arm}
        return {arm.arm: arm.capture for arm in self.cell.resolved.arms if arm.arm in arms}

    @property
    def captured(self) -> bool:
        """Whether bpftrace captures in every arm of the life, so that its waits and requests are known throughout."""
        return set(self.tools.values()) == {"bpftrace"}

    @property
    def address(self) -> str:
        """Address on which the server accepts players, as HOST:PORT."""
        return f"127.0.0.1:{self.project.config.port}"

    @property
    def real_disk(self) -> Path | None:
        """Folder on the real disk that the life runs on, or None for a life on an emulated device."""
        folder = self.cell.resolved.disk
        return None if folder is None or self.life.first_arm != REAL else Path(folder)

    @property
    def traces_blocks(self) -> bool:
        """Whether the requests to the block device are traced in the kernel, as in every life beside a real disk."""
        return self.cell.resolved.disk is not None

    @property
    def settle_s(self) -> float:
        """Time for which the device rests before the server starts, which is 0 but for a life beside a real disk."""
        return float(self.cell.resolved.design["settle_s"]) if self.traces_blocks else 0.0

    def mounted(
        self, logs: Path, *, log_path: Path | None = None, volatile: bool = False
    ) -> AbstractContextManager[device.MountedDevice]:
        """Brings a device of the life's first arm up for the length of a `with` block. Its emulator has the folder `logs`.

        A real disk has no emulator and keeps no log.
        """
        first, folder = self.life.first_arm, self.real_disk
        return device.up(
            self.models[first],
            backend=self.calibration.backend if folder is None else "folder",
            backing=folder,
            size_bytes=self.cell.resolved.device_size_mib << 20,
            file_system=self.project.config.file_system,
            floor_ns=self.floor_ns(first),
            log_path=log_path if folder is None else None,
            logs=logs,
            cores=host.split_cores().emulator,
            volatile=volatile,
            filled=self.traces_blocks,
        )

    def floor_ns(self, arm: str) -> int:
        """Returns the floor of the arm's device: the time that this machine adds and the emulator subtracts. It is 0 for a real
        disk.
        """
        if arm == REAL and self.traces_blocks:
            return 0
        return calibrate.floor_ns(self.calibration, self.models[arm])

    def action_delay_ms(self, arm: str) -> int:
        """Returns the time for which the server holds back its answers to players in an arm, or 0."""
        return next(each.action_delay_ms or 0 for each in self.cell.resolved.arms if each.arm == arm)

    def copying(self, arm: str) -> Copying | None:
        """Returns the backup that is made while an arm is in force, or None."""
        return next(each.copying for each in self.cell.resolved.arms if each.arm == arm)

    @property
    def makes_backups(self) -> bool:
        """Whether a backup is made in some arm."""
        return any(arm.copying is not None for arm in self.cell.resolved.arms)

    @property
    def copied_mib(self) -> int:
        """Size in MiB of the folder that backups copy."""
        return int(self.cell.resolved.design["copied_mib"])

    @property
    def names_apart(self) -> tuple[str, ...]:
        """Names of the files of the world that lie on a device of their own, which has the same model. Empty for none."""
        return () if self.change is None else self.change.apart

    def set(self, disk: device.MountedDevice, arm: str, epoch: int) -> device.DeviceSetting:
        """Turns the mounted device into that of an arm, and returns the setting with the time at which it came into force.

        Random draws of the device depend on the number of the epoch, so that no two epochs have the same ones.
        """
        model = self.models[arm]
        return disk.set(model.with_seed(device_seed(model, self.life, epoch)), floor_ns=self.floor_ns(arm))


def device_seed(model: device.DeviceModel, life: PlannedLife, epoch: int) -> int:
    """Returns the seed of a device's random draws in an epoch of a life. It differs from that of any other epoch and block."""
    return int(np.random.SeedSequence([model.seed, life.trace_seed, epoch]).generate_state(1, np.uint64)[0])
