"""Crashes: lives that end with a kill, or with the power, at random instants; what is found then is held against a safe world."""

import mmap
import random
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryDirectory
from typing import Protocol

from tickdisk import device
from tickdisk._native import World
from tickdisk.device import DeviceModel, MountedDevice
from tickdisk.errors import TickdiskError
from tickdisk.store.life import Setting, failure, started
from tickdisk.store.recovery import recover

PHASES = ("idle", "update", "copy", "write", "sync", "switch", "commit")
_ROLES = {"copy": 0, "write": 1, "sync": 1, "switch": 1, "commit": 2}
"""Which thread is in a phase: game, writer, committer."""
_TICK, _COMMITTED, _WORDS = 3, 4, 5
_PATIENCE_S = 3.0
_START_S = 60.0
_MOST_DELAY_S = {"copy": 0.002, "write": 0.05, "sync": 0.02, "switch": 0.002, "commit": 0.01}
START = "start"
"""Not a phase of a thread: from the life's first moment on, when it finds its world and readies the folder."""
AIMED = (*_ROLES, START)
_MOST_START_S = 0.3
_ONE_BY_ONE = 0.5
"""Of the lives, those that take updates one by one."""


@dataclass(frozen=True)
class Crash:
    """One crash, and what came after."""

    algorithm: str
    how: str
    aimed: str
    """The phase that the crash was aimed at."""
    phases: tuple[str, str, str]
    """In which game, writer and committer were when it came."""
    tick: int
    """That was being played."""
    committed: int
    recovered: int
    image_tick: int
    is_exact: bool
    """Whether the recovered state is that of the end of the recovered tick."""
    is_lost: bool
    """Whether a committed tick is missing."""
    findings: int

    @property
    def is_survived(self) -> bool:
        """Whether the world is right."""
        return self.is_exact and not self.is_lost


class Board:
    """Where a life's threads are: words that outlive its process."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(4096))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 4096)

    def words(self) -> tuple[int, ...]:
        """Returns the phases of game, writer and committer, the tick that is played, and the last committed one."""
        return struct.unpack_from(f"<{_WORDS}Q", self._map)

    def phase(self, aimed: str) -> bool:
        """Returns whether a phase is on now."""
        word: int = struct.unpack_from("<Q", self._map, 8 * _ROLES[aimed])[0]
        return word == PHASES.index(aimed)

    def close(self) -> None:
        """Gives the memory back."""
        self._map.close()


class Ender(Protocol):
    """A way to end a life."""

    name: str

    def folder(self) -> Path:
        """Returns where the store is."""
        ...

    def end(self, child: Popen[bytes], board: Board, *, number: int) -> tuple[str, tuple[int, ...]]:
        """Ends the life at once; returns how, and the board's words of that moment."""
        ...


class Killer:
    """Kills the process: what the kernel has, it keeps."""

    name = "kill"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self) -> Path:
        """Returns where the store is."""
        return self._folder

    def end(self, child: Popen[bytes], board: Board, *, number: int) -> tuple[str, tuple[int, ...]]:
        """Kills and waits; `number` makes no difference."""
        del number
        child.kill()
        child.wait()
        return self.name, board.words()


class Cutter:
    """Cuts the power of an emulated device with a volatile cache, below a real file system.

    Every fourth crash is a kill alone, so that what a killed life left in the kernel meets the next cut.
    """

    name = "cut"

    def __init__(self, disk: MountedDevice) -> None:
        self._disk = disk

    def folder(self) -> Path:
        """Returns where the store is."""
        return self._disk.mount_point / "store"

    def end(self, child: Popen[bytes], board: Board, *, number: int) -> tuple[str, tuple[int, ...]]:
        """Cuts, and kills what still runs without power. What is said to be committed after the cut does not count."""
        before = board.words()
        is_cut = number % 4 != 1
        if is_cut:
            self._disk.cut(random.Random(number).choice((0.0, 0.3, 0.8, 1.0)), seed=number)  # noqa: S311 - nothing secret
        child.kill()
        child.wait()
        return (self.name, before) if is_cut else (Killer.name, board.words())


