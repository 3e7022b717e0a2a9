"""Server lives as they are planned: their epochs, and the stalls that are injected into them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from tickdisk.experiment.arm import Arm
from tickdisk.foundation.record import Unit

_DELAY_PERIOD_S = 1.6
"""Time from one delay of the tick thread to the next, in an arm that has such delays."""
_DELAY_AFTER_S = 0.1
"""Time from the beginning of the part of an epoch that is analysed to its first delay."""


MemoryState = Literal["warm", "cold", "half", "quarter"]
"""State of a server's memory: the whole world was read before the server starts, nothing of it is in memory at the start of each
epoch, or a half or a quarter of its hot part fits."""


@dataclass(frozen=True)
class Epoch:
    """A planned part of a server life in which one arm is in force."""

    arm: str
    """Name of the arm."""
    start_s: float
    """Time from the start of the player trace at which the device of the arm comes into force."""
    steady_s: float
    """Time in the trace from which the epoch is analysed. The time before it is left for the change to settle."""
    end_s: float
    """Time in the trace at which the epoch ends."""
    players: Annotated[int | None, Field(exclude_if=lambda players: players is None)] = None
    """Number of players in the game in the steady part of the epoch, if the epochs of the life differ in it. Players
    who are missing join at its start. The key is absent otherwise."""
    burst_s: Annotated[float | None, Unit("s"), Field(exclude_if=lambda burst_s: burst_s is None)] = None
    """Time over which the joins of a burst are spread, which begins with the part that is analysed. The key is absent if the
    epoch has no burst of its own."""


@dataclass(frozen=True)
class Injection:
    """A planned stall that is made on purpose in a server life, either of the device or of the thread that ticks."""

    kind: Literal["device_stall", "cpu_stall"]
    """Kind of stall: the device starts no request, or the probe keeps the tick thread busy."""
    due_s: float
    """Time from the start of the player trace at which the stall is to begin."""
    length_ms: int
    """Length of the stall."""


@dataclass(frozen=True)
class PlannedLife:
    """One planned server life, as `run_life` plays it."""

    name: str
    """Name of the life within its cell and of its folder in the run folder: `life`, the name of its arm in a join burst, or one
    such as `players_20` if it has a number of players of its own."""
    first_arm: str
    """The arm on whose device the server starts."""
    trace_seed: int
    """Seed of the player trace, from which the random draws of the device also follow."""
    seconds: Annotated[float, Unit("s")]
    """Time from the start of the player trace to the end of the last epoch."""
    epochs: tuple[Epoch, ...]
    """Epochs in the order in which they run."""
    injections: tuple[Injection, ...] = ()
    """Stalls that are made on purpose, in the order of due times."""
    players: Annotated[int | None, Field(exclude_if=lambda players: players is None)] = None
    """Number of connected players, if the life has one of its own. Otherwise the design has it, and the key is absent."""
    instances: Annotated[int | None, Field(exclude_if=lambda instances: instances is None)] = None
    """Number of servers on the device, each with players of its own. The key is absent if there is one without limits."""
    memory: Annotated[MemoryState | None, Field(exclude_if=lambda memory: memory is None)] = None
    """State of the server's memory. The key is absent if the life does not say it."""
    change: Annotated[str | None, Field(exclude_if=lambda change: change is None)] = None
    """The change of the server in the life. The key is absent without one."""
    cuts_s: Annotated[tuple[float, ...], Field(exclude_if=lambda cuts_s: not cuts_s)] = ()
    """Times from the start of the player trace at which images of a power cut are taken. The key is absent without them."""
    keep_shares: Annotated[tuple[float, ...], Field(exclude_if=lambda shares: not shares)] = ()
    """For each of these power cuts the share of unflushed pages that survives. The key is absent without power cuts."""
    save_period_s: Annotated[float | None, Unit("s"), Field(exclude_if=lambda period_s: period_s is None)] = None
    """Time between two periodic saves, if the life has one of its own. Otherwise the design has it, and the key is absent."""

    @property
    def in_steps(self) -> bool:
        """Whether the number of players goes up from epoch to epoch."""
        return self.epochs[0].players is not None

    @property
    def in_bursts(self) -> bool:
        """Whether players join in a burst in each epoch, and leave at its end."""
        return self.epochs[0].burst_s is not None


def epochs_of(order: Sequence[str], start_s: float, *, length_s: float, cut_s: float) -> tuple[Epoch, ...]:
    """Returns one epoch of `length_s` seconds for each arm of `order`, one after another without a gap.

    The first epoch begins `start_s` seconds after the start of the player trace. The first `cut_s` seconds of an epoch are not
    analysed.
    """
    starts_s = [start_s + length_s * number for number in range(len(order))]
    return tuple(Epoch(arm, at_s, at_s + cut_s, at_s + length_s) for arm, at_s in zip(order, starts_s, strict=True))


def delays_of(arms: Sequence[Arm], epochs: Sequence[Epoch]) -> tuple[Injection, ...]:
    """Returns the planned delays of the tick thread, which are stalls of the processor, in the epochs of arms that ask for them.

    An arm asks for them by `tick_delay_ms`. They come every 1.6 s in the analysed part of its epochs.
    """
    lengths_ms = {arm.arm: arm.tick_delay_ms for arm in arms}
    delays = []
    for epoch in epochs:
        length_ms, due_s = lengths_ms[epoch.arm], epoch.steady_s + _DELAY_AFTER_S
        while length_ms is not None and due_s < epoch.end_s:
            delays.append(Injection("cpu_stall", round(due_s, 3), length_ms))
            due_s += _DELAY_PERIOD_S
    return tuple(delays)
