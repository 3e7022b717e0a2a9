"""The switchback: the device changes from epoch to epoch inside one server life."""

from typing import Annotated, TypeVar

from pydantic import Field

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, Roaming, Seconds
from tickdisk.experiment.life import PlannedLife, delays_of, epochs_of


class Switchback(Roaming):
    """One server life in which the device changes from epoch to epoch."""

    lives: Count
    """Number of server lives. Every arm has one epoch in a life, in an order that is balanced over lives. `blocks` on the command
    line replaces it."""
    warm_up_s: Seconds
    """Time from the first join to the first epoch. It was fixed from a pilot, and is the same for all arms."""
    epoch_save_periods: Annotated[float, Field(ge=3)]
    """Length of an epoch in save periods of the server. The first period is cut, so at least two are analysed."""

    @property
    def cut_s(self) -> float:
        """Time after a switch that is not analysed."""
        return self.save_period_s

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer.

        It is the time that is cut, because an action that takes longer would reach into the steady part of the next epoch.
        """
        return round(self.cut_s * 1e9)


SwitchbackType = TypeVar("SwitchbackType", bound=Switchback)


def lives_of_block(block: Block[SwitchbackType]) -> tuple[PlannedLife, ...]:
    """Returns the one server life of a block, in which every arm has one epoch."""
    design, arms = block.design, block.arms
    order = balanced_order([arm.arm for arm in arms], block.number, lambda square: block.rng("order", square))
    length_s = design.epoch_save_periods * design.save_period_s
    epochs = epochs_of(order, design.warm_up_s, length_s=length_s, cut_s=design.cut_s)
    return (PlannedLife("life", block.baseline, block.trace_seed, epochs[-1].end_s, epochs, delays_of(arms, epochs)),)


SWITCHBACK = Experiment(
    "switchback",
    Switchback,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The device changes inside one server life",
        "Every arm has one epoch in each life; a life is compared with itself.",
        "paper_effects",
        "Effects of every arm on ticks and actions, as ratios with intervals over lives",
    ),
    stated={"lives": "lives", "players": "players", "warm_up_s": "s", "save_period_s": "s", "teleport_period_s": "s"},
    lives=lives_of_block,
    behaviour="roam",
)
