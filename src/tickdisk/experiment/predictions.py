"""Predictions: lives captured on a fast disk, from which other disks are predicted, and lives on these disks to compare with.

The rules of the prediction were found while lives on some disks were known. The arms of these disks have the role `dose`. The
other disks have the role `held_out`, and only they say how good a prediction is.

On the slowest disk, a server may fall behind, and leave a queue of actions and flushes to the next epoch of the life. A longer
part of the next epoch is therefore cut, which takes less time than a life of its own for this disk.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, Roaming, Seconds
from tickdisk.experiment.life import Epoch, PlannedLife

CAPTURED = "captured"
"""Name of the life that is captured, and of its arm."""
_CUT, _CUT_AFTER_SLOWEST = 1, 2
"""Parts of an epoch that are cut, in save periods: usually, and after the slowest disk."""


class Predictions(Roaming):
    """Captured lives and lives whose device changes from epoch to epoch. Without blocks, a scale has no life of them."""

    blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks, each with a captured life and one with all disks. `blocks` on the command line replaces it, but not 0,
    with which the experiment does not run."""
    warm_up_s: Seconds = 5.0
    """Time from the first join to the first epoch."""
    epoch_save_periods: Annotated[float, Field(ge=3)] = 3.0
    """Length of an epoch in save periods, of which the first is cut. The time that is analysed is as long in all epochs."""
    save_period_s: Seconds = 2.0
    """Time between two periodic saves of the server's world."""
    players: Count = 5
    teleport_period_s: Seconds = 2.0
    edit_period_s: Seconds = 1.0
    ping_period_s: Seconds = 1.0

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the time that is cut."""
        return round(self.save_period_s * 1e9)


def _lives(block: Block[Predictions]) -> tuple[PlannedLife, ...]:
    design = block.design
    others = [arm for arm in block.arms if arm.arm != CAPTURED]
    order = balanced_order([arm.arm for arm in others], block.number, lambda square: block.rng("order", square))
    slowest = max(others, key=lambda arm: arm.latency_us or 0.0).arm
    captured, epochs = _epochs(design, [CAPTURED], slowest), _epochs(design, order, slowest)
    lives = [
        PlannedLife(CAPTURED, CAPTURED, block.trace_seed, captured[-1].end_s, captured),
        PlannedLife("life", block.baseline, block.trace_seed, epochs[-1].end_s, epochs),
    ]
    return tuple(lives[place] for place in block.rng("lives", block.number).permutation(len(lives)).tolist())


def _epochs(design: Predictions, order: Sequence[str], slowest: str) -> tuple[Epoch, ...]:
    """Returns one epoch for each arm of `order`. More is cut of the one after the arm `slowest`, which is longer by as much."""
    epochs: list[Epoch] = []
    for arm in order:
        start_s = epochs[-1].end_s if epochs else design.warm_up_s
        cut = _CUT_AFTER_SLOWEST if epochs and epochs[-1].arm == slowest else _CUT
        steady_s = start_s + cut * design.save_period_s
        epochs.append(Epoch(arm, start_s, steady_s, steady_s + (design.epoch_save_periods - _CUT) * design.save_period_s))
    return tuple(epochs)


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
    apart=(CAPTURED,),
)
