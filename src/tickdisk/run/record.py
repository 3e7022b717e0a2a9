"""What a run leaves beside its tables: CPU time per process, compressed raw files, and whether it counts."""

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
import zstandard

from tickdisk import host
from tickdisk.files import whole

if TYPE_CHECKING:
    from tickdisk.config import Limits

_PERIOD_S = 1.0


class CpuRecorder:
    """Samples the CPU time of followed processes every second; `table()` gives monotonic_ns, process, cpu_ns (cumulative)."""

    def __init__(self) -> None:
        self._pids: dict[str, int] = {}
        self._rows: list[tuple[int, str, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cpu", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def follow(self, process: str, pid: int) -> None:
        """Starts to sample a process."""
        self._pids[process] = pid
        self._sample()

    def table(self) -> pd.DataFrame:
        """Returns the samples so far."""
        return pd.DataFrame(self._rows, columns=["monotonic_ns", "process", "cpu_ns"])

    def _watch(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            self._sample()

    def _sample(self) -> None:
        for process, pid in list(self._pids.items()):
            used = host.cpu_ns(pid)
            if used is not None:
                self._rows.append((time.monotonic_ns(), process, used))


def compress(path: Path, folder: Path) -> None:
    """Keeps a producer's file as it was written: `folder/NAME.zst`."""
    with whole(folder / f"{path.name}.zst") as partial, path.open("rb") as source, partial.open("wb") as target:
        zstandard.ZstdCompressor(level=6).copy_stream(source, target)


def reasons_not_valid(
    limits: "Limits", ticks: dict[str, Any], client: dict[str, Any], problems: list[str], device: dict[str, Any], requests: int
) -> list[str]:
    """Returns why a life does not count, in words; empty when it does."""
    reasons = []
    if client["saturated"]:
        lag = client["schedule_lag"]
        reasons.append(
            f"client saturated: {lag['p99_ms'] or lag['max_ms']:.1f} ms behind its own schedule, over {limits.client_lag_ms:g} ms"
        )
    expected = ticks["ticks"] + ticks["missing"]
    if expected == 0 or ticks["missing"] / expected > limits.missing_ticks_share:
        reasons.append(f"{ticks['missing']} of {expected} ticks missing")
    if ticks["blocks_generated"] > 0:
        reasons.append(f"{ticks['blocks_generated']} map blocks were generated: players left the stored terrain")
    if problems:
        reasons.append(f"the server reported {len(problems)} errors, the first: {problems[0]}")
    if requests == 0:
        reasons.append("the device saw no request")
    if device["log_overflow"] > 0:
        reasons.append(f"the device's log lost {device['log_overflow']} requests")
    return reasons
