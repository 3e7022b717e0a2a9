"""Writes the program that bpftrace runs in the kernel, from the template `capture.bt` and the calls of `tickdisk.trace.calls`."""

import re
from collections.abc import Iterable
from pathlib import Path

from tickdisk.trace.calls import (
    CALLS,
    CLONING,
    FCNTLS,
    NOT_FOLLOWED,
    O_APPEND,
    RING,
    RING_CALLS,
    RING_POINT,
    RWF_APPEND,
    RWF_NOAPPEND,
    Call,
)

TEXT_BYTES = 200
"""Greatest number of bytes of a path that bpftrace 0.17 copies. The rest of a longer path is lost."""
MAP_ENTRIES = 1 << 16
"""Number of entries that each map of the program can hold."""
FAULT = -1
"""Stands for a page fault on a file in place of a system call's number."""
FAULT_POINTS = ("filemap:mm_filemap_fault", "filemap:mm_filemap_add_to_page_cache")
"""Tracepoints for page faults, the preferred one first.

The first is passed at every fault on a file. Older kernels lack it. The second is passed whenever a page enters the page cache.
"""
_RING_POINTS = (RING_POINT, "io_uring:io_uring_complete")
REQUIRED_TRACEPOINTS = frozenset({"raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch"})
"""Tracepoints without which a capture is not possible."""
_TEMPLATE = Path(__file__).with_name("capture.bt")
_POINT = re.compile(r"^tracepoint:(\w+:\w+),?$", re.MULTILINE)
_HEAD = re.compile(r"(?:^tracepoint:\w+:\w+,?\n)+", re.MULTILINE)
_KEEP = re.compile(r"KEEP\((\w), ([^,]+), ([^,]+), (.*)\)$", re.MULTILINE)
_ARGUMENT = 2
"""Position of a call's first argument in the program's map `@call[tid]`, after the call's start and number."""
_MAP_ANONYMOUS = 0x20
_CONDITIONS = {
    "mmap": f"(int32)$c.6 >= 0 && ($c.5 & {_MAP_ANONYMOUS}) == 0",
    "fcntl": "(" + " || ".join(f"$c.3 == {command}" for command in FCNTLS) + ")",
    "ioctl": "(" + " || ".join(f"$c.3 == {command}" for command in CLONING) + ")",
}
"""Conditions in bpftrace's language. Only an mmap of a file is captured, and only an fcntl that changes descriptors
and an ioctl that makes a file share data."""
_FILE = "$f = (struct file *)*(uint64 *)((uint64)((struct task_struct *)curtask)->files->fdt->fd + 8 * (uint64)$x);"
_INODE = (
    f'{_FILE} $n = $f->f_inode; printf("inode %d %d %lld %lld %d %lld 0\\n", pid, tid, $c.0, $x, $n->i_sb->s_dev, $n->i_ino);'
)
_VECTOR = (
    "$y = (int64)0; $i = (uint64)0; "
    "unroll(8) { if ($i < $c.4) { $y = $y + (int64)*(uint64 *)uptr($c.3 + 16 * $i + 8); $i = $i + 1; } } "
    "if ($c.4 > 8) { $y = (int64)-1; }"
)


def points() -> list[str]:
    """Returns all tracepoints to which the program `capture.bt` attaches on a kernel that has them, e.g. `sched:sched_switch`."""
    return _POINT.findall(_filled(0))


def fault_point(present: Iterable[str]) -> str | None:
    """Returns the tracepoint that captures page faults on files, or None if the kernel has none of `FAULT_POINTS`."""
    there = set(present)
    return next((point for point in FAULT_POINTS if point in there), None)


def missing(present: Iterable[str]) -> list[str]:
    """Returns the tracepoints of the program that are not `present` in the kernel. One of those for page faults is enough."""
    there = set(present)
    either = set(FAULT_POINTS) if there & set(FAULT_POINTS) else set(FAULT_POINTS[1:])
    return [point for point in dict.fromkeys(points()) if point not in there | either]


def program(cgroup: int, present: Iterable[str]) -> str:
    """Returns the program for the cgroup with this inode number. Tracepoints that are not `present` are left out."""
    there = set(present) - (set(FAULT_POINTS) - {fault_point(present)})
    if RING_POINT not in there:
        there -= set(_RING_POINTS)
    blocks = []
    for block in _filled(cgroup).split("\n\n"):
        attached = ",\n".join(f"tracepoint:{point}" for point in _POINT.findall(block) if point in there)
        if attached or not _POINT.search(block):
            blocks.append(_HEAD.sub(f"{attached}\n", block))
    return "\n\n".join(blocks)


