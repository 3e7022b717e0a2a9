"""The studies, each of which analyses one part of the results of a run, and is shown by a notebook.

Each study is an `Analysis`, such as `switchback` or `replay`. It is called with the paths of the results, and returns a `Study`
with figures, tables and a `Statement` of facts and claims. A `Fact` is a number with its unit, interval, number of observations
and source. A `Claim` is a question with its answer, the verdict, and the names of the facts behind it. `Study.save` writes them
as files.
"""

from tickdisk.studies.accesses import study as accesses
from tickdisk.studies.backup import study as backup
from tickdisk.studies.bursts import study as bursts
from tickdisk.studies.calibration import study as calibration
from tickdisk.studies.capture_cost import study as capture_cost
from tickdisk.studies.changes import study as changes
from tickdisk.studies.checkpoint import study as checkpoint
from tickdisk.studies.explained import write_explained
from tickdisk.studies.inside_tick import around_tick
from tickdisk.studies.inside_tick import study as inside_tick
from tickdisk.studies.inspect import Given, Replayed, describe_traces, inspected_as_json, write_inspected
from tickdisk.studies.inspect import study as inspect
from tickdisk.studies.instances import study as instances
from tickdisk.studies.join_burst import study as join_burst
from tickdisk.studies.load import study as load
from tickdisk.studies.memory import study as memory
from tickdisk.studies.netcode import study as netcode
from tickdisk.studies.operations import study as operations
from tickdisk.studies.other_servers import study as other_servers
from tickdisk.studies.players import study as players
from tickdisk.studies.pools import study as pools
from tickdisk.studies.predictions import study as predictions
from tickdisk.studies.replay import study as replay
from tickdisk.studies.statement import Claim, Fact, Statement
from tickdisk.studies.store import study as store
from tickdisk.studies.study import Study
from tickdisk.studies.sweep import study as sweep
from tickdisk.studies.switchback import study as switchback
from tickdisk.studies.twin import study as twin

__all__ = [
    "Claim",
    "Fact",
    "Given",
    "Replayed",
    "Statement",
    "Study",
    "accesses",
    "around_tick",
    "backup",
    "bursts",
    "calibration",
    "capture_cost",
    "changes",
    "checkpoint",
    "describe_traces",
    "inside_tick",
    "inspect",
    "inspected_as_json",
    "instances",
    "join_burst",
    "load",
    "memory",
    "netcode",
    "operations",
    "other_servers",
    "players",
    "pools",
    "predictions",
    "replay",
    "store",
    "sweep",
    "switchback",
    "twin",
    "write_explained",
    "write_inspected",
]
