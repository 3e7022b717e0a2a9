"""The state of the page cache: the same play with all of a world in memory, with none of it, and with too little memory."""

from functools import partial
from typing import Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, Seconds, ShortSwitchbacks
from tickdisk.experiment.life import MemoryState, PlannedLife, delays_of, epochs_of

SHARES: dict[MemoryState, float | None] = {"warm": None, "cold": None, "half": 0.5, "quarter": 0.25}
"""For each state of memory, the share of the hot part of the world that fits into memory. None if there is no limit."""


class Memory(ShortSwitchbacks):
    """Short switchbacks in several states of memory. Without blocks, a scale has no life of them."""

    states: Annotated[tuple[MemoryState, ...], Field(min_length=1)] = ("warm", "cold", "half", "quarter")
    """States of memory: warm (the whole world was read before the server starts), cold (at the start of each epoch nothing of it
    is in memory), and half and quarter (from the first epoch on, a control group limits the memory of the server to what it needs
    itself and to this share of what it has read in the warm-up)."""
    hot_places: Count = 60
    """Number of places to which players teleport in turn, again and again. Their terrain is the hot part of the world."""
    settings: dict[str, str] = Field({})
    """Settings of the server, such as one by which it drops terrain soon, so that it reads the terrain again."""
    warm_up_s: Seconds = 14.0
    """Time from the start of the player trace to the first epoch, in which players visit every hot place once."""
    teleport_period_s: Seconds = 1.0


def _lives(block: Block[Memory]) -> tuple[PlannedLife, ...]:
    design, lives = block.design, []
    arms = [arm.arm for arm in block.arms if arm.role != "delay"]
    start_s, length_s = design.warm_up_s, design.epoch_s
    for place in block.rng("states", block.number).permutation(len(design.states)).tolist():
        state = design.states[place]
        order = balanced_order(arms, block.number, partial(block.rng, f"order {state}"))
        epochs = epochs_of(order, start_s, length_s=length_s, cut_s=design.save_period_s)
        lives.append(PlannedLife(state, block.baseline, block.trace_seed, epochs[-1].end_s, epochs, memory=state))
    # The positive control has a life of its own, with the whole world in memory.
    for delay in (arm.arm for arm in block.arms if arm.role == "delay"):
        epochs = epochs_of((block.baseline, delay), start_s, length_s=length_s, cut_s=design.save_period_s)
        delays = delays_of(block.arms, epochs)
        lives.append(PlannedLife(delay, block.baseline, block.trace_seed, epochs[-1].end_s, epochs, delays, memory="warm"))
    return tuple(lives)


MEMORY = Experiment(
    "memory",
    Memory,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "How much memory protects a server from its disk",
        "The same play runs with all of a world in memory, with none of it, and with too little memory for it.",
        "paper_memory",
        "Effect of a slow disk on teleports and on the longest tick gap, by the state of the page cache, by server",
    ),
    stated={"blocks": "blocks", "players": "players", "save_period_s": "s"},
    compares=("memory",),
    runs_alone=True,
    lives=_lives,
    behaviour="roam",
    repeats="blocks",
    controls=("baseline", "null"),
    positive=("ticks", "actions"),
    apart=("both_delays",),
)
