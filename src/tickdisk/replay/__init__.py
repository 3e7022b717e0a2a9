"""Captured requests made again on any mounted device and file system: when they were made, as far as the device lets them."""

from tickdisk.replay.beginning import Beginning
from tickdisk.replay.costs import costs
from tickdisk.replay.costs import screen as cost_screen
from tickdisk.replay.experiment import FIO, OURS, Bench, experiment
from tickdisk.replay.fio import files_for_fio, replay_by_fio, write_for_fio
from tickdisk.replay.iolog import read_iolog, requests_table, write_iolog
from tickdisk.replay.issue import issue, payload
from tickdisk.replay.log import Replayed, read_timings, write_timings
from tickdisk.replay.names import without_blanks
from tickdisk.replay.plan import Plan, load_capture, plan
from tickdisk.replay.prepare import prepare
from tickdisk.replay.simulated import issue_simulated
from tickdisk.replay.timing import behind_ns, lateness, summarise

__all__ = [
    "FIO",
    "OURS",
    "Beginning",
    "Bench",
    "Plan",
    "Replayed",
    "behind_ns",
    "cost_screen",
    "costs",
    "experiment",
    "files_for_fio",
    "issue",
    "issue_simulated",
    "lateness",
    "load_capture",
    "payload",
    "plan",
    "prepare",
    "read_iolog",
    "read_timings",
    "replay_by_fio",
    "requests_table",
    "summarise",
    "without_blanks",
    "write_for_fio",
    "write_iolog",
    "write_timings",
]
