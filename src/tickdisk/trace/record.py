"""Records captures: starts a tool on processes, stops it when all events are written, and keeps its raw output."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import zstandard

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import json_of, whole
from tickdisk.foundation.process import state_of
from tickdisk.trace import bpftrace, strace
from tickdisk.trace.cgroup import Cgroup, is_captured
from tickdisk.trace.launch import Command, Launched
from tickdisk.trace.output import Ending, Output
from tickdisk.trace.snapshot import snapshot

Tool = Literal["bpftrace", "strace", "strace_positioned"]
"""A capture tool. `strace_positioned` is strace for pread64 and pwrite64 only."""
RAW = "capture.txt"
"""Name of the file of a raw capture."""
_FACTS = b"\n# "
_NEEDED = ("tool", "version", "processes", "started_ns", "ended_ns")
"""Facts of every tool."""
_FIRST_LINES = re.compile(
    rb"Attaching \d+ probes\.\.\.\n(?:@[a-z]+\d?\[|(?:beat|thread|path|to|newtask|end|exec|inode) \d+ \d+ \d+ )"
)
_FIRST_BYTES = 1 << 18
"""Number of bytes that have the first lines, also if they are compressed: a block of zstd has at most half as many."""
_ZSTD = b"\x28\xb5\x2f\xfd"
"""The first bytes of a file that zstd compressed."""
Target = int | Cgroup | Command
"""The processes to capture: a running process by its number, the members of a cgroup, or a command that is to be started."""


@dataclass(frozen=True)
class RawCapture:
    """The finished file of a capture: the tool's output, and in its last line, as JSON, the facts that are needed to read it."""

    path: Path
    """The file, plain or compressed with zstd."""

    @cached_property
    def _parts(self) -> tuple[bytes, dict[str, Any]]:
        raw = self.path.read_bytes()
        if raw.startswith(_ZSTD):
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        text, separator, facts = raw.rpartition(_FACTS)
        if not separator:
            raise TickdiskError(f"{self.path} is not a complete capture, because its last line has no facts; capture again")
        known = json_of(facts, str(self.path), "capture again")
        if not (isinstance(known, dict) and known.keys() >= set(_NEEDED)):
            raise TickdiskError(f"{self.path} is not a capture, because its last line lacks {', '.join(_NEEDED)}; capture again")
        return text, known

    @property
    def text(self) -> bytes:
        """The tool's own output."""
        return self._parts[0]

    @property
    def facts(self) -> dict[str, Any]:
        """Tool, version, start, end, the snapshots of the processes at the start, and what the tool adds at its end."""
        return self._parts[1]

    def keep(self, folder: Path) -> None:
        """Writes a copy of the file to a folder, compressed with zstd and with .zst at the end of its name."""
        with whole(folder / f"{self.path.name}.zst") as partial, self.path.open("rb") as source, partial.open("wb") as target:
            zstandard.ZstdCompressor(level=6).copy_stream(source, target)


def is_raw_capture(path: Path) -> bool:
    """Returns whether a file, plain or compressed with zstd, begins like a raw capture of bpftrace. A missing file does not."""
    first = b""
    with suppress(OSError, zstandard.ZstdError):
        if path.is_file():
            with path.open("rb") as file:
                first = file.read(_FIRST_BYTES)
            if first.startswith(_ZSTD):
                first = zstandard.ZstdDecompressor().decompressobj().decompress(first)
    return _FIRST_LINES.match(first) is not None


