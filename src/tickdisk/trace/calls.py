"""The system calls of x86_64: those that are captured, with the positions of their arguments, and those in which threads wait."""

from dataclasses import dataclass
from typing import Literal

Op = Literal[
    "read",
    "write",
    "sync",
    "truncate",
    "fallocate",
    "open",
    "close",
    "rename",
    "link",
    "symlink",
    "unlink",
    "mkdir",
    "rmdir",
    "mmap",
    "fault",
    "seek",
    "dup",
    "",
]


@dataclass(frozen=True)
class Call:
    """A system call that is captured. Positions of its arguments count from 0, or are None if there is none or no need of it."""

    number: int
    """Number on x86_64."""
    op: Op = ""
    """Kind of request. It is empty if the call makes no row of the requests table."""
    fd: int | None = None
    """Position of the descriptor, which for calls with a `path` is the folder that the path is relative to."""
    length: int | None = None
    """Position of the length, or of another number that is needed to follow descriptors, such as flags or a second descriptor."""
    offset: int | None = None
    """Position of the offset, or of another number that is needed to follow descriptors, or of an address (msync)."""
    path: int | None = None
    to: int | None = None
    """Position of the second path: the new name of a rename or a link, or the target of a symbolic link. A descriptor that a new
    name is relative to is at `offset`."""
    vector: int | None = None
    """Position of an array of buffers, whose lengths are added up."""
    flags: int | None = None
    """Position of flags that say how a read or a write is made, or of the mode of a fallocate."""
    moves: bool = False
    """Whether the call reads or writes at the position of the open file, and moves this position."""
    copies: tuple[int, int, int, int | None] | None = None
    """For a call that copies bytes, the positions of the source and of the address of its offset, and those of the target."""


CALLS: dict[str, Call] = {
    "pread64": Call(17, "read", fd=0, length=2, offset=3),
    "pwrite64": Call(18, "write", fd=0, length=2, offset=3),
    "read": Call(0, "read", fd=0, length=2, moves=True),
    "write": Call(1, "write", fd=0, length=2, moves=True),
    "readv": Call(19, "read", fd=0, vector=1, moves=True),
    "writev": Call(20, "write", fd=0, vector=1, moves=True),
    "preadv": Call(295, "read", fd=0, vector=1, offset=3),
    "pwritev": Call(296, "write", fd=0, vector=1, offset=3),
    "preadv2": Call(327, "read", fd=0, vector=1, offset=3, flags=5),
    "pwritev2": Call(328, "write", fd=0, vector=1, offset=3, flags=5),
    "open": Call(2, "open", path=0, length=1),
    "openat": Call(257, "open", fd=0, path=1, length=2),
    "openat2": Call(437, "open", fd=0, path=1, length=2),
    "creat": Call(85, "open", path=0),
    "close": Call(3, "close", fd=0),
    "close_range": Call(436, fd=0, length=1, offset=2),
    "dup": Call(32, "dup", fd=0),
    "dup2": Call(33, "dup", fd=0, length=1),
    "dup3": Call(292, "dup", fd=0, length=1, offset=2),
    "fcntl": Call(72, "dup", fd=0, length=1, offset=2),
    "lseek": Call(8, "seek", fd=0, length=2, offset=1),
    "fsync": Call(74, "sync", fd=0),
    "fdatasync": Call(75, "sync", fd=0),
    "sync_file_range": Call(277, "sync", fd=0, offset=1, length=2),
    "syncfs": Call(306, "sync", fd=0),
    "sync": Call(162, "sync"),
    "msync": Call(26, "sync", offset=0, length=1),
    "truncate": Call(76, "truncate", path=0, length=1),
    "ftruncate": Call(77, "truncate", fd=0, length=1),
    "rename": Call(82, "rename", path=0, to=1),
    "renameat": Call(264, "rename", fd=0, path=1, to=3, offset=2),
    "renameat2": Call(316, "rename", fd=0, path=1, to=3, offset=2, length=4),
    "unlink": Call(87, "unlink", path=0),
    "unlinkat": Call(263, "unlink", fd=0, path=1, length=2),
    "link": Call(86, "link", path=0, to=1),
    "linkat": Call(265, "link", fd=0, path=1, to=3, offset=2, length=4),
    "symlink": Call(88, "symlink", path=1, to=0),
    "symlinkat": Call(266, "symlink", fd=1, path=2, to=0),
    "mkdir": Call(83, "mkdir", path=0),
    "mkdirat": Call(258, "mkdir", fd=0, path=1),
    "rmdir": Call(84, "rmdir", path=0),
    "fallocate": Call(285, "fallocate", fd=0, length=3, offset=2, flags=1),
    "copy_file_range": Call(326, copies=(0, 1, 2, 3)),
    "sendfile": Call(40, copies=(1, 2, 0, None)),
    "splice": Call(275, copies=(0, 1, 2, 3)),
    "mmap": Call(9, "mmap", fd=4, length=1, offset=5),
    "chdir": Call(80, path=0),
    "fchdir": Call(81, fd=0),
    "ioctl": Call(16),
}
"""The captured calls by name. The program in the kernel compares in this order, so that the most frequent calls are first."""

