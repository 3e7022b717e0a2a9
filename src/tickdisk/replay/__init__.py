"""The replay: the requests of a capture are made again on another device, at the same times.

The room answers how long captured requests take on another device and file system. `load_capture` reads a capture. `plan`
chooses the requests that can be made again (`Plan`), and `prepare` makes the files that must exist before the first of them
(`InitialFiles`). Then `issue` makes the requests: each captured thread is a stream with a thread of its own, and each request is
issued when it is due, or as soon as the request before it in its stream is completed. `issue_simulated` computes the times by a
device model instead, and `replay_by_fio` lets fio make the requests. The result has a row of times per request (`ReplayResult`).
The lag of a request is the delay that the tool or its machine caused, and the time lost is the delay that earlier requests of
its stream caused (`lateness`). `costs` compares the times with those of the capture. `experiment` does all of this for several
devices. `write_iolog`, `write_for_fio` and `read_iolog` exchange streams with fio.
"""

from tickdisk.replay.beginning import InitialFiles
from tickdisk.replay.costs import costs
from tickdisk.replay.costs import screen as cost_screen
from tickdisk.replay.experiment import FIO, TICKDISK, Bench, experiment
from tickdisk.replay.fio import files_for_fio, replay_by_fio, write_for_fio
from tickdisk.replay.iolog import read_iolog, requests_table, write_iolog
from tickdisk.replay.issue import issue, payload
from tickdisk.replay.log import ReplayResult, read_timings, write_timings
from tickdisk.replay.names import rename_blanks
from tickdisk.replay.plan import Plan, load_capture, plan
from tickdisk.replay.prepare import prepare
from tickdisk.replay.simulated import issue_simulated
from tickdisk.replay.timing import behind_ns, lateness, summarise

__all__ = [
    "FIO",
    "TICKDISK",
    "Bench",
    "InitialFiles",
    "Plan",
    "ReplayResult",
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
    "rename_blanks",
    "replay_by_fio",
    "requests_table",
    "summarise",
    "write_for_fio",
    "write_iolog",
    "write_timings",
]
