"""Makes the file requests of a capture again on another device, and tells how long they take there.

`load_capture` reads the requests, `plan` chooses those that can be made again, `prepare` makes the files that must exist, and
`issue` makes the requests. Each captured thread becomes a stream with a thread of its own. By default, a request waits until its
captured time has come and the request before it in its stream is completed. A `Schedule` can change this. `issue_simulated`
computes the times with a device model instead, and `replay_by_fio` lets fio make the requests. If a request is issued after its
captured time, the part of the delay that earlier requests caused is its time lost, and the rest, which the tool or the machine
caused, is its lag (`lateness`).
"""

from tickdisk.replay.costs import costs
from tickdisk.replay.costs import screen as cost_screen
from tickdisk.replay.costs import verdict as cost_verdict
from tickdisk.replay.experiment import FIO, TICKDISK, ReplayBench, experiment
from tickdisk.replay.fio import files_for_fio, replay_by_fio, said_of_fio, write_for_fio
from tickdisk.replay.iolog import write_iolog
from tickdisk.replay.issue import issue, payload
from tickdisk.replay.missing import missing
from tickdisk.replay.names import rename_blanks
from tickdisk.replay.plan import ReplayPlan, load_capture, plan
from tickdisk.replay.prepare import prepare, space_needed
from tickdisk.replay.record import Differing, Replays, Run, Spread, Stream, Summary, read_replays, write_replays
from tickdisk.replay.schedule import ORDERS, Schedule, turns_of
from tickdisk.replay.simulated import issue_simulated
from tickdisk.replay.timing import behind_ns, lateness, ready_ns, summarise
from tickdisk.replay.verify import verify

__all__ = [
    "FIO",
    "ORDERS",
    "TICKDISK",
    "Differing",
    "ReplayBench",
    "ReplayPlan",
    "Replays",
    "Run",
    "Schedule",
    "Spread",
    "Stream",
    "Summary",
    "behind_ns",
    "cost_screen",
    "cost_verdict",
    "costs",
    "experiment",
    "files_for_fio",
    "issue",
    "issue_simulated",
    "lateness",
    "load_capture",
    "missing",
    "payload",
    "plan",
    "prepare",
    "read_replays",
    "ready_ns",
    "rename_blanks",
    "replay_by_fio",
    "said_of_fio",
    "space_needed",
    "summarise",
    "turns_of",
    "verify",
    "write_for_fio",
    "write_iolog",
    "write_replays",
]
