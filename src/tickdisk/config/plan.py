"""The plan: which cells there are, what each consists of, and in which order they run. A pure function of the configuration."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tickdisk.config.model import Arm, Config, ExperimentName, World

_SERVER_START_S = 6.0
"""Device, copy of the world, server start and stop, roughly; only the time left on the screen depends on it."""


@dataclass(frozen=True)
class Epoch:
    """A stretch of a server life with one setting of the device; times from the start of the player trace."""

    cycle: int
    arm: str
    start_s: float
    steady_s: float
    end_s: float


@dataclass(frozen=True)
class Life:
    """One server life: which arm's device it starts on, and the epochs that follow. `seconds` is the length of its trace."""

    name: str
    first_arm: str
    trace_seed: int
    seconds: float
    epochs: tuple[Epoch, ...]


@dataclass(frozen=True)
class Cell:
    """A block of an experiment: the lives that run one after another and are repeated together."""

    experiment: ExperimentName
    block: int
    lives: tuple[Life, ...]
    resolved: Mapping[str, Any]
    """Everything that determines the outcome: configuration, arms, device models, world, binaries."""

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that name the cell's folder."""
        return digest(
            {**self.resolved, "experiment": self.experiment, "block": self.block, "lives": [asdict(life) for life in self.lives]}
        )

    @property
    def seconds(self) -> float:
        """Roughly how long the cell takes."""
        return sum(life.seconds + _SERVER_START_S for life in self.lives)

    @property
    def title(self) -> str:
        """What a person calls it."""
        return f"{self.experiment} block {self.block + 1}"


def digest(value: Any) -> str:
    """Returns sixteen hexadecimal digits of the SHA-256 of `value`'s canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def world_hash(world: World, binaries: Mapping[str, str]) -> str:
    """Returns the name of the folder of a generated world."""
    return digest({"world": world.model_dump(), "server": binaries["server"], "probe": binaries["probe"]})


def _rng(config: Config, experiment: str, block: int, purpose: str) -> np.random.Generator:
    words = [config.seed, block, *(int.from_bytes(word.encode()[:8].ljust(8), "little") for word in (experiment, purpose))]
    return np.random.default_rng(np.random.SeedSequence(words))


def _shuffled(arms: Sequence[Arm], rng: np.random.Generator) -> list[str]:
    names = [arm.arm for arm in arms]
    return [names[index] for index in rng.permutation(len(names))]


def _switchback_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.switchback
    rng = _rng(config, "switchback", block, "order")
    length = design.epoch_save_periods * design.save_period_s
    at, epochs = design.warm_up_s, []
    for cycle in range(design.cycles):
        for arm in _shuffled(arms, rng):
            epochs.append(Epoch(cycle, arm, at, at + design.save_period_s, at + length))
            at += length
    baseline = next(arm.arm for arm in arms if arm.role == "baseline")
    return (Life("life", baseline, int(_rng(config, "switchback", block, "trace").integers(2**31)), at, tuple(epochs)),)


def _join_burst_lives(config: Config, arms: Sequence[Arm], block: int) -> tuple[Life, ...]:
    design = config.chosen.join_burst
    seed = int(_rng(config, "join_burst", block, "trace").integers(2**31))
    end = design.burst_s + design.stay_s
    return tuple(
        Life(arm, arm, seed, end, (Epoch(0, arm, 0.0, 0.0, end),))
        for arm in _shuffled(arms, _rng(config, "join_burst", block, "order"))
    )


def plan(
    config: Config, arms: Sequence[Arm], devices: Mapping[str, Mapping[str, Any]], binaries: Mapping[str, str]
) -> list[Cell]:
    """Returns the cells of the chosen scale in the order in which they run.

    `devices` are the resolved device models by name, `binaries` the checksums of server, probe, players and native module.
    """
    scale = config.chosen
    designs = {
        "switchback": (scale.switchback, scale.switchback.lives, _switchback_lives),
        "join_burst": (scale.join_burst, scale.join_burst.blocks, _join_burst_lives),
    }
    cells = []
    for experiment, (design, blocks, lives) in designs.items():
        own = [arm for arm in arms if arm.experiment == experiment]
        # The number of blocks is not part of a cell: more blocks add cells and leave the finished ones as they are.
        resolved = {
            "design": design.model_dump(exclude={"lives", "blocks"}),
            "arms": [arm.model_dump() for arm in own],
            "devices": {arm.device: dict(devices[arm.device]) for arm in own},
            "limits": config.limits.model_dump(),
            "repeats": scale.repeats,
            "world": scale.world.model_dump(),
            "binaries": dict(binaries),
            "device_size_mib": config.device_size_mib,
            "seed": config.seed,
        }
        cells += [Cell(experiment, block, lives(config, own, block), resolved) for block in range(blocks)]  # type: ignore[arg-type]
    return cells
