"""Shows on a terminal how far the reading of traces has come."""

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tickdisk.formats import Counts, Trace

_UPDATE_S = 1.0


def say_first(traces: "Iterable[Path]", counts: "Iterable[Counts]") -> None:
    """Prints what somebody must know before any number of the traces."""
    for path, each in zip(traces, counts, strict=True):
        for sentence in each.first:
            print(f"{path}: {sentence}")


class ReadingProgress:
    """Shows on a terminal how much of a trace has been read, and how long the rest will take."""

    def __init__(self) -> None:
        self._trace: Path | None = None
        self._began_s = self._shown_s = 0.0

    def __call__(self, trace: "Trace") -> None:
        """Shows how far the reading of a trace has come."""
        now_s = time.monotonic()
        if trace.path != self._trace:
            self._trace, self._began_s = trace.path, now_s
        if not sys.stderr.isatty() or now_s < self._shown_s + _UPDATE_S:
            return
        self._shown_s = now_s
        done, total = trace.source.read_bytes, trace.source.total_bytes
        left = "" if total is None else f", {done / total:.0%}, {(now_s - self._began_s) * (total / max(done, 1) - 1):.0f} s left"
        print(f"\r{trace.path}: {trace.counts.requests} requests{left}\033[K", end="\r", file=sys.stderr, flush=True)
