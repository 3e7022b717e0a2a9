"""Checkpoint recovery of a game's state: the six algorithms of Vaz Salles et al. (VLDB 2009) in simulation, and their inputs."""

from tickdisk.checkpoint.game import ATTRIBUTES, UNITS, KnightsAndArchers
from tickdisk.checkpoint.inputs import GameTrace, Input, RecordedTrace, ZipfTrace, load_trace, trace_of_life
from tickdisk.checkpoint.model import ALGORITHMS, COPY_ON_UPDATE, PARTIAL_LOG, Algorithm, Costs, Readings, State
from tickdisk.checkpoint.published import Anchor, PublishedCheckpoint, load_published
from tickdisk.checkpoint.simulate import WORK, Outcome, Run, simulate
from tickdisk.checkpoint.sweep import (
    DEFAULT_RATE,
    DEFAULT_SKEW,
    PLACES,
    STATED,
    VARIANTS,
    Sweep,
    anchor_rates,
    cases,
    read_sweep,
    sweep,
    write_sweep,
)

__all__ = [
    "ALGORITHMS",
    "ATTRIBUTES",
    "COPY_ON_UPDATE",
    "DEFAULT_RATE",
    "DEFAULT_SKEW",
    "PARTIAL_LOG",
    "PLACES",
    "STATED",
    "UNITS",
    "VARIANTS",
    "WORK",
    "Algorithm",
    "Anchor",
    "Costs",
    "GameTrace",
    "Input",
    "KnightsAndArchers",
    "Outcome",
    "PublishedCheckpoint",
    "Readings",
    "RecordedTrace",
    "Run",
    "State",
    "Sweep",
    "ZipfTrace",
    "anchor_rates",
    "cases",
    "load_published",
    "load_trace",
    "read_sweep",
    "simulate",
    "sweep",
    "trace_of_life",
    "write_sweep",
]
