"""The backend tree, which is a FUSE file system on a backing folder, for machines without root or without loop devices."""

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
from tickdisk.foundation.errors import TickdiskError

TREE = "tree"
_PROBE_BYTES = 4 << 20
_STEP_S, _COOL_S = 5.0, 60.0


class TreeDevice(MountedDevice):
    """A mounted device of the backend tree, which is a tree of files in memory or in a folder that the user gave.

    The kernel's write-back cache lies above the tree. Reads that miss the cache, write-back and syncs are the requests of the
    device, with offsets in their file. Names, sizes and modes cost nothing, and there is no journal. Closing a file writes back
    its data.
    """

    @property
    def block_device(self) -> Path:
        """Raises TickdiskError, because a tree has no block device."""
        raise TickdiskError(f"device {self.name} is a tree, which has no block device; take backend fuse")

    @contextmanager
    def probe(self) -> Iterator[tuple[Path, int]]:
        """Yields the path of a file of zeroes and its size in bytes. The file has no name in the tree, so it never stays."""
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
        model: DeviceModel,  # noqa: ARG002 - `set` puts it in force later
        log_path: Path | None,
        logs: Path | None,
        cores: Sequence[int] | None,
        *,
        detached: bool,
    ) -> None:
        """Makes a backing folder if none was given, and starts the emulator, which mounts the tree."""
        record = self._record
        if record.backing is None:
            record.backing, record.made_backing = make_backing(record), True
            record.save()
        elif not record.backing.is_dir():
            raise TickdiskError(f"{record.backing} is no folder; give a folder that exists as the backing folder of the tree")
        record.arrivals_lack = "a tree has no block device"
        self._start_emulator(log_path, logs, cores, detached=detached)

    def leave(self) -> None:
        """Makes the emulator the owner of the device, so that the device stays when this process ends (`DeviceRecord.owner`)."""
        if self._record.daemon is not None:
            self._record.owner = self._record.daemon
            self._record.save()

    def remount(self) -> None:
        """Writes back all data that are not yet written, and lets the kernel forget the contents of files.

        The page cache is cold afterwards, except for a file of which a process changes a page at that moment.
        """
        sync(self.mount_point)
        ask(self._record.socket, "cool", limit_s=_COOL_S)

    def _go_down(self) -> None:
        record = self._record
        self._end_users_and_delays()
        if not unmount(record.mount_point, self._unmount_limit_s(), lazily=False):
            raise TickdiskError(f"{record.mount_point} is in use")
        self._end_emulator()
        if (backing := made_backing(record)) is not None:
            shutil.rmtree(backing)
        record.remove()
