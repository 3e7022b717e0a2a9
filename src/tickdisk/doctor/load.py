"""The check of the machine's load. Runs on a machine that is busy with something else are repeated or marked as not valid."""

import time

from tickdisk.doctor.checks import Check
from tickdisk.foundation import host

_LOOK_S = 0.5
_MUCH = 0.10


def load_check(seconds: float = _LOOK_S) -> Check:
    """Measures for a moment whether the machine is busy with something else, which would make the results of a run invalid.

    It is `limited` if more than a tenth of the processor time goes to other guests, if tasks wait for a core or memory for more
    than a tenth of the time, or if the kernel does not account for pressure.
    """
    meter = host.LoadMeter()
    time.sleep(seconds)
    load = meter.read()
    pressures = {
        "CPU pressure": load.pressure_cpu_share,
        "I/O pressure": load.pressure_io_share,
        "memory pressure": load.pressure_memory_share,
    }
    keeps = host.keeps_pressure()
    shares = {"steal": load.steal_share, "busy": load.busy_share, **(pressures if keeps else {})}
    clauses = [", ".join(f"{name} {share:.0%}" for name, share in shares.items())]
    disturbed = max(load.steal_share, load.pressure_cpu_share, load.pressure_memory_share) > _MUCH
    if disturbed:
        clauses.append("wait until the machine is quiet")
    if not keeps:
        clauses.append("this kernel keeps no pressure accounts (boot with psi=1), so cells that lack memory are not repeated")
    return Check("load now", "limited" if disturbed or not keeps else "ok", "; ".join(clauses))
