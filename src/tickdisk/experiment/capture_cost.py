"""The cost of captures: the capture changes from epoch to epoch inside one server life."""

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Experiment, Roaming, Seconds
from tickdisk.experiment.life import PlannedLife, delays_of, epochs_of


class CaptureCost(Roaming):
    """One server life in which the capture changes from epoch to epoch, and a micro-workload."""

    lives: Count
    """Number of server lives. Every arm has one epoch in a life, in an order that is balanced over lives. `blocks` on the command
    line replaces it."""
    warm_up_s: Seconds
    """Time from the first join to the first epoch."""
    epoch_s: Seconds
    """Length of an epoch."""
    cut_s: Seconds
    """Time that is cut off at the beginning of an epoch, in which a capture is started."""

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the time that is cut."""
        return round(self.cut_s * 1e9)

    micro_rounds: Count
    """Rounds of the micro-workload. Every tool has one turn in a round, in a random order."""


def _lives(block: Block[CaptureCost]) -> tuple[PlannedLife, ...]:
    design, arms = block.design, block.arms
    order = balanced_order([arm.arm for arm in arms], block.number, lambda square: block.rng("order", square))
    epochs = epochs_of(order, design.warm_up_s, length_s=design.epoch_s, cut_s=design.cut_s)
    return (PlannedLife("life", block.baseline, block.trace_seed, epochs[-1].end_s, epochs, delays_of(arms, epochs)),)


CAPTURE_COST = Experiment(
    "capture_cost",
    CaptureCost,
    evidence=("results/capture_micro.parquet",),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The cost of a capture",
        "Every life has epochs with and without a capture. Single reads from memory show the cost of one system call.",
        "paper_micro",
        "Time of a read from memory under each tool",
    ),
    stated={"lives": "lives", "micro_rounds": "rounds", "epoch_s": "s"},
    lives=_lives,
    behaviour="roam",
    # No arm costs the emulator more than another, so there is no sham.
    controls=("baseline", "null"),
    positive=("ticks",),
)
