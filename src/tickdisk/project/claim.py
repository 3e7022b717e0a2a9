"""The claim of a workflow on a results folder, so that no other workflow works in it, on this machine or on another."""

from pathlib import Path

from tickdisk.foundation import lease
from tickdisk.foundation.errors import TickdiskError


def claim(results: Path) -> lease.Lease:
    """Claims a results folder until this process ends, however it ends, or gives the lease back. The folder is made if needed.

    Raises TickdiskError if another process holds it. One on another machine that died is known to be dead after three minutes.
    """
    own = lease.hold(results, "claim")
    if others := own.others():
        own.give_back()
        raise TickdiskError(f"another run ({others[0].holder.title}) works in {results}; wait for it, or end that process")
    return own
