"""The parts that a server life is played with: the device with the world on it, the server, and what the plan says of both."""

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tickdisk import calibrate, device
from tickdisk.config import Cell
from tickdisk.experiment import Life, Tool
from tickdisk.foundation import host
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import Project
from tickdisk.server import RunningServer, Server, first_thread, named

_BEFORE = 1 << 32
"""Stands for the number of an epoch before the first epoch."""
_FIRST_TICK_S = 2.0
"""Time within which a probe has written the first ticks of a server that accepts players."""


@dataclass(frozen=True)
class Stage:
    """All that one attempt at a planned server life is played with, and the methods that set the device and the server up."""

    project: Project
    cell: Cell
    life: Life
    models: Mapping[str, device.DeviceModel]
    """Device models by the name of the arm."""
    calibration: calibrate.Calibration
    folder: Path
    """Folder for the tables and logs of the life."""

    @property
    def server(self) -> Server:
        """The kind of server that the cell runs on."""
        return named(self.cell.server)

    @property
    def world(self) -> Path:
        """Folder of the world that was generated for the server. Every life runs on a copy of it on the device."""
        return self.project.world(self.cell.server)

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

    def floor_ns(self, arm: str) -> int:
        """Returns the floor of the arm's device: the time that this machine adds and the emulator subtracts."""
        return calibrate.floor_ns(self.calibration, self.models[arm])

    def device_up(self, log: Path, logs: Path, cores: Sequence[int]) -> AbstractContextManager[device.MountedDevice]:
        """Returns a context manager that mounts the device of the life's first arm when it is entered, and removes it at the end.

        The device writes its log of requests to the file `log`, and its emulator has its output in the folder `logs`.
        """
        return device.up(
            self.models[self.life.first_arm],
            backend=self.calibration.backend,
            size_bytes=self.project.config.device_size_mib << 20,
            file_system=self.project.config.file_system,
            floor_ns=self.floor_ns(self.life.first_arm),
            log_path=log,
            logs=logs,
            cores=cores,
        )

    def set(self, disk: device.MountedDevice, arm: str, epoch: int) -> device.Setting:
        """Turns the mounted device into that of an arm, and returns the setting with the time at which it came into force.

        Random draws of the device depend on the number of the epoch, so that no two epochs have the same ones.
        """
        model, floor_ns = self.models[arm], self.floor_ns(arm)
        return disk.set(model.with_seed(device_seed(model, self.life, epoch)), floor_ns=floor_ns)

    def copy_world(self, disk: device.MountedDevice) -> Path:
        """Copies the world to the device, and returns the folder of the copy.

        The device has no delay while the copy is made. Afterwards the file system is mounted anew, so that the page cache is
        cold, and the device is that of the life's first arm. Raises TickdiskError if the world does not fit.
        """
        disk.set(self.models[self.life.first_arm].unlimited(), floor_ns=0)
        target = disk.mount_point / "world"
        try:
            shutil.copytree(self.world, target)
        except OSError as error:
            first = error.args[0][0][2] if isinstance(error, shutil.Error) else error
            raise TickdiskError(
                f"cannot copy the world to the device ({first}); if it is full, raise device_size_mib in "
                "workflow/config/config.yaml"
            ) from error
        disk.remount()
        self.set(disk, self.life.first_arm, _BEFORE)
        return target

    def start_server(self, world: Path, folder: Path, logs: Path, cores: Sequence[int] | None) -> RunningServer:
        """Starts the server on `world`, the copy on the device, with the save period and the settings of the experiment's design.

        `folder` takes the record of the probe and the log of the server, and `logs` takes its command and exit code. With `cores`
        None, the server may use all cores.
        """
        design = self.cell.resolved.design
        return self.server.start(
            world,
            port=self.project.config.port,
            folder=folder,
            logs=logs,
            cores=cores,
            save_period_s=design.get("save_period_s"),
            settings=design.get("settings"),
        )


def tick_thread(kind: Server, running: RunningServer) -> int | None:
    """Returns the identity of the thread in which a running server ticks, so that its processor time can be sampled.

    Returns None if there is no such thread, or if the probe does not tell it within 2 s.
    """
    if kind.ticking.thread is not None:
        return host.thread_named(running.pid, kind.ticking.thread)
    until = time.monotonic() + _FIRST_TICK_S
    while time.monotonic() < until and running.alive():
        if (thread := first_thread(running.tick_log)) is not None:
            return thread
        time.sleep(0.05)
    return None


def device_seed(model: device.DeviceModel, life: Life, epoch: int) -> int:
    """Returns the seed of a device's random draws in an epoch of a life. It differs from that of any other epoch and block."""
    return int(np.random.SeedSequence([model.seed, life.trace_seed, epoch]).generate_state(1, np.uint64)[0])
