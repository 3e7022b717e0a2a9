"""Leases on a piece of work in a folder that several machines may share.

They do not need locks, which shared file systems offer in different ways or not at all. A process that holds a lease has a file
in the folder and renews its time every few seconds. Whoever removes this file revokes the lease, and the holder notices it at the
next renewal. A lease whose process is gone, or that was not renewed for minutes, is dead.
"""

import atexit
import errno
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import ProcessIdentity, boot_id, pid_namespace

RENEWAL_S = 5.0
"""Time between two renewals."""
DEAD_S = 180.0
"""Age above which a lease of another machine is dead. An NFS client may show a time of the file that is a minute old."""
_GRACE_S = 30.0
"""Time that a holder on another machine gets to end after its lease was revoked."""
_PATIENCE_S = 90.0
"""Time after which a holder on this machine that does not end is reported."""
_SUFFIX = ".lease"


class Holder(record.Record):
    """The process that holds a lease, as the file of the lease describes it."""

    host: str
    """The name of the machine."""
    boot_id: str
    """The kernel's identity of the machine's present boot."""
    pid_namespace: int
    """The inode of the pid namespace in which `process` has its pid."""
    process: ProcessIdentity
    """The process."""

    @classmethod
    def this_process(cls) -> "Holder":
        """Returns the process that calls."""
        return cls(
            host=socket.gethostname(),
            boot_id=boot_id(),
            pid_namespace=pid_namespace(),
            process=ProcessIdentity.this_process(),
        )

    @property
    def is_visible(self) -> bool:
        """Whether this process could see the holder in /proc, so that a pid that is not there means that the holder is gone."""
        return (self.boot_id, self.pid_namespace) == (boot_id(), pid_namespace())

    @property
    def title(self) -> str:
        """The holder in a sentence, such as "process 812 on node3"."""
        return f"process {self.process.pid} on {self.host}"


@dataclass(frozen=True)
class Lease:
    """A lease that this process holds until it ends or gives it back, on a piece of work called `name` in a folder."""

    folder: Path
    name: str
    path: Path
    """File of the lease."""
    _given_back: threading.Event

    def others(self) -> list["Other"]:
        """Returns the other living leases on the same work. The files of dead ones are removed."""
        return [other for other in self._found() if not other.remove_if_dead(self)]

    def revoke_others(self) -> list[Holder]:
        """Revokes all other leases on the same work, waits until their holders have ended, and returns these.

        A holder that this process cannot see gets half a minute. Raises TickdiskError if another one does not end.
        """
        others = self.others()
        for other in others:
            other.path.unlink(missing_ok=True)
        for other in others:
            other.wait_for_end()
        return [other.holder for other in others]

    def give_back(self) -> None:
        """Gives the lease back."""
        self._given_back.set()
        self.path.unlink(missing_ok=True)

    def renew(self, on_revoked: Callable[[], None]) -> None:
        """Renews the lease until it is given back, or until it is revoked, and then calls `on_revoked`."""
        while not self._given_back.wait(RENEWAL_S):
            try:
                os.utime(self.path)
            except OSError as error:
                # NFS calls a file that another machine has removed a stale handle. Other errors may pass.
                if error.errno in (errno.ENOENT, errno.ESTALE) and not self._given_back.is_set():
                    print(f"the lease on {self.name} in {self.folder} was taken away, so this process ends", file=sys.stderr)
                    on_revoked()
                    return

    def _found(self) -> Iterator["Other"]:
        for path in sorted(self.folder.glob(f".*{_SUFFIX}")):
            if path != self.path and path.name.startswith(f".{self.name}.") and path.name.count(".") == self.path.name.count("."):
                try:
                    modified_s = path.stat().st_mtime
                    found = Other(path, record.read(Holder, path, "remove the file"), modified_s)
                except (FileNotFoundError, TickdiskError):
                    if path.exists():
                        raise
                else:  # Otherwise it was given back meanwhile.
                    yield found


@dataclass(frozen=True)
class Other:
    """A lease of another process."""

    path: Path
    holder: Holder
    renewed_s: float
    """Time of the last renewal, by the clock of the file system."""

    def remove_if_dead(self, own: Lease) -> bool:
        """Removes the file of the lease if its holder is gone, or has not renewed it for long. Returns whether it was dead."""
        if self.holder.is_visible:
            is_dead = not self.holder.process.alive()
        else:
            os.utime(own.path)
            is_dead = own.path.stat().st_mtime - self.renewed_s > DEAD_S
        if is_dead:
            self.path.unlink(missing_ok=True)
        return is_dead

    def wait_for_end(self) -> None:
        """Waits until the holder has ended, as far as this process can see it."""
        if not self.holder.is_visible:
            time.sleep(_GRACE_S)
            return
        end = time.monotonic() + _PATIENCE_S
        while self.holder.process.alive():
            if time.monotonic() > end:
                raise TickdiskError(f"{self.holder.title} does not end, and works at {self.path.name}; end it with SIGKILL")
            time.sleep(0.1)


def _end_this_process() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def hold(folder: Path, name: str, on_revoked: Callable[[], None] = _end_this_process) -> Lease:
    """Takes a lease on a piece of work called `name` in a folder, which is made if it is missing.

    The lease stands beside any other on the same work, and the caller decides what to do about those. `on_revoked` is called in a
    thread of its own when another process revokes the lease. By default, this process then gets SIGTERM.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lease = Lease(folder, name, folder / f".{name}.{uuid.uuid4().hex}{_SUFFIX}", threading.Event())
    record.write(lease.path, own := Holder.this_process())

    def give_back() -> None:
        if own.process.pid == os.getpid():  # A forked process has this function, too, and does not hold the lease.
            lease.give_back()

    atexit.register(give_back)
    threading.Thread(target=lease.renew, args=(on_revoked,), name="lease", daemon=True).start()
    return lease
