"""Says why a server cannot be captured on this machine, with the way to change that."""

import os
import shutil

from tickdisk import rights, trace
from tickdisk.foundation import memory
from tickdisk.foundation.machine import Machine


def obstacle(machine: Machine | None = None) -> str | None:
    """Returns why bpftrace cannot capture here, and what would change that, as one clause, or None if it can."""
    machine = Machine() if machine is None else machine
    is_root, is_installed = os.geteuid() == 0, shutil.which("bpftrace") is not None
    for right in rights.RIGHTS if is_root and is_installed else ():
        if right.needed_by == "captures" and not right.given(machine):
            in_container = rights.container_of(machine) is not None and right.could_be_given(machine)
            way = f"start the container with {' '.join(right.arguments)}" if in_container else right.elsewhere
            return f"root lacks a right here ({right.name}); {way}"
    if reason := trace.unavailable():
        if not is_root:
            return f"{reason}; write sudo before the command"
        return reason if is_installed else f"{reason}; `apt install bpftrace` installs it"
    if memory.free_bytes() < memory.LEAST_BYTES:
        return f"{memory.MEMORY} has no room for a capture; {memory.MORE_MEMORY}"
    return None
