"""The study of storage accesses: captured server lives whose players do one kind of thing after another.

Only the baseline arm is played.
"""

from collections.abc import Mapping

from pydantic import Field

from tickdisk.experiment.entry import Block, Card, Count, Design, Experiment, Seconds
from tickdisk.experiment.life import Epoch, PlannedLife


class AccessesDesign(Design):
    """Captured server lives whose players do one kind of thing after another."""

    lives: Count
    """Number of server lives. Each is a block of its own, and the last third is held out. `blocks` on the command line replaces
    it."""
    players: Count
    """Number of connected players. Each has its own ground."""
    seconds: Seconds
    """Length of a life, from the first join to the last leave."""
    first_seconds: Seconds
    """Length of the first life, which is the one that is replayed."""
    save_period_s: Seconds
    """Time between two periodic saves of the server's world."""
    settings: Mapping[str, str] = Field(default_factory=dict)
    """Settings of the server, which come after those that the project chooses."""


def _lives(block: Block[AccessesDesign]) -> tuple[PlannedLife, ...]:
    end_s = block.design.seconds if block.number else block.design.first_seconds
    return (PlannedLife("life", block.baseline, block.trace_seed, end_s, (Epoch(block.baseline, 0.0, 0.0, end_s),)),)


ACCESSES = Experiment(
    "accesses",
    AccessesDesign,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The accesses of the server to its storage",
        "In captured lives, players do one kind of thing at a time.",
        "paper_accesses",
        "Bytes over time, reads over the number of regions, and predicted against observed requests",
    ),
    stated={"lives": "lives", "players": "players", "seconds": "s", "save_period_s": "s"},
    lives=_lives,
    behaviour="explore",
    # The experiment only describes, so it has nothing to control.
    controls=("baseline",),
    positive=(),
)
