"""A mounted device of the backend fuse, and the operations on it. Its subclasses in `tree` and `unemulated` vary them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL

from tickdisk.device import arrivals
from tickdisk.device.backend import BACKENDS, Backend
from tickdisk.device.clean import clean, end, users_of
from tickdisk.device.control import ask
from tickdisk.device.cut import Cut, CutImage, NotRecoveredError, force_down
from tickdisk.device.emulator import start_emulator
from tickdisk.device.fill import fill, write_zeroes
from tickdisk.device.log import OPS
from tickdisk.device.loop import LoopDevice, detach, device_path
from tickdisk.device.model import NO_DELAY, DeviceModel
from tickdisk.device.mounts import mount, unmount
from tickdisk.device.record import DeviceRecord
from tickdisk.device.status import DeviceStatus, EmulatorStatus
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole
from tickdisk.foundation.process import Child, ProcessIdentity, run

MKFS = {
    # The lazy initialisation is switched off, because writes in the background would be taken for the server's requests.
    # Nothing is discarded, because a real disk would then have to find the room of its file again.
    "ext4": ("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "--nodiscard"),
}
LEAST_BYTES = {"ext4": 16 << 20, "xfs": 300 << 20, "btrfs": 109 << 20}
"""The size of the smallest device on which each program of MKFS makes a file system."""
_CUT_STEP_S, _STEP_S, _WRITE_BACK_S, _IMAGE_S = 1.0, 5.0, 60.0, 600.0


@dataclass(frozen=True)
class DeviceSetting:
    """A model that is in force on a mounted device for requests from one time on, as `MountedDevice.set` returns it."""

    number: int
    """Number of the setting in the device's log."""
    effective_ns: int
    """Time from which arriving requests are under this setting, in ns of CLOCK_MONOTONIC."""
    model: str
    floor_ns: int
    """Time by which replies are sent earlier than the model says, because the machine itself adds it (the floor)."""


