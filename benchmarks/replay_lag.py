"""A benchmark of the lag of replays on this machine: `python -m benchmarks.replay_lag`."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.foundation import host, memory
from tickdisk.foundation.process import Child
from tickdisk.foundation.record import plain
from tickdisk.replay import issue, plan, prepare, summarise

_ROOT, _FILE_BYTES, _BLOCK = "/bench", 16 << 20, 4096


def random_reads(streams: int, seconds: float, requests_per_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Returns a requests table of random 4 KiB reads of one file. The times of each stream, a thread, are a Poisson process."""
    count = max(1, round(seconds * requests_per_s))
    parts = [
        pd.DataFrame(
            {
                "start_ns": np.cumsum(rng.exponential(1e9 / requests_per_s, count)).astype(np.int64),
                "thread": stream,
                "thread_name": f"reader {stream}",
                "level": "syscall",
                "op": "read",
                "call": "pread64",
                "process": 1,
                "file": f"{_ROOT}/data",
                "data": "other",
                "offset": rng.integers(_FILE_BYTES // _BLOCK, size=count) * _BLOCK,
            }
        )
        for stream in range(streams)
    ]
    rows = pd.concat(parts).sort_values("start_ns", ignore_index=True)
    rows = rows.assign(seq=range(len(rows)), latency_ns=0, errno=0, length=_BLOCK, result=_BLOCK, renamed=None, storing=None)
    return rows.assign(flags=pd.array([None] * len(rows), dtype="Int64"))


@contextlib.contextmanager
def busy(processes: int, logs: Path) -> Iterator[None]:
    """Runs the given number of processes that only compute, until the end of the context."""
    children = [Child(f"busy{number}", [sys.executable, "-c", "while True: pass"], logs) for number in range(processes)]
    try:
        yield
    finally:
        for child in children:
            child.stop(5)


def main() -> None:
    """Replays random reads of a file in memory or in `--folder`, beside busy processes, and prints the summary as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--requests-per-s", type=float, default=500, help="requests of each stream per second")
    parser.add_argument("--busy", type=int, default=2, help="number of processes that only compute during the replay")
    parser.add_argument("--folder", type=Path, help="new folder for the file, which is in memory by default")
    given = parser.parse_args()
    planned = plan(random_reads(given.streams, given.seconds, given.requests_per_s, np.random.default_rng(1)))
    with memory.folder() as fast:
        target = given.folder or fast / "target"
        prepare(planned, target)
        meter = host.LoadMeter()
        with busy(given.busy, fast / "logs"):
            replayed = issue(planned, target)
    summary = plain(summarise(replayed.timings)) | {"is_real_time": replayed.is_real_time, "load": plain(meter.read())}
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
