"""Says whether this process is part of a job of Slurm, on which node of the cluster, and with how many cores."""

import os
import socket


def in_job() -> bool:
    """Returns whether this process is part of a job of Slurm. Slurm ends a job with all its processes."""
    return "SLURM_JOB_ID" in os.environ


def cores() -> int:
    """Returns the number of cores that this process may use: those of its job, or outside of one those of this machine."""
    usable = len(os.sched_getaffinity(0))
    return min(usable, int(os.environ.get("SLURM_CPUS_PER_TASK", usable)))


def node() -> str:
    """Returns the name of the node by which Slurm knows it, or outside of a job the name of this machine."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()