class MountedDevice:
    """A device that is up, usually with a file system on it.

    This class is for the backend fuse, in which a file system lies on a loop device on an emulated disk. Its subclasses are for
    the other backends. `up`, `bring_up` and `attach` return devices, and `down` removes them.
    """

    def __init__(self, record: DeviceRecord) -> None:
        self.name, self.size_bytes = record.name, record.size_bytes
        self._record = record
        self._child: Child | None = None
        self._loop: LoopDevice | None = None

    @property
    def backend(self) -> Backend:
        """The backend of the device, with its abilities."""
        return BACKENDS[self._record.backend]

    @property
    def file_system(self) -> str | None:
        """The kind of the file system, such as `ext4`. It is `tree` for a tree, and None for a bare block device."""
        return self._record.file_system

    @property
    def tells_extents(self) -> bool:
        """Whether `extents_of` returns places on the block device, by which a request in the log can be assigned to a file.

        It does not on a tree, which has no block device, nor on btrfs, which has addresses of its own.
        """
        return self.backend.abilities.block_device and self.file_system in ("ext4", "xfs")

    @property
    def mount_point(self) -> Path:
        """The folder at which the file system is mounted. For a bare block device, TickdiskError is raised."""
        if self._record.file_system is None:
            raise TickdiskError(f"device {self.name} has no file system; use its block device {self.block_device}")
        return self._record.mount_point

    @property
    def block_device(self) -> Path:
        """The path of the loop device on which the file system lies. If none was attached, TickdiskError is raised."""
        if self._record.loop is None:
            raise TickdiskError(f"device {self.name} has no block device; it is down")
        return device_path(self._record.loop)

    def schedule(self, scheduler: str) -> None:
        """Lets the kernel order requests by one of its schedulers, such as mq-deadline, which Debian takes for a SATA disk.

        Raises TickdiskError if the device has no loop device, or if the kernel does not have the scheduler.
        """
        if self._loop is None:
            raise TickdiskError(f"device {self.name} has no loop device, whose scheduler could be set; use the backend fuse")
        self._loop.schedule(scheduler)

    @property
    def daemon_pid(self) -> int:
        """The pid of the emulator's process, which serves the device. If it was not started, TickdiskError is raised."""
        if self._record.daemon is None:
            raise TickdiskError(f"device {self.name} has no emulator; it is down")
        return self._record.daemon.pid

    @property
    def latency_ns(self) -> dict[str, int]:
        """Median latencies in ns of the model in force on the idle device, by operation."""
        return self._record.latency_ns

    @property
    def arrivals_lack(self) -> str:
        """The reason why the kernel does not say when requests arrive, or an empty text if it does."""
        return self._record.arrivals_lack

    @contextmanager
    def probe(self) -> Iterator[tuple[Path, int]]:
        """Yields the path of a block device or file that can be read past the page cache, and its size in bytes."""
        yield self.block_device, self.size_bytes

    def start(
        self,
        model: DeviceModel,  # noqa: ARG002 - it is for backends whose devices cannot change later
        log_path: Path | None,
        logs: Path | None,
        cores: Sequence[int] | None,
        *,
        detached: bool,
    ) -> None:
        """Starts the emulator, attaches the loop device, and makes and mounts the file system, without any delay yet.

        `bring_up` calls it once, with the model that it sets afterwards and with the `Options` of these names.
        If a step fails, `down` removes what the steps before it have made.
        """
        self._start_emulator(log_path, logs, cores, detached=detached)
        self._attach()
        self._make_file_system()

    def _start_emulator(self, log_path: Path | None, logs: Path | None, cores: Sequence[int] | None, *, detached: bool) -> None:
        record = self._record
        for folder in (record.folder, record.fuse_mount, record.mount_point):
            folder.mkdir(parents=True, exist_ok=True)
        self._child = start_emulator(record, log_path, logs or record.logs, cores, detached=detached)

    def _make_file_system(self) -> None:
        file_system, is_filled = self._record.file_system, self._record.filled
        if is_filled:
            fill(self.block_device, self.size_bytes)
        if file_system is not None:
            run([*MKFS[file_system], self.block_device], timeout_s=_STEP_S * 12, what=MKFS[file_system][0])
            if is_filled:
                write_zeroes(self.block_device, self.size_bytes)
            self._mount()

    def _mount(self) -> None:
        """Mounts the file system, if the device has one. An xfs with the same UUID may be mounted elsewhere.

        This is so after a cut, when processes have files on the old xfs open, and after `restore`.
        """
        if (file_system := self._record.file_system) is not None:
            mount(str(self.block_device), self._record.mount_point, file_system, "nouuid" if file_system == "xfs" else "")

    def leave(self) -> None:
        """Makes the emulator the owner of the device, so that the device stays when this process ends (`DeviceRecord.owner`).

        From then on only the mounted file system keeps the loop device attached.
        """
        if self._record.daemon is not None and self._loop is not None:
            self._record.owner = self._record.daemon
            self._record.save()
            self._loop.close()
            self._loop = None

    def set(self, model: DeviceModel, *, floor_ns: int) -> DeviceSetting:
        """Puts a model in force for requests that arrive from now on, while the device stays mounted with its files.

        The model begins as an idle device. Replies are sent earlier by `floor_ns`, which the machine adds to the model's latency.
        If the backend cannot be that device, or the emulator does not answer, TickdiskError is raised.
        """
        self.backend.check_model(model)
        reply = ask(self._record.socket, "set", parameters=model.parameters(), floor_ns=floor_ns, burn_ns=model.burn_ns)
        self._note(model)
        return DeviceSetting(reply["number"], reply["effective_ns"], model.name, floor_ns)

    def _note(self, model: DeviceModel) -> None:
        """Writes the model in force into the record, from which another process reads it for `status`."""
        record, noted = self._record, (model.name, model.description, dict(zip(OPS, model.latency_ns, strict=True)))
        if (record.model, record.description, record.latency_ns) != noted:
            record.model, record.description, record.latency_ns = noted
            record.save()

    def stall(self, duration_ns: int) -> int:
        """Makes the device stall: its next request begins a time in which neither that request nor a later one starts.

        Requests that the device took before the stall go on, even if they are still queued. A `set` during the stall ends it.
        Afterwards `stalls` of `status` has its begin and end. The time from which the next request begins the stall is returned,
        in ns of CLOCK_MONOTONIC.
        """
        return int(ask(self._record.socket, "stall", duration_ns=duration_ns)["armed_ns"])

    def status(self) -> DeviceStatus:
        """Returns the state of the device and the counts of everything that it has done since it came up."""
        return self.emulator_status()

    def emulator_status(self) -> EmulatorStatus:
        """Returns the state of a device that a process emulates. If the emulator does not answer, TickdiskError is raised."""
        return EmulatorStatus(
            device=self._record.model,
            description=self._record.description,
            arrivals_lack=self.arrivals_lack,
            **ask(self._record.socket, "status"),
        )

    def cut(self, keep_share: float = 0.0, seed: int = 0) -> Cut:
        """Cuts the power of a volatile device, switches it on again, and mounts the file system at the same place.

        An unflushed version of a 4 KiB page survives with the probability `keep_share`, from 0 to 1, drawn with `seed`. The cache
        of the model plays no part. All data that were not flushed can be lost, which is the worst that a device may do.
        Afterwards `block_device` is another one. The old block device and all files that were open give only errors.

        If the device is not volatile, `keep_share` is not from 0 to 1, or the file system does not recover, TickdiskError is
        raised.
        """
        record = self._record
        self._check_volatile()
        users = users_of(record)
        reply = ask(
            record.socket, "cut", limit_s=_WRITE_BACK_S, keep_share=keep_share, seed=seed
        )  # From now on the device answers at once, until the order `power_on`.
        if record.loop is not None:
            record.old_loops.append(record.loop)
        record.cut_off += [user for user in map(ProcessIdentity.of, users) if user is not None]
        record.save()
        try:
            self._attach_anew(0 if users else _CUT_STEP_S)
        finally:
            # The power comes on even after a failure, so that a user who then mounts the device by hand finds its delays.
            number = ask(record.socket, "power_on")["number"]
        self._mount()
        return Cut(**reply, number=number, users=tuple(users))

    def _check_volatile(self) -> None:
        self._check_cuts()
        if not self._record.volatile:
            raise TickdiskError(f"device {self.name} is not volatile, so it loses nothing; bring it up with `--volatile`")

    def _check_cuts(self) -> None:
        if not self.backend.abilities.cuts_power:
            raise TickdiskError(f"device {self.name} of backend {self.backend.name} has no power to cut; take backend fuse")

    def image_of_cut(self, path: Path, *, keep_share: float = 0.0, seed: int = 0) -> CutImage:
        """Writes a file with what `cut` with the same arguments would leave now, while the device and its users go on.

        The file at `path` appears when it is whole, and `restore` makes a device of it. Its folder should be in memory, because
        the file is written and flushed while something is measured. It takes as much space as the pages of the device that
        are not zero. Only one image of a device is written at a time, and a later one waits before its time of the cut.

        If the device is not volatile, `keep_share` is not from 0 to 1, or the file cannot be written, TickdiskError is raised.
        """
        self._check_volatile()
        with whole(path) as partial:
            partial.touch()
            arguments = {"path": str(partial.absolute()), "keep_share": keep_share, "seed": seed}
            reply = ask(self._record.socket, "image", limit_s=_IMAGE_S, **arguments)
        return CutImage(path=path, **reply)

    def restore(self, image: Path) -> None:
        """Gives the device the content of an image instead of its own, and mounts the file system, which recovers as after a cut.

        The device must have the size of the image and be brought up with its kind of file system, and nobody may use it. The
        model in force begins at rest, and the file system recovers at its speed. All content is durable. `block_device` may be
        another one afterwards.

        If the backend cannot be cut, the image is not there or has another size, or the file system is in use, TickdiskError is
        raised, and the device stays as it was. It is also raised if a bare block device is in use, which then goes when it is
        closed, so that the call can be made again. If the image cannot be read to its end, TickdiskError
        is raised, and if the file system does not recover, NotRecoveredError. The device has to be taken down then.
        """
        self._check_cuts()
        try:
            file = image.open("rb")
        except OSError as error:
            raise TickdiskError(f"cannot read the image {image}: {error.strerror}; give a file of `image_of_cut`") from error
        with file:  # An image on the device itself keeps the device in use.
            size_bytes = os.fstat(file.fileno()).st_size
            if size_bytes != self.size_bytes:
                sizes = f"{size_bytes} bytes, and device {self.name} has {self.size_bytes}"
                raise TickdiskError(f"image {image} has {sizes}; bring up a device of the image's size")
            self._give_up_unused()
        try:
            ask(self._record.socket, "load", limit_s=_IMAGE_S, path=str(image.absolute()))
            self._attach()
        finally:
            ask(self._record.socket, "power_on")
        try:
            self._mount()
        except TickdiskError as error:
            raise NotRecoveredError(str(error)) from error

    def _give_up_unused(self) -> None:
        """Unmounts the file system and detaches the loop device. If a process uses one of them, TickdiskError is raised."""
        record = self._record
        if record.file_system is not None:
            self._unmount_unused()
        if self._loop is not None:
            self._loop.close()
            self._loop = None
        if record.loop is not None and not detach(record.loop, record.mark, _STEP_S):
            raise TickdiskError(f"{self.block_device} is in use; end the processes that use it")
        record.loop = None
        record.save()

    def _attach_anew(self, patience_s: float) -> None:
        """Gives up the file system and the loop device that were used before a power cut, and attaches a new loop device."""
        record = self._record
        if record.file_system is not None:
            force_down(record.mount_point)
            if not unmount(record.mount_point, patience_s, lazily=True):
                raise TickdiskError(f"the old file system stays at {record.mount_point}; remove it with `tickdisk device down`")
        if self._loop is not None:
            self._loop.close()
        record.old_loops = [number for number in record.old_loops if not detach(number, record.mark, patience_s)]
        self._attach()

    def add_user(self, pid: int) -> None:
        """Records a process that uses the device, if it exists, so that it is killed before the device is removed."""
        user = ProcessIdentity.of(pid)
        if user is not None:
            self._record.users.append(user)
            self._record.save()

    def remount(self) -> None:
        """Mounts the file system anew, so that its page cache is cold. If a process uses it, TickdiskError is raised."""
        self._unmount_unused()
        if self._loop is None:  # The file system was the last user of the loop device, so the kernel has detached it.
            self._attach()
        self._mount()

    def _unmount_unused(self) -> None:
        if not unmount(self.mount_point, self._unmount_limit_s(), lazily=False):
            users = ", ".join(str(pid) for pid in users_of(self._record)) or "unknown"
            raise TickdiskError(f"{self.mount_point} is in use by process {users}; end it first")

    def down(self) -> bool:
        """Removes the device, whatever its state is, and returns whether all of it is gone.

        Afterwards its log is complete, unless the emulator was killed. If a process still uses the device, it gets only errors
        from now on. A line on standard error then names the process and the parts of the device that stay until the process has
        closed them.
        """
        if not self._record.path.exists():
            return True
        try:
            self._go_down()
        except (TickdiskError, OSError):
            with suppress(TickdiskError):
                ask(self._record.socket, "quit", limit_s=1)  # If the emulator still answers, this completes the log.
            if self._loop is not None:
                self._loop.close()
            if self._child is not None:
                self._child.stop(0, SIGKILL)
            clean(self._record)
        return not self._record.path.exists()

    def _go_down(self) -> None:
        record = self._record
        self._end_users_and_delays()
        self._give_up_unused()
        for number in record.old_loops:
            if not detach(number, record.mark, _CUT_STEP_S):
                raise TickdiskError(f"{device_path(number)} from before a power cut is in use")
        if not unmount(record.fuse_mount, _STEP_S, lazily=False):
            raise TickdiskError(f"{record.fuse_mount} is in use")
        self._end_emulator()
        record.remove()

    def _end_users_and_delays(self) -> None:
        """Kills the recorded users, and puts a model without delay in force."""
        for user in self._record.users:
            end(user)
        ask(self._record.socket, "set", parameters=NO_DELAY.parameters(), floor_ns=0, burn_ns=0)

    def _end_emulator(self) -> None:
        ask(self._record.socket, "quit", limit_s=_WRITE_BACK_S)
        if self._child is not None:
            self._child.wait(_STEP_S)
        elif self._record.daemon is not None:
            end(self._record.daemon)

    def _unmount_limit_s(self) -> float:
        """Returns for how long to wait for an unmount, which is longer if only data that are still to be written keep it busy."""
        return _STEP_S if users_of(self._record) else _WRITE_BACK_S

    def alive(self) -> bool:
        """Returns whether the emulator still runs. Without it, every request to the device fails."""
        return self._record.daemon is not None and self._record.daemon.alive()

    def _attach(self) -> None:
        self._loop = LoopDevice(self._record.fuse_mount / "disk", self._record.mark)
        self._record.loop = self._loop.number
        self._record.old_loops = [number for number in self._record.old_loops if number != self._loop.number]
        self._record.arrivals_lack = arrivals.watch(self._record.socket, self.block_device)
        self._record.save()
