"""The plan of this checkout on this machine, as the Snakefile, a live cell and a notebook see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk import device, player, server, trace, tracefs
from tickdisk.config import Arm, Cell, Config, digest, file_digest, load_arms, parse_config, plan, world_hash
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, write_json

RESULTS = Path("results")
PLAN_PATH = RESULTS / "plan.json"
DEVICES_PATH = Path("data/devices.yaml")


@dataclass(frozen=True)
class Project:
    """Configuration, arms, devices and binaries, and what follows from them; paths are relative to the project's folder."""

    config: Config
    arms: tuple[Arm, ...]
    devices: Mapping[str, device.DeviceModel]
    binaries: Mapping[str, str]
    """SHA-256 of the server, its probe, the players, the native module and of how captures are made."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Project":
        """Returns the project for configuration `values`; TickdiskError for what is wrong in them or missing on this machine."""
        config = parse_config(values)
        arms, devices = load_arms(), device.load_devices(DEVICES_PATH)
        for arm in arms:
            add_file(arm, devices)
            if arm.device not in devices:
                raise TickdiskError(
                    f"workflow/config/experiments.tsv, arm {arm.arm}: unknown device {arm.device}; "
                    f"{DEVICES_PATH} has {', '.join(devices)}"
                )
        binaries = {
            **server.Luanti().checksums(),
            "players": file_digest(player.binary()),
            "traces": player.digest(),
            "native": file_digest(device.native_path()),
            "capture": digest([file_digest(path) for path in (*_programs(), Path(tracefs.__file__))]),
        }
        return cls(config, tuple(arms), devices, binaries)

    @classmethod
    def load(cls, path: Path = PLAN_PATH) -> "Project":
        """Returns the project that the plan at `path` was written from."""
        return cls.of(read_json(path)["config"])

    @property
    def cells(self) -> list[Cell]:
        """The cells of the chosen scale, in running order."""
        return plan(self.config, self.arms, {name: model.as_dict() for name, model in self.devices.items()}, self.binaries)

    @property
    def world(self) -> Path:
        """Folder of the generated world."""
        return RESULTS / "worlds" / world_hash(self.config.chosen.world, self.binaries)

    @property
    def plan_digest(self) -> str:
        """Changes when the plan file must be written again."""
        return digest(self.as_plan())

    def cell(self, name: str) -> Cell:
        """Returns the cell whose hash is `name`."""
        for cell in self.cells:
            if cell.hash == name:
                return cell
        raise TickdiskError(f"no cell {name} in the plan; `tickdisk plan` lists the cells")

    def model(self, experiment: str, arm: str) -> device.DeviceModel:
        """Returns the device model of an arm, without the sham's burn, which is known only after calibration."""
        row = next(row for row in self.arms if row.experiment == experiment and row.arm == arm)
        model = self.devices[row.device]
        return model if row.latency_us is None else model.with_latency(round(row.latency_us * 1000))

    def models(self) -> list[device.DeviceModel]:
        """Returns every device model that is calibrated, each once: the tiers, and those of the experiments' arms."""
        tiers = {model.name: model for model in self.devices.values() if model.tier}
        found = {**tiers, **{(model := self.model(arm.experiment, arm.arm)).name: model for arm in self.arms}}
        return list(found.values())

    def as_plan(self) -> dict[str, Any]:
        """Returns what the plan file holds."""
        return {
            "config": self.config.model_dump(mode="json"),
            "chosen": self.config.chosen.model_dump(mode="json"),
            "arms": [arm.model_dump(mode="json") for arm in self.arms],
            "world": str(self.world),
            "binaries": dict(self.binaries),
            "cells": [
                {
                    "hash": cell.hash,
                    "experiment": cell.experiment,
                    "block": cell.block,
                    "seconds": cell.seconds,
                    "lives": [life.name for life in cell.lives],
                }
                for cell in self.cells
            ],
        }

    def save(self, path: Path = PLAN_PATH) -> None:
        """Writes the plan file."""
        write_json(path, self.as_plan())


def add_file(arm: Arm, devices: dict[str, device.DeviceModel]) -> None:
    """Adds the device of an arm whose device is a file, under the file's name; calibration goes by its own, which must be new."""
    if device.is_file(arm.device) and arm.device not in devices:
        model = device.load_device(Path(arm.device))
        if model.name in {known.name for known in devices.values()}:
            raise TickdiskError(f"{arm.device}: there is another device called {model.name}; rename the one in the file")
        devices[arm.device] = model


def _programs() -> list[Path]:
    """What captures."""
    return sorted(Path(trace.__path__[0]).glob("*.[pb][yt]"))
