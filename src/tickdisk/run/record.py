"""Samples the processor time of each process of a life, and compresses the raw files that the programs wrote."""

import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pandas as pd
import zstandard

from tickdisk.foundation import host
from tickdisk.foundation.files import whole

if TYPE_CHECKING:
    from collections.abc import Callable

_PERIOD_S = 1.0


class CpuRecorder:
    """A context manager that samples the CPU time of processes and threads once a second, in a thread of its own.

    The samples are the table `load` of a server life. They show whether server, clients or emulator were short of a core.
    """

    def __init__(self) -> None:
        self._used: dict[str, Callable[[], int | None]] = {}
        self._rows: list[tuple[int, str, int]] = []
        self._lock = threading.Lock()
        """It is held while rows are added, which both the caller of `follow` and the recorder's thread do."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cpu", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def follow(self, process: str, pid: int, *, thread: int | None = None, children: bool = False) -> None:
        """Samples a process, one `thread` of it, or the process with its `children`, from now on.

        Another one of the same name in the table takes its place.
        """
        of_process = host.cpu_ns_with_children if children else host.cpu_ns
        use = partial(of_process, pid) if thread is None else partial(host.thread_cpu_ns, pid, thread)
        with self._lock:
            self._used[process] = use
        self._sample()

    def table(self) -> pd.DataFrame:
        """Returns the samples so far: monotonic_ns, process (its name), and cpu_ns, its CPU time since its start."""
        # The recorder's thread goes on, and pandas looks at a list more than once. A copy stays as it is.
        return pd.DataFrame(self._rows.copy(), columns=["monotonic_ns", "process", "cpu_ns"])

    def _watch(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            self._sample()

    def _sample(self) -> None:
        with self._lock:
            for process, use in self._used.items():
                used = use()
                if used is not None:
                    self._rows.append((time.monotonic_ns(), process, used))


def compress(path: Path, folder: Path) -> None:
    """Writes a copy of the file `path` to `folder/NAME.zst`, compressed with Zstandard. The original stays."""
    with whole(folder / f"{path.name}.zst") as unfinished, path.open("rb") as source, unfinished.open("wb") as target:
        zstandard.ZstdCompressor(level=6).copy_stream(source, target)
