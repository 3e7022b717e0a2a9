"""The chain of nbdkit, a disk in memory with filters for delay and rate, of which nbdfuse makes a file for a loop device."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tickdisk.calibrate.fio import Target
from tickdisk.device import DeviceModel
from tickdisk.device.loop import LoopDevice
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child, run

PROGRAMS = ("nbdkit", "nbdfuse")
_BURST_S = 0.1
"""Time in s for which the rate may be exceeded. nbdkit's default of 2 s would be most of a run."""
_START_S, _LOOK_S, _STOP_S = 10.0, 0.02, 5.0


def missing() -> list[str]:
    """Returns which of the programs nbdkit and nbdfuse are not installed. Without them, `nbd_chain` cannot be used."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


@contextmanager
def nbd_chain(model: DeviceModel, folder: Path, size_bytes: int, *, cores: Sequence[int] | None = None) -> Iterator[Target]:
    """Yields a block device of nbdkit with the latency and bandwidth of `model`, which is removed at the end of the `with` block.

    nbdkit delays a request by a sleep before it. The programs run on `cores`. `folder`, which must not exist yet, gets the
    socket, the mount point and their output. If a program is not installed or does not start, TickdiskError is raised.
    """
    if lacks := missing():
        raise TickdiskError(f"{' and '.join(lacks)} must be installed first; install the Debian packages nbdkit and libnbd-bin")
    folder.mkdir(parents=True)
    socket, mount_point = folder / "socket", folder / "mount"
    mount_point.mkdir()
    read_ns, write_ns, *_ = model.latency_ns
    limits = (
        [] if model.bandwidth_bytes_per_s is None else [f"rate={model.bandwidth_bytes_per_s * 8}", f"burstiness={_BURST_S:g}"]
    )
    filters = ["--filter=delay", *(["--filter=rate"] if limits else [])]
    delays = [f"rdelay={_whole_ms(model, read_ns)}ms", f"wdelay={_whole_ms(model, write_ns)}ms"]
    serve: list[str | Path] = ["nbdkit", "--foreground", "--unix", socket, *filters, "memory", str(size_bytes), *delays, *limits]
    server = Child("nbdkit", serve, folder, cores=cores)
    try:
        _until(socket.exists, server)
        fuse = Child("nbdfuse", ["nbdfuse", mount_point, "--unix", socket], folder, cores=cores)
        try:
            disk = mount_point / "nbd"
            _until(disk.exists, fuse)
            loop = LoopDevice(disk, "tickdisk cross-check")
            try:
                # The mount is hidden from other processes at once. Only the loop device still holds it, and the kernel removes
                # the loop device when this process ends.
                run(["umount", "--lazy", mount_point])
                yield Target(loop.path, 0, size_bytes)
            finally:
                loop.close()
        finally:
            fuse.stop(_STOP_S)
            if os.path.ismount(mount_point):
                run(["umount", "--lazy", mount_point])
    finally:
        server.stop(_STOP_S)


def _whole_ms(model: DeviceModel, latency_ns: int) -> int:
    """Returns a latency in ms, because nbdkit 1.32 accepts only whole milliseconds. Other latencies raise TickdiskError."""
    if latency_ns % 1_000_000:
        raise TickdiskError(f"nbdkit delays by whole milliseconds, but {model.name} takes {latency_ns} ns; use another model")
    return latency_ns // 1_000_000


def _until(ready: Callable[[], bool], child: Child) -> None:
    deadline = time.monotonic() + _START_S
    while not ready():
        if child.poll() is not None:
            raise TickdiskError(f"{child.name} ended at once; its last output is: {child.tail(2)}")
        if time.monotonic() > deadline:
            raise TickdiskError(f"{child.name} did not start within {_START_S:g} s; its last output is: {child.tail(2)}")
        time.sleep(_LOOK_S)
