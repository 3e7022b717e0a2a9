"""Begins a step of the workflow, which may be a job on a node of a cluster."""

from pathlib import Path

from tickdisk.cli.progress import say
from tickdisk.foundation import cluster, process


def begin(output: Path) -> None:
    """Arranges that this process ends with the workflow. In a job of a cluster, it also ends what earlier attempts have left.

    `output` is the file or folder that the step makes, by which attempts at the same step know each other. An earlier attempt can
    still be at work if its node was lost to Slurm. It is ended, and this process waits for it. Devices of dead processes on this
    node are removed. Raises TickdiskError if the earlier attempt does not end.
    """
    process.follow_owner()
    if not cluster.in_job():
        return
    from tickdisk import device
    from tickdisk.foundation import lease

    for holder in lease.hold(output.parent, output.name).revoke_others():
        say(f"{output}: an earlier attempt ({holder.title}) was still at work and was ended")
    for line in device.recover():
        say(f"left on this node by an earlier job, removed: {line}")
