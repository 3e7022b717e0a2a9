"""Traces the requests of one block device in the kernel, so that every device is measured by the same instrument.

The tracepoints are `block_rq_issue`, which a request passes when it is handed to the driver of the device, and
`block_rq_complete`. The kernel's flush has no bytes and an F in its flags (`rwbs`, blk_fill_rwbs in kernel/trace/blktrace.c). Its
sector is another one at its completion than at its issue, and one flush is under way at a time (block/blk-flush.c). The empty
write that asked for it completes after it, without an issue of its own, and does not count.
"""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.trace.bpftrace import unavailable
from tickdisk.trace.process import BEAT, BpftraceProcess, Finished

_MINOR_BITS = 20
"""Number of bits of a minor number in the kernel's own form of a device number (MINORBITS in include/linux/kdev_t.h)."""
_SECTOR = 512
_EVENT = re.compile(rb"^([ic]) (\d+) (-?\d+) (\d+) ([A-Z]*)$", re.MULTILINE)
_PROGRAM = """\
tracepoint:block:block_rq_issue
/args->dev == DEVICE/
{
  printf("i %lld %lld %d %s\\n", nsecs, args->sector, args->bytes, args->rwbs);
}

tracepoint:block:block_rq_complete
/args->dev == DEVICE/
{
  printf("c %lld %lld %d %s\\n", nsecs, args->sector, args->nr_sector * SECTOR, args->rwbs);
}

"""
Key = tuple[str, int]
"""The operation and the first sector of a request, by which its completion is found."""


@dataclass(frozen=True)
class BlockRequests:
    """The requests of a block device that were traced from their issue to their completion."""

    requests: pd.DataFrame
    """The rows of the table `blocks`, in the order of issue: op (read, write, flush or discard), sector (of 512 bytes), length in
    bytes, and issued_ns and completed_ns of CLOCK_MONOTONIC.
    """
    unpaired: int
    """Number of requests of which only the issue or only the completion was seen, as at the beginning and at the end."""
    lost: int
    """Number of lines that bpftrace lost."""

    def as_device_log(self) -> pd.DataFrame:
        """Returns the requests in the form of a device's log, for a disk that keeps none.

        No model says when a request completes, so `nominal_ns` is the completion itself. The only setting is 1.
        """
        rows = self.requests
        issued, completed = rows["issued_ns"].to_numpy(), rows["completed_ns"].sort_values().to_numpy()
        number = pd.Series(range(len(rows)), dtype="int64")
        return pd.DataFrame(
            {
                "seq": number,
                "op": rows["op"],
                "offset": rows["sector"] * _SECTOR,
                "length": rows["length"],
                "arrival_ns": rows["issued_ns"],
                "inflight": number + 1 - completed.searchsorted(issued, side="right"),
                "nominal_ns": rows["completed_ns"],
                "replied_ns": rows["completed_ns"],
                "setting": 1,
            }
        )


class BlockTrace:
    """A running trace of the requests of one block device. Other devices do not count."""

    def __init__(self, block_device: Path, raw: Path, logs: Path, cores: Sequence[int] | None) -> None:
        """Starts bpftrace, and returns when its probes are attached. It prints to the file `raw`, and its messages to `logs`.

        Raises TickdiskError if bpftrace cannot trace on this machine.
        """
        if reason := unavailable():
            raise TickdiskError(
                f"bpftrace cannot trace {block_device}: {reason}; take a machine where `tickdisk doctor` finds it"
            )
        number = block_device.stat().st_rdev
        device = os.major(number) << _MINOR_BITS | os.minor(number)
        script = _PROGRAM.replace("DEVICE", str(device)).replace("SECTOR", str(_SECTOR)) + BEAT
        self._raw = raw
        self._process = BpftraceProcess("block_trace", script, raw, logs, cores)

    @property
    def pid(self) -> int:
        """The number of bpftrace's process."""
        return self._process.pid

    def kill(self) -> None:
        """Kills bpftrace, if it has not ended already."""
        self._process.kill()

    def stop(self) -> BlockRequests:
        """Waits until all requests up to now are written, ends bpftrace, and returns them."""
        finished = self._process.stop()
        return read_blocks(self._raw.read_bytes(), finished)


def read_blocks(raw: bytes, finished: Finished) -> BlockRequests:
    """Reads what a trace of a block device has printed. The lines of several cores may be out of order by a little.

    A completion belongs to a request of the same operation and sector that has no completion yet: to one of its length if there
    is one, and to the latest of these. An earlier one has lost its completion, because a sector is not written twice at once.
    """
    events = sorted(
        (int(ns) - finished.clock_offset_ns, kind == b"c", int(sector), int(length), flags.decode())
        for kind, ns, sector, length, flags in _EVENT.findall(raw)
    )
    waiting: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    rows, unpaired = [], 0
    for ns, is_completion, place, length, flags in events:
        if length == 0 and "F" not in flags:
            continue
        op = _operation(flags, length)
        sector = 0 if op == "flush" else place
        key = (op, sector)
        if not is_completion:
            waiting[key].append((ns, length))
        elif waiting[key]:
            alike = [at for at, (_, asked) in enumerate(waiting[key]) if asked == length]
            issued_ns, asked = waiting[key].pop(alike[-1] if alike else -1)
            rows.append((op, sector, asked, issued_ns, ns))
        else:
            unpaired += 1
    unpaired += sum(map(len, waiting.values()))
    columns = table.SCHEMAS["blocks"].names
    requests = pd.DataFrame(rows, columns=columns).sort_values("issued_ns", kind="stable", ignore_index=True)
    return BlockRequests(requests, unpaired, finished.lost_printed)


def _operation(flags: str, length: int) -> str:
    """Returns the operation of a request from its flags, in which F stands for a flush before a write and for one alone."""
    if length == 0 and "F" in flags:
        return "flush"
    return {"R": "read", "W": "write", "D": "discard"}.get(flags.lstrip("F")[:1], "other")
