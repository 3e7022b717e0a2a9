"""Has a program make random calls that read, write and move in files, and sees from outside where each truly read or wrote.

The calls are made by processes of `position_worker.c`. This module tells them what to do, one at a time, so that they have an
order. It asks /proc for positions, and reads the files to find what was written, so that nothing of this is in a trace.
"""

import os
import random
import re
import socket
import stat
import struct
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = {
    "read": 0,
    "write": 1,
    "open": 2,
    "close": 3,
    "lseek": 8,
    "pread64": 17,
    "pwrite64": 18,
    "readv": 19,
    "writev": 20,
    "dup": 32,
    "dup2": 33,
    "sendfile": 40,
    "fcntl": 72,
    "truncate": 76,
    "ftruncate": 77,
    "rename": 82,
    "link": 86,
    "unlink": 87,
    "openat": 257,
    "splice": 275,
    "fallocate": 285,
    "dup3": 292,
    "pipe2": 293,
    "preadv": 295,
    "pwritev": 296,
    "renameat2": 316,
    "copy_file_range": 326,
    "preadv2": 327,
    "pwritev2": 328,
}
FORK, EXECUTE, END = -1, -2, -3
BLOCK, LONGEST, FARTHEST, NAMES, WORKERS, MOST_FILES = 4096, 5000, 40_000, 5, 4, 10
RWF_DSYNC, RWF_APPEND, RWF_NOAPPEND = 2, 0x10, 0x20
KEEP_SIZE, PUNCH_HOLE, COLLAPSE, ZERO, INSERT = 1, 2, 8, 16, 32
EXCHANGE = 2
F_DUPFD, F_SETFL, F_DUPFD_CLOEXEC = 0, 4, 1030
WAIT_S = 30
TOLERANCE_NS = 200_000
NEAR = 31
"""Number of calls around one that tell how far apart two clocks are."""


@dataclass(frozen=True)
class Moved:
    """A read or a write that truly happened. `offset` is where it began, and `ino` names the file."""

    serial: int
    call: str
    op: str
    process: int
    ino: int
    offset: int
    result: int
    begin_ns: int
    end_ns: int


