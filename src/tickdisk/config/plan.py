"""The plan: which cells there are, what each consists of, and in which order they run. A pure function of the configuration."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from tickdisk.config.design import Life, lives_of
from tickdisk.config.model import Arm, Config, ExperimentName, JoinBurst, World

_SERVER_START_S = 6.0
"""Device, copy of the world, server start and stop, roughly; only the time left on the screen depends on it."""


@dataclass(frozen=True)
class Cell:
    """A block of an experiment: the lives that run one after another and are repeated together."""

    experiment: ExperimentName
    block: int
    lives: tuple[Life, ...]
    resolved: Mapping[str, Any]
    """Everything that determines the outcome: configuration, arms with their devices, world, and under `code` all programs."""

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
        """Name of the cell for people, such as "switchback block 1"."""
        return f"{self.experiment} block {self.block + 1}"


def digest(value: Any) -> str:
    """Returns sixteen hexadecimal digits of the SHA-256 of `value`'s canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def world_hash(world: World, code: Mapping[str, str]) -> str:
    """Returns the name of the folder of a world that the programs whose digests are `code` generate."""
    return digest({"world": world.model_dump(), "code": dict(code)})


def plan(
    config: Config,
    arms: Sequence[Arm],
    models: Mapping[tuple[str, str], Mapping[str, Any]],
    code: Mapping[str, Mapping[str, str]],
) -> list[Cell]:
    """Returns the cells of the chosen scale in the order in which they run.

    `models` are the resolved device models by experiment and arm, `code` digests of all programs that an experiment's cells are
    made by, by experiment and part.
    """
    scale = config.chosen
    cells = []
    for experiment in get_args(ExperimentName):
        design = getattr(scale, experiment)
        own = [arm for arm in arms if arm.experiment == experiment]
        # The number of blocks is not part of a cell: more blocks add cells and leave the finished ones as they are.
        resolved = {
            "design": design.model_dump(exclude={"lives", "blocks"}),
            "arms": [_resolved(arm, models[experiment, arm.arm]) for arm in own],
            "limits": config.limits.model_dump(),
            "replacements": scale.replacements,
            "world": scale.world.model_dump(),
            "device_size_mib": config.device_size_mib,
            "file_system": config.file_system,
            "seed": config.seed,
            "code": dict(code[experiment]),
        }
        blocks = design.blocks if isinstance(design, JoinBurst) else design.lives
        cells += [Cell(experiment, block, lives_of(config, experiment, own, block), resolved) for block in range(blocks)]
    return cells


def _resolved(arm: Arm, model: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what of an arm decides the outcome: of its role that is whether it is the sham, whose device burns CPU time."""
    return {
        "arm": arm.arm,
        "device": dict(model),
        "is_sham": arm.role == "sham",
        "tick_delay_ms": arm.tick_delay_ms,
        "capture": arm.capture,
    }
