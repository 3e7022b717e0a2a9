"""Reads how the kernel describes a tracepoint, which is a named place in the kernel that can report events. It needs root."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import run

# tracefs is mounted so that only the command and its children see it. Only the mount of /sys is made private. The root cannot
# always be made private, because in a chroot the root is not a mount.
_PRIVATE = ("unshare", "--mount", "--propagation", "unchanged", "sh", "-ec")
_MOUNT = "[ -e /sys/kernel/tracing/events ] || { mount --make-private /sys && mount -t tracefs tickdisk /sys/kernel/tracing; }; "
_LIMIT_S = 5.0
_FIELD = re.compile(r"field:[^;]*?(\w+)(?:\[\d*\])?;\s*offset:(\d+);\s*size:(\d+);")


@dataclass(frozen=True)
class Tracepoint:
    """The kernel's description of a tracepoint."""

    number: int
    """Number of the tracepoint for perf_event_open(2)."""
    fields: dict[str, tuple[int, int]]
    """Offset and size in bytes of each field of an event's record, by the name of the field."""


def with_tracefs(script: str, *arguments: str | Path) -> list[str | Path]:
    """Returns a command that runs a shell script while tracefs is mounted at `/sys/kernel/tracing`. It needs root.

    If tracefs was not mounted before, only this command sees the mount. The `arguments` are `$1`, `$2` and so on in the script.
    """
    return [*_PRIVATE, f"{_MOUNT}{script}", "sh", *arguments]


@cache
def tracepoint(name: str) -> Tracepoint:
    """Returns the number and the fields of a tracepoint, such as `block/block_rq_issue`. It needs root.

    Each tracepoint is read once in a process. Raises TickdiskError if there is no such tracepoint, or if this user may not read
    it.
    """
    script = 'cd "/sys/kernel/tracing/events/$1"; cat id format'
    text = run(with_tracefs(script, name), timeout_s=_LIMIT_S, what=f"reading tracepoint {name}")
    number, _, described = text.partition("\n")
    if not number.isdecimal():
        raise TickdiskError(f"the kernel describes tracepoint {name} in an unknown form, which begins with {text[:80]!r}")
    return Tracepoint(int(number), {field: (int(offset), int(size)) for field, offset, size in _FIELD.findall(described)})
