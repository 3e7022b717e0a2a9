"""A real disk beside its emulated twin: lives on the disk, on a device that was profiled from it, and on one that is wrong."""

from typing import Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, Roaming, Seconds
from tickdisk.experiment.life import PlannedLife, epochs_of

REAL, TWIN_ARM, WRONG = "real_disk", "twin", "wrong_twin"
"""Names of the arms: the disk itself, the device that was profiled from it, and the same device with other latencies."""


class Twin(Roaming):
    """Server lives on a real disk, on its emulated twin and on a wrong twin, and the profile of the disk before them."""

    blocks: Annotated[int, Field(ge=0)] = 6
    """Number of blocks. Each arm has one life in a block, in an order that is balanced over blocks. `blocks` on the command line
    replaces it."""
    save_period_s: Seconds = 5.3
    warm_up_s: Seconds = 4.0
    """Time from the first join to the epoch."""
    epoch_save_periods: Annotated[float, Field(ge=2)] = 4.0
    """Length of the one epoch in save periods. The first period is cut."""
    players: Count = 5
    teleport_period_s: Seconds = 2.0
    edit_period_s: Seconds = 1.0
    ping_period_s: Seconds = 1.0
    device_size_mib: Annotated[int, Field(ge=64)] = 512
    """Size of the part of the real disk that is used, and of the emulated devices."""
    settle_s: Seconds = 5.0
    """Time for which a disk rests before the profile and before each life. Each disk is wholly written before it rests, also an
    emulated one, so that all have the same history."""
    profile_s: Annotated[float, Field(ge=1)] = 6.0
    """Time of each job of fio in all rounds of the profile together."""
    wrong_factor: Annotated[float, Field(gt=1)] = 3.0
    """Factor of the latencies of reads and writes of the wrong twin."""
    wrong_flush_ms: Annotated[float, Field(gt=0)] = 3.0
    """Time by which a flush of the wrong twin takes longer."""

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the time that is cut."""
        return round(self.save_period_s * 1e9)


def _lives(block: Block[Twin]) -> tuple[PlannedLife, ...]:
    design, lives = block.design, []
    length_s = design.epoch_save_periods * design.save_period_s
    for arm in balanced_order([arm.arm for arm in block.arms], block.number, lambda square: block.rng("order", square)):
        epochs = epochs_of([arm], design.warm_up_s, length_s=length_s, cut_s=design.save_period_s)
        lives.append(PlannedLife(arm, arm, block.trace_seed, epochs[-1].end_s, epochs))
    return tuple(lives)


TWIN = Experiment(
    "twin",
    Twin,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "A real disk beside its emulated twin",
        "Lives run on a real disk, on an emulated device that was profiled from it, and on a device that is wrong on purpose.",
        "paper_twin",
        "Ratio of the twin, and of the wrong twin, to the real disk, by metric of players and by kind of request",
    ),
    stated={"blocks": "blocks", "players": "players", "save_period_s": "s"},
    runs_alone=True,
    lives=_lives,
    behaviour="roam",
    repeats="blocks",
    # The real disk is what the others are compared with. The wrong twin shows whether a difference would have been found.
    controls=("baseline",),
    positive=(),
)
