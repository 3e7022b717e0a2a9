"""Server lives as they are planned: their epochs, and the stalls that are injected into them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tickdisk.experiment.arm import Arm

_DELAY_PERIOD_S = 1.6
"""Time from one delay of the tick thread to the next, in an arm that has such delays."""
_DELAY_AFTER_S = 0.1
"""Time from the beginning of the part of an epoch that is analysed to its first delay."""


@dataclass(frozen=True)
class Epoch:
    """A part of a server life in which one arm is in force. Times are counted from the start of the player trace."""

    arm: str
    start_s: float
    steady_s: float
    end_s: float


@dataclass(frozen=True)
class Injection:
    """A stall of the device or of the tick thread that is made on purpose, at a time from the start of the player trace."""

    kind: Literal["device_stall", "cpu_stall"]
    due_s: float
    length_ms: int


@dataclass(frozen=True)
class Life:
    """One planned server life."""

    name: str
    first_arm: str
    """The arm on whose device the server starts."""
    trace_seed: int
    seconds: float
    """Time from the start of the player trace to the end of the last epoch."""
    epochs: tuple[Epoch, ...]
    injections: tuple[Injection, ...] = ()


def epochs_of(order: Sequence[str], start_s: float, *, length_s: float, cut_s: float) -> tuple[Epoch, ...]:
    """Returns one epoch for each arm, one after another. The first `cut_s` of an epoch are not analysed."""
    starts_s = [start_s + length_s * number for number in range(len(order))]
    return tuple(Epoch(arm, at_s, at_s + cut_s, at_s + length_s) for arm, at_s in zip(order, starts_s, strict=True))


def delays_of(arms: Sequence[Arm], epochs: Sequence[Epoch]) -> tuple[Injection, ...]:
    """Returns the delays of the tick thread in the epochs of arms that have them."""
    lengths_ms = {arm.arm: arm.tick_delay_ms for arm in arms}
    found = []
    for epoch in epochs:
        length_ms, due_s = lengths_ms[epoch.arm], epoch.steady_s + _DELAY_AFTER_S
        while length_ms is not None and due_s < epoch.end_s:
            found.append(Injection("cpu_stall", round(due_s, 3), length_ms))
            due_s += _DELAY_PERIOD_S
    return tuple(found)