CUT_DEVICE = DeviceModel.model_validate(
    {
        "name": "cut",
        "read_latency_ns": 20_000,
        "write_latency_ns": {"median_ns": 200_000, "p99_ns": 2_000_000},
        "flush_latency_ns": {"median_ns": 1_000_000, "p99_ns": 5_000_000},
    }
)
"""Slow enough that much is unflushed whenever it is cut."""


@contextmanager
def cutter(model: DeviceModel = CUT_DEVICE, *, size_bytes: int = 1 << 30) -> Iterator[Cutter]:
    """Yields a device whose power can be cut, with ext4 on it."""
    with device.up(model, size_bytes=size_bytes, floor_ns=0, volatile=True) as disk:
        yield Cutter(disk)


def campaign(setting: Setting, ender: Ender, crashes: int, *, seed: int = 1, aims: Sequence[str] = AIMED) -> Iterator[Crash]:
    """Yields `crashes` crashes of one store, each life playing on from what the last one left.

    A crash is aimed at a phase of `aims` in turn, and comes at a random time after it has begun. The last committed tick is read
    before the crash, so a commit that is being said at that moment may be there as well.
    """
    draw = random.Random(f"{seed} {setting.algorithm} {ender.name}")  # noqa: S311 - nothing secret
    truth, folder = World(setting.cells), ender.folder()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise TickdiskError(f"{folder} is not empty: crashes are counted from a new world on; give another folder")
    for number in range(crashes):
        updates = replace(setting.updates, seed=draw.getrandbits(32))
        own = replace(setting, folder=folder, updates=updates, one_by_one=draw.random() < _ONE_BY_ONE)
        aimed = aims[number % len(aims)]
        with TemporaryDirectory(prefix="tickdisk-crash-") as scratch:
            board = Board(Path(scratch) / "board")
            with started(own, Path(scratch), board=Path(scratch) / "board") as child:
                _wait(child, board, aimed, draw)
                if child.poll() is not None:
                    raise failure(own, child.stderr.read() if child.stderr else b"")
                how, words = ender.end(child, board, number=number)
            board.close()
        found = recover(folder, setting.cells)
        if found.tick < truth.tick:
            gone = f"tick {found.tick} was found after crash {number}, and {truth.tick} was there before it"
            raise TickdiskError(f"{folder}, algorithm {setting.algorithm}: {gone}")
        truth.play(own.updates.open(), found.tick - truth.tick)
        yield Crash(
            algorithm=setting.algorithm,
            how=how,
            aimed=aimed,
            phases=(PHASES[words[0]], PHASES[words[1]], PHASES[words[2]]),
            tick=words[_TICK],
            committed=words[_COMMITTED],
            recovered=found.tick,
            image_tick=found.image_tick,
            is_exact=found.digest == truth.digest(),
            is_lost=found.tick < words[_COMMITTED],
            findings=len(found.findings),
        )


def _wait(child: Popen[bytes], board: Board, aimed: str, draw: random.Random) -> None:
    """Returns a random time after the phase began, or when the life has not been in it for long."""
    if aimed == START:
        time.sleep(draw.uniform(0, _MOST_START_S))
        return
    deadline = time.monotonic() + _START_S
    while board.words()[_COMMITTED] == 0:
        if child.poll() is not None:
            return
        if time.monotonic() > deadline:
            raise TickdiskError(f"no tick was committed within {_START_S:g} s: the life hangs")
        time.sleep(0.001)
    time.sleep(draw.uniform(0, 0.1))
    deadline = time.monotonic() + _PATIENCE_S
    while not board.phase(aimed) and time.monotonic() < deadline:
        pass
    until = time.monotonic() + draw.uniform(0, _MOST_DELAY_S[aimed])
    while time.monotonic() < until:
        pass
