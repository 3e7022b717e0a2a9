"""When requests reached the block device: as the kernel says it, so that none is late because it waited for the emulator."""

import os
from pathlib import Path

from tickdisk.device.control import ask
from tickdisk.errors import TickdiskError
from tickdisk.tracefs import tracepoint

_ISSUED = "block/block_rq_issue"
_BYTES = {"dev": 4, "sector": 8, "nr_sector": 4}
"""Of the fields that are read, as they are known here."""


def watch(emulator: Path, block_device: Path) -> str:
    """Lets the emulator that listens on a socket take the times at which requests of a block device arrive from the kernel.

    Returns why it cannot, nothing if it can: without root, or where the kernel runs no BPF programs, requests arrive when the
    emulator takes them, which is later by what they waited for it.
    """
    if os.geteuid() != 0:
        return "the kernel tells root only when requests arrive"
    try:
        number = block_device.stat().st_rdev
        point = tracepoint(_ISSUED)
        if any(point.fields.get(name, (0, 0))[1] != size for name, size in _BYTES.items()):
            return f"this kernel's tracepoint {_ISSUED} is not the one that is known here"
        places = [point.fields[name][0] for name in _BYTES]
        ask(emulator, "watch", major=os.major(number), minor=os.minor(number), tracepoint=point.number, places=places)
    except (TickdiskError, OSError) as error:
        return str(error)
    return ""
