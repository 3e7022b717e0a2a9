"""The plan, which says which cells there are, what each consists of, and in which order they run.

It is a pure function of the configuration, the arms, the device models and the digests of all programs.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tickdisk.config.model import Config, World
from tickdisk.experiment import EXPERIMENTS, Arm, Block, Life

_SERVER_START_S = 6.0
"""Rough time for the device, the copy of the world, and the start and stop of the server. Only the shown time left depends on
it.
"""


@dataclass(frozen=True)
class Cell:
    """A block of an experiment: the server lives that run one after another and are planned together."""

    experiment: str
    server: str
    """Name of the server on which the experiment runs."""
    block: int
    lives: tuple[Life, ...]
    resolved: Mapping[str, Any]
    """Everything that decides the outcome: configuration, arms with their devices, the world, and under `code` all programs."""

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that name the cell's folder."""
        return digest(
            {**self.resolved, "experiment": self.experiment, "block": self.block, "lives": [asdict(life) for life in self.lives]}
        )

    @property
    def seconds(self) -> float:
        """Rough time that the cell takes."""
        return sum(life.seconds + _SERVER_START_S for life in self.lives)

    @property
    def title(self) -> str:
        """Name of the cell for people, such as "switchback on luanti, block 1"."""
        return f"{self.experiment} on {self.server}, block {self.block + 1}"


def digest(value: Any) -> str:
    """Returns a short digest of a value.

    Parameters
    ----------
    value
        Any value that JSON can hold.

    Returns
    -------
    str
        Sixteen hexadecimal digits of the SHA-256 of the value's canonical JSON.
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Returns the checksum of a file.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    str
        The SHA-256 in hexadecimal digits.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def world_hash(world: World, code: Mapping[str, str]) -> str:
    """Returns the name of the folder of a world.

    Parameters
    ----------
    world
        The settings of the world.
    code
        Digests of the programs that generate it, by part.

    Returns
    -------
    str
        The name, which changes with the settings and the programs.
    """
    return digest({"world": world.model_dump(), "code": dict(code)})


def plan(
    config: Config,
    arms: Sequence[Arm],
    models: Mapping[tuple[str, str], Mapping[str, Any]],
    code: Mapping[tuple[str, str], Mapping[str, str]],
) -> list[Cell]:
    """Plans the cells of the chosen scale.

    Parameters
    ----------
    config
        The configuration.
    arms
        The arms of all experiments.
    models
        The resolved device models, by experiment and arm.
    code
        Digests of all programs that make the cells of an experiment on a server, by experiment and server and then by part. An
        experiment runs on the servers for which it has an entry here, in the order of the entries.

    Returns
    -------
    list of Cell
        The cells, in the order in which they run. An experiment without arms on a server has no cells there.
    """
    scale = config.chosen
    cells = []
    for name, server in code:
        entry = EXPERIMENTS[name]
        own, design = arms_of(arms, name, server), scale.design(entry, server)
        if not own:
            continue
        # The number of blocks is not part of a cell: more blocks add cells and leave the finished ones as they are.
        resolved = {
            "server": server,
            "design": design.model_dump(exclude={entry.repeats}),
            "behaviour": entry.behaviour,
            "arms": [_resolved(arm, models[name, arm.arm]) for arm in own],
            "limits": config.limits.model_dump(),
            "replacements": scale.replacements,
            "world": scale.world_of(server).model_dump(),
            "device_size_mib": config.device_size_mib,
            "file_system": config.file_system,
            "seed": config.seed,
            "code": dict(code[name, server]),
        }
        for number in range(getattr(design, entry.repeats)):
            block = Block(design, own, number, generators(config.seed, name, server))
            cells.append(Cell(name, server, number, entry.lives(block), resolved))
    return cells


def arms_of(arms: Sequence[Arm], experiment: str, server: str) -> list[Arm]:
    """Returns the arms of an experiment that run on a server.

    Parameters
    ----------
    arms
        The arms of all experiments.
    experiment
        Name of the experiment.
    server
        Name of the server.

    Returns
    -------
    list[Arm]
        The arms, in their order.
    """
    return [arm for arm in arms if arm.experiment == experiment and server in arm.servers]


def generators(seed: int, experiment: str, server: str) -> Callable[[str, int], np.random.Generator]:
    """Returns a function that makes the generator of an experiment on a server for a purpose and a number.

    The generator depends on the whole names.
    """

    def generator(purpose: str, number: int) -> np.random.Generator:
        words = hashlib.sha256(f"{experiment}\0{server}\0{purpose}".encode()).digest()
        return np.random.default_rng(np.random.SeedSequence([seed, number, *np.frombuffer(words, np.uint32).tolist()]))

    return generator


def _resolved(arm: Arm, model: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parts of an arm that decide the outcome. Its role decides only as the sham, whose device burns processor
    time.
    """
    return {
        "arm": arm.arm,
        "device": dict(model),
        "is_sham": arm.role == "sham",
        "tick_delay_ms": arm.tick_delay_ms,
        "capture": arm.capture,
    }
