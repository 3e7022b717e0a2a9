"""A small machine of processes, descriptors and files: what it does is known, and written down as bpftrace and strace would."""

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tickdisk import trace
from tickdisk.trace.calls import (
    CALLS,
    CLONE_THREAD,
    F_DUPFD_CLOEXEC,
    F_SETFD,
    F_SETFL,
    O_APPEND,
    O_CLOEXEC,
    O_TRUNC,
    RWF_APPEND,
    RWF_NOAPPEND,
)

FIRST, S = 100, 1_000_000_000
STARTED_NS = 1000 * S
"""CLOCK_MONOTONIC at the start of every made-up capture; realtime is this much and REALTIME_NS."""
REALTIME_NS = 1_700_000_000 * S
BORN_NS = 123_450_000_000
"""Start of the first process since boot: 12,345 clock ticks."""


@dataclass
class Opened:
    path: str | None  # None: a socket
    append: bool = False
    position: int = 0
    storing: str = "buffered"  # of a write


@dataclass
class Process:
    pid: int
    cwd: str
    table: dict[int, tuple[Opened, bool]]
    threads: list[int]


@dataclass(frozen=True)
class Row:
    """A request as it must come out."""

    call: str
    thread: int
    file: str | None
    offset: int | None
    length: int | None
    result: int
    storing: str | None = None


