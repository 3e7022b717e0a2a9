"""The kernel's list of tracepoints, for a command that sees it even where nobody has mounted it."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tickdisk.errors import TickdiskError
from tickdisk.process import run

# Mounted where only the command and its children see it. Of the mounts only /sys is made private: in a chroot the root is none,
# and cannot be.
_PRIVATE = ("unshare", "--mount", "--propagation", "unchanged", "sh", "-ec")
_MOUNT = "[ -e /sys/kernel/tracing/events ] || { mount --make-private /sys && mount -t tracefs tickdisk /sys/kernel/tracing; }; "
_LIMIT_S = 5.0
_FIELD = re.compile(r"field:[^;]*?(\w+)(?:\[\d*\])?;\s*offset:(\d+);\s*size:(\d+);")


@dataclass(frozen=True)
class Tracepoint:
    """What the kernel says of one."""

    number: int
    """Which perf_event_open(2) knows it by."""
    fields: dict[str, tuple[int, int]]
    """Of its record: offset and size in bytes."""


def with_tracefs(script: str, *arguments: str | Path) -> list[str | Path]:
    """Returns a command that runs a shell script where `/sys/kernel/tracing` is mounted; it needs root."""
    return [*_PRIVATE, f"{_MOUNT}{script}", "sh", *arguments]


@cache
def tracepoint(name: str) -> Tracepoint:
    """Returns a tracepoint, e.g. of `block/block_rq_issue`; TickdiskError when this kernel, or this user, has none."""
    script = 'cd "/sys/kernel/tracing/events/$1"; cat id format'
    text = run(with_tracefs(script, name), timeout_s=_LIMIT_S, what=f"reading tracepoint {name}")
    number, _, described = text.partition("\n")
    if not number.isdecimal():
        raise TickdiskError(f"the kernel describes tracepoint {name} in a way that is not known here: {text[:80]!r}")
    return Tracepoint(int(number), {field: (int(offset), int(size)) for field, offset, size in _FIELD.findall(described)})
