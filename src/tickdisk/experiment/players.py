"""Players as a dose: the device changes inside a server life, and the number of players changes from life to life."""

from functools import partial
from typing import Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Design, Experiment, Seconds
from tickdisk.experiment.life import PlannedLife, epochs_of


class Players(Design):
    """Short switchbacks with several numbers of players. Without sizes, a scale has no life of them."""

    blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks. Every number of players has one life in a block, in a random order. `blocks` on the command line replaces
    it, but not 0, with which the experiment does not run."""
    players: tuple[Count, ...] = (2, 5, 10, 20)
    """Numbers of connected players. Each player has its own ground."""
    join_period_s: Seconds = 0.1
    """Time from one player's join to the next."""
    warm_up_s: Seconds = 1.5
    """Time from the last join to the first epoch."""
    epoch_save_periods: Annotated[float, Field(ge=3)] = 3.0
    """Length of an epoch in save periods of the server. The first period is cut, so at least two are analysed."""
    save_period_s: Seconds = 1.1
    """Time between two periodic saves of the server's world."""
    teleport_period_s: Seconds = 2.0
    """Time of each player from one teleport to the next. A teleport goes to terrain that is stored but not loaded."""
    edit_period_s: Seconds = 2.0
    """Time of each player from one place-and-dig to the next."""
    ping_period_s: Seconds = 1.0
    """Time of each player from one chat ping to the next."""

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the time that is cut."""
        return round(self.save_period_s * 1e9)


def _lives(block: Block[Players]) -> tuple[PlannedLife, ...]:
    design, arms, lives = block.design, [arm.arm for arm in block.arms], []
    for place in block.rng("players", block.number).permutation(len(design.players)).tolist():
        players = design.players[place]
        order = balanced_order(arms, block.number, partial(block.rng, f"order {players}"))
        start_s = design.join_period_s * (players - 1) + design.warm_up_s
        length_s = design.epoch_save_periods * design.save_period_s
        epochs = epochs_of(order, start_s, length_s=length_s, cut_s=design.save_period_s)
        name = f"players_{players}"
        lives.append(PlannedLife(name, block.baseline, block.trace_seed, epochs[-1].end_s, epochs, players=players))
    return tuple(lives)


PLAYERS = Experiment(
    "players",
    Players,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "What each further player costs",
        "The device changes inside each life, and lives have different numbers of players.",
        "paper_players",
        "Time that a slow device adds to the longest tick gap, over the number of players, by server",
    ),
    stated={"blocks": "blocks", "save_period_s": "s"},
    compares=("players", "switchback", "inside_tick"),
    lives=_lives,
    behaviour="roam",
    repeats="blocks",
    # The switchback of the same run has the positive control of ticks and the sham (docs/decisions/statistics.md).
    controls=("baseline", "null"),
    positive=(),
)