@dataclass
class Machine:
    """Does calls one after another; `rows` are the requests that it made, `bpftrace` and `strace` the lines that tell of them."""

    sizes: dict[str, int]
    processes: list[Process] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    bpftrace: list[str] = field(default_factory=list)
    strace: list[str] = field(default_factory=list)
    now_ns: int = STARTED_NS + 1000
    next_pid: int = FIRST
    has_rings: bool = False

    def __post_init__(self) -> None:
        table = {0: (Opened(None), False), 1: (Opened("/log", append=True), False), 2: (Opened("/data", position=5), True)}
        self.processes.append(Process(self._pid(), "/home", table, [FIRST]))
        self.bpftrace.append(f"thread {FIRST} {FIRST} {self.now_ns} {BORN_NS} 0 0 0 first")
        self.snapshot = {
            "pid": FIRST,
            "started": BORN_NS // 10_000_000,
            "root": "/",
            "cwd": "/home",
            "threads": {str(FIRST): "first"},
            "files": {"1": ["/log", 0o102001, 0, self.sizes["/log"]], "2": ["/data", 0o2100002, 5, self.sizes["/data"]]},
            "maps": [],
            "at_ns": STARTED_NS,
        }

    def facts(self, tool: str) -> dict[str, Any]:
        common = {"tool": tool, "version": "0", "processes": [self.snapshot], "started_ns": STARTED_NS, "ended_ns": self.now_ns}
        own = {
            "clock_offset_ns": 0,
            "lost_printed": 0,
            "missing": [],
            "faults": "filemap:mm_filemap_fault",
            "has_rings": self.has_rings,
        }
        return common | (own if tool == "bpftrace" else {"sizes": self.sizes})

    def write(self, folder: Path, tool: str, lines: list[str] | None = None) -> trace.RawCapture:
        """Writes a capture as `tool` would, of these lines instead of its own if there are some."""
        path = folder / "capture.txt"
        text = "\n".join((self.bpftrace if tool == "bpftrace" else self.strace) if lines is None else lines)
        path.write_text(f"{text}\n# {json.dumps(self.facts(tool))}", encoding="utf-8")
        return trace.RawCapture(path)

    def open(self, process: Process, path: str, flags: int) -> None:
        fd = min(set(range(64)) - process.table.keys())
        absolute = path if path.startswith("/") else f"{process.cwd}/{path}"
        if absolute.endswith("/missing"):
            self._call(process, "openat", (-100, path, flags), -2, Row("openat", 0, absolute, None, None, -2))
            return
        if flags & O_TRUNC:
            self.sizes[absolute] = 0
        storing = "|".join(name for name, bits in _STORING.items() if flags & bits == bits) or "buffered"
        storing = storing.replace("O_SYNC|O_DSYNC", "O_SYNC")
        process.table[fd] = (Opened(absolute, bool(flags & O_APPEND), storing=storing), bool(flags & O_CLOEXEC))
        self.sizes.setdefault(absolute, 0)
        self._call(process, "openat", (-100, path, flags), fd, Row("openat", 0, absolute, None, None, fd))

    def socket(self, process: Process) -> None:
        """Neither tool tells of a socket; what matters is that its number was a file's, or will be."""
        process.table[min(set(range(64)) - process.table.keys())] = (Opened(None), False)

    def read(self, process: Process, fd: int, length: int) -> None:
        self._transfer(process, "read", fd, length)

    def write_at_position(self, process: Process, fd: int, length: int) -> None:
        self._transfer(process, "write", fd, length)

    def _transfer(self, process: Process, name: str, fd: int, length: int) -> None:
        if fd not in process.table:
            self._call(process, name, (fd, "", length), -9, None)
            return
        opened, _ = process.table[fd]
        if opened.path is None:
            self._call(process, name, (fd, "", length), length, None)
            return
        size = self.sizes[opened.path]
        at = size if name == "write" and opened.append and length else opened.position  # nothing written moves nothing
        result = length if name == "write" else max(0, min(length, size - at))
        opened.position = at + result
        if name == "write" and result:
            self.sizes[opened.path] = max(size, at + result)
        self._call(
            process,
            name,
            (fd, "", length),
            result,
            Row(name, 0, opened.path, at, length, result, _as_read(opened, name)),
            opened.position,
        )

    def positioned(self, process: Process, name: str, fd: int, length: int, offset: int) -> None:
        if fd not in process.table or process.table[fd][0].path is None:
            self._call(process, name, (fd, "", length, offset), -29 if fd in process.table else -9, None)
            return
        opened = process.table[fd][0]
        path = str(opened.path)
        result = length if name == "pwrite64" else max(0, min(length, self.sizes[path] - offset))
        place = self.sizes[path] if name == "pwrite64" and opened.append and length else offset
        if name == "pwrite64" and result:
            self.sizes[path] = max(self.sizes[path], place + result)
        row = Row(name, 0, path, place, length, result, _as_read(opened, name))
        self._call(process, name, (fd, "", length, offset), result, row, place)

    def with_flags(self, process: Process, fd: int, length: int, offset: int, flags: int) -> None:
        """A pwritev2 of one buffer, whose flags ask for more than its open file does."""
        arguments = (fd, f'[{{iov_base=""..., iov_len={length}}}]', 1, offset, 0, flags)
        if fd not in process.table or process.table[fd][0].path is None:
            self._call(process, "pwritev2", arguments, -29 if fd in process.table else -9, None, length=length)
            return
        opened = process.table[fd][0]
        appends = flags & RWF_APPEND or (opened.append and not flags & RWF_NOAPPEND)
        place = self.sizes[str(opened.path)] if appends and length else opened.position if offset < 0 else offset
        if offset < 0:
            opened.position = place + length
        if length:
            self.sizes[str(opened.path)] = max(self.sizes[str(opened.path)], place + length)
        words = [opened.storing] if opened.storing != "buffered" else []
        words += [name for name, bit in (("RWF_DSYNC", 2), ("RWF_SYNC", 4)) if flags & bit]
        row = Row("pwritev2", 0, opened.path, place, length, length, "|".join(words) or "buffered")
        self._call(process, "pwritev2", arguments, length, row, place, length=length)

    def seek(self, process: Process, fd: int, offset: int, whence: int) -> None:
        if fd not in process.table or process.table[fd][0].path is None:
            self._call(process, "lseek", (fd, offset, whence), -29, None)
            return
        opened = process.table[fd][0]
        opened.position = offset + (0, opened.position, self.sizes[str(opened.path)])[whence]
        row = Row("lseek", 0, opened.path, opened.position, None, opened.position)
        self._call(process, "lseek", (fd, offset, whence), opened.position, row)

    def dup(self, process: Process, fd: int, name: str, to: int) -> None:
        arguments = {"dup": (fd,), "dup2": (fd, to), "dup3": (fd, to, O_CLOEXEC), "fcntl": (fd, F_DUPFD_CLOEXEC, to)}[name]
        if fd not in process.table:
            self._call(process, name, arguments, -9, None)
            return
        free = sorted(set(range(64)) - process.table.keys())
        opened, _ = process.table[fd]
        new = {"dup": free[0], "fcntl": next(number for number in free if number >= to)}.get(name, to)
        if new != fd:
            process.table[new] = (opened, name in ("dup3", "fcntl"))
        elif name == "dup3":
            new = -22
        row = Row(name, 0, opened.path, None, None, new) if opened.path is not None else None
        self._call(process, name, arguments, new, row)

    def flag(self, process: Process, fd: int, command: int, value: int) -> None:
        """F_SETFD makes exec close a descriptor or not, F_SETFL lets an open file append, or pass by the page cache, or not."""
        if fd in process.table:
            opened = process.table[fd][0]
            if command == F_SETFD:
                process.table[fd] = (opened, bool(value))
            else:
                opened.append = bool(value & O_APPEND)
                words = [word for word in opened.storing.split("|") if word not in ("O_DIRECT", "buffered")]
                opened.storing = "|".join((["O_DIRECT"] if value & os.O_DIRECT else []) + words) or "buffered"
        self._call(process, "fcntl", (fd, command, value), 0 if fd in process.table else -9, None)

    def close(self, process: Process, fd: int) -> None:
        opened = process.table.pop(fd, (None, False))[0]
        row = Row("close", 0, opened.path, None, None, 0) if opened is not None and opened.path is not None else None
        self._call(process, "close", (fd,), 0 if opened is not None else -9, row)

    def chdir(self, process: Process, path: str) -> None:
        process.cwd = path
        self._call(process, "chdir", (path,), 0, None)

    def fork(self, process: Process, *, thread: bool) -> None:
        pid, parent = self._pid(), process.threads[-1]
        flags = CLONE_THREAD if thread else 0
        self.bpftrace.append(f"newtask {process.pid} {parent} {self.now_ns + 5} {pid} {flags} 0 0")
        words = "flags=CLONE_VM|CLONE_THREAD" if thread else "flags=SIGCHLD"
        self.strace.append(f"{parent}  {self._stamp(self.now_ns)} clone(child_stack=NULL, {words}) = {pid} <0.000000010>")
        self.now_ns += 20
        if thread:
            process.threads.append(pid)
        else:
            self.processes.append(Process(pid, process.cwd, dict(process.table), [pid]))

    def execute(self, process: Process) -> None:
        if len(process.threads) > 1:
            return  # the others would end, and the first take the number of the process
        process.table = {fd: entry for fd, entry in process.table.items() if not entry[1]}
        self.bpftrace.append(f"exec {process.pid} {process.pid} {self.now_ns + 5} 1 2 0 0 /bin/program")
        words = '"/bin/program", ["program"], 0x7ffe /* 3 vars */'
        self.strace.append(f"{process.pid}  {self._stamp(self.now_ns)} execve({words}) = 0 <0.000000009>")
        self.now_ns += 20

    def _call(
        self,
        process: Process,
        name: str,
        arguments: tuple[Any, ...],
        result: int,
        row: Row | None,
        after: int = -1,
        *,
        length: int | None = None,
    ) -> None:
        thread, call = process.threads[-1], CALLS[name]
        start, end = self.now_ns, self.now_ns + 7
        self.now_ns += 10
        if row is not None:
            self.rows.append(replace(row, thread=thread))
        x, y, z = (-1 if index is None else arguments[index] for index in (call.fd, call.length, call.offset))
        z, y = after if call.moves or after >= 0 else z, y if length is None else length
        if call.flags is not None:
            x |= arguments[call.flags] << 32
            arguments = (*arguments[:4], arguments[5])  # strace joins the halves of the offset
        half = start // 10 % 2
        self.bpftrace.append(f"@r{half}[{thread}, {start}]: ({call.number}, {process.pid}, {end}, {result}, {x}, {y}, {z})")
        if call.path is not None:
            self.bpftrace.append(f"path {process.pid} {thread} {end + 1} 0 0 0 0 {arguments[call.path]}")
        words = ", ".join(_word(name, index, value) for index, value in enumerate(arguments))
        answer = str(result) if result >= 0 else f"-1 {_ERRNO[-result]} (of some kind)"
        head, tail = f"{thread}  {self._stamp(start)} ", f") = {answer} <0.{end - start:09}>"
        if start // 10 % 3:
            self.strace.append(f"{head}{name}({words}{tail}")
        else:
            self.strace.append(f"{head}{name}({words} <unfinished ...>")
            self.strace.append(f"{thread}  {self._stamp(end)} <... {name} resumed>{tail}")

    def _pid(self) -> int:
        self.next_pid += 1
        return self.next_pid - 1

    @staticmethod
    def _stamp(ns: int) -> str:
        return f"{(REALTIME_NS + ns) // S}.{(REALTIME_NS + ns) % S:09}"


