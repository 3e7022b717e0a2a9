"""When requests reach the block device, as the kernel says it: none is late because it waited for the emulator."""

import os
from pathlib import Path

from tickdisk.device.control import ask
from tickdisk.errors import TickdiskError
from tickdisk.tracefs import Tracepoint, tracepoint

_POINT = "block/block_rq_issue"
_BYTES = {"dev": 4, "sector": 8, "nr_sector": 4}
"""Of the fields that are read, as they are known here."""


def watch(emulator: Path, block_device: Path) -> str:
    """Lets an emulator, by its socket, take from the kernel when requests of a block device arrive.

    Returns why it cannot, nothing if it can: without root, or where the kernel runs no BPF programs, requests arrive when the
    emulator takes them, which is later by what they waited for it.
    """
    if os.geteuid() != 0:
        return "the kernel tells root only when requests arrive"
    try:
        number = block_device.stat().st_rdev
        point = tracepoint(_POINT)
        if any(point.fields.get(field, (0, 0))[1] != size for field, size in _BYTES.items()):
            return f"this kernel's tracepoint {_POINT} is not the one that is known here"
        ask(emulator, "watch", major=os.major(number), minor=os.minor(number), issue=_numbers(point))
    except (TickdiskError, OSError) as error:
        return str(error)
    return ""


def _numbers(point: Tracepoint) -> list[int]:
    return [point.number, *(point.fields[field][0] for field in _BYTES)]
