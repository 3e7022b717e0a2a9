"""Manifests: the files that say how a cell, or a capture of any process, was made, and what happened meanwhile.

Whoever runs the cell or the capture writes the file, and the analysis reads it. The parts of these records are defined in the
rooms that make them.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tickdisk.config import Resolved
from tickdisk.device import DeviceStatus, EmulatorStatus, KeptModel
from tickdisk.experiment import PlannedLife
from tickdisk.foundation import record
from tickdisk.foundation.cores import Cores
from tickdisk.foundation.host import HostFacts, MachineKind, MachineLoad
from tickdisk.foundation.record import Record, Unit
from tickdisk.player import ClientStatus, Phase
from tickdisk.server import ServerFacts, ServerStart, TickCounts
from tickdisk.trace import CaptureSummary

MANIFEST, CAPTURE = "manifest.json", "capture.json"
"""Names of the files in the run folder of a cell, which is whole if it has one, and in the folder of a capture."""


class CutOutcome(StrEnum):
    """The outcome of a planned power cut, as in the column `outcome` of the cuts table."""

    OPENED = "opened"
    """The server started again, and players joined and looked to the end."""
    NOT_MOUNTED = "not_mounted"
    """The file system of a device did not recover."""
    NOT_STARTED = "not_started"
    """The server did not start."""
    NO_PLAYER = "no_player"
    """No player could join."""
    ENDED = "ended"
    """The server ended by itself while players looked."""
    SERVER_HAD_ENDED = "server_had_ended"
    """The server of the life had ended by itself before the time of the cut, which was therefore not made."""


class Capture(CaptureSummary):
    """The content of the file about a capture of any process."""

    command: tuple[str, ...] | None
    """The command that was captured. It is null for a process that ran already."""
    pid: int | None
    """The number of the process that was captured. It is null for a command."""
    exit_code: int | None
    """The exit code of the command. It is null for a process that ran already."""
    lacks: dict[str, int] = Field(default_factory=dict)
    """The number of things that happened and are not among the requests, by kind, such as ms at the start or lost events."""
    host: HostFacts
    """The machine. See *Host* below."""


class ArmCapture(CaptureSummary):
    """One capture of a server life."""

    arm: str
    """The arm in which the capture ran, or began."""


class Marker(Record):
    """A thing that the tick probe was told to do."""

    name: str
    """The name of the thing: `read` with the number of a marker, or `burn`."""
    before_ns: int
    """The time before the probe did it."""
    after_ns: int
    """The time after the probe had done it."""


class BlocksTraced(Record):
    """The trace of the requests to the block device of a life."""

    requests: Annotated[int, Unit("requests")]
    """The number of requests of which both the issue and the completion were seen."""
    unpaired: Annotated[int, Unit("requests")]
    """The number of requests of which only one of both was seen."""
    lost: Annotated[int, Unit("events")]
    """The number of events that were lost."""


class Ended(Record):
    """The end of a server that ended by itself in the middle of a life."""

    epoch: int | None
    """The number of the epoch. It is null before the first."""
    arm: str
    """The arm that was in force."""
    at_ns: int
    """The time at which the end was seen."""
    said: str
    """The last words of the server."""


class Attempt(Record):
    """One attempt to play a server life."""

    started_unix_s: float
    """The time at which the attempt began, counted from the beginning of 1970."""
    load: MachineLoad
    """The load of the machine during the attempt. See *Load* below."""
    reasons: tuple[str, ...]
    """The reasons to replace the life; empty if there was none."""


class QuotaUsage(Record):
    """The limits of a server's processor time and memory, and what the server met of them in a life."""

    cores: float | None
    """The share of the processor that the server could use, in cores. It is null without a limit."""
    memory_bytes: int | None
    """The limit of its memory with its page cache, at the end of play. It is null without a limit."""
    seconds: Annotated[float, Unit("s")]
    """The time of play over which the following counts were made."""
    refaults: Annotated[int, Unit("pages")]
    """The number of pages of files that were read again because they had been dropped for want of memory."""
    cached_bytes: int
    """The size of its pages of files in memory at the end of play."""
    hot_bytes: int | None
    """The size of the pages of files that it had read when its memory was limited to a share of them. It is null where it was not
    limited in this way."""
    throttled_ns: int
    """The time for which the server waited because its share of the processor was used up, summed over processors."""


class Neighbour(Record):
    """Another server on the same device in a life, with players of its own."""

    instance: int
    """The number of the server; that of the other records of the life is 0."""
    trace_events: Annotated[int, Unit("lines")]
    """The number of lines of its player trace."""
    ticks: TickCounts
    """Counts of its tick probe."""
    client: ClientStatus
    """The status of its clients at the end."""
    server_problems: tuple[str, ...]
    """The errors that it reported, and an end that was not clean."""
    quota: QuotaUsage | None
    """Its limits. The value is null without any."""


