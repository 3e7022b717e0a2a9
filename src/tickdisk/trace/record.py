"""Record what processes ask of files and wait for: start a tool on them, stop it, and have its raw output whole."""

import json
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import zstandard

from tickdisk.errors import TickdiskError
from tickdisk.files import whole
from tickdisk.trace import bpftrace, strace
from tickdisk.trace.cgroup import Cgroup
from tickdisk.trace.launch import Command, Launched
from tickdisk.trace.snapshot import snapshot

Tool = Literal["bpftrace", "strace", "strace_positioned"]
RAW = "capture.txt"
_FACTS = b"\n# "
Target = int | Cgroup | Command


@dataclass(frozen=True)
class RawCapture:
    """What a tool wrote, and in the last line what is needed to read it. The file can be compressed (.zst)."""

    path: Path

    @cached_property
    def _parts(self) -> tuple[bytes, dict[str, Any]]:
        raw = self.path.read_bytes()
        if self.path.suffix == ".zst":
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        text, found, facts = raw.rpartition(_FACTS)
        if not found:
            raise TickdiskError(f"{self.path} is no whole capture; capture again")
        return text, json.loads(facts)

    @property
    def text(self) -> bytes:
        """The tool's own output."""
        return self._parts[0]

    @property
    def facts(self) -> dict[str, Any]:
        """Tool, version, start and end, and the processes as they were at the start."""
        return self._parts[1]

    def keep(self, folder: Path) -> None:
        """Keeps the file, as it was written, compressed in `folder`."""
        with whole(folder / f"{self.path.name}.zst") as partial, self.path.open("rb") as source, partial.open("wb") as target:
            zstandard.ZstdCompressor(level=6).copy_stream(source, target)


class Recording:
    """A capture under way. Leaving it as a context manager ends what it has started, if `stop` did not."""

    def __init__(self, tool: Tool, tracer: "bpftrace.Bpftrace | strace.Strace", raw: Path, command: Launched | None) -> None:
        self.tool: Tool = tool
        self.command = command
        self._tracer, self._raw = tracer, raw
        self._resources = ExitStack()
        self._facts: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    @property
    def pid(self) -> int:
        """The tool's process, whose CPU time is part of what looking costs."""
        return self._tracer.pid

    def stop(self) -> RawCapture:
        """Ends a command that still runs, waits until all events are written, and returns the raw capture."""
        with self._resources:
            if self.command is not None:
                self.command.end()
            ended_ns = time.monotonic_ns()
            facts = {**self._facts, "ended_ns": ended_ns, **self._tracer.stop()}
        with self._raw.open("ab") as file:
            file.write(_FACTS + json.dumps(facts).encode())
        return RawCapture(self._raw)

    def begin(self, resources: ExitStack, pids: Sequence[int]) -> None:
        """Takes `resources` over, looks at the processes, and lets the command go."""
        processes = [snapshot(pid) for pid in pids]
        self._facts = {"tool": self.tool, "processes": processes, "started_ns": time.monotonic_ns()}
        self._resources = resources.pop_all()
        if self.command is not None:
            self.command.proceed()


def start(tool: Tool, *, target: Target, folder: Path, logs: Path, cores: Sequence[int] | None = None) -> Recording:
    """Starts `tool` on a process, on the members of a cgroup, or on a command; returns when its probes are attached.

    `folder` lies in memory and takes the raw output, `logs` the tool's messages; the tool runs on `cores`. bpftrace sees what is
    in a cgroup v2: one of our own is made for the time, unless one is given. strace follows a command, or what runs at the
    start, and their children. TickdiskError when the tool cannot run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    raw = folder / RAW
    raw.unlink(missing_ok=True)
    if isinstance(target, int) and not Path(f"/proc/{target}").exists():
        raise TickdiskError(f"process {target} does not run; start it first")
    with ExitStack() as resources:
        command = None
        words = strace.words(tool, raw) if tool != "bpftrace" else []
        if isinstance(target, Command):
            command = resources.enter_context(Launched(target, [*words, *strace.STARTS] if words else []))
            pids = [command.pid]
        else:
            pids = [pid for pid in target.members() if pid != os.getpid()] if isinstance(target, Cgroup) else [target]
        tracer: bpftrace.Bpftrace | strace.Strace
        if tool == "bpftrace":
            group = target if isinstance(target, Cgroup) else resources.enter_context(Cgroup(below=pids[0]))
            for pid in [] if group is target else pids:
                group.add(pid)
            tracer = bpftrace.Bpftrace(group.id, raw, logs, cores)
        else:
            tracer = strace.Strace(words, pids, raw, logs, cores, started=command is not None)
        resources.callback(tracer.kill)
        recording = Recording(tool, tracer, raw, command)
        recording.begin(resources, pids)
        return recording
