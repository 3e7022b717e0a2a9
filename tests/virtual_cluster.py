"""A cluster of two virtual nodes on this machine, with Debian's Slurm, for the test of the profile for Slurm.

Both nodes share the cores of this machine, so everything that measures takes the only licence `live`. Slurm reads its
configuration from /etc/slurm/slurm.conf, which is written here and removed afterwards. A file there that is not ours is left
alone.
"""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child, state_of

CONF = Path("/etc/slurm/slurm.conf")
NODES = ("n1", "n2")
_MARK = "# Written by a test of Tickdisk, which removes it."
_PORT = 17_000
_LOST_AFTER_S = 12
"""Time after which Slurm gives up a node whose daemon does not answer."""


@dataclass
class Cluster:
    """A running cluster."""

    folder: Path
    """Folder of its state and logs."""
    nodes: dict[str, Child] = field(default_factory=dict)
    """The daemons of the nodes, by the names of the nodes."""

    def start(self, node: str) -> None:
        """Starts the daemon of a node."""
        self.nodes[node] = Child(f"slurmd.{node}", ["slurmd", "-D", "-N", node], self.folder / "logs" / str(time.monotonic_ns()))

    def kill(self, node: str) -> None:
        """Kills the daemon of a node, which leaves its jobs running."""
        self.nodes[node].stop(10, signal.SIGKILL)

    def jobs(self, *states: str) -> list[dict[str, str]]:
        """Returns the jobs in some states that Slurm still knows, such as RUNNING: id, node and comment of each."""
        lines = ask("squeue", "--noheader", "--states", ",".join(states or ("all",)), "--format", "%A|%N|%k|%T").splitlines()
        return [dict(zip(("id", "node", "comment", "state"), line.split("|"), strict=True)) for line in lines]


def ask(*words: str) -> str:
    """Returns the output of a command of Slurm."""
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def wait_for(true: Callable[[], object], what: str, seconds: float) -> None:
    """Waits until something is true. Fails after some seconds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what}: not within {seconds:g} s"
        time.sleep(0.2)


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Starts a cluster whose files lie in a folder, and ends it with all of its jobs."""
    folder.mkdir(parents=True)
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(128))
    for name in ("state", *(f"spool.{node}" for node in NODES)):
        (folder / name).mkdir()
    with ExitStack() as stack:
        # Everybody may reach the folder of the socket, which munged insists on.
        public = Path(stack.enter_context(TemporaryDirectory(prefix="tickdisk-munge-", dir="/run")))
        public.chmod(0o755)
        socket_file = public / "socket"
        stack.enter_context(_configured(folder, socket_file))
        own = Cluster(folder)
        files = (f"--{kind}-file={folder}/munge.{kind}" for kind in ("pid", "log", "seed"))
        munged = ["munged", "--foreground", f"--key-file={key}", f"--socket={socket_file}", *files]
        stack.enter_context(Child("munged", munged, folder / "logs"))
        wait_for(socket_file.exists, "munged", 20)
        stack.enter_context(Child("slurmctld", ["slurmctld", "-D", "-c"], folder / "logs"))
        stack.callback(_end_all, own)
        for node in NODES:
            own.start(node)
        wait_for(lambda: ask("sinfo", "--noheader", "--states", "idle", "--format", "%D").split() == ["2"], "two idle nodes", 60)
        yield own


def _end_all(own: Cluster) -> None:
    """Ends all jobs, waits until none of their processes is left, and ends the daemons."""
    for node, daemon in own.nodes.items():
        if daemon.poll() is not None:  # Only the daemon of a node can end the steps on it.
            own.start(node)
    ids = [job["id"] for job in own.jobs("running", "pending", "completing")]
    if ids:
        subprocess.run(["scancel", *ids], check=False, timeout=60)
    end = time.monotonic() + 60
    while steps() and time.monotonic() < end:
        time.sleep(0.5)
    for number in (signal.SIGTERM, signal.SIGKILL):  # Slurm has not ended them.
        for pid in [child for step in steps() for child in _children(step)] + (steps() if number == signal.SIGKILL else []):
            os.kill(pid, number)
        time.sleep(10 if steps() else 0)
    for daemon in own.nodes.values():
        daemon.stop(10)


def steps() -> list[int]:
    """Returns the pids of the processes that hold the steps of jobs, which outlive the daemon of their node."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "comm").read_text().strip() == "slurmstepd":
                state = state_of(int(folder.name))
                found += [] if state is None or state.has_ended else [state.pid]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _children(pid: int) -> list[int]:
    """Returns the processes below a process, those that were started last first."""
    own = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [below for child in own for below in _children(child)] + own


@contextmanager
def _configured(folder: Path, socket_file: Path) -> Iterator[None]:
    if CONF.exists() and not CONF.read_text(encoding="utf-8").startswith(_MARK):
        raise TickdiskError(f"{CONF} is of a cluster of this machine's own; the test needs a machine without one")
    host = socket.gethostname()
    settings = {
        "ClusterName": "virtual",
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": _PORT,
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={socket_file},cred_expire=10",  # A job that is run again waits for as long.
        "CredType": "cred/munge",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "MpiDefault": "none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SlurmdParameters": "config_overrides",
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "JobRequeue": 1,
        "ReturnToService": 2,
        "MinJobAge": 3600,
        "SlurmdTimeout": _LOST_AFTER_S,
        "KillWait": 30,
        "Licenses": "live:1",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": f"{folder}/spool.%n",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": f"{folder}/slurmd.%n.pid",
        "SlurmctldLogFile": folder / "slurmctld.log",
        "SlurmdLogFile": f"{folder}/slurmd.%n.log",
    }
    nodes = [
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={_PORT + number} CPUs=1 RealMemory=4000"
        for number, node in enumerate(NODES, start=1)
    ]
    partitions = [
        f"PartitionName=main Nodes={','.join(NODES)} Default=YES State=UP PriorityTier=1",
        f"PartitionName=urgent Nodes={','.join(NODES)} State=UP PriorityTier=10",
    ]
    CONF.parent.mkdir(exist_ok=True)
    lines = [_MARK, *(f"{name}={value}" for name, value in settings.items()), *nodes, *partitions]
    CONF.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        yield
    finally:
        CONF.unlink(missing_ok=True)
