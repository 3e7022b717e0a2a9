"""The captures of a server in one life. The tool that captures may change from epoch to epoch, and may be none."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from tickdisk import server, table, trace
from tickdisk.experiment import Tool
from tickdisk.run.record import CpuRecorder, compress


@dataclass(frozen=True)
class _Look:
    arm: str
    raw: trace.RawCapture


class Lookout:
    """Starts and stops captures of one server; `tools` says by arm what looks on, `fast` (in memory) takes what they write."""

    def __init__(self, tools: Mapping[str, Tool], fast: Path, logs: Path, cores: Sequence[int], cpu: CpuRecorder) -> None:
        self._tools, self._fast, self._logs, self._cores, self._cpu = tools, fast, logs, cores, cpu
        self._stack = ExitStack()
        self._cgroup: trace.Cgroup | None = None
        self._server: int | None = None
        self._running: trace.Recording | None = None
        self._arm: str | None = None
        self._looks: list[_Look] = []

    def __enter__(self) -> Self:
        if any(tool != "none" for tool in self._tools.values()):
            self._cgroup = self._stack.enter_context(trace.Cgroup())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.rest()
        finally:
            self._stack.close()

    @contextmanager
    def around_start(self, arm: str) -> Iterator[None]:
        """Captures the program that is started inside, from its first system call, if the life begins with a capture."""
        if self._cgroup is None:
            yield
            return
        self.look(arm)
        with self._cgroup.entered():
            yield

    def follow(self, pid: int) -> None:
        """Says which process the server is: strace attaches to it."""
        self._server = pid

    def look(self, arm: str) -> None:
        """Lets the arm's tool look on from now on; what looked on before is finished, unless it is the same arm's."""
        if arm == self._arm or self._cgroup is None:
            return
        self.rest()
        self._arm = arm
        tool = self._tools[arm]
        if tool != "none":
            folder = self._fast / f"look{len(self._looks)}"
            target = self._cgroup if tool == "bpftrace" or self._server is None else self._server
            self._running = self._stack.enter_context(
                trace.start(tool, target=target, folder=folder, logs=self._logs, cores=self._cores)
            )
            self._cpu.follow("capture", self._running.pid)

    def rest(self) -> None:
        """Finishes what looks on, if anything does."""
        if self._running is not None:
            self._looks.append(_Look(str(self._arm), self._running.stop()))
            self._running = None
        self._arm = None

    def write(self, folder: Path, samples: pd.DataFrame, root: Path) -> list[dict[str, Any]]:
        """Returns a summary of each capture; a life that was looked at as a whole gets its tables and its raw capture.

        `samples` are the life's clock samples; files are those below `root`, where the device is mounted.
        """
        found = []
        for look in self._looks:
            capture = trace.parse(look.raw, samples, classify=server.classify, root=root)
            found.append({"arm": look.arm, **capture.summary})
            if len(set(self._tools.values())) == 1:
                table.write("requests", folder / "requests.parquet", capture.requests)
                if capture.waits is not None:
                    table.write("waits", folder / "waits.parquet", capture.waits)
                compress(look.raw.path, folder / "raw")
        return found
