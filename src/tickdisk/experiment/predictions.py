"""Predictions: lives captured on a fast disk, from which other disks are predicted, and lives on these disks to compare with."""

from typing import Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, Roaming, Seconds
from tickdisk.experiment.life import Epoch, PlannedLife, epochs_of

CAPTURED = "captured"
"""Name of the life that is captured, and of its arm."""


class Predictions(Roaming):
    """Captured lives and lives whose device changes from epoch to epoch. Without blocks, a scale has no life of them."""

    blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks, each with a captured life and one with all disks. `blocks` on the command line replaces it, but not 0,
    with which the experiment does not run."""
    warm_up_s: Seconds = 5.0
    """Time from the first join to the first epoch."""
    epoch_save_periods: Annotated[float, Field(ge=3)] = 4.0
    """Length of an epoch in save periods. The first is cut, so that the time that is analysed is as long in both lives."""
    save_period_s: Seconds = 2.67
    """Time between two periodic saves of the server's world."""
    players: Count = 5
    teleport_period_s: Seconds = 2.0
    edit_period_s: Seconds = 2.0
    ping_period_s: Seconds = 1.0

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the time that is cut."""
        return round(self.save_period_s * 1e9)


def _lives(block: Block[Predictions]) -> tuple[PlannedLife, ...]:
    design = block.design
    length_s, start_s = design.epoch_save_periods * design.save_period_s, design.warm_up_s
    captured = next(arm.arm for arm in block.arms if arm.capture != "none")
    epoch = Epoch(captured, start_s, start_s + design.save_period_s, start_s + length_s)
    order = balanced_order(
        [arm.arm for arm in block.arms if arm.arm != captured], block.number, lambda square: block.rng("order", square)
    )
    epochs = epochs_of(order, start_s, length_s=length_s, cut_s=design.save_period_s)
    lives = [
        PlannedLife(CAPTURED, captured, block.trace_seed, epoch.end_s, (epoch,)),
        PlannedLife("life", block.baseline, block.trace_seed, epochs[-1].end_s, epochs),
    ]
    return tuple(lives[place] for place in block.rng("lives", block.number).permutation(len(lives)).tolist())


PREDICTIONS = Experiment(
    "predictions",
    Predictions,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "A prediction that can fail",
        "One capture on a fast disk predicts ticks and actions on slower disks, and other lives there tell how wrong it is.",
        "paper_predictions",
        "Predicted over measured effects of slower disks, by server and metric",
    ),
    stated={"blocks": "blocks", "players": "players", "save_period_s": "s"},
    compares=("predictions",),
    runs_alone=True,
    lives=_lives,
    behaviour="roam",
    repeats="blocks",
    # The captured device itself is the control of the method, and the repeated baseline that of the lives it is compared with.
    controls=("baseline", "null"),
    positive=(),
)
