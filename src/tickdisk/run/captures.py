"""The captures of the server in one life. The tool may change from epoch to epoch, and an epoch may have none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pandas as pd

from tickdisk import trace
from tickdisk.experiment import Tool
from tickdisk.foundation import table
from tickdisk.manifest import ArmCapture
from tickdisk.run.record import CpuRecorder, compress


@dataclass(frozen=True)
class _Part:
    arm: str
    raw: trace.RawCapture


class LifeCaptures:
    """Starts and stops the captures of the server in one server life, as the arms in force ask for it.

    `tools` has the tool of each arm. Captures are written into `fast`, a folder in memory. `classify` returns the kind of data in
    a file of the server.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        fast: Path,
        logs: Path,
        cores: Sequence[int],
        cpu: CpuRecorder,
        classify: Callable[[str], str],
    ) -> None:
        self._tools, self._fast, self._logs, self._cores, self._cpu = tools, fast, logs, cores, cpu
        self._classify = classify
        self._stack = ExitStack()
        self._cgroup: trace.Cgroup | None = None
        self._server: int | None = None
        self._running: trace.Recording | None = None
        self._arm: str | None = None
        self._parts: list[_Part] = []
        self._blocks: trace.BlockTrace | None = None
        self.blocks: trace.BlockRequests | None = None
        """The requests of the block device, after the end of their trace. None if they were not traced."""

    def __enter__(self) -> Self:
        if any(tool != "none" for tool in self._tools.values()):
            self._cgroup = self._stack.enter_context(trace.Cgroup())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            self._stack.close()

    @contextmanager
    def around_start(self, arm: str) -> Iterator[None]:
        """Captures the server, which the block starts, from its first system call, with the tool of `arm`.

        If no arm of the life has a tool, nothing is done.
        """
        if self._cgroup is None:
            yield
            return
        self.begin(arm)
        with self._cgroup.entered():
            yield

    def follow(self, pid: int) -> None:
        """Takes the pid of the server, to which strace attaches from then on. bpftrace captures the server without it."""
        self._server = pid

    def begin(self, arm: str) -> None:
        """Captures with the tool of `arm` from now on, because this arm comes into force.

        If the arm before has the same tool, its capture goes on, and counts for the arm in which it began.
        """
        tool = self._tools[arm]
        if self._cgroup is None or (self._arm is not None and tool == self._tools[self._arm]):
            return
        self._end_part()
        self._arm = arm
        if tool != "none":
            folder = self._fast / f"capture{len(self._parts)}"
            target = self._cgroup if tool == "bpftrace" or self._server is None else self._server
            self._running = self._stack.enter_context(
                trace.start(tool, target=target, folder=folder, logs=self._logs, cores=self._cores)
            )
            self._cpu.follow("capture", self._running.pid)

    def trace_blocks(self, block_device: Path) -> None:
        """Traces the requests of a block device in the kernel from now on, whatever the arms ask for."""
        self._blocks = trace.BlockTrace(block_device, self._fast / "blocks.txt", self._logs, self._cores)
        self._stack.callback(self._blocks.kill)
        self._cpu.follow("block trace", self._blocks.pid)

    def end(self) -> None:
        """Ends the capture and the trace that run, if any do, and keeps the raw output of the capture for `write`."""
        if self._blocks is not None:
            running, self._blocks = self._blocks, None
            self.blocks = running.stop()
        self._end_part()

    def _end_part(self) -> None:
        if self._running is not None:
            self._parts.append(_Part(str(self._arm), self._running.stop()))
            self._running = None
        self._arm = None

    def write(self, folder: Path, samples: pd.DataFrame, root: Path) -> list[ArmCapture]:
        """Parses all captures of the life, and returns the arm and the summary of each.

        If all arms have the same tool, the tables of requests and of waits and the compressed raw capture are also written into
        `folder`. Only files below `root` count, the folder of the world on the device.
        """
        if self.blocks is not None:
            table.write("blocks", folder / "blocks.parquet", self.blocks.requests)
        captures = []
        for part in self._parts:
            capture = trace.parse(part.raw, samples, classify=self._classify, root=root)
            captures.append(ArmCapture(arm=part.arm, **dict(capture.summary)))
            if len(set(self._tools.values())) == 1:
                table.write("requests", folder / "requests.parquet", capture.requests, capture.lacks)
                if capture.waits is not None:
                    table.write("waits", folder / "waits.parquet", capture.waits)
                compress(part.raw.path, folder / "raw")
        return captures
