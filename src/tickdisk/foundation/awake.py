"""Keeps the idle cores of the machine from sleeping, which would add to the latency of requests."""

import os
from pathlib import Path

_POWER_MANAGEMENT = Path("/dev/cpu_dma_latency")


def keep_cores_awake() -> int | None:
    """Keeps idle cores from sleeping (Linux PM QoS) while the descriptor that it returns is open.

    It returns None if the machine has no such interface or refuses. To wake a sleeping core costs a request 30 to 150 us, and the
    more the longer the core slept. The emulator's own latency would then depend on the latency that it emulates and on how busy
    the server is. A real disk that is compared with an emulated one has the same conditions.
    """
    try:
        descriptor = os.open(_POWER_MANAGEMENT, os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, bytes(4))
    except OSError:
        return None
    return descriptor
