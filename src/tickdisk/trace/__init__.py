"""Captures which requests processes make to files, and what their threads wait for.

`start` attaches a tool to a process, to a command that it starts, or to a `Cgroup`, and returns a `Recording`. `Recording.stop`
returns a `RawCapture`, a file with the tool's output. `parse` takes it and samples of the clocks (`tickdisk.clock`), and returns
the tables `requests` and `waits` and a summary, which also counts what was lost. A request is a system call on a file, or a page
fault in a mapped file. A wait is a time in which a thread did not run. bpftrace captures both, but needs root and kernel features
(`unavailable` says what is missing). strace captures requests only, and pauses the process at each one. `strace_positioned` is
strace limited to pread64 and pwrite64, so that fewer calls are paused. `micro_cost` measures how much each tool slows down a
read.
"""

from tickdisk.trace.bpftrace import unavailable
from tickdisk.trace.cgroup import Cgroup, remove_abandoned
from tickdisk.trace.launch import Command
from tickdisk.trace.micro import micro_cost
from tickdisk.trace.parse import Capture, parse
from tickdisk.trace.record import RAW, RawCapture, Recording, Target, Tool, is_raw_capture, start

__all__ = [
    "RAW",
    "Capture",
    "Cgroup",
    "Command",
    "RawCapture",
    "Recording",
    "Target",
    "Tool",
    "is_raw_capture",
    "micro_cost",
    "parse",
    "remove_abandoned",
    "start",
    "unavailable",
]
