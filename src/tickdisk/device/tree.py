"""Backend tree: a FUSE file system on a backing folder, for machines without root or loop devices."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tickdisk.device.backing import made_backing, make_backing
from tickdisk.device.control import ask
from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import MountedDevice
from tickdisk.device.mounts import sync, unmount
from tickdisk.errors import TickdiskError

TREE = "tree"
_PROBE_BYTES = 4 << 20
_STEP_S, _COOL_S = 5.0, 60.0


class TreeDevice(MountedDevice):
    """A tree of files in memory, or in a folder that was given.

    Above it is the kernel's write-back cache: reads that miss it, write-back and syncs are the device's requests, with offsets in
    their file. Names, sizes and modes cost nothing, and there is no journal; a close writes back what was written.
    """

    @property
    def block_device(self) -> Path:
        """There is none: TickdiskError."""
        raise TickdiskError(f"device {self.name} is a tree, which has no block device; take backend fuse")

    @contextmanager
    def probe(self) -> Iterator[tuple[Path, int]]:
        """Yields a file of zeroes and its size in bytes; it has no name, so that it is gone with us, whatever happens."""
        name = self.mount_point / f".probe-{os.getpid()}"
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
        try:
            name.unlink()
            os.write(descriptor, bytes(_PROBE_BYTES))
            os.fsync(descriptor)
            yield Path(f"/proc/self/fd/{descriptor}"), _PROBE_BYTES
        finally:
            os.close(descriptor)

    def start(
        self,
        model: DeviceModel,  # noqa: ARG002 - it is set later
        log_path: Path | None,
        logs: Path | None,
        cores: Sequence[int] | None,
        *,
        detached: bool,
    ) -> None:
        """Makes the backing folder if none was given, and starts the emulator, which mounts."""
        record = self._record
        if record.backing is None:
            record.backing, record.made_backing = make_backing(record), True
            record.save()
        elif not record.backing.is_dir():
            raise TickdiskError(f"{record.backing} is no folder; give one that exists as backing of the tree")
        record.arrivals_lack = "a tree has no block device"
        self._start_emulator(log_path, logs, cores, detached=detached)

    def leave(self) -> None:
        """From now on the emulator owns the device."""
        if self._record.daemon is not None:
            self._record.owner = self._record.daemon
            self._record.save()

    def remount(self) -> None:
        """Writes back what is not yet written, and lets the kernel forget contents: the page cache is cold then,
        but for files of which somebody changes a page at that moment.
        """
        sync(self.mount_point)
        ask(self._record.socket, "cool", limit_s=_COOL_S)

    def _go_down(self) -> None:
        record = self._record
        self._come_to_rest()
        if not unmount(record.mount_point, self._patience_s(), lazily=False):
            raise TickdiskError(f"{record.mount_point} is in use")
        self._end_emulator()
        if (backing := made_backing(record)) is not None:
            shutil.rmtree(backing)
        record.remove()
