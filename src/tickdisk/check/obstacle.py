"""Says why a server cannot be captured on this machine, with the way to change that."""

import os
import shutil

from tickdisk import rights, trace
from tickdisk.foundation import memory
from tickdisk.foundation.machine import Machine


def obstacle(machine: Machine | None = None) -> str | None:
    """Returns why bpftrace cannot capture here, and what would change that, as one clause, or None if it can."""
    machine = Machine() if machine is None else machine
    if reason := trace.unavailable():
        if os.geteuid() != 0:
            return f"{reason}; write sudo before the command"
        if shutil.which("bpftrace") is None:
            return f"{reason}; `apt install bpftrace` installs it"
        return reason
    for right in rights.RIGHTS:
        if right.needed_by == "captures" and not right.given(machine):
            in_container = rights.container_of(machine) is not None and right.could_be_given(machine)
            way = f"start the container with {' '.join(right.arguments)}" if in_container else right.elsewhere
            return f"root lacks a right here ({right.name}); {way}"
    if memory.free_bytes() < memory.LEAST_BYTES:
        return f"{memory.MEMORY} has no room for a capture; {memory.MORE_MEMORY}"
    return None
