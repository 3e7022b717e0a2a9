"""A backup on the same disk: while players play, a part of the world is copied again and again, in several ways."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, ShortSwitchbacks
from tickdisk.experiment.life import PlannedLife, delays_of, epochs_of

if TYPE_CHECKING:
    from tickdisk.experiment.arm import Arm


class Backup(ShortSwitchbacks):
    """Switchbacks over ways of making a backup, with a life for each disk. Without blocks, a scale has no life of them."""

    copied_mib: Count = 256
    """Size in MiB of the folder beside the world that is copied. It stands for the part of a large world in which nobody is."""
    limit_mb_per_s: Annotated[float, Field(gt=0)] = 10.0
    """Rate of a backup that is limited."""


def _lives(block: Block[Backup]) -> tuple[PlannedLife, ...]:
    disks: dict[str, list[Arm]] = {}
    for arm in (arm for arm in block.arms if arm.role != "delay"):
        disks.setdefault(arm.device, []).append(arm)
    names = list(disks)
    order = [names[place] for place in block.rng("disks", block.number).permutation(len(names)).tolist()]
    controls = [arm.arm for arm in block.arms if arm.role == "delay"]
    return (
        *(_life(block, disk, [arm.arm for arm in disks[disk]]) for disk in order),
        *(_control(block, arm) for arm in controls),
    )


def _life(block: Block[Backup], disk: str, arms: Sequence[str]) -> PlannedLife:
    design = block.design
    order = balanced_order(arms, block.number, partial(block.rng, f"order {disk}"))
    length_s = design.epoch_s
    epochs = epochs_of(order, design.warm_up_s, length_s=length_s, cut_s=design.save_period_s)
    return PlannedLife(disk, arms[0], block.trace_seed, epochs[-1].end_s, epochs)


def _control(block: Block[Backup], arm: str) -> PlannedLife:
    """Returns the life of the positive control, in which no backup is made."""
    design = block.design
    length_s = design.epoch_s
    epochs = epochs_of((block.baseline, arm), design.warm_up_s, length_s=length_s, cut_s=design.save_period_s)
    return PlannedLife(arm, block.baseline, block.trace_seed, epochs[-1].end_s, epochs, delays_of(block.arms, epochs))


BACKUP = Experiment(
    "backup",
    Backup,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "A backup on the same disk",
        "While players play, a part of the world is copied on its disk by tar, at full speed, limited, or idle, and by rsync.",
        "paper_backup",
        "Effect of a backup on the longest tick gap and on teleports, by disk and by remedy, by server",
    ),
    stated={"blocks": "blocks", "players": "players", "save_period_s": "s"},
    compares=("backup",),
    runs_alone=True,
    lives=_lives,
    behaviour="roam",
    repeats="blocks",
    controls=("baseline", "null"),
    positive=("ticks", "actions"),
    divided=2,
    apart=("both_delays",),
)