class Recording:
    """A running capture, made by `start`. Leaving it as a context manager ends all that `start` began. `command` is the started
    command, or None, and `output` what the tool writes.
    """

    def __init__(
        self, tool: Tool, tracer: "bpftrace.Bpftrace | strace.Strace", output: Output, logs: Path, command: Launched | None
    ) -> None:
        self.tool: Tool = tool
        self.command, self.output = command, output
        self._tracer, self._logs = tracer, logs
        self._resources = ExitStack()
        self._facts: dict[str, Any] = {}
        self._end: Ending | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    @property
    def pid(self) -> int:
        """The number of the tool's process, whose processor time is part of the overhead of capturing."""
        return self._tracer.pid

    def halt(self, gives_up: Callable[[], bool] | None = None) -> None:
        """Waits until all events are written, and ends the tool. A command goes on, and is not captured any more.

        If that fails, TickdiskError is raised. With `gives_up`, the capture is kept instead, and ends when its last whole part
        does. The wait also ends when `gives_up` returns True.
        """
        self._end = self._tracer.stop(gives_up)

    def stop(self, gives_up: Callable[[], bool] | None = None) -> RawCapture:
        """Ends the command and, unless it has ended already, the tool (`halt`), and returns what it wrote."""
        with self._resources:
            if self.command is not None:
                self.command.end()
            if self._end is None:
                self.halt(gives_up)
            assert self._end is not None
        facts = _FACTS + json.dumps(self._facts | asdict(self._end)).encode()
        return RawCapture(_with_facts(self.output.whole(), facts, self._logs))

    def begin(self, resources: ExitStack, pids: Sequence[int], asked_ns: int | None) -> None:
        """Takes snapshots of the processes `pids`, lets the command run, and takes over `resources`. `start` calls it."""
        processes, started_ns = [snapshot(pid) for pid in pids], time.monotonic_ns()
        self._facts = {"tool": self.tool, "processes": processes, "started_ns": started_ns}
        if self.command is None and asked_ns is not None:
            self._facts |= {"missed_ns": started_ns - asked_ns, "children": sum(map(_children, pids))}
        self._resources = resources.pop_all()
        if self.command is not None:
            self.command.proceed()


def _children(pid: int) -> int:
    """Returns how many processes a process has started that run now."""
    states = (state_of(int(path.name)) for path in Path("/proc").glob("[0-9]*"))
    return sum(state is not None and state.parent == pid and not state.has_ended for state in states)


def _with_facts(raw: Path, facts: bytes, elsewhere: Path) -> Path:
    """Writes the last line of a raw capture, and returns its file, which is a copy in `elsewhere` if there is no room."""
    size = raw.stat().st_size
    try:
        with raw.open("ab") as file:
            file.write(facts)
    except OSError:
        os.truncate(raw, size)
        copy = elsewhere / raw.name
        elsewhere.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(raw, copy)
        return _with_facts(copy, facts, elsewhere)
    return raw


def start(
    tool: Tool,
    *,
    target: Target,
    folder: Path,
    logs: Path,
    cores: Sequence[int] | None = None,
    asked_ns: int | None = None,
) -> Recording:
    """Starts a capture, and returns when the tool is attached. `asked_ns` is the time from which a user expects a running process
    to be captured, so that the capture tells how much of it is missing.

    bpftrace captures the members of a cgroup v2. If the target is not a cgroup, a new cgroup holds it until the capture ends.
    strace captures a command, or the processes that run at the start, and their children. `folder` gets the raw output and should
    lie in memory, so that the output causes no requests to a disk. `logs` gets the tool's messages. Raises TickdiskError if the
    target does not run, or if the tool cannot run or attach.
    """
    folder.mkdir(parents=True, exist_ok=True)
    output = Output(folder / RAW)
    output.path.unlink(missing_ok=True)
    if isinstance(target, int) and not Path(f"/proc/{target}").exists():
        raise TickdiskError(f"process {target} does not run; start it first")
    with ExitStack() as resources:
        command = None
        words = strace.words(tool, output.path) if tool != "bpftrace" else []
        if isinstance(target, Command):
            command = resources.enter_context(Launched(target, [*words, *strace.COMMAND_OPTIONS] if words else []))
            pids = [command.pid]
        else:
            pids = [pid for pid in target.members() if pid != os.getpid()] if isinstance(target, Cgroup) else [target]
        tracer: bpftrace.Bpftrace | strace.Strace
        if tool == "bpftrace":
            if isinstance(target, int) and is_captured(target):
                raise TickdiskError(f"process {target} is being captured already; wait until that capture has ended")
            group = target if isinstance(target, Cgroup) else resources.enter_context(Cgroup(below=pids[0]))
            for pid in [] if group is target else pids:
                group.add(pid)
            tracer = bpftrace.Bpftrace(group.id, output.path, logs, cores)
        else:
            tracer = strace.Strace(words, pids, output, logs, cores, started=command is not None)
        resources.callback(tracer.kill)
        recording = Recording(tool, tracer, output, logs, command)
        recording.begin(resources, pids, asked_ns)
        return recording
