"""Crash tests of a store: lives are ended at random instants by a kill or a power cut, and each recovered state is checked.

The expected state is computed in memory, without a store, from the same updates.
"""

import mmap
import random
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen
from typing import Protocol

from tickdisk import device
from tickdisk._native import World
from tickdisk.device import DeviceModel, MountedDevice
from tickdisk.foundation import temporary
from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving.store.life import Setting, failure, started
from tickdisk.saving.store.recovery import recover

PHASES = ("idle", "update", "copy", "write", "sync", "switch", "commit")
"""Phases of the threads of a life, in the order in which the native core numbers them.

The game plays updates (update) or begins a checkpoint (copy). The writer writes a checkpoint, syncs it and makes it count (write,
sync, switch). The committer makes the log of actions durable, or the writer waits for this (commit).
"""
_ROLES = {"copy": 0, "write": 1, "sync": 1, "switch": 1, "commit": 2}
"""Number of the thread that enters a phase: 0 is the game, 1 the writer, 2 the committer of the log of actions."""
_TICK, _COMMITTED, _WORDS = 3, 4, 5
_PATIENCE_S = 3.0
_START_S = 60.0
_MOST_DELAY_S = {"copy": 0.002, "write": 0.05, "sync": 0.02, "switch": 0.002, "commit": 0.01}
START = "start"
"""Start of a life, when it recovers its state and prepares the folder. It is a target of crashes, but not a phase of a thread."""
AIMED = (*_ROLES, START)
"""Targets of crashes: every phase of a thread except idle and update, and the start of a life."""
_MOST_START_S = 0.3
_ONE_BY_ONE = 0.5
"""Share of the lives whose updates are handed to the store one by one."""


@dataclass(frozen=True)
class Crash:
    """One crash of a life in a `campaign`, and the state that was recovered after it."""

    algorithm: str
    how: str
    """Kind of crash: "kill" for a crash of the process alone, or "cut" for the power of its disk."""
    aimed: str
    """The target of the crash, one of `AIMED`. The crash can have come later, as `phases` shows."""
    phases: tuple[str, str, str]
    """The phases (`PHASES`) in which the threads of game, writer and committer were at the crash."""
    tick: int
    """The tick that was running at the crash."""
    committed: int
    """The last tick that was committed before the crash, or 0 if this life had committed none. A tick is committed when its
    updates are in the log of actions on the disk. A crash must not lose it.
    """
    recovered: int
    """The last tick in the recovered state."""
    image_tick: int
    """The tick of the checkpoint from which the state was recovered."""
    is_exact: bool
    """Whether the recovered state equals the expected state at the end of the recovered tick."""
    is_lost: bool
    """Whether a committed tick is missing from the recovered state."""
    findings: int
    """Number of damaged or incomplete things that the recovery found and did not use."""

    @property
    def is_survived(self) -> bool:
        """Whether the recovered state equals the expected state of its tick, and no committed tick is missing."""
        return self.is_exact and not self.is_lost