class PlayedLife(Record):
    """One attempt at a server life that was played to its end."""

    name: str
    """The name of the server life."""
    trace_events: Annotated[int, Unit("lines")]
    """The number of lines of the player trace."""
    phases: tuple[Phase, ...]
    """The phases of the player trace. Only the study of storage accesses has them."""
    captures: tuple[ArmCapture, ...]
    """The captures of the life, in order."""
    blocks: BlocksTraced | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """The trace of the requests to the block device. The key is absent in a life without one."""
    requests: Annotated[int, Unit("requests")]
    """The number of requests in the log of the device."""
    started_ns: int
    """The time at which the player trace began."""
    load: MachineLoad
    """The load of the machine during the life. See *Load* below."""
    ticks: TickCounts
    """Counts of the tick probe."""
    rejects: tuple[tuple[int, str], ...]
    """The lines of the tick probe that could not be read: number and text of each."""
    markers: tuple[Marker, ...]
    """Things that the tick probe was told to do."""
    client: ClientStatus
    """The status of the clients at the end."""
    device: EmulatorStatus | DeviceStatus
    """The status of the device at the end. A real disk has none of the keys that only an emulator knows."""
    device_apart: EmulatorStatus | DeviceStatus | None = Field(default=None, exclude_if=lambda status: status is None)
    """The status of the other device at the end. The key is absent in a life with one device."""
    calibrated_lack: str
    """The reason for which the kernel did not tell arrivals during calibration; empty if it told them."""
    file_system: str | None
    """The file system on the device; `tree` where the device is a file system itself."""
    server: ServerStart
    """The game server, and how it was started."""
    server_problems: tuple[str, ...]
    """The errors that the server reported, and an end that was not clean."""
    server_ended_in_order: bool
    """Whether the server ended as it was told to."""
    ended: Ended | None
    """The end of a server that ended by itself. It is null where the server did not."""
    floors_ns: dict[str, int]
    """The latency of the emulator itself, which is subtracted, for each arm."""
    latest_switch_ns: int
    """The longest time by which an epoch began after its planned time."""
    clock_disagreement_ns: int | None
    """The longest time by which the clocks of clients, probe and device contradict each other. It is null where no marker was
    seen by all of them."""
    markers_unseen: Annotated[int, Unit("markers")]
    """The number of markers that were answered and that the probe or the device did not see."""
    saturated: dict[str, str]
    """Sentences on the arms in which the clients were short of processor time, by arm."""
    quota: QuotaUsage | None = Field(default=None, exclude_if=lambda quota: quota is None)
    """The limits of the server. The key is absent in a life without any."""
    neighbours: tuple[Neighbour, ...] = Field(default=(), exclude_if=lambda neighbours: not neighbours)
    """The other servers on the same device. The key is absent in a life with one server."""


class LifeRecord(PlayedLife):
    """The record of a server life: the attempt that was kept, and what is said of it."""

    attempts: tuple[Attempt, ...]
    """All attempts to run the life, in order; the last one was kept."""
    marked: tuple[str, ...]
    """The reasons for which the attempt that was kept should have been replaced; empty for a life in order."""
    not_valid: dict[str, str]
    """The reasons for which the life says nothing about an arm, by arm."""
    noted: tuple[str, ...]
    """Sentences on events that a slow disk may have caused; they stay in the results."""


class Manifest(Record):
    """The content of the manifest of a cell."""

    hash: str
    """The name of the folder, computed from all that decides the outcome of the cell."""
    experiment: str
    """The name of the experiment."""
    server: ServerFacts
    """The kind of server, and what the analysis has to know of it."""
    block: int
    """The number of the block; the first is 0."""
    resolved: Resolved
    """All settings and programs that decide the outcome of the cell."""
    plan: tuple[PlannedLife, ...]
    """The planned server lives, in the order in which they ran."""
    models: dict[str, KeptModel]
    """The device model of each arm, under the name of the arm. See *Device model* below."""
    realised_ns: dict[str, int | None]
    """The median latency that calibration found for the device of each arm, under the name of the arm. It is null for a device
    that was not calibrated."""
    host: HostFacts
    """The machine that ran the cell. See *Host* below."""
    machine: MachineKind
    """The parts of the machine that must be the same for cells to be analysed together."""
    node: str | None = Field(default=None, exclude_if=lambda node: node is None)
    """The name of the machine, or of the node of a cluster. The key is absent in a manifest of an older version."""
    cores: Cores | None = Field(default=None, exclude_if=lambda cores: cores is None)
    """The cores of the server, the clients and the emulator. The key is absent in a manifest of an older version."""
    backend: str
    """The way in which devices were emulated, such as fuse or tree."""
    not_judged: tuple[str, ...]
    """Sentences on limits that this machine could not judge."""
    lives: dict[str, LifeRecord]
    """The record of each server life, under the name of the life."""
    calibration: str
    """A digest of the calibration that the cell used."""


def has_run(folder: Path) -> bool:
    """Returns whether a run folder has a manifest, and so is whole."""
    return (folder / MANIFEST).exists()


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest in the run folder of a cell. Raises TickdiskError if there is none, or if it is not of this form."""
    return record.read(Manifest, folder / MANIFEST, "remove the folder and run the cell again")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest into the run folder of a cell, for `read_manifest`."""
    record.write(folder / MANIFEST, manifest)


def read_capture(folder: Path) -> Capture:
    """Reads the file about a capture in its folder. Raises TickdiskError if there is none, or if it is not of this form."""
    return record.read(Capture, folder / CAPTURE, "capture the process again")


def write_capture(folder: Path, capture: Capture) -> None:
    """Writes the file about a capture into its folder, for `read_capture`."""
    record.write(folder / CAPTURE, capture)
