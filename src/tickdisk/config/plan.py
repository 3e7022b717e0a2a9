"""The plan, which says which cells there are, what each consists of, and in which order they run."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tickdisk.config.model import Config, World
from tickdisk.config.resolved import PlannedCell, Resolved, ResolvedArm
from tickdisk.device import DeviceModel
from tickdisk.experiment import EXPERIMENTS, STUDIES, Arm, Block, PlannedLife, Twin
from tickdisk.foundation.record import plain

_SERVER_S, _FURTHER_SERVER_S, _PLAYER_S = 6.0, 1.7, 0.12
"""Rough times beside the play: for the device, the copy of the world, and the start and stop of the server; the same for each
further server; and for the tables of each player who joins in steps. Only the shown time left depends on them.
"""


def life_seconds(life: PlannedLife) -> float:
    """Returns the rough time that a life takes, if it is not replaced."""
    players = max(epoch.players or 0 for epoch in life.epochs)
    return life.seconds + _SERVER_S + _FURTHER_SERVER_S * ((life.instances or 1) - 1) + _PLAYER_S * players


@dataclass(frozen=True)
class Cell:
    """The smallest part of a run that is computed by itself: one block of an experiment on one server.

    Its server lives run one after another and share a run folder, `results/runs/HASH`.
    """

    experiment: str
    server: str
    block: int
    """Number of the block, from 0."""
    lives: tuple[PlannedLife, ...]
    """Planned server lives, in the order in which they run."""
    resolved: Resolved
    """Everything that decides the outcome of all cells of the experiment on the server."""

    @cached_property
    def hash(self) -> str:
        """Name of the cell's run folder: sixteen hexadecimal digits, a digest of all that decides the cell's outcome.

        If any of it changes, the cell has another folder and runs anew. The total number of blocks is not part of it.
        """
        lives = [asdict(life) for life in self.lives]
        return digest({**plain(self.resolved), "experiment": self.experiment, "block": self.block, "lives": lives})

    @property
    def seconds(self) -> float:
        """Rough time that the cell takes to run, if no life is replaced. Only the shown time left depends on it."""
        return sum(map(life_seconds, self.lives))

    @property
    def title(self) -> str:
        """Name of the cell in messages, such as "switchback on luanti, block 1", where blocks count from 1."""
        return f"{self.experiment} on {self.server}, block {self.block + 1}"

    @property
    def row(self) -> PlannedCell:
        """The cell as the plan file lists it."""
        return PlannedCell(
            hash=self.hash,
            experiment=self.experiment,
            server=self.server,
            block=self.block,
            seconds=self.seconds,
            lives=tuple(life.name for life in self.lives),
        )


def digest(value: Any) -> str:
    """Returns sixteen hexadecimal digits of the SHA-256 of a value as JSON. The order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Returns the SHA-256 checksum of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def world_hash(world: World, code: Mapping[str, str]) -> str:
    """Returns the name of the folder in `results/worlds` that a generated world has.

    It changes with the settings and with `code`, the digests of the programs that generate the world (`Identity.world`).
    """
    return digest({"world": world.model_dump(), "code": dict(code)})


def plan(
    config: Config,
    arms: Sequence[Arm],
    models: Mapping[tuple[str, str], DeviceModel],
    code: Mapping[tuple[str, str], Mapping[str, str]],
) -> list[Cell]:
    """Plans the cells that the configuration asks for: one for each block of each experiment on each server, in running order.

    It is a pure function of its arguments. `models` has the device model of each arm, by the names of experiment and arm. `code`
    has the digests of all programs that make the cells of an experiment on a server, by experiment and server and then by part.
    An experiment runs on the servers for which `code` has an entry, in the order of the entries, and has no cells where it has no
    arms.
    """
    scale = config.chosen
    cells = []
    for name, server in code:
        entry = EXPERIMENTS[name]
        own, design = arms_of(arms, name, server), scale.design(entry, server)
        if not own:
            continue
        # The number of blocks is not part of a cell: more blocks add cells and leave the finished ones as they are.
        resolved = Resolved(
            server=server,
            design=design.model_dump(exclude={entry.repeats}),
            behaviour=entry.behaviour,
            arms=tuple(_resolved(arm, models[name, arm.arm]) for arm in own),
            limits=config.limits,
            replacements=scale.replacements,
            world=scale.world_of(server),
            device_size_mib=design.device_size_mib if isinstance(design, Twin) else config.device_size_mib,
            disk=config.disk if isinstance(design, Twin) else None,
            file_system=config.file_system,
            seed=config.seed,
            cores=config.cores,
            code=dict(code[name, server]),
        )
        for number in range(getattr(design, entry.repeats)):
            block = Block(design, own, number, generators(config.seed, name, server))
            cells.append(Cell(name, server, number, entry.lives(block), resolved))
    return cells


def arms_of(arms: Sequence[Arm], experiment: str, server: str) -> list[Arm]:
    """Returns the arms of an experiment that run on a server, in the order of the table. Empty if it does not run there."""
    return [arm for arm in arms if arm.experiment == experiment and server in arm.servers]


def arms_of_run(arms: Sequence[Arm], study: str | None) -> list[Arm]:
    """Returns the arms that a run has, in the order of the table.

    They are those of the experiments that `study` uses if it runs alone, and else those of all experiments that do not run alone.
    """
    chosen = None if study is None else STUDIES[study]
    if chosen is not None and chosen.runs_alone:
        used = {chosen.name, *chosen.needs, *chosen.compares}
        return [arm for arm in arms if arm.experiment in used]
    return [arm for arm in arms if not EXPERIMENTS[arm.experiment].runs_alone]


def generators(seed: int, experiment: str, server: str) -> Callable[[str, int], np.random.Generator]:
    """Returns the function `Block.rng` of an experiment on a server, which makes a generator of random numbers.

    It takes a purpose, such as `order`, and a number, such as that of the block. Generators of different experiments, servers,
    purposes or numbers are independent. The same ones with the same `seed` give the same random numbers.
    """

    def generator(purpose: str, number: int) -> np.random.Generator:
        words = hashlib.sha256(f"{experiment}\0{server}\0{purpose}".encode()).digest()
        return np.random.default_rng(np.random.SeedSequence([seed, number, *np.frombuffer(words, np.uint32).tolist()]))

    return generator


def _resolved(arm: Arm, model: DeviceModel) -> ResolvedArm:
    return ResolvedArm(
        arm=arm.arm,
        device=model,
        is_sham=arm.role == "sham",
        tick_delay_ms=arm.tick_delay_ms,
        action_delay_ms=arm.action_delay_ms,
        copying=arm.copying,
        capture=arm.capture,
    )
