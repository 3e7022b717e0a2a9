"""The join burst: all players join a cold server at once."""

from typing import Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Design, Experiment, Seconds
from tickdisk.experiment.life import PlannedLife, delays_of, epochs_of

REGIONS_PER_JOIN = 4
"""A player who joins on a corner of regions loads parts of four of them (PokeSto, section on the evaluation)."""


class JoinBurst(Design):
    """All players join a cold server at once, with one server life for each arm of a block."""

    blocks: Annotated[int, Field(ge=0)]
    """Number of blocks. Every arm has one life in a block, in an order that is balanced over blocks. With 0 the experiment does
    not run on the server. `blocks` on the command line replaces it."""
    players: Count
    """Number of players that join."""
    burst_s: Seconds
    """Time over which their joins are spread evenly."""
    stay_s: Seconds
    """Time from the end of the burst to the first leave."""

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer.

        It is the time that players stay, because a join that takes longer would end when players already leave.
        """
        return round(self.stay_s * 1e9)


def regions_per_s(design: JoinBurst) -> float:
    """Returns the rate of a join burst in the unit of the published study, in which a join counts as four regions."""
    return design.players * REGIONS_PER_JOIN / design.burst_s


def _lives(block: Block[JoinBurst]) -> tuple[PlannedLife, ...]:
    design, arms, lives = block.design, block.arms, []
    for arm in balanced_order([arm.arm for arm in arms], block.number, lambda square: block.rng("order", square)):
        epochs = epochs_of([arm], 0.0, length_s=design.burst_s + design.stay_s, cut_s=0.0)
        lives.append(PlannedLife(arm, arm, block.trace_seed, epochs[-1].end_s, epochs, delays_of(arms, epochs)))
    return tuple(lives)


JOIN_BURST = Experiment(
    "join_burst",
    JoinBurst,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "Everybody joins at once, from a cold cache",
        "Each arm of a block has a server of its own that has just started.",
        "paper_joins",
        "Mean join time of every life, by arm",
    ),
    stated={"blocks": "blocks", "players": "players", "burst_s": "s", "stay_s": "s"},
    lives=_lives,
    behaviour="join_burst",
    repeats="blocks",
)
