"""Arrival times of requests at the block device, taken from a tracepoint of the kernel."""

import os
from pathlib import Path

from tickdisk.device.control import ask
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.tracefs import Tracepoint, tracepoint

_POINT = "block/block_rq_issue"
_BYTES = {"dev": 4, "sector": 8, "nr_sector": 4}
"""Size in bytes of each field of the tracepoint's record that the emulator reads."""


def watch(emulator: Path, block_device: Path) -> str:
    """Lets the emulator with the control socket `emulator` take the arrival times of a block device's requests from the kernel.

    It returns an empty text if that works, and otherwise the reason why it does not. Without root, or where the kernel runs no
    BPF programs, a request arrives when the emulator takes it, which is later by the time that the request waited for the
    emulator.
    """
    if os.geteuid() != 0:
        return "only root may read from the kernel when requests arrive"
    try:
        number = block_device.stat().st_rdev
        point = tracepoint(_POINT)
        if any(point.fields.get(field, (0, 0))[1] != size for field, size in _BYTES.items()):
            return f"the fields of this kernel's tracepoint {_POINT} do not have the sizes that the emulator reads"
        ask(emulator, "watch", major=os.major(number), minor=os.minor(number), issue=_numbers(point))
    except (TickdiskError, OSError) as error:
        return str(error)
    return ""


def _numbers(point: Tracepoint) -> list[int]:
    return [point.number, *(point.fields[field][0] for field in _BYTES)]
