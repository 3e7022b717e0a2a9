"""What a run leaves beside its tables: CPU time per process, compressed raw files, and whether it counts."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
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
        self._used: dict[str, Callable[[], int | None]] = {}
        self._rows: list[tuple[int, str, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cpu", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def follow(self, process: str, pid: int, *, thread: str | None = None) -> None:
        """Starts to sample a process, or its threads that have the name `thread`."""
        self._used[process] = partial(host.cpu_ns, pid) if thread is None else partial(host.thread_cpu_ns, pid, thread)
        self._sample()

    def table(self) -> pd.DataFrame:
        """Returns the samples so far."""
        return pd.DataFrame(self._rows, columns=["monotonic_ns", "process", "cpu_ns"])

    def _watch(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            self._sample()

    def _sample(self) -> None:
        for process, use in list(self._used.items()):
            used = use()
            if used is not None:
                self._rows.append((time.monotonic_ns(), process, used))


def compress(path: Path, folder: Path) -> None:
    """Keeps a producer's file as it was written: `folder/NAME.zst`."""
    with whole(folder / f"{path.name}.zst") as unfinished, path.open("rb") as source, unfinished.open("wb") as target:
        zstandard.ZstdCompressor(level=6).copy_stream(source, target)


CLOCKS_AGREE_NS = 1_000_000
"""A marker must be seen by players, probe and device in its causal order, within this."""


LATE_SWITCH_NS = 200_000_000
FAILED_SHARE = 0.01
"""Failed actions have no latency: above this share of all, what is left would flatter the slow arm."""


def clock_disagreement_ns(actions: pd.DataFrame, markers: pd.DataFrame, requests: pd.DataFrame) -> int | None:
    """Returns by how much the instruments' clocks contradict each other over the markers; None when one was not seen by all.

    A player asks for a marker, the probe reads a file that nothing has read before, the device sees that read, the player hears
    the answer. Each must lie inside the one around it; what sticks out is disagreement.
    """
    asked = actions[(actions["action"] == "marker") & (actions["outcome"] == "completed")].sort_values("due_ns")
    reads = requests.loc[requests["op"] == "read", "arrival_ns"].to_numpy()
    seen = markers[markers["name"].str.startswith("read")].sort_values("before_ns")
    if len(asked) == 0 or len(asked) != len(seen) or len(reads) == 0:
        return None
    worst = 0
    times = zip(
        *(
            frame[name].tolist()
            for frame, name in ((asked, "issued_ns"), (seen, "before_ns"), (seen, "after_ns"), (asked, "completed_ns"))
        ),
        strict=True,
    )
    for issued, before, after, completed in times:
        outside = np.maximum(before - reads, reads - after)
        worst = max(worst, issued - before, after - completed, int(outside.min()))
    return worst


def reasons_not_valid(limits: "Limits", life: Mapping[str, Any]) -> list[str]:
    """Returns why a life does not count, in words, from its part of the manifest; empty when it does."""
    device = []
    if life["latest_switch_ns"] > LATE_SWITCH_NS:
        device.append(f"the device was switched {life['latest_switch_ns'] / 1e6:.0f} ms late")
    if life["requests"] == 0:
        device.append("the device saw no request")
    if life["device"]["log_overflow"] > 0:
        device.append(f"the device's log lost {life['device']['log_overflow']} requests")
    if bool(life["device"]["arrivals_lack"]) != bool(life["calibrated_lack"]):
        told = life["device"]["arrivals_lack"] or "now it says so"
        device.append(f"floors were measured while the kernel said otherwise when requests arrive ({told}); calibrate again")
    if life["requests"] > 0 and any(capture["requests"] == 0 for capture in life["captures"]):
        device.append("the capture saw no request, and the device did")
    return [*_of_clients(limits, life["client"]), *_of_ticks(limits, life), *_of_clocks(life["clock_disagreement_ns"]), *device]


def _of_clients(limits: "Limits", client: Mapping[str, Any]) -> Iterator[str]:
    if client["saturated"]:
        lag = client["schedule_lag"]
        behind_ms = lag["p99_ms"] or lag["max_ms"]
        yield f"client saturated: {behind_ms:.1f} ms behind its own schedule, over {limits.client_lag_ms:g} ms"
    if client["interrupted"]:
        yield "the players were still busy long after the last due time, and were interrupted"
    lost = {kind: count["failed"] for kind, count in client["actions"].items() if count["failed"]}
    offered = sum(count["offered"] for count in client["actions"].values())
    if "join" in lost or sum(lost.values()) > FAILED_SHARE * offered:
        yield f"of {offered} actions failed: {', '.join(f'{n} {kind}' for kind, n in sorted(lost.items()))}"


def _of_ticks(limits: "Limits", life: Mapping[str, Any]) -> Iterator[str]:
    ticks, problems = life["ticks"], life["server_problems"]
    if not ticks["complete"] or ticks["rejected"] or ticks["backwards"]:
        yield f"the tick probe's file is damaged: {ticks['rejected']} lines rejected, {ticks['backwards']} ticks backwards"
    expected = ticks["ticks"] + ticks["missing"]
    if expected == 0 or ticks["missing"] / expected > limits.missing_ticks_share:
        yield f"{ticks['missing']} of {expected} ticks missing"
    if ticks["blocks_generated"] > 0:
        yield f"{ticks['blocks_generated']} map blocks were generated: players left the stored terrain"
    if problems:
        yield f"the server reported {len(problems)} errors, the first: {problems[0]}"


def _of_clocks(disagreement_ns: int | None) -> Iterator[str]:
    if disagreement_ns is None:
        yield "a marker was not seen by players, probe and device alike"
    elif disagreement_ns > CLOCKS_AGREE_NS:
        yield f"the clocks of players, probe and device disagree by {disagreement_ns / 1e6:.2f} ms"
