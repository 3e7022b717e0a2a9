"""When requests reached the block device: as the kernel says it, so that none is late because it waited for the emulator."""

import os
from pathlib import Path

from tickdisk.device.control import ask
from tickdisk.errors import TickdiskError
from tickdisk.tracefs import tracepoint

_ISSUED = "block/block_rq_issue"
_DEVICE_BYTES, _SECTOR_BYTES = 4, 8


def watch(emulator: Path, block_device: Path) -> str | None:
    """Lets the emulator that listens on a socket take the times at which requests of a block device arrive from the kernel.

    Returns why it cannot, or None: without root, or where the kernel runs no BPF programs, requests arrive when the emulator
    takes them, which is later by what they waited for it.
    """
    if os.geteuid() != 0:
        return "the kernel tells root only when requests arrive"
    number = block_device.stat().st_rdev
    try:
        point = tracepoint(_ISSUED)
        (device_at, device_bytes), (sector_at, sector_bytes) = (point.offsets[name] for name in ("dev", "sector"))
        if (device_bytes, sector_bytes) != (_DEVICE_BYTES, _SECTOR_BYTES):
            return f"this kernel's tracepoint {_ISSUED} is not the one that is known here"
        ask(
            emulator,
            "watch",
            major=os.major(number),
            minor=os.minor(number),
            tracepoint=point.number,
            device_at=device_at,
            sector_at=sector_at,
        )
    except KeyError as lacking:
        return f"this kernel's tracepoint {_ISSUED} has no field {lacking.args[0]}"
    except TickdiskError as error:
        return str(error)
    return None
