"""Functions that mount, unmount and list file systems by system call.

No path of a mount whose server is dead is looked up, because that could hang.
"""

import ctypes
import errno
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

_libc = ctypes.CDLL(None, use_errno=True)
_MS_RELATIME = 1 << 21
_MNT_DETACH = 2
_LAZILY_S = 1.0
MOUNT_FLAGS = _MS_RELATIME
"""Flags of every mount, which are the kernel's default."""


_IN_MEMORY = ("tmpfs", "ramfs")


@dataclass(frozen=True)
class Mount:
    """A mounted file system, as a line of /proc/self/mountinfo describes it."""

    minor: int
    """Minor number of the mount's device. For FUSE it is the number of the connection."""
    mount_point: Path
    file_system: str
    source: str
    """The mounted block device, or, for other file systems, the name that was given at the mount."""


def mounts() -> list[Mount]:
    """Returns all mounted file systems that this process can see, which are those in its mount namespace."""
    mounted = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields, _, rest = line.partition(" - ")
        words, (file_system, source) = fields.split(), rest.split()[:2]
        mounted.append(Mount(int(words[2].split(":")[1]), Path(_plain(words[4])), file_system, _plain(source)))
    return mounted


def _plain(word: str) -> str:
    """Returns a word of mountinfo without the kernel's octal escapes, which stand for spaces and other special characters."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), word)


def memory_file_system(path: Path) -> str | None:
    """Returns "tmpfs" or "ramfs" if an existing path is on a file system that is in memory only, and None otherwise."""
    there = path.stat().st_dev
    kinds = (each.file_system for each in mounts() if (0, each.minor) == (os.major(there), os.minor(there)))
    return next((kind for kind in kinds if kind in _IN_MEMORY), None)


def mount(source: str, mount_point: Path, file_system: str, options: str = "") -> None:
    """Mounts a file system of the kind `file_system` at an existing folder. If the kernel refuses, TickdiskError is raised.

    `source` is the path of its block device, or any name if it has none. `options` are those of the file system, as `mount -o`
    takes them.
    """
    if _libc.mount(source.encode(), os.fsencode(mount_point), file_system.encode(), MOUNT_FLAGS, options.encode()) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise TickdiskError(
            f"cannot mount {source} ({file_system}) at {mount_point}: {reason}; run as root on a kernel with {file_system}"
        )


def sync(path: Path) -> None:
    """Writes back all data of the file system at `path`. If that fails, TickdiskError is raised."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.syncfs(descriptor) != 0:
            raise TickdiskError(f"cannot write back {path}: {os.strerror(ctypes.get_errno())}; is its emulator alive?")
    finally:
        os.close(descriptor)


def within(limit_s: float, call: Callable[[], None]) -> bool:
    """Runs `call` in a thread, and returns whether it ended within `limit_s` seconds.

    It is for system calls that can hang on a dead file system. The thread of a call that hangs is left behind.
    """
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(limit_s)
    return not thread.is_alive()


def unmount(mount_point: Path, limit_s: float, *, lazily: bool) -> bool:
    """Unmounts the file system at `mount_point`, and returns whether nothing is mounted there any more.

    While the file system is busy, the unmount is tried again for `limit_s` seconds. If it is still busy then, or the call hangs,
    and `lazily` is set, the file system is taken out of the tree of mounts, and goes when its last user has closed it. With a
    `limit_s` of 0, only the lazy way is tried. If nothing is mounted there, the result is True.
    """
    path, deadline, code = os.fsencode(mount_point), time.monotonic() + limit_s, [errno.EBUSY]

    def call(flags: int) -> None:
        code[0] = 0 if _libc.umount2(path, flags) == 0 else ctypes.get_errno()
        if code[0] == errno.EPERM:
            code[0] = _unmount_by_helper(mount_point, lazily=flags == _MNT_DETACH)

    while code[0] == errno.EBUSY:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not within(left_s, lambda: call(0)):
            if lazily:
                within(max(limit_s, _LAZILY_S), lambda: call(_MNT_DETACH))
            break
        if code[0] == errno.EBUSY:
            time.sleep(0.05)
    return code[0] in (0, errno.EINVAL, errno.ENOENT)


def _unmount_by_helper(mount_point: Path, *, lazily: bool) -> int:
    """Unmounts by fusermount3, the only program that can do so without root, and returns 0 or an error number."""
    program = shutil.which("fusermount3")
    if program is None:
        return errno.EPERM
    command = [program, "-u", *(["-z"] if lazily else []), "--", str(mount_point)]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - its arguments are ours
    if done.returncode == 0:
        return 0
    return errno.EBUSY if any(mounted.mount_point == mount_point for mounted in mounts()) else errno.EINVAL
