"""Inside the tick: captured server lives with injected stalls, which tests whether late ticks are explained rightly.

Only the baseline arm is played.
"""

import numpy as np

from tickdisk.experiment.entry import Block, Card, Count, Experiment, Roaming, Seconds
from tickdisk.experiment.life import Epoch, Injection, PlannedLife


class InsideTick(Roaming):
    """Captured server lives into which stalls of the device and of the processor are injected."""

    lives: Count
    """Number of server lives. Each is a block of its own. `blocks` on the command line replaces it."""
    warm_up_s: Seconds
    """Time from the first join to the first stall."""
    stalls: Count
    """Number of stalls of the device, and also of the processor. Their order and their times are drawn at random."""
    stall_ms: Count
    """Time for which the device starts nothing, from the first request after the random time, or the processor is kept busy."""
    stall_period_s: Seconds
    """Time that belongs to each stall. The stall begins at a random time in its first half."""


def _lives(block: Block[InsideTick]) -> tuple[PlannedLife, ...]:
    design, rng = block.design, block.rng("order", block.number)
    kinds = rng.permutation(np.repeat(["device_stall", "cpu_stall"], design.stalls)).tolist()
    begins_s = [design.warm_up_s + design.stall_period_s * (slot + rng.uniform(0, 0.5)) for slot in range(len(kinds))]
    injections = tuple(Injection(kind, round(due_s, 3), design.stall_ms) for kind, due_s in zip(kinds, begins_s, strict=True))
    end_s = design.warm_up_s + design.stall_period_s * len(kinds)
    epochs = (Epoch(block.baseline, design.warm_up_s, design.warm_up_s, end_s),)
    return (PlannedLife("life", block.baseline, block.trace_seed, end_s, epochs, injections),)


INSIDE_TICK = Experiment(
    "inside_tick",
    InsideTick,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The requests that made ticks late",
        "Stalls are injected into captured lives. Late time is followed through locks and threads to requests.",
        "paper_shares",
        "Shares of the late time by cause, data and file",
    ),
    stated={"lives": "lives", "stalls": "stalls", "stall_ms": "ms", "players": "players"},
    lives=_lives,
    behaviour="roam",
    # The stalls of the processor are the control of those of the device.
    controls=("baseline",),
    positive=(),
)
