"""Several servers on one device: the device changes inside a life, and the number of servers changes from life to life."""

from functools import partial
from typing import Annotated

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, Seconds, ShortSwitchbacks
from tickdisk.experiment.life import PlannedLife, delays_of, epochs_of


class Instances(ShortSwitchbacks):
    """Short switchbacks with several numbers of servers. Without blocks, a scale has no life of them."""

    instances: Annotated[tuple[Count, ...], Field(min_length=1)] = (1, 2, 4)
    """Numbers of servers on the device. Each has a copy of the world, and players of its own."""
    cores_per_instance: Annotated[float, Field(gt=0)] = 0.25
    """Share of a core that each server may use, at every number of servers."""
    memory_mib_per_instance: Count = 512
    """Memory in MiB that each server may use with its page cache, at every number of servers."""
    players: Count = 3
    """Number of connected players of each server. Each player has its own ground."""
    join_period_s: Seconds = 0.1
    """Time from one player's join to the next."""


def _lives(block: Block[Instances]) -> tuple[PlannedLife, ...]:
    design, lives = block.design, []
    arms = [arm.arm for arm in block.arms if arm.role != "delay"]
    start_s = design.join_period_s * (design.players - 1) + design.warm_up_s
    length_s = design.epoch_s
    for place in block.rng("instances", block.number).permutation(len(design.instances)).tolist():
        instances = design.instances[place]
        order = balanced_order(arms, block.number, partial(block.rng, f"order {instances}"))
        epochs = epochs_of(order, start_s, length_s=length_s, cut_s=design.save_period_s)
        name = f"instances_{instances}"
        lives.append(PlannedLife(name, block.baseline, block.trace_seed, epochs[-1].end_s, epochs, instances=instances))
    # The positive control has a life of its own, in which one server plays beside the baseline.
    for delay in (arm.arm for arm in block.arms if arm.role == "delay"):
        epochs = epochs_of((block.baseline, delay), start_s, length_s=length_s, cut_s=design.save_period_s)
        delays = delays_of(block.arms, epochs)
        lives.append(PlannedLife(delay, block.baseline, block.trace_seed, epochs[-1].end_s, epochs, delays, instances=1))
    return tuple(lives)


INSTANCES = Experiment(
    "instances",
    Instances,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "Several servers on one disk",
        "One, two and four servers share a disk, each with the same share of processor and memory.",
        "paper_instances",
        "Longest tick gap over the number of servers, on a fast and on a slow disk, by server",
    ),
    stated={"blocks": "blocks", "players": "players", "save_period_s": "s"},
    compares=("instances",),
    runs_alone=True,
    lives=_lives,
    behaviour="roam",
    repeats="blocks",
    controls=("baseline", "null"),
    positive=("ticks",),
    apart=("tick_delay",),
)
