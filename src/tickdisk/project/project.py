"""The plan of this checkout on this machine, as the Snakefile, a live cell and a notebook see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from tickdisk import device, player
from tickdisk.config import (
    Arm,
    Cell,
    Config,
    ExperimentName,
    check_confirmatory,
    digest,
    load_arms,
    parse_config,
    plan,
    world_hash,
)
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, write_json
from tickdisk.project.identity import Identity

RESULTS = Path("results")
PLAN_PATH = RESULTS / "plan.json"
DEVICES_PATH = Path("data/devices.yaml")


@dataclass(frozen=True)
class Project:
    """Configuration, arms, devices and code, and what follows from them; paths are relative to the project's folder."""

    config: Config
    arms: tuple[Arm, ...]
    devices: Mapping[str, device.DeviceModel]
    identity: Identity

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Project":
        """Returns the project for configuration `values`; TickdiskError for what is wrong in them or missing on this machine."""
        config = parse_config(values)
        arms, devices = load_arms(), device.load_devices(DEVICES_PATH)
        check_confirmatory(config, arms)
        for arm in arms:
            add_file(arm, devices)
            if arm.device not in devices:
                raise TickdiskError(
                    f"workflow/config/experiments.tsv, arm {arm.arm}: unknown device {arm.device}; "
                    f"{DEVICES_PATH} has {', '.join(devices)}"
                )
        player.binary()
        return cls(config, tuple(arms), devices, Identity.of())

    @classmethod
    def load(cls, path: Path = PLAN_PATH) -> "Project":
        """Returns the project that the plan at `path` was written from."""
        return cls.of(read_json(path)["config"])

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of the chosen scale, in running order."""
        models: dict[tuple[str, str], dict[str, Any]] = {
            (arm.experiment, arm.arm): self.model(arm.experiment, arm.arm).as_dict() for arm in self.arms
        }
        captured = {arm.experiment for arm in self.arms if arm.capture != "none"}
        experiments: tuple[str, ...] = get_args(ExperimentName)
        code = {experiment: self.identity.cell(captured=experiment in captured) for experiment in experiments}
        return plan(self.config, self.arms, models, code)

    @property
    def world(self) -> Path:
        """Folder of the generated world."""
        return RESULTS / "worlds" / world_hash(self.config.chosen.world, self.identity.world())

    @property
    def plan_digest(self) -> str:
        """Changes when the plan file must be written again."""
        return digest(self.as_plan())

    def asked_digest(self, experiment: str) -> str:
        """Changes when what the plan says of an experiment changes: configuration, arms and its cells, not those of others.

        Where there is no such experiment that is configuration and arms.
        """
        whole = self.as_plan()
        own = [cell for cell in whole["cells"] if cell["experiment"] == experiment]
        return digest([whole["config"], whole["arms"], own, whole["resolved"].get(experiment)])

    def computing(self, product: str) -> str:
        """Changes when the code changes that a result is computed with; `PRODUCTS` has them, by name."""
        return digest(self.identity.product(product))

    def rendering(self, notebook: str) -> str:
        """Changes when what a notebook is rendered from changes, but for results: its code, its text, data and packages."""
        return digest(self.identity.notebook(notebook))

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
            "tiers": {
                name: {"description": model.description, "read_latency_ns": model.latency_ns[0]}
                for name, model in self.devices.items()
                if model.tier
            },
            "world": str(self.world),
            "binaries": self.identity.cell(captured=True),
            "resolved": {cell.experiment: dict(cell.resolved) for cell in self.cells},
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