def _filled(cgroup: int) -> str:
    text = _TEMPLATE.read_text(encoding="ascii")
    for word, value in (
        ("CGROUP", str(cgroup)),
        ("POINTERS", _pointers()),
        ("RING_TRANSFERS", _is("$id", (call.number - RING for call in RING_CALLS.values() if call.op != "sync"))),
        ("CALLS", _calls()),
        ("PATH_POINTS", _exits("path")),
        ("TO_POINTS", _exits("to")),
    ):
        text = re.sub(rf"\b{word}\b", value.replace("\\", r"\\"), text)
    return _KEEP.sub(r"if (@half) { @\g<1>1[\2, \3] = (\4); } else { @\g<1>0[\2, \3] = (\4); } @events = count();", text)


def _exits(position: str) -> str:
    names = [name for name, call in CALLS.items() if getattr(call, position) is not None]
    return ",\n".join(f"tracepoint:syscalls:sys_exit_{name}" for name in names)


def _pointers() -> str:
    """Returns bpftrace code for the beginning of a call, which keeps the addresses of its paths until its end."""
    lines = []
    for name in ("path", "to"):
        for index in sorted({getattr(call, name) for call in CALLS.values()} - {None}):
            numbers = [call.number for call in CALLS.values() if getattr(call, name) == index]
            lines.append(f"if ({_is('$id', numbers)}) {{ @{name}[tid] = ${'abcd'[index]}; }}")
    return "\n  ".join(lines)


def _calls() -> str:
    """Returns the code that takes the arguments of calls. Calls whose arguments have the same positions share a branch."""
    alike: dict[tuple[str, str], list[int]] = {}
    for name, call in CALLS.items():
        alike.setdefault((_CONDITIONS.get(name, ""), _arguments(name, call)), []).append(call.number)
    alike["", ""] = [*alike.get(("", ""), []), *NOT_FOLLOWED.values()]
    return "\n  ".join(
        f"if (({_is('$id', numbers)}){f' && {only}' if only else ''}) {{ $keep = 1;{arguments} }}"
        for (only, arguments), numbers in alike.items()
    )


def _arguments(name: str, call: Call) -> str:
    parts = [""]
    if call.copies is not None:
        source, source_at, target, target_at = call.copies
        parts += [_end("z", target, target_at), _end("y", source, source_at)]
        parts.append(f"$x = ($x & 0xffffffff) | ((int64)($c.{target + _ARGUMENT} & 0x7fffffff) << 32);")
    if call.fd is not None:
        parts.append(f"$x = (int64)(int32)$c.{call.fd + _ARGUMENT};")
    if call.op in ("read", "write") and call.offset is not None:
        parts.append(_place(call))
    elif call.offset is not None:
        parts.append(f"$z = (int64)$c.{call.offset + _ARGUMENT};")
    if call.flags is not None:
        parts.append(f"$x = ($x & 0xffffffff) | ((int64)($c.{call.flags + _ARGUMENT} & 0x7fffffff) << 32);")
    if call.length is not None:
        value = f"$c.{call.length + _ARGUMENT}"
        parts.append(f"$y = (int64){f'*(uint64 *)uptr({value})' if name == 'openat2' else value};")
    if call.vector is not None:
        parts.append(_VECTOR)
    if call.moves:
        parts.append(f"{_FILE} $z = (int64)$f->f_pos;")
    if call.op == "mmap":
        parts.append(_INODE)
    return " ".join(parts)


def _end(variable: str, fd: int, offset: int | None) -> str:
    """Returns the code that takes the place in a file at which a copy has ended, and leaves the descriptor in `$x`."""
    code = f"$x = (int64)(int32)$c.{fd + _ARGUMENT}; {_FILE} ${variable} = (int64)$f->f_pos;"
    if offset is None:
        return code
    address = f"$c.{offset + _ARGUMENT}"
    return f"{code} if ({address}) {{ ${variable} = (int64)*(uint64 *)uptr({address}); }}"


def _place(call: Call) -> str:
    """Returns the code that takes the place of a call with an offset of its own.

    With an offset of -1, a call that has flags moves the position of the open file. An append goes to the end of the file.
    """
    assert call.offset is not None
    given, flags = f"(int64)$c.{call.offset + _ARGUMENT}", f"$c.{call.flags + _ARGUMENT}" if call.flags is not None else "0"
    code = f"$z = {given};"
    if call.flags is not None:
        code += f" if ($z == -1 && $result >= 0) {{ {_FILE} $z = (int64)$f->f_pos - $result; }}"
    if call.op == "write":
        asked = f"(({flags} & {RWF_APPEND}) != 0 || (($f->f_flags & {O_APPEND}) != 0 && ({flags} & {RWF_NOAPPEND}) == 0))"
        code += f" if ({given} != -1 && $result > 0) {{ {_FILE} if {asked} {{ $z = $f->f_inode->i_size - $result; }} }}"
    return code


def _is(what: str, numbers: Iterable[int]) -> str:
    return " || ".join(f"{what} == {number}" for number in numbers)
