"""Captures of the requests that processes make to files, and of the waits of their threads.

`start` attaches a tool to a running process, to the members of a cgroup, or to a command that it starts, and returns a
`Recording`. `Recording.stop` returns a `RawCapture`, which is the text that the tool wrote. `parse` turns this text into the
tables `requests` and `waits`, with times in nanoseconds of CLOCK_MONOTONIC, and a summary that counts what was lost.

A request is a system call on a file, or a page fault in a mapped file. A wait is an interval in which a thread did not run.
The tool `bpftrace` captures both, but it needs root and a recent kernel (`unavailable` says what is missing). It sees the members
of a `Cgroup`. The tool `strace` captures requests only, and stops the process for each of them. `strace_positioned` is strace for
pread64 and pwrite64 only. `micro_cost` measures how much each tool slows a process down.
"""

from tickdisk.trace.bpftrace import unavailable
from tickdisk.trace.cgroup import Cgroup, remove_abandoned
from tickdisk.trace.launch import Command
from tickdisk.trace.micro import micro_cost
from tickdisk.trace.parse import Capture, parse
from tickdisk.trace.record import RAW, RawCapture, Recording, Target, Tool, start

__all__ = [
    "RAW",
    "Capture",
    "Cgroup",
    "Command",
    "RawCapture",
    "Recording",
    "Target",
    "Tool",
    "micro_cost",
    "parse",
    "remove_abandoned",
    "start",
    "unavailable",
]
