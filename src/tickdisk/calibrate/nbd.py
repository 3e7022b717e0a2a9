"""The cross-check: nbdkit's disk in memory with its own delay and rate filters, over nbdfuse and a loop device."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tickdisk.calibrate.fio import Target
from tickdisk.device import DeviceModel
from tickdisk.device.loop import Loop
from tickdisk.errors import TickdiskError
from tickdisk.process import Child, run

PROGRAMS = ("nbdkit", "nbdfuse")
_BURST_S = 0.1
"""So long a rate may be exceeded; its own 2 s would be most of a run."""
_START_S, _LOOK_S, _STOP_S = 10.0, 0.02, 5.0


def missing() -> list[str]:
    """Returns the programs of the chain that are not installed."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


@contextmanager
def nbd_chain(model: DeviceModel, folder: Path, size_bytes: int, *, cores: Sequence[int] | None = None) -> Iterator[Target]:
    """Yields a block device of the same latency and bandwidth as `model`, by nbdkit; it is gone afterwards.

    nbdkit's delay is a sleep before each request. `folder`, a new one, takes socket, mount point and the programs' words.
    TickdiskError when a program is not installed or does not start.
    """
    if lacks := missing():
        raise TickdiskError(f"{' and '.join(lacks)} not installed; install the Debian packages nbdkit and libnbd-bin")
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
            loop = Loop(disk, "tickdisk cross-check")
            try:
                # Out of everybody's sight at once: what holds it is the loop device alone, which the kernel takes away with us.
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
    """All that nbdkit 1.32 takes."""
    if latency_ns % 1_000_000:
        raise TickdiskError(
            f"nbdkit delays by whole milliseconds and {model.name} takes {latency_ns} ns; check it with another model"
        )
    return latency_ns // 1_000_000


def _until(ready: Callable[[], bool], child: Child) -> None:
    deadline = time.monotonic() + _START_S
    while not ready():
        if child.poll() is not None:
            raise TickdiskError(f"{child.name} ended at once; its last words: {child.tail(2)}")
        if time.monotonic() > deadline:
            raise TickdiskError(f"{child.name} did not start within {_START_S:g} s; its last words: {child.tail(2)}")
        time.sleep(_LOOK_S)
