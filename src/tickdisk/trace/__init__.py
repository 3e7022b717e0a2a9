"""Captures which requests processes make to files, and what their threads wait for.

`start` attaches a tool to a process, to a command that it starts, or to a `Cgroup`, and returns a `Recording`, whose `stop`
returns a `RawCapture`, a file with the tool's output. `parse` turns it into the tables `requests` and `waits` and a summary,
which also counts what was lost. A request is a system call on a file, or a page fault in a mapped file. A wait is a time in which
a thread did not run. bpftrace captures both, but needs root and kernel features (`unavailable` says what is missing). strace
captures requests only, and pauses the process at each one.
"""

from tickdisk.trace.blocks import BlockRequests, BlockTrace
from tickdisk.trace.bpftrace import unavailable
from tickdisk.trace.cgroup import Cgroup, remove_abandoned
from tickdisk.trace.goroutines import GoroutineEvent, GoroutineTrace, WorkFunctions, has_symbols, read_goroutines
from tickdisk.trace.launch import Command
from tickdisk.trace.micro import micro_cost
from tickdisk.trace.output import Output
from tickdisk.trace.parse import ParsedCapture, parse
from tickdisk.trace.record import RawCapture, Recording, Target, Tool, is_raw_capture, start
from tickdisk.trace.summary import CaptureSummary

__all__ = [
    "BlockRequests",
    "BlockTrace",
    "CaptureSummary",
    "Cgroup",
    "Command",
    "GoroutineEvent",
    "GoroutineTrace",
    "Output",
    "ParsedCapture",
    "RawCapture",
    "Recording",
    "Target",
    "Tool",
    "WorkFunctions",
    "has_symbols",
    "is_raw_capture",
    "micro_cost",
    "parse",
    "read_goroutines",
    "remove_abandoned",
    "start",
    "unavailable",
]
