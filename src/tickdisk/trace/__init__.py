"""Capture what processes ask of files and what their threads wait for, by bpftrace or strace, into two tables."""

from tickdisk.trace.bpftrace import unavailable
from tickdisk.trace.cgroup import Cgroup, remove_left
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
    "remove_left",
    "start",
    "unavailable",
]
