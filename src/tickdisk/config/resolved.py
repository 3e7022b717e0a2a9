"""The records of planned cells, as the plan file and the manifests of cells keep them."""

from typing import Annotated, Any

from pydantic import Field

from tickdisk.config.model import FileSystem, Limits, World
from tickdisk.device import KeptModel
from tickdisk.experiment import Copying, Tool
from tickdisk.foundation.cores import Cores
from tickdisk.foundation.record import Record, Unit


class ResolvedArm(Record):
    """The parts of an arm that decide the outcome. Its role decides only as the sham, whose device burns processor time."""

    arm: str
    """The name of the arm."""
    device: KeptModel
    """The device model of the arm. See *Device model* below."""
    is_sham: bool
    """Whether the device burns processor time as the sham control does."""
    tick_delay_ms: int | None
    """The time for which the probe keeps the tick thread busy; null for an arm without it."""
    capture: Tool
    """The tool that captures in this arm, or none."""
    action_delay_ms: int | None = None
    """The time for which the server holds back its answers to players' actions; null for an arm without it."""
    copying: Annotated[Copying | None, Field(exclude_if=lambda copying: copying is None)] = None
    """The backup that is made while the arm is in force. The key is absent for an arm without one."""


class Resolved(Record):
    """Everything that decides the outcome of all cells of an experiment on a server."""

    server: str
    """The name of the server."""
    behaviour: str
    """The behaviour of the players."""
    design: dict[str, Any]
    """The settings of the experiment in the scale that ran, without the number of its lives or blocks."""
    arms: tuple[ResolvedArm, ...]
    """The parts of each arm that decide the outcome."""
    limits: Limits
    """The limits above which a server life is replaced."""
    replacements: Annotated[int, Unit("times")]
    """The number of times that a server life may be replaced."""
    world: World
    """The settings of the world."""
    device_size_mib: int
    """The size of the device."""
    file_system: FileSystem
    """The file system on the device."""
    seed: int
    """The seed of every random choice."""
    cores: Cores | None = Field(default=None, exclude_if=lambda cores: cores is None)
    """The cores that the configuration gives to the server, the clients and the emulator. The key is absent if it gives none."""
    disk: str | None = Field(default=None, exclude_if=lambda disk: disk is None)
    """The folder on the real disk, in a cell of the study of a real disk. The key is absent in other cells."""
    code: dict[str, str]
    """The versions and digests of the programs that made the cell, by part."""


class PlannedCell(Record):
    """A cell of the plan, as the plan file lists it."""

    hash: str
    """The name of the folder of the cell."""
    experiment: str
    """The name of the experiment."""
    server: str
    """The name of the server on which the cell runs."""
    block: int
    """The number of the block; the first is 0."""
    seconds: Annotated[float, Unit("s")]
    """The time that the cell takes, roughly."""
    lives: tuple[str, ...]
    """The names of its server lives."""