class Oracle:
    """The processes of the program, and what they did. `connected` has to be called once after the program was started."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw, self.serial = folder, random.Random(seed), 0  # noqa: S311 - not for secrets
        folder.mkdir()
        self.address = folder.with_name("s")
        self.moved: list[Moved] = []
        self.calls, self.refused = Counter[str](), Counter[str]()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(str(self.address))
        self._listening.listen()
        self._listening.settimeout(WAIT_S)
        self._workers: dict[int, socket.socket] = {}
        self._last = (0, 0)

    def connected(self) -> int:
        worker, _ = self._listening.accept()
        worker.settimeout(WAIT_S)
        assert worker.recv(100) == b"ready"
        (pid,) = struct.unpack("ixxxxxxxx", worker.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        self._workers[pid] = worker
        return int(pid)

    def run(self, calls: int) -> None:
        """Has the program make so many calls, and end."""
        while self.calls.total() < calls:
            self.step()
        for worker in reversed(self._workers.values()):
            worker.send(str(END).encode())
            assert worker.recv(1) == b""
            worker.close()
        self._listening.close()

    def step(self) -> None:
        self.serial += 1
        pid = self.draw.choice(list(self._workers))
        fds = self.files(pid)
        kinds: dict[Callable[[int, list[int]], None], float] = {self.open: 7 if len(fds) < MOST_FILES else 0, self.process: 0.6}
        if fds:
            kinds |= {
                self.close: 3,
                self.duplicate: 4,
                self.set_flags: 4,
                self.at_position: 28,
                self.placed: 12,
                self.flagged: 14,
            }
            kinds |= {self.seek: 9, self.cut: 4, self.allocate: 6, self.copy: 9, self.splice: 4, self.name: 3}
        self.draw.choices(list(kinds), list(kinds.values()))[0](pid, fds)

    def files(self, pid: int) -> list[int]:
        """Returns the descriptors of a process that are open on files of the folder."""
        return [fd for fd, link in self._links(pid) if link.startswith(f"{self.folder}/")]

    def _links(self, pid: int) -> list[tuple[int, str]]:
        return [(int(link.name), str(link.readlink())) for link in sorted(Path(f"/proc/{pid}/fd").iterdir())]

    def told(self, pid: int, fd: int) -> tuple[int, int]:
        """Returns the position and the flags of a descriptor."""
        text = Path(f"/proc/{pid}/fdinfo/{fd}").read_text()
        position, flags = re.search(r"pos:\s(\d+)", text), re.search(r"flags:\s(\d+)", text)
        assert position
        assert flags
        return int(position[1]), int(flags[1], 8)

    def about(self, pid: int, fd: int) -> os.stat_result:
        return Path(f"/proc/{pid}/fd/{fd}").stat()

    def content(self, pid: int, fd: int) -> bytes:
        return Path(f"/proc/{pid}/fd/{fd}").read_bytes()

    def ask(self, pid: int, name: str, *words: object) -> int:
        """Has a process make a call, and returns its result, or the negative errno."""
        worker, begin_ns = self._workers[pid], time.monotonic_ns()
        worker.send(" ".join(map(str, (NUMBERS[name], *words))).encode())
        result = int(worker.recv(100))
        self._last = (begin_ns, time.monotonic_ns())
        self.calls[name] += 1
        self.refused[name] += result < 0
        return result

    def path(self) -> Path:
        return self.folder / f"f{self.draw.randrange(NAMES)}"

    def open(self, pid: int, _fds: list[int], /) -> None:
        choice = self.draw.choice
        flags = choice([os.O_RDWR] * 5 + [os.O_WRONLY, os.O_RDONLY]) | choice([os.O_CREAT] * 4 + [0, os.O_CREAT | os.O_EXCL])
        flags |= (
            choice([0, 0, os.O_APPEND])
            | choice([0, 0, 0, os.O_TRUNC])
            | choice([0, 0, os.O_CLOEXEC])
            | choice([0] * 6 + [os.O_DSYNC])
        )
        if flags & os.O_ACCMODE == os.O_RDONLY:
            flags &= ~os.O_TRUNC
        if self.draw.random() < 0.5:
            self.ask(pid, "openat", -100, f"s:{self.path()}", flags, 0o644)
        else:
            self.ask(pid, "open", f"s:{self.path()}", flags, 0o644)

    def process(self, pid: int, _fds: list[int], /) -> None:
        """Begins another process, or another program in one, or ends one."""
        worker, kind = self._workers[pid], self.draw.choice([FORK, FORK, EXECUTE, END])
        if kind == FORK and len(self._workers) < WORKERS:
            worker.send(str(FORK).encode())
            child = int(worker.recv(100))
            assert self.connected() == child
        elif kind == EXECUTE:
            worker.send(str(EXECUTE).encode())
            worker.close()
            assert self.connected() == pid
        elif kind == END and pid != next(iter(self._workers)):  # perf ends with the first one
            worker.send(str(END).encode())
            assert worker.recv(1) == b""
            worker.close()
            del self._workers[pid]

    def close(self, pid: int, fds: list[int]) -> None:
        self.ask(pid, "close", self.draw.choice(fds))

    def duplicate(self, pid: int, fds: list[int]) -> None:
        fd, other = self.draw.choice(fds), self.draw.choice([*fds, 50])
        match self.draw.choice(["dup", "dup2", "dup3", "fcntl"]):
            case "dup":
                self.ask(pid, "dup", fd)
            case "dup2":
                self.ask(pid, "dup2", fd, other)
            case "dup3":
                self.ask(pid, "dup3", fd, other, self.draw.choice([0, os.O_CLOEXEC]))
            case _:
                self.ask(pid, "fcntl", fd, self.draw.choice([F_DUPFD, F_DUPFD_CLOEXEC]), 20)

    def set_flags(self, pid: int, fds: list[int]) -> None:
        self.ask(pid, "fcntl", self.draw.choice(fds), F_SETFL, self.draw.choice([0, os.O_APPEND, os.O_APPEND | os.O_NONBLOCK]))

    def at_position(self, pid: int, fds: list[int]) -> None:
        fd, length = self.draw.choice(fds), self.draw.choice([0, *[self.draw.randrange(1, LONGEST)] * 20])
        name = self.draw.choice(["read", "write", "readv", "writev"])
        if name.startswith("read"):
            self.read(pid, fd, name, length, None)
        else:
            self.write(pid, fd, name, length, ())

    def placed(self, pid: int, fds: list[int]) -> None:
        fd, length, offset = self.draw.choice(fds), self.draw.randrange(1, LONGEST), self.draw.randrange(FARTHEST)
        name = self.draw.choice(["pread64", "pwrite64", "preadv", "pwritev"])
        if name.startswith("pread"):
            self.read(pid, fd, name, length, offset)
        else:
            self.write(pid, fd, name, length, (offset,))

    def flagged(self, pid: int, fds: list[int]) -> None:
        fd, length = self.draw.choice(fds), self.draw.randrange(1, LONGEST)
        offset = self.draw.choice([-1, self.draw.randrange(FARTHEST)])
        if self.draw.random() < 0.4:
            self.read(pid, fd, "preadv2", length, offset)
        else:
            flags = self.draw.choice([0, 0, RWF_DSYNC, RWF_APPEND, RWF_NOAPPEND, RWF_APPEND | RWF_DSYNC])
            # The kernel takes the offset in two halves, and -1 only if both have it.
            self.write(pid, fd, "pwritev2", length, (offset, -1 if offset < 0 else 0, flags))

    def read(self, pid: int, fd: int, name: str, length: int, offset: int | None) -> None:
        words = [f"v:{length}:0", 2] if "v" in name else [f"b:{length}:0", length]
        words += [] if offset is None else [offset]
        before, ino = self.told(pid, fd)[0], self.about(pid, fd).st_ino
        result = self.ask(pid, name, fd, *words, *([-1 if offset == -1 else 0, 0] if name == "preadv2" else []))
        if result >= 0:
            moves = offset in (None, -1)
            assert self.told(pid, fd)[0] == before + (result if moves else 0)
            place = before if offset is None or offset < 0 else offset
            self.moved.append(Moved(self.serial, name, "read", pid, ino, place, result, *self._last))

    def write(self, pid: int, fd: int, name: str, length: int, rest: tuple[int, ...]) -> None:
        before, ino, position = self.content(pid, fd), self.about(pid, fd).st_ino, self.told(pid, fd)[0]
        absent = [byte for byte in range(1, 256) if byte not in before]
        byte = self.draw.choice(absent)
        words = [f"v:{length}:{byte}", 2] if "v" in name else [f"b:{length}:{byte}", length]
        result = self.ask(pid, name, fd, *words, *rest)
        if result > 0:
            after = self.content(pid, fd)
            place = after.index(byte)
            assert after[place : place + result] == bytes([byte]) * result
            self.moved.append(Moved(self.serial, name, "write", pid, ino, place, result, *self._last))
        elif result == 0:
            self.moved.append(Moved(self.serial, name, "write", pid, ino, position, result, *self._last))

    def seek(self, pid: int, fds: list[int]) -> None:
        whence = self.draw.choice([os.SEEK_SET, os.SEEK_CUR, os.SEEK_END, os.SEEK_END, os.SEEK_DATA, os.SEEK_HOLE])
        self.ask(pid, "lseek", self.draw.choice(fds), self.draw.choice([0, self.draw.randrange(-500, 8000)]), whence)

    def cut(self, pid: int, fds: list[int]) -> None:
        size = self.draw.randrange(60_000)
        if self.draw.random() < 0.5:
            self.ask(pid, "ftruncate", self.draw.choice(fds), size)
        else:
            self.ask(pid, "truncate", f"s:{self.path()}", size)

    def allocate(self, pid: int, fds: list[int]) -> None:
        mode = self.draw.choice([0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO, ZERO | KEEP_SIZE, COLLAPSE, INSERT])
        step = BLOCK if mode in (COLLAPSE, INSERT) else 1
        offset, length = (step * self.draw.randrange(1, most // step) for most in (16_384, 12_288))
        fd = self.draw.choice(fds)
        if self.about(pid, fd).st_size < 100_000:
            self.ask(pid, "fallocate", fd, mode, offset, length)

    def copy(self, pid: int, fds: list[int]) -> None:
        source, target, length = self.draw.choice(fds), self.draw.choice(fds), self.draw.randrange(1, LONGEST)
        at = [self.draw.choice([None, self.draw.randrange(30_000)]) for _ in range(2)]
        name = self.draw.choice(["copy_file_range", "sendfile"])
        if name == "sendfile":
            at[1] = None
        if source == target or self.about(pid, source).st_ino == self.about(pid, target).st_ino:
            return
        pointers = [0 if place is None else f"p:{place}" for place in at]
        if name == "sendfile":
            words: list[object] = [target, source, pointers[0], length]
        else:
            words = [source, pointers[0], target, pointers[1], length, 0]
        self.moving(pid, name, words, [("read", source, at[0]), ("write", target, at[1])])

    def splice(self, pid: int, fds: list[int]) -> None:
        """Splices from a file to a pipe or from the pipe to a file."""
        pipe = [fd for fd, link in self._links(pid) if link.startswith("pipe:") and fd > 2]
        if len(pipe) < 2:
            self.ask(pid, "pipe2", "p:0", 0)
            pipe = [fd for fd, link in self._links(pid) if link.startswith("pipe:") and fd > 2]
        fd, at = self.draw.choice(fds), self.draw.choice([None, self.draw.randrange(30_000)])
        pointer = 0 if at is None else f"p:{at}"
        nonblocking = 2
        if self.draw.random() < 0.5:
            words: list[object] = [fd, pointer, pipe[-1], 0, self.draw.randrange(1, LONGEST), nonblocking]
            self.moving(pid, "splice", words, [("read", fd, at)])
        else:
            self.moving(
                pid, "splice", [pipe[-2], 0, fd, pointer, self.draw.randrange(1, LONGEST), nonblocking], [("write", fd, at)]
            )

    def moving(self, pid: int, name: str, words: list[object], ends: list[tuple[str, int, int | None]]) -> None:
        """Has a process copy bytes, and notes the reads and writes on the files at its ends."""
        inos = [self.about(pid, fd).st_ino for _, fd, _ in ends]
        result = self.ask(pid, name, *words)
        if result > 0:
            for (op, fd, at), ino in zip(ends, inos, strict=True):
                place = self.told(pid, fd)[0] - result if at is None else at
                self.moved.append(Moved(self.serial, name, op, pid, ino, place, result, *self._last))

    def name(self, pid: int, _fds: list[int], /) -> None:
        path, other = f"s:{self.path()}", f"s:{self.path()}"
        match self.draw.choice(["unlink", "rename", "link", "renameat2"]):
            case "unlink":
                self.ask(pid, "unlink", path)
            case "rename":
                self.ask(pid, "rename", path, other)
            case "link":
                self.ask(pid, "link", path, other)
            case _:
                self.ask(pid, "renameat2", -100, path, -100, other, self.draw.choice([0, 1, EXCHANGE]))

    def sizes(self) -> dict[str, int]:
        """Returns the sizes of the files that have names now."""
        found = {}
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                about = path.stat()
                if stat.S_ISREG(about.st_mode):
                    found[str(path)] = about.st_size
        return found


@dataclass
class Compared:
    """The comparison of a trace with what truly happened."""

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    """Numbers of reads and writes whose place the trace does not tell, by call."""
    absent: Counter[str] = field(default_factory=Counter)
    """Numbers of reads and writes that the trace leaves out, by call."""

    def __str__(self) -> str:
        total = self.right + len(self.wrong) + self.unknown.total() + self.absent.total()
        parts = f"{self.right} right, {len(self.wrong)} wrong, null {dict(self.unknown)}, no row {dict(self.absent)}"
        return f"{total} positions, {parts}"


def compare(moved: list[Moved], requests: pd.DataFrame, *, is_monotonic: bool = True) -> Compared:
    """Compares the reads and writes of a trace with those that happened at the same times. A clock that is not monotonic
    time moves slowly against it.
    """
    rows = requests[requests["op"].isin(["read", "write"]) & (requests["errno"].fillna(0) == 0) & requests["start_ns"].notna()]
    seen = defaultdict[tuple[object, ...], list[tuple[int, Any]]](list)
    for call, op, thread, result, start_ns, offset in rows[["call", "op", "thread", "result", "start_ns", "offset"]].to_numpy():
        seen[call, op, thread, result].append((int(start_ns), offset))
    wanted = Counter((one.call, one.op, one.process, one.result) for one in moved)
    alone = [
        (one.begin_ns, seen[key][0][0] - one.begin_ns)
        for one in moved
        if wanted[key := (one.call, one.op, one.process, one.result)] == 1 and len(seen[key]) == 1
    ]
    begins, apart = zip(*([(0, 0)] if is_monotonic else alone), strict=True)
    smooth = pd.Series(apart).rolling(NEAR, center=True, min_periods=1).median()
    compared = Compared()
    for one in moved:
        apart_ns = int(np.interp(one.begin_ns, begins, smooth))
        found = [
            offset
            for start_ns, offset in seen[one.call, one.op, one.process, one.result]
            if one.begin_ns - TOLERANCE_NS <= start_ns - apart_ns <= one.end_ns + TOLERANCE_NS
        ]
        if len(found) != 1:
            compared.absent[one.call] += 1
        elif pd.isna(found[0]):
            compared.unknown[one.call] += 1
        elif int(found[0]) == one.offset:
            compared.right += 1
        else:
            compared.wrong.append(f"{one} is at {found[0]} in the trace")
    return compared
