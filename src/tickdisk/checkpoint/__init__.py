"""A simulator of six algorithms that save a game's state to disk, after Vaz Salles et al. (VLDB 2009).

The room answers how much time each algorithm adds to a tick, how long a checkpoint takes, and how long a recovery takes after a
crash. The state is a table of cells, which is cut into objects of 512 bytes (`State`). An update changes one cell.

- An input gives the cells that each tick updates: a `ZipfTrace` is random, a `GameTrace` comes from the game Knights and Archers
  (`KnightsAndArchers`), and a `RecordedTrace` from a file (`load_trace`) or from a captured server life (`trace_of_life`).
- `simulate` feeds an input to algorithms under the paper's cost model. `Costs` has the model's parameters, and `Readings` has the
  choices that the paper leaves open. An `Outcome` has tables of ticks and checkpoints.
- `cases`, `sweep`, `write_sweep` and `read_sweep` make the tables behind the study's figures, over update rates, skews and
  readings. `load_published` returns the paper's numbers, which the study compares with them.
"""

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
