"""Simulates six algorithms that save a game's state to disk, under the cost model of Vaz Salles et al. (VLDB 2009).

The result is the time that each algorithm adds to a tick, the time of a checkpoint, and the time of a recovery after a crash. The
state is a table, and each of its fields is called a cell. Saving works on objects, which are 512 bytes of cells. An input says
which cells change in each tick: at random, as a game that is played changes them, or as recorded. `simulate` takes an input and a
`Simulation` for each algorithm. `Costs` has the parameters of the model, and `Readings` the choices that the paper leaves open.
`cases` and `sweep` simulate many inputs and readings for the figures of `tickdisk.studies.checkpoint`.
"""

from tickdisk.saving.checkpoint.game import ATTRIBUTES, KnightsAndArchers
from tickdisk.saving.checkpoint.inputs import GameTrace, Input, ZipfTrace, load_trace, trace_of_life
from tickdisk.saving.checkpoint.model import ALGORITHMS, COPY_ON_UPDATE, PARTIAL_LOG, Algorithm, Costs, Readings, State
from tickdisk.saving.checkpoint.published import PublishedCheckpoint, load_published
from tickdisk.saving.checkpoint.simulate import WORK, Outcome, Simulation, simulate
from tickdisk.saving.checkpoint.sweep import (
    DEFAULT_RATE,
    DEFAULT_SKEW,
    PLACES,
    STATED,
    VARIANTS,
    Sweep,
    cases,
    gather,
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
    "VARIANTS",
    "WORK",
    "Algorithm",
    "Costs",
    "GameTrace",
    "Input",
    "KnightsAndArchers",
    "Outcome",
    "PublishedCheckpoint",
    "Readings",
    "Simulation",
    "State",
    "Sweep",
    "ZipfTrace",
    "cases",
    "gather",
    "load_published",
    "load_trace",
    "read_sweep",
    "simulate",
    "sweep",
    "trace_of_life",
    "write_sweep",
]