class Board:
    """The phases and ticks of a running life, in a file that is mapped into memory and so outlives the killed process."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(4096))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 4096)

    def words(self) -> tuple[int, ...]:
        """Returns the numbers of the phases of game, writer and committer, the running tick, and the last committed tick."""
        return struct.unpack_from(f"<{_WORDS}Q", self._map)

    def phase(self, aimed: str) -> bool:
        """Returns whether the thread that enters the phase `aimed` is in it now. `aimed` is one of `AIMED`, but not `START`."""
        word: int = struct.unpack_from("<Q", self._map, 8 * _ROLES[aimed])[0]
        return word == PHASES.index(aimed)

    def close(self) -> None:
        """Unmaps the file."""
        self._map.close()


class CrashMethod(Protocol):
    """A way in which `campaign` ends lives."""

    name: str

    def folder(self) -> Path:
        """Returns the folder of the store in which the lives are played."""
        ...

    def end(self, child: Popen[bytes], board: Board, *, number: int) -> tuple[str, tuple[int, ...]]:
        """Ends a life at once. Returns the kind of crash, and the words of the board at the crash. `number` counts crashes from
        0.
        """
        ...


class ProcessKill:
    """A crash of the process alone: the kernel keeps everything that was written to files."""

    name = "kill"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self) -> Path:
        """Returns the folder of the store."""
        return self._folder

    def end(self, child: Popen[bytes], board: Board, *, number: int) -> tuple[str, tuple[int, ...]]:
        """Kills the process, waits for its end, and returns `name` and the words of the board."""
        del number
        child.kill()
        child.wait()
        return self.name, board.words()


class PowerCut:
    """A power cut of an emulated device that has a volatile cache and a real file system.

    One crash in four only kills the process, each time at another aim. Data that the killed life left in the kernel is then
    exposed to the next cut.
    """

    name = "cut"

    def __init__(self, disk: MountedDevice) -> None:
        self._disk = disk

    def folder(self) -> Path:
        """Returns the folder of the store, on the emulated device."""
        return self._disk.mount_point / "store"

    def end(self, child: Popen[bytes], board: Board, *, number: int) -> tuple[str, tuple[int, ...]]:
        """Cuts the power, kills the process that still runs, and returns the name of the crash and the words of the board.

        Ticks that the process commits after the cut do not count. The name is "kill" for a crash that cuts no power.
        """
        before = board.words()
        is_cut = not kills_only(number)
        if is_cut:
            self._disk.cut(random.Random(number).choice((0.0, 0.3, 0.8, 1.0)), seed=number)  # noqa: S311 - nothing secret
        child.kill()
        child.wait()
        return (self.name, before) if is_cut else (ProcessKill.name, board.words())


def kills_only(number: int) -> bool:
    """Returns whether the crash with this number only kills the process in a campaign of power cuts.

    Each round of aims begins one crash further, because otherwise some aims would never be killed without a cut.
    """
    return (number + number // len(AIMED)) % 4 == 1


CUT_DEVICE = DeviceModel.model_validate(
    {
        "name": "cut",
        "read_latency_ns": 20_000,
        "write_latency_ns": {"median_ns": 200_000, "p99_ns": 2_000_000},
        "flush_latency_ns": {"median_ns": 1_000_000, "p99_ns": 5_000_000},
    }
)
"""Device for power cuts. It is so slow that many writes are not flushed at any time."""


@contextmanager
def cutter(model: DeviceModel = CUT_DEVICE, *, size_bytes: int = 1 << 30) -> Iterator[PowerCut]:
    """Brings up an emulated device whose power can be cut, with the default file system (ext4) on it, and removes it at the end.

    Raises TickdiskError if this machine cannot emulate such a device.
    """
    with device.up(model, size_bytes=size_bytes, floor_ns=0, volatile=True) as disk:
        yield PowerCut(disk)


def campaign(
    setting: Setting, ender: CrashMethod, crashes: int, *, seed: int = 1, aims: Sequence[str] = AIMED
) -> Iterator[Crash]:
    """Crashes lives of one store, recovers the state after each crash, and compares it with the expected state.

    Each life plays on from the state that the life before it left. Each crash is aimed at the next phase of `aims`, in turn, and
    comes at a random time after the phase has begun. The last committed tick is read before the crash, so the recovered state may
    contain one more commit, which was under way at that moment.

    The folder, the seed and the way in which updates are handed over are replaced in `setting` for each life. The folder of
    `ender` must be empty. Raises TickdiskError if it is not, if a life fails or hangs, or if ticks that an earlier recovery had
    found are missing.
    """
    draw = random.Random(f"{seed} {setting.algorithm} {ender.name}")  # noqa: S311 - nothing secret
    truth, folder = World(setting.cells), ender.folder()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise TickdiskError(f"{folder} is not empty, and crash tests begin with a new state; give another folder")
    for number in range(crashes):
        updates = replace(setting.updates, seed=draw.getrandbits(32))
        own = replace(setting, folder=folder, updates=updates, one_by_one=draw.random() < _ONE_BY_ONE)
        aimed = aims[number % len(aims)]
        with temporary.folder() as scratch:
            board = Board(scratch / "board")
            with started(own, scratch, board=scratch / "board") as child:
                _wait(child, board, aimed, draw)
                if child.poll() is not None:
                    raise failure(own, child.returncode, child.stderr.read() if child.stderr else b"")
                how, words = ender.end(child, board, number=number)
            board.close()
        state = recover(folder, setting.cells)
        if state.tick < truth.tick:
            gone = f"only tick {state.tick} was recovered after crash {number}, and tick {truth.tick} was there before it"
            raise TickdiskError(f"{folder}, algorithm {setting.algorithm}: {gone}")
        truth.play(own.updates.open(), state.tick - truth.tick)
        yield Crash(
            algorithm=setting.algorithm,
            how=how,
            aimed=aimed,
            phases=(PHASES[words[0]], PHASES[words[1]], PHASES[words[2]]),
            tick=words[_TICK],
            committed=words[_COMMITTED],
            recovered=state.tick,
            image_tick=state.image_tick,
            is_exact=state.digest == truth.digest(),
            is_lost=state.tick < words[_COMMITTED],
            findings=len(state.findings),
        )


def _wait(child: Popen[bytes], board: Board, aimed: str, draw: random.Random) -> None:
    """Waits for the first commit, then for the aimed phase (at most 3 s), then for a random time; for START only the last."""
    if aimed == START:
        time.sleep(draw.uniform(0, _MOST_START_S))
        return
    deadline = time.monotonic() + _START_S
    while board.words()[_COMMITTED] == 0:
        if child.poll() is not None:
            return
        if time.monotonic() > deadline:
            raise TickdiskError(f"the life committed no tick within {_START_S:g} s; check that the disk completes its requests")
        time.sleep(0.001)
    time.sleep(draw.uniform(0, 0.1))
    deadline = time.monotonic() + _PATIENCE_S
    while not board.phase(aimed) and time.monotonic() < deadline:
        pass
    until = time.monotonic() + draw.uniform(0, _MOST_DELAY_S[aimed])
    while time.monotonic() < until:
        pass
