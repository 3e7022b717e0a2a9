"""The program that bpftrace runs in the kernel, written for one cgroup and for the tracepoints that this kernel has.

An event that is printed at once costs the traced thread an interrupt (6 us on a virtual machine), ten times what a read of cached data
takes. So frequent events go into maps, of which one fills while bpftrace prints and empties the other; only rare ones, which carry
text, are printed at once. `@events` counts what went into the maps, so that what did not come out is known.
"""

from collections.abc import Iterable

from tickdisk.trace.calls import CALLS, FCNTLS, NOT_FOLLOWED

TEXT_BYTES = 200
"""Most that bpftrace 0.17 copies of a path; longer ones arrive cut."""
MAP_ENTRIES = 1 << 16
FAULT = -1
"""In place of a system call's number, for a page fault on a file."""
FAULT_POINTS = ("filemap:mm_filemap_fault", "filemap:mm_filemap_add_to_page_cache")
"""Every fault on a file; where the kernel is older than that, those that bring a page into the page cache."""
_OPTIONAL = ("task:task_newtask", "task:task_rename", "sched:sched_process_exec", "sched:sched_waking")
_NEEDED = ("raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch")
_ONLY = {
    "mmap": "(int32)$c.6 >= 0 && ($c.5 & 0x20) == 0",
    "fcntl": " || ".join(f"$c.3 == {command}" for command in FCNTLS),
}
"""Which calls of that name matter: mmap of files, fcntl that changes descriptors."""
_VECTOR = (
    "$y = (int64)0; $i = (uint64)0; $p = $c.3 + 8; "
    "unroll(8) { if ($i < $c.4) { $y = $y + *(int64 *)uptr($p); $p = $p + 16; $i = $i + 1; } } "
    "if ($c.4 > 8) { $y = (int64)-1; }"
)
_EMPTY = "print(@r{0}); clear(@r{0}); print(@w{0}); clear(@w{0});"
# One tick lets the other maps fill, the next has these printed and emptied: by then nothing writes to them any more. bpftrace does what
# it is told in order, so `@busy` is empty again when it has done it; only then the maps change places again.
_TURN = (
    "if (@busy[0] == 0) { if (@turned == 0) { @half = 1 - @half; @turned = 1; } else { @turned = 0; @busy[0] = 1; "
    f"if (@half) {{ {_EMPTY.format(0)} }} else {{ {_EMPTY.format(1)} }} clear(@busy); }} }}"
)
_FILE = "$f = (struct file *)*(uint64 *)((uint64)((struct task_struct *)curtask)->files->fdt->fd + 8 * (uint64)$x);"


def wanted() -> tuple[str, ...]:
    """Returns the tracepoints that the program would use, of those for faults only the first that exists."""
    return (*_NEEDED, *_OPTIONAL, *FAULT_POINTS, *_path_points("path"))


def missing(present: Iterable[str]) -> list[str]:
    """Returns the tracepoints that the kernel should have and has not: the capture lacks what they tell."""
    there = set(present)
    faults = [] if there & set(FAULT_POINTS) else [FAULT_POINTS[0]]
    return [point for point in (*_NEEDED, *_OPTIONAL) if point not in there] + faults


def fault_point(present: Iterable[str]) -> str | None:
    """Returns the tracepoint from which page faults on files are told."""
    there = set(present)
    return next((point for point in FAULT_POINTS if point in there), None)


def program(cgroup: int, present: Iterable[str]) -> str:
    """Returns the program for the members of `cgroup`, given the tracepoints that are `present`.

    It prints `NAME PROCESS THREAD NS A B C D [TEXT]`: path, to (second path), thread (A: start of its process since boot, TEXT:
    name), newtask (A: child, B: flags), exec (A: device, B: inode), inode (A: descriptor, B: device, C: inode), beat (A: core). The
    maps are `@rN[THREAD, START]: (NUMBER, PROCESS, END, RESULT, X, Y, Z)`, requests, and `@wN[THREAD, OUT]: (IN, WOKEN, STATE,
    NUMBER, FD, START, WAKER, WAKER'S NUMBER, WAKER'S NAME)`, times off the processor, with the last call that was entered.
    """
    there = set(present)
    ours = f"cgroup == {cgroup}"
    blocks = {
        "raw_syscalls:sys_enter": _enter(ours),
        "raw_syscalls:sys_exit": _exit(ours),
        "sched:sched_switch": _switch(ours),
        "sched:sched_waking": "/@off[args->pid].0/ { @woken[args->pid] = (nsecs, tid, @call[tid].1, comm); }",
        "task:task_newtask": f"/{ours}/ {{ delete(@known[args->pid]); "
        'printf("newtask %d %d %lld %d %llu 0 0\\n", pid, tid, nsecs, args->pid, args->clone_flags); }',
        "task:task_rename": f'/{ours}/ {{ printf("thread %d %d %lld 0 0 0 0 %s\\n", pid, args->pid, nsecs, args->newcomm); }}',
        "sched:sched_process_exec": f"/{ours}/ {{ $i = ((struct task_struct *)curtask)->mm->exe_file->f_inode; "
        'printf("exec %d %d %lld %d %lld 0 0 %s\\n", pid, tid, nsecs, $i->i_sb->s_dev, $i->i_ino, str(args->filename)); }',
    }
    faults = fault_point(there)
    if faults:
        blocks[faults] = (
            f"/{ours}/ {{ $now = nsecs; $start = $now; {_insert('tid', f'(int64){FAULT}', '(int64)@call[tid].0', *_FAULT)} }}"
        )
    return "\n".join(
        [
            *(f"tracepoint:{point}\n{block}" for point, block in blocks.items() if point in there),
            *_paths(ours, there),
            f"interval:ms:100 {{ {_TURN} }}",
            'profile:hz:10 { printf("beat 0 0 %lld %d 0 0 0\\n", nsecs, cpu); }',
            "",
        ]
    )