RING_CALLS = {
    "io_uring_readv": Call(1001, "read", fd=0, offset=2, flags=3),
    "io_uring_writev": Call(1002, "write", fd=0, offset=2, flags=3),
    "io_uring_fsync": Call(1003, "sync", fd=0),
    "io_uring_read_fixed": Call(1004, "read", fd=0, length=1, offset=2, flags=3),
    "io_uring_write_fixed": Call(1005, "write", fd=0, length=1, offset=2, flags=3),
    "io_uring_read": Call(1022, "read", fd=0, length=1, offset=2, flags=3),
    "io_uring_write": Call(1023, "write", fd=0, length=1, offset=2, flags=3),
    "io_uring_fdatasync": Call(1103, "sync", fd=0),
}
"""Requests to io_uring by name, as if they were system calls. The number is `RING` plus the kernel's number of the operation. An
fsync that stores only data has 100 more. The buffers of readv and writev are not looked at, so their lengths are not known."""
RING = 1000
RING_POINT = "io_uring:io_uring_submit_req"
"""Tracepoint of the submissions to io_uring. Kernels that lack it arrange the requests otherwise in memory."""

ATTRIBUTE_CALLS = {
    "chmod": 90,
    "fchmod": 91,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "utime": 132,
    "mknod": 133,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "utimes": 235,
    "mknodat": 259,
    "fchownat": 260,
    "futimesat": 261,
    "fchmodat": 268,
    "utimensat": 280,
    "fchmodat2": 452,
}
"""Numbers of calls that change a file in a way that no row shows."""
NOT_FOLLOWED = {"io_submit": 209, "io_uring_enter": 426, **ATTRIBUTE_CALLS}
"""Numbers of calls that may read, write or change a file without a row in the requests table. The summary counts them."""

FILE_ONLY_CALLS = frozenset(
    {
        *("pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2"),
        *("fsync", "fdatasync", "sync_file_range", "ftruncate", "fallocate"),
    }
)
"""Calls that fail on sockets and pipes. If such a call succeeds, its descriptor is a file's, even if no opening was captured."""

O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_CLOEXEC = 0o100, 0o200, 0o1000, 0o2000, 0o2000000
F_DUPFD, F_SETFD, F_SETFL, F_DUPFD_CLOEXEC = 0, 2, 4, 1030
FCNTLS = (F_DUPFD, F_SETFD, F_SETFL, F_DUPFD_CLOEXEC)
"""Commands of fcntl that change descriptors."""
CLONING = (0x40049409, 0x4020940D)
"""Commands of ioctl that make a file share the data of another, FICLONE and FICLONERANGE."""
AT_FDCWD, AT_REMOVEDIR = -100, 0x200
CLOSE_RANGE_CLOEXEC = 4
RWF_APPEND, RWF_NOAPPEND = 0x10, 0x20
CLONE_THREAD = 0x10000
SEEK_END = 2

LOCK_CALLS = {"futex": 202, "futex_waitv": 449, "futex_wait": 455, "flock": 73, "fcntl": 72}
"""Numbers of calls in which a sleeping thread waits for another thread."""
ADDRESS_SPACE_CALLS = {
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "mremap": 25,
    "madvise": 28,
    "clone": 56,
    "clone3": 435,
}
"""Numbers of calls that change the address space. They read no file, but wait in state D for the kernel's lock of that space."""
_PATHS = {
    "stat": 4,
    "lstat": 6,
    "access": 21,
    "execve": 59,
    "readlink": 89,
    "statfs": 137,
    "getdents64": 217,
    "newfstatat": 262,
    "readlinkat": 267,
    "faccessat": 269,
    "execveat": 322,
    "statx": 332,
    "faccessat2": 439,
}
_SLEEPS = {
    "poll": 7,
    "select": 23,
    "sched_yield": 24,
    "pause": 34,
    "nanosleep": 35,
    "connect": 42,
    "accept": 43,
    "sendto": 44,
    "recvfrom": 45,
    "sendmsg": 46,
    "recvmsg": 47,
    "fork": 57,
    "vfork": 58,
    "exit": 60,
    "wait4": 61,
    "kill": 62,
    "fstat": 5,
    "rt_sigtimedwait": 128,
    "rt_sigsuspend": 130,
    "restart_syscall": 219,
    "clock_nanosleep": 230,
    "exit_group": 231,
    "epoll_wait": 232,
    "waitid": 247,
    "pselect6": 270,
    "ppoll": 271,
    "epoll_pwait": 281,
    "accept4": 288,
    "recvmmsg": 299,
    "sendmmsg": 307,
    "getrandom": 318,
    "epoll_pwait2": 441,
}
NAMES: dict[int, str] = {
    **{
        number: name
        for group in (LOCK_CALLS, ADDRESS_SPACE_CALLS, _PATHS, _SLEEPS, NOT_FOLLOWED)
        for name, number in group.items()
    },
    **{call.number: name for name, call in CALLS.items()},
}
"""Names by number of the calls in which threads wait. The waits table names other calls by their number."""
FILE_CALLS = frozenset(
    {*_PATHS, *NOT_FOLLOWED, *(name for name, call in CALLS.items() if call.op or call.copies or call.path is not None)}
) - {
    *LOCK_CALLS,
    *ADDRESS_SPACE_CALLS,
}
"""Names of calls in which a thread waits for storage, provided that their descriptor, if they have one, is a file's."""
