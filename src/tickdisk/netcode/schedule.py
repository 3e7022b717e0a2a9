"""Plans what players do in the life of a server that steps through numbers of players.

Players come and go in groups of at most 10. Each group is a process with one thread, so that no client has to do as much as the
server. The published study found that a client machine with 60 players was saturated, and had at most 20 on each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tickdisk.foundation.errors import TickdiskError
from tickdisk.player import Event, player_name

GROUP = 10
"""Largest number of players in a process."""
_S = 1_000_000_000
_JOINS_S = 0.5
"""Time over which the players of a step join."""
_LEAVES_S = 0.2
"""Time from the end of a step to the leave of the players who do not stay."""
_JUMP_NS, _BLOCK_NS = 200_000_000, 350_000_000
"""Time from a jump to the placing of a block under the player, and shortest time from one jump to the next."""


@dataclass(frozen=True)
class Attendance:
    """The numbers of players over the time of a server life, and their actions."""

    players: tuple[int, ...]
    """Numbers of players of the steps, from small to large."""
    is_rising: bool = True
    """Whether the steps come in this order, or from large to small."""
    blocks: int = 0
    """Number of blocks that each player places in each step, spread over it. Without any, all players stand still."""
    ramp_s: float = 3.0
    """Time in which players come or go, before a step is steady."""
    steady_s: float = 4.0
    ping_period_s: float = 0.25
    """Average time from one ping of a player to the next."""
    seed: int = 1


@dataclass(frozen=True)
class Step:
    """The steady part of a time with a fixed number of players, in ns from the start of the life."""

    players: int
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Group:
    """The players of one process."""

    first: int
    """Number of the first player, from 1."""
    players: int
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Schedule:
    """All that happens in a server life: its steps in the order of time, and groups of players in the order of their numbers."""

    steps: tuple[Step, ...]
    groups: tuple[Group, ...]


def plan(attendance: Attendance) -> Schedule:
    """Plans a server life. Raises TickdiskError if the numbers of players do not rise, or the blocks take longer than a step."""
    rising = attendance.players
    if not rising or rising[0] < 0 or rising[-1] == 0 or any(second <= first for first, second in pairwise(rising)):
        raise TickdiskError(f"the numbers of players {rising} do not rise from 0 or more; give each number once")
    if (attendance.blocks + 1) * _BLOCK_NS > attendance.steady_s * _S:
        needed_s = (attendance.blocks + 1) * _BLOCK_NS / _S
        raise TickdiskError(
            f"{attendance.blocks} blocks take {needed_s:g} s, and a step has {attendance.steady_s:g} s; give fewer blocks"
        )
    ramp_ns, length_ns = round(attendance.ramp_s * _S), round((attendance.ramp_s + attendance.steady_s) * _S)
    counts = rising if attendance.is_rising else rising[::-1]
    steps = tuple(Step(count, number * length_ns + ramp_ns, (number + 1) * length_ns) for number, count in enumerate(counts))
    rng, groups = np.random.default_rng(attendance.seed), list[Group]()
    for low, high in pairwise((0, *(count for count in rising if count > 0))):
        own = [step for step in steps if step.players >= high]
        for first in range(low, high, GROUP):
            size = min(GROUP, high - first)
            events = sorted(event for number in range(first, first + size) for event in _player(number, own, attendance, rng))
            groups.append(Group(first + 1, size, tuple(events)))
    return Schedule(steps, tuple(groups))


def _player(number: int, steps: Sequence[Step], attendance: Attendance, rng: np.random.Generator) -> list[Event]:
    name = player_name(number)
    joins_ns = steps[0].begin_ns - round(attendance.ramp_s * _S) + round(rng.uniform(0, _JOINS_S) * _S)
    events = [Event(joins_ns, name, "join"), Event(steps[-1].end_ns + round(_LEAVES_S * _S), name, "leave")]
    slot_ns = round(attendance.ping_period_s * _S)
    for step in steps:
        # A ping lies anywhere in its slot, so that its phase within an update is random.
        dues = [slot + int(rng.integers(slot_ns)) for slot in range(step.begin_ns, step.end_ns - slot_ns + 1, slot_ns)]
        events += [Event(due, name, "ping") for due in dues]
        # Blocks are spread over the step, and each player has a phase of its own.
        period_ns = (step.end_ns - step.begin_ns) // (attendance.blocks + 1)
        phase_ns = int(rng.integers(period_ns - _JUMP_NS))
        for block in range(attendance.blocks):
            jumps_ns = step.begin_ns + phase_ns + block * period_ns
            events += [Event(jumps_ns, name, "jump"), Event(jumps_ns + _JUMP_NS, name, "place")]
    return events