_FAULT = ("(int64)args->s_dev", "(int64)args->i_ino", "(int64)(args->index * 4096)")


def _is(numbers: Iterable[int], name: str = "$id") -> str:
    return " || ".join(f"{name} == {number}" for number in numbers)


def _enter(ours: str) -> str:
    arguments = ", ".join(f"args->args[{index}]" for index in range(6))
    keep = []
    for name, position in (("path", "path"), ("to", "to")):
        for index in sorted({getattr(call, position) for call in CALLS.values()} - {None}):
            numbers = [call.number for call in CALLS.values() if getattr(call, position) == index]
            keep.append(f"if ({_is(numbers, 'args->id')}) {{ @{name}[tid] = args->args[{index}]; }}")
    return f"/{ours}/ {{ @call[tid] = (nsecs, args->id, {arguments});\n  " + "\n  ".join(keep) + " }"


def _exit(ours: str) -> str:
    """One branch for all calls whose arguments are alike; calls that leave no row are forgotten, so that they are not under way."""
    shapes: dict[tuple[object, ...], list[str]] = {}
    for name, call in CALLS.items():
        shape = (call.fd, call.length, call.offset, call.vector, call.moves, _ONLY.get(name), name == "openat2")
        shapes.setdefault(shape, []).append(name)
    branches = "".join(_branch(names) for names in shapes.values()) + f"  if ({_is(NOT_FOLLOWED.values())}) {{ $keep = 1; }}\n"
    return (
        f"/{ours}/ {{ $c = @call[tid]; $id = $c.1; $keep = 0; $x = (int64)-1; $y = (int64)-1; $z = (int64)-1;\n"
        f"{branches}  if ($keep && $c.0) {{ $now = nsecs; $start = $c.0; {_insert('tid', '(int64)$id', 'args->ret', '$x', '$y', '$z')} }}"
        " else { delete(@call[tid]); } }"
    )


def _branch(names: list[str]) -> str:
    call = CALLS[names[0]]
    test = _is(CALLS[name].number for name in names)
    if names[0] in _ONLY:
        test = f"({test}) && ({_ONLY[names[0]]})"
    body = ["$keep = 1;"]
    if call.fd is not None:
        body.append(f"$x = (int64)(int32)$c.{call.fd + 2};")
    if call.length is not None:
        flags = f"*(uint64 *)uptr($c.{call.length + 2})" if "openat2" in names else f"$c.{call.length + 2}"
        body.append(f"$y = (int64){flags};")
    if call.offset is not None:
        body.append(f"$z = (int64)$c.{call.offset + 2};")
    if call.vector is not None:
        body.append(_VECTOR)
    if call.moves:
        body.append(f"{_FILE} $z = (int64)$f->f_pos;")
    if "mmap" in names:
        body.append(
            f"{_FILE} $n = $f->f_inode; "
            'printf("inode %d %d %lld %lld %d %lld 0\\n", pid, tid, $c.0, $x, $n->i_sb->s_dev, $n->i_ino);'
        )
    return f"  if ({test}) {{ {' '.join(body)} }}\n"


def _insert(thread: str, number: str, result: str, x: str, y: str, z: str) -> str:
    row = f"[{thread}, $start] = ({number}, (int64)pid, (int64)$now, {result}, {x}, {y}, {z});"
    return f"if (@half) {{ @r1{row} }} else {{ @r0{row} }} @events = count();"


def _paths(ours: str, there: set[str]) -> list[str]:
    """Paths are read at the end of the call, when the kernel has touched their pages, and for each call apart: no other one pays."""
    return [
        ",\n".join(f"tracepoint:{point}" for point in points)
        + f'\n/{ours}/ {{ printf("{name} %d %d %lld 0 0 0 0 %s\\n", pid, tid, nsecs, str(uptr(@{name}[tid]))); delete(@{name}[tid]); }}'
        for name in ("path", "to")
        if (points := [point for point in _path_points(name) if point in there])
    ]


def _path_points(position: str) -> list[str]:
    return [f"syscalls:sys_exit_{name}" for name, call in CALLS.items() if getattr(call, position) is not None]


def _switch(ours: str) -> str:
    """States: 0x30 is dead; a dead thread does not come back."""
    row = "[args->next_pid, $o.0] = ($now, $w.0, $o.1, $o.2, $o.3, $o.4, $w.1, $w.2, $w.3);"
    return (
        f"{{ $now = nsecs;\n"
        f"  if ({ours}) {{ $c = @call[tid]; if (args->prev_state & 0x30) {{ delete(@call[tid]); }} "
        "else { @off[tid] = ($now, args->prev_state, $c.1, (int64)(int32)$c.2, $c.0); }\n"
        "    if (@known[tid] == 0) { @known[tid] = 1; "
        'printf("thread %d %d %lld %lld 0 0 0 %s\\n", pid, tid, $now, '
        "((struct task_struct *)curtask)->group_leader->start_boottime, comm); } }\n"
        "  $o = @off[args->next_pid];\n"
        "  if ($o.0) { $w = @woken[args->next_pid]; "
        f"if (@half) {{ @w1{row} }} else {{ @w0{row} }} @events = count(); "
        "delete(@off[args->next_pid]); delete(@woken[args->next_pid]); } }"
    )
