"""Measures the overhead of each capture tool on a workload that only reads: preads of 4 KiB from a cached file."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.foundation import clock, host, memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.trace.launch import Command, Launched
from tickdisk.trace.parse import parse
from tickdisk.trace.record import Tool, start

_FILE_BYTES = 1 << 20
_BLOCK_BYTES = 4096
_RUN_S = 300
_WORKLOAD = Path(__file__).with_name("workload.py")
_STRACE_DIVISOR = 8
"""Divisor of the number of preads under strace, which stops the process twice for each call, so that fewer preads suffice."""
TOOLS: tuple[Tool | None, ...] = (None, "bpftrace", "strace", "strace_positioned")
"""The tools that are compared. None stands for a run without capture."""


def micro_cost(*, rounds: int, preads: int, seed: int, logs: Path, tools: tuple[Tool | None, ...] = TOOLS) -> pd.DataFrame:
    """Measures how much each capture tool slows down a program that only reads, by the time of one pread under the tool.

    Every round runs a program that reads blocks of 4 KiB from a cached file once under each tool (None is no tool), in random
    order. Each run is a process of its own on the cores that a server would have. The tool runs on the other cores. Runs under
    strace make an eighth of the `preads`. The table has one row per round and tool: round, tool (`none` without a tool), preads,
    ns_per_pread, events (captured preads), lost_events. Raises TickdiskError if the program or a tool fails.
    """
    rng = np.random.default_rng(seed)
    cores = host.split_cores()
    rows = []
    with memory.folder() as fast:
        (fast / "file").write_bytes(bytes(_FILE_BYTES))
        for number in range(rounds):
            for index in rng.permutation(len(tools)):
                tool = tools[index]
                preads_of_tool = preads // _STRACE_DIVISOR if tool and tool.startswith("strace") else preads
                words = [sys.executable, "-P", str(_WORKLOAD), str(fast / "file"), str(preads_of_tool)]
                command = Command(words, output=fast / "elapsed", cores=cores.server)
                if tool is None:
                    with Launched(command, []) as untraced:
                        untraced.proceed()
                        _finish(untraced)
                    captured, lost = 0, 0
                else:
                    captured, lost = _traced(tool, command, fast, logs, cores.others)
                elapsed_ns = int((fast / "elapsed").read_text())
                rows.append((number, tool or "none", preads_of_tool, elapsed_ns / preads_of_tool, captured, lost))
    return pd.DataFrame(rows, columns=["round", "tool", "preads", "ns_per_pread", "events", "lost_events"])


def _traced(tool: Tool, command: Command, fast: Path, logs: Path, cores: tuple[int, ...]) -> tuple[int, int]:
    """Runs the command under a tool. Returns the number of its preads that were captured, and the number of lost events."""
    with clock.Sampler() as clocks, start(tool, target=command, folder=fast, logs=logs, cores=cores) as recording:
        assert recording.command is not None
        _finish(recording.command)
        raw = recording.stop()
    capture = parse(raw, clocks.table())
    requests = capture.requests
    seen = (requests["call"] == "pread64") & (requests["length"] == _BLOCK_BYTES)
    return int(seen.sum()), capture.summary.lost_events


def _finish(launched: Launched) -> None:
    code = launched.wait(_RUN_S)
    if code != 0:
        raise TickdiskError(f"the workload of preads {'did not end' if code is None else f'failed with exit code {code}'}")
