"""The registry of experiments and of other studies, in which each has one entry.

A `StudyEntry` describes a part of the results that one notebook analyses, and an `Experiment` is one with server lives. The
configuration, the plan, the rules of the workflow, the page and the facts of the set-up go through the entries in the order of
`EXPERIMENTS` and `STUDIES`, so none of these lists the experiments itself.
"""

from collections.abc import Mapping
from typing import Any

from tickdisk.experiment.accesses import ACCESSES
from tickdisk.experiment.arm import Arm, Copying, Tool
from tickdisk.experiment.backup import BACKUP, Backup
from tickdisk.experiment.bursts import BURSTS, Bursts
from tickdisk.experiment.capture_cost import CAPTURE_COST
from tickdisk.experiment.changes import AGAIN, CHANGES, CUT, DELAYED, SAVE_PERIODS, UNCHANGED, Changes
from tickdisk.experiment.entry import Block, Card, Design, DesignType, Experiment, Need, StudyEntry
from tickdisk.experiment.inside_tick import INSIDE_TICK
from tickdisk.experiment.instances import INSTANCES, Instances
from tickdisk.experiment.join_burst import JOIN_BURST, REGIONS_PER_JOIN, regions_per_s
from tickdisk.experiment.life import Epoch, Injection, PlannedLife
from tickdisk.experiment.load import LOAD, Load
from tickdisk.experiment.memory import MEMORY, SHARES, Memory
from tickdisk.experiment.operations import OPERATIONS
from tickdisk.experiment.players import PLAYERS
from tickdisk.experiment.predictions import CAPTURED, PREDICTIONS
from tickdisk.experiment.studies import CALIBRATION, CHECKPOINT, INSPECT, NETCODE, OTHER_SERVERS, POOLS, REPLAY, STORE, Checkpoint
from tickdisk.experiment.switchback import SWITCHBACK
from tickdisk.experiment.twin import REAL, TWIN, TWIN_ARM, WRONG, Twin

_EXPERIMENTS: tuple[Experiment[Any], ...] = (
    SWITCHBACK,
    OPERATIONS,
    PLAYERS,
    JOIN_BURST,
    INSIDE_TICK,
    ACCESSES,
    CAPTURE_COST,
    CHANGES,
    PREDICTIONS,
    TWIN,
    LOAD,
    BURSTS,
    INSTANCES,
    MEMORY,
    BACKUP,
)
EXPERIMENTS: Mapping[str, Experiment[Any]] = {entry.name: entry for entry in _EXPERIMENTS}
"""The experiments by name, in the order in which their cells run."""
_STUDIES: tuple[StudyEntry[Any], ...] = (
    SWITCHBACK,
    JOIN_BURST,
    OTHER_SERVERS,
    OPERATIONS,
    PLAYERS,
    INSIDE_TICK,
    ACCESSES,
    INSPECT,
    POOLS,
    REPLAY,
    CALIBRATION,
    CHECKPOINT,
    STORE,
    NETCODE,
    CAPTURE_COST,
    CHANGES,
    PREDICTIONS,
    TWIN,
    LOAD,
    BURSTS,
    INSTANCES,
    MEMORY,
    BACKUP,
)
STUDIES: Mapping[str, StudyEntry[Any]] = {entry.name: entry for entry in _STUDIES}
"""All studies by name, in the order in which the page shows them."""

__all__ = [
    "ACCESSES",
    "AGAIN",
    "BACKUP",
    "BURSTS",
    "CALIBRATION",
    "CAPTURED",
    "CAPTURE_COST",
    "CHANGES",
    "CHECKPOINT",
    "CUT",
    "DELAYED",
    "EXPERIMENTS",
    "INSIDE_TICK",
    "INSTANCES",
    "JOIN_BURST",
    "LOAD",
    "MEMORY",
    "NETCODE",
    "OPERATIONS",
    "OTHER_SERVERS",
    "PLAYERS",
    "POOLS",
    "PREDICTIONS",
    "REAL",
    "REGIONS_PER_JOIN",
    "REPLAY",
    "SAVE_PERIODS",
    "SHARES",
    "STORE",
    "STUDIES",
    "SWITCHBACK",
    "TWIN",
    "TWIN_ARM",
    "UNCHANGED",
    "WRONG",
    "Arm",
    "Backup",
    "Block",
    "Bursts",
    "Card",
    "Changes",
    "Checkpoint",
    "Copying",
    "Design",
    "DesignType",
    "Epoch",
    "Experiment",
    "Injection",
    "Instances",
    "Load",
    "Memory",
    "Need",
    "PlannedLife",
    "StudyEntry",
    "Tool",
    "Twin",
    "regions_per_s",
]
