"""A device that is up: its mount point, its block device, its model, and the way down."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any

from tickdisk.device import arrivals
from tickdisk.device.backend import BACKENDS, Backend
from tickdisk.device.clean import clean, end, users_of
from tickdisk.device.control import ask
from tickdisk.device.cut import Cut, force_down
from tickdisk.device.emulator import start_emulator
from tickdisk.device.loop import Loop, detach, device_path
from tickdisk.device.model import NO_DELAY, DeviceModel
from tickdisk.device.mounts import mount, unmount
from tickdisk.device.record import Identity, Record
from tickdisk.errors import TickdiskError
from tickdisk.process import Child, run

MKFS = {
    # Nothing is left to do in the background, where it would be taken for the server's I/O.
    "ext4": ("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
}
_CUT_STEP_S, _STEP_S, _WRITE_BACK_S = 1.0, 5.0, 60.0


@dataclass(frozen=True)
class Setting:
    """A model in force for requests that arrive from `effective_ns` (CLOCK_MONOTONIC) on; `number` is in the device's log."""

    number: int
    effective_ns: int
    model: str
    floor_ns: int


class MountedDevice:
    """A device with a file system on it. `down` takes it away; `up` does that by itself.

    This one is of backend fuse: an emulated disk, a loop device, a file system. What the other backends do otherwise is in
    `tree` and `kernel_device`; `backend` says which it is, and what it can do.
    """

    def __init__(self, record: Record) -> None:
        self.name, self.size_bytes = record.name, record.size_bytes
        self._record = record
        self._child: Child | None = None
        self._loop: Loop | None = None

    @property
    def backend(self) -> Backend:
        """Which kind of device it is."""
        return BACKENDS[self._record.backend]

    @property
    def file_system(self) -> str | None:
        """The file system on it; `tree` of a tree, which is one itself, None of a bare block device."""
        return self._record.file_system

    @property
    def tells_extents(self) -> bool:
        """Whether `extents_of` says where on the block device a file lies; btrfs tells addresses of its own."""
        return self.backend.abilities.block_device and self.file_system in ("ext4", "xfs")

    @property
    def mount_point(self) -> Path:
        """Where the file system is."""
        if self._record.file_system is None:
            raise TickdiskError(f"device {self.name} has no file system; use its block device {self.block_device}")
        return self._record.mount_point

    @property
    def block_device(self) -> Path:
        """The loop device, below the file system."""
        if self._record.loop is None:
            raise TickdiskError(f"device {self.name} has no block device; it is down")
        return device_path(self._record.loop)

    @property
    def daemon_pid(self) -> int:
        """The emulator's process."""
        if self._record.daemon is None:
            raise TickdiskError(f"device {self.name} has no emulator; it is down")
        return self._record.daemon.pid

    @property
    def arrivals_lack(self) -> str:
        """Why the kernel does not say when requests arrive, if it does not: they do when the emulator takes them."""
        return self._record.arrivals_lack

    @contextmanager
    def probe(self) -> Iterator[tuple[Path, int]]:
        """Yields what reads without a page cache can be made of, and its size in bytes: the block device, or a file."""
        yield self.block_device, self.size_bytes

    def start(
        self,
        model: DeviceModel,  # noqa: ARG002 - a backend that cannot change it later makes it so from the start
        log_path: Path | None,
        logs: Path | None,
        cores: Sequence[int] | None,
        *,
        detached: bool,
    ) -> None:
        """Starts the emulator, attaches the loop device, makes and mounts the file system; `down` takes away how far it came."""
        self._start_emulator(log_path, logs, cores, detached=detached)
        self._attach()
        self._make_file_system()

    def _start_emulator(self, log_path: Path | None, logs: Path | None, cores: Sequence[int] | None, *, detached: bool) -> None:
        record = self._record
        for folder in (record.folder, record.fuse_mount, record.mount_point):
            folder.mkdir(parents=True, exist_ok=True)
        self._child = start_emulator(record, log_path, logs or record.logs, cores, detached=detached)

    def _make_file_system(self) -> None:
        file_system = self._record.file_system
        if file_system is not None:
            run([*MKFS[file_system], self.block_device], timeout_s=_STEP_S * 12, what=MKFS[file_system][0])
            mount(str(self.block_device), self._record.mount_point, file_system)

    def leave(self) -> None:
        """From now on the emulator owns the device, and the file system alone keeps the loop device attached."""
        if self._record.daemon is not None and self._loop is not None:
            self._record.owner = self._record.daemon
            self._record.save()
            self._loop.close()
            self._loop = None

    def set(self, model: DeviceModel, *, floor_ns: int) -> Setting:
        """Puts `model` in force for requests that arrive from now on.

        Replies are sent earlier by `floor_ns`, which is what this machine adds to the model's latency; 0: no reply is early.
        TickdiskError when the backend cannot be that device.
        """
        self.backend.check_model(model)
        reply = ask(self._record.socket, "set", parameters=model.parameters(), floor_ns=floor_ns, burn_ns=model.burn_ns)
        self._note(model)
        return Setting(reply["number"], reply["effective_ns"], model.name, floor_ns)

    def _note(self, model: DeviceModel) -> None:
        """Writes down which model is in force, for `status` of another process."""
        if self._record.model != model.name or self._record.description != model.description:
            self._record.model, self._record.description = model.name, model.description
            self._record.save()

    def stall(self, duration_ns: int) -> int:
        """Lets the next request begin a stall: for `duration_ns` neither it nor a later one starts. Returns when it was armed.

        What the device has taken before goes on, queued or not. What the stall was, begin and end, is then in
        `status()["stalls"]`; a `set` meanwhile ends it.
        """
        return int(ask(self._record.socket, "stall", duration_ns=duration_ns)["armed_ns"])

    def status(self) -> dict[str, Any]:
        """Returns what the device has done since it is up.

        device and description (of the model in force), requests and bytes by operation, inflight, max_inflight, stamped (requests
        of which the kernel said when they reached the block device), arrivals_lack (why it does not, if so: they arrive when the
        emulator takes them), log_written, log_overflow (requests without a record), setting, floor_ns, burn_owed_ns, stalls
        (begin and end in ns of each that was ordered), requests_failed (by power cuts; they have no record), unflushed_pages
        (versions of 4 KiB pages that a cut could take; None when the device is not volatile), cpu_ns of the emulator's threads in
        total, and cpu_ns_by_thread, cores_awake (whether it could keep idle cores from sleeping), real_time (whether its threads
        run before ordinary ones).
        """
        return {**self._in_force(), **ask(self._record.socket, "status"), "arrivals_lack": self.arrivals_lack}

    def _in_force(self) -> dict[str, str]:
        return {"device": self._record.model, "description": self._record.description}

    def cut(self, keep_share: float = 0.0, seed: int = 0) -> Cut:
        """Cuts the power, switches it on again and mounts the file system at the same place; returns what was lost.

        Each unflushed version of a 4 KiB page survives with probability `keep_share`, drawn with `seed`. Files that were open
        give only errors from now on, and so does the old block device: `block_device` is a new one. TickdiskError when the device
        is not `volatile`, and when the file system does not recover. The model's cache has no part in this: all that was not
        flushed can be lost, the worst that a device may do.
        """
        record = self._record
        if not record.volatile:
            raise TickdiskError(f"device {self.name} is not volatile, it loses nothing; bring it up with `--volatile`")
        users = users_of(record)
        reply = ask(
            record.socket, "cut", limit_s=_WRITE_BACK_S, keep_share=keep_share, seed=seed
        )  # it answers at once from now on
        if record.loop is not None:
            record.old_loops.append(record.loop)
        record.cut_off += [user for user in map(Identity.of, users) if user is not None]
        record.save()
        try:
            self._attach_anew(0 if users else _CUT_STEP_S)
        finally:
            # Also where that failed: who mounts it by hand has the device that it is, not one without delays.
            number = ask(record.socket, "power_on")["number"]
        if record.file_system is not None:
            # The old xfs may still be there, with the same UUID, for those who have its files open.
            options = "nouuid" if record.file_system == "xfs" else ""
            mount(str(self.block_device), record.mount_point, record.file_system, options)
        return Cut(**reply, number=number, users=tuple(users))

    def _attach_anew(self, patience_s: float) -> None:
        """Lets go of the file system and the loop device of before a power cut, and has a new one."""
        record = self._record
        if record.file_system is not None:
            force_down(record.mount_point)
            if not unmount(record.mount_point, patience_s, lazily=True):
                raise TickdiskError(f"the old file system stays at {record.mount_point}; `tickdisk device down` takes all away")
        if self._loop is not None:
            self._loop.close()
        record.old_loops = [number for number in record.old_loops if not detach(number, record.mark, patience_s)]
        self._attach()

    def add_user(self, pid: int) -> None:
        """Says that a process uses the device and is to be ended before the device goes."""
        user = Identity.of(pid)
        if user is not None:
            self._record.users.append(user)
            self._record.save()

    def remount(self) -> None:
        """Unmounts the file system and mounts it again: its page cache is cold. TickdiskError when somebody uses it."""
        if not unmount(self.mount_point, self._patience_s(), lazily=False):
            users = ", ".join(str(pid) for pid in users_of(self._record)) or "unknown"
            raise TickdiskError(f"{self.mount_point} is in use by process {users}; end it before the remount")
        if self._loop is None:  # the last user of the loop device was the file system; the kernel has detached it
            self._attach()
        mount(str(self.block_device), self.mount_point, str(self._record.file_system))

    def down(self) -> bool:
        """Takes the device away, whatever state it is in; its log is complete then, unless the emulator was killed.

        Returns whether all of it is gone. A process that still uses it gets errors from now on, and is named on standard error
        with what stays until it lets go.
        """
        if not self._record.path.exists():
            return True
        try:
            self._go_down()
        except (TickdiskError, OSError):
            with suppress(TickdiskError):
                ask(self._record.socket, "quit", limit_s=1)  # completes the log, if it still can
            if self._loop is not None:
                self._loop.close()
            if self._child is not None:
                self._child.stop(0, SIGKILL)
            clean(self._record)
        return not self._record.path.exists()

    def _go_down(self) -> None:
        record = self._record
        self._come_to_rest()
        if record.file_system is not None and not unmount(record.mount_point, self._patience_s(), lazily=False):
            raise TickdiskError(f"{record.mount_point} is in use")
        if self._loop is not None:
            self._loop.close()
        if record.loop is not None and not detach(record.loop, record.mark, _STEP_S):
            raise TickdiskError(f"{self.block_device} is in use")
        for number in record.old_loops:
            if not detach(number, record.mark, _CUT_STEP_S):
                raise TickdiskError(f"{device_path(number)}, of before a power cut, is in use")
        if not unmount(record.fuse_mount, _STEP_S, lazily=False):
            raise TickdiskError(f"{record.fuse_mount} is in use")
        self._end_emulator()
        record.remove()

    def _come_to_rest(self) -> None:
        """Ends the users, and the delays."""
        for user in self._record.users:
            end(user)
        ask(self._record.socket, "set", parameters=NO_DELAY.parameters(), floor_ns=0, burn_ns=0)

    def _end_emulator(self) -> None:
        ask(self._record.socket, "quit", limit_s=_WRITE_BACK_S)
        if self._child is not None:
            self._child.wait(_STEP_S)
        elif self._record.daemon is not None:
            end(self._record.daemon)

    def _patience_s(self) -> float:
        """Without a user only what is yet to be written keeps an unmount waiting."""
        return _STEP_S if users_of(self._record) else _WRITE_BACK_S

    def alive(self) -> bool:
        """Returns whether the emulator still runs."""
        return self._record.daemon is not None and self._record.daemon.alive()

    def _attach(self) -> None:
        self._loop = Loop(self._record.fuse_mount / "disk", self._record.mark)
        self._record.loop = self._loop.number
        self._record.old_loops = [number for number in self._record.old_loops if number != self._loop.number]
        self._record.arrivals_lack = arrivals.watch(self._record.socket, self.block_device)
        self._record.save()