_STORING = {"O_DIRECT": os.O_DIRECT, "O_SYNC": os.O_SYNC, "O_DSYNC": os.O_DSYNC}


def _as_read(opened: Opened, name: str) -> str:
    """How a request to an open file is stored: a read waits for nothing that a write is to store."""
    return opened.storing if "write" in name else "O_DIRECT" if "O_DIRECT" in opened.storing else "buffered"


_ERRNO = {2: "ENOENT", 9: "EBADF", 22: "EINVAL", 29: "ESPIPE"}
_COMMANDS = {F_DUPFD_CLOEXEC: "F_DUPFD_CLOEXEC", F_SETFD: "F_SETFD", F_SETFL: "F_SETFL"}


def _word(name: str, index: int, value: Any) -> str:
    """An argument as strace writes it."""
    if isinstance(value, str) and name != "pwritev2":
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"' + ("..." if name in ("read", "write", "pread64", "pwrite64") else "")
    if value == -100:
        return "AT_FDCWD"
    if name == "fcntl" and index == 1:
        return _COMMANDS[value]
    of_write = {0: "0", 2: "RWF_DSYNC", 4: "RWF_SYNC", RWF_APPEND: "RWF_APPEND", RWF_NOAPPEND: "0x20 /* RWF_??? */"}
    named = {("lseek", 2): dict(enumerate(("SEEK_SET", "SEEK_CUR", "SEEK_END"))), ("pwritev2", 4): of_write}
    if (name, index) in named:
        return named[name, index][value]
    if (name, index) in (("openat", 2), ("dup3", 2)) or (name == "fcntl" and value & (O_APPEND | os.O_DIRECT)):
        flags = {"O_TRUNC": O_TRUNC, "O_APPEND": O_APPEND, "O_CLOEXEC": O_CLOEXEC, **_STORING}
        words = [word for word, bits in flags.items() if value & bits == bits]
        return "|".join(["O_RDWR", *(word for word in words if word != "O_DSYNC" or "O_SYNC" not in words)])
    return str(value)
