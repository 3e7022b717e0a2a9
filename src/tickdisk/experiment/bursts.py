"""Bursts of joins, each from a cold page cache, to find the rate from which a slow disk lengthens ticks and joins."""

from functools import partial
from typing import Annotated, Self

from pydantic import Field, model_validator

from tickdisk.experiment.balance import balanced_order
from tickdisk.experiment.entry import Block, Card, Count, Design, Experiment, Seconds
from tickdisk.experiment.join_burst import REGIONS_PER_JOIN
from tickdisk.experiment.life import Epoch, PlannedLife, delays_of

_RESIDENT_S = 1.5
"""Time for the join of the player who stays."""


class Bursts(Design):
    """Server lives with bursts of joins. Without blocks, a scale has no life of them."""

    blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks, in each of which every arm has one life. `blocks` on the command line replaces it, but not 0, with which
    the experiment does not run."""
    players: Count = 12
    """Number of players that join in a burst. Each joins on a corner of four regions of its own if the server stores regions in
    files of their own, and at a new place otherwise."""
    regions_per_s: Annotated[tuple[Count, ...], Field(min_length=1)] = (40, 80, 160, 320)
    """Rates of bursts in regions per second. A join counts as four regions."""
    warm_up_s: Seconds = 6.0
    """Time from the start of the player trace to the first epoch. One player joins in it and stays until the end. The others join
    once at the slowest rate. This burst is not analysed, because it opens files that stay open."""
    settle_s: Seconds = 1.2
    """Time from the start of an epoch to its burst."""
    analysed_s: Seconds = 5.0
    """Time from the first join of a burst to the first leave. It is the part that is analysed, and the same for all rates."""
    leave_s: Seconds = 1.2
    """Time from the first leave to the next epoch."""
    save_period_s: Seconds = 60.0
    """Time between two periodic saves. It is longer than a life, so that bursts alone use the disk."""

    @model_validator(mode="after")
    def _has_time(self) -> Self:
        if self.slowest_s >= self.analysed_s:
            raise ValueError(
                f"the slowest burst takes {self.slowest_s:g} s, but analysed_s is {self.analysed_s:g}; make it longer"
            )
        if self.warm_up_s <= _RESIDENT_S + self.slowest_s + self.leave_s:
            raise ValueError("warm_up_s has no time for the first burst; make it longer")
        return self

    @property
    def slowest_s(self) -> float:
        """Time over which the joins of the slowest burst are spread."""
        return self.burst_s(min(self.regions_per_s))

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer.

        It is the shortest time for which a player stays, because a join that takes longer would end when players already leave.
        """
        return round((self.analysed_s - self.slowest_s) * 1e9)

    def first_burst(self) -> tuple[float, float]:
        """Returns the times in s of the first join and of the first leave of the burst that is not analysed."""
        return _RESIDENT_S, self.warm_up_s - self.leave_s

    def burst_s(self, regions_per_s: int) -> float:
        """Returns the time over which the joins of a burst are spread."""
        return self.players * REGIONS_PER_JOIN / regions_per_s


def _lives(block: Block[Bursts]) -> tuple[PlannedLife, ...]:
    design, arms = block.design, {arm.arm: arm for arm in block.arms}
    searching = [name for name, arm in arms.items() if arm.role != "delay"]
    rates = {str(rate): rate for rate in design.regions_per_s}
    order = [rates[name] for name in balanced_order(list(rates), block.number, partial(block.rng, "rates"))]
    lives = [
        PlannedLife(name, name, block.trace_seed, epochs[-1].end_s, epochs)
        for name in balanced_order(searching, block.number, partial(block.rng, "order"))
        for epochs in [_epochs(design, [(name, rate) for rate in order])]
    ]
    # The positive control has a life of its own, with the slowest burst twice.
    slowest = min(design.regions_per_s)
    for delay in (name for name in arms if name not in searching):
        epochs = _epochs(design, [(block.baseline, slowest), (delay, slowest)])
        delays = delays_of(block.arms, epochs)
        lives.append(PlannedLife(delay, block.baseline, block.trace_seed, epochs[-1].end_s, epochs, delays))
    return tuple(lives)


def _epochs(design: Bursts, bursts: list[tuple[str, int]]) -> tuple[Epoch, ...]:
    """Returns an epoch for each burst, which has an arm and a rate in regions per second."""
    epochs, start_s = [], design.warm_up_s
    for arm, rate in bursts:
        steady_s = start_s + design.settle_s
        end_s = steady_s + design.analysed_s
        epochs.append(Epoch(arm, round(start_s, 3), round(steady_s, 3), round(end_s, 3), burst_s=design.burst_s(rate)))
        start_s = end_s + design.leave_s
    return tuple(epochs)


BURSTS = Experiment(
    "bursts",
    Bursts,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "The rate of joins at which a slow disk lengthens ticks",
        "Players join in bursts at several rates, on a fast and on a slow disk, from a cold page cache.",
        "paper_bursts",
        "Longest tick gap over the rate of joins, on a fast and on a slow disk, by server",
    ),
    stated={"blocks": "blocks", "players": "players"},
    compares=("bursts",),
    runs_alone=True,
    lives=_lives,
    behaviour="bursts",
    repeats="blocks",
    controls=("baseline", "null"),
    positive=("ticks",),
    apart=("tick_delay",),
)
