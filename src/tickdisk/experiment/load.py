"""Lives in which the number of players grows in steps until ticks or actions exceed a limit."""

from functools import partial
from typing import Annotated, Self

from pydantic import Field, model_validator

from tickdisk.experiment.arm import Arm
from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Design, Experiment, Seconds
from tickdisk.experiment.life import Epoch, PlannedLife, delays_of


class Load(Design):
    """Server lives in which the number of players goes up in steps. Without blocks, a scale has no life of them."""

    blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks, in each of which every arm has one life. `blocks` on the command line replaces it, but not 0, with which
    the experiment does not run."""
    players: Annotated[tuple[Count, ...], Field(min_length=1)] = (1, 2, 5, 10, 20, 60)
    """Numbers of connected players, one for each step of a life, from small to large. Each player has its own ground."""
    reference_players: Count = 5
    """Number of players whom the fast device must carry, and with whom the positive control is played. It is one of `players`."""
    join_period_s: Seconds = 0.05
    """Time from one player's join to the next at the beginning of a step."""
    settle_s: Seconds = 1.2
    """Time from the last join of a step to the part of it that is analysed."""
    save_periods: Annotated[float, Field(ge=1)] = 1.0
    """Length of the analysed part of a step in save periods of the server, so that every step has as many saves."""
    save_period_s: Seconds = 5.3
    """Time between two periodic saves of the server's world. It is Luanti's own."""
    teleport_period_s: Seconds = 2.0
    """Time of each player from one teleport to the next. A teleport goes to terrain that is stored but not loaded."""
    edit_period_s: Seconds = 2.0
    """Time of each player from one place-and-dig to the next."""
    ping_period_s: Seconds = 1.0
    """Time of each player from one chat ping to the next."""
    most_late_s_per_min: Seconds = 6.0
    """Time in s of each minute by which late ticks may come too late in all, if a device carries the players of a step."""
    most_action_p95_ms: Annotated[float, Field(gt=0)] = 500.0
    """Largest 95th percentile of the latency of teleports, edits and pings, if a device carries the players of a step."""

    @model_validator(mode="after")
    def _goes_up(self) -> Self:
        if list(self.players) != sorted(set(self.players)):
            raise ValueError("players must go up from step to step; sort them, and name each number once")
        if self.reference_players not in self.players:
            raise ValueError(f"reference_players is {self.reference_players}, which no step has; make it one of players")
        return self

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the save period."""
        return round(self.save_period_s * 1e9)

    @property
    def analysed_s(self) -> float:
        """Length of the analysed part of a step."""
        return self.save_periods * self.save_period_s


def _lives(block: Block[Load]) -> tuple[PlannedLife, ...]:
    arms = {arm.arm: arm for arm in block.arms}
    searching = [arm.arm for arm in block.arms if arm.role != "delay"]
    order = balanced_order(searching, block.number, partial(block.rng, "order"))
    return tuple(_life(block, arms[name]) for name in (*order, *(name for name in arms if name not in searching)))


def _life(block: Block[Load], arm: Arm) -> PlannedLife:
    """Returns the life of an arm. The positive control has the step with the reference number of players, and no other."""
    design = block.design
    steps = (design.reference_players,) if arm.role == "delay" else design.players
    epochs, start_s, before = [], design.settle_s, 0
    for players in steps:
        steady_s = start_s + design.join_period_s * (players - before) + design.settle_s
        end_s = steady_s + design.analysed_s
        epochs.append(Epoch(arm.arm, round(start_s, 3), round(steady_s, 3), round(end_s, 3), players=players))
        start_s, before = end_s, players
    return PlannedLife(arm.arm, arm.arm, block.trace_seed, epochs[-1].end_s, tuple(epochs), delays_of(block.arms, epochs))


LOAD = Experiment(
    "load",
    Load,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The players that a disk carries",
        "Players join in steps within each life, and the step is told at which ticks or answers come too late.",
        "paper_load",
        "Time by which ticks are late, over the number of players, on a fast and on a slow disk, by server",
    ),
    stated={"blocks": "blocks", "save_period_s": "s"},
    compares=("load",),
    runs_alone=True,
    lives=_lives,
    behaviour="roam",
    repeats="blocks",
    controls=("baseline", "null"),
    positive=("ticks",),
    apart=("tick_delay",),
)
