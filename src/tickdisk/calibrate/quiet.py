"""Jobs in quiet moments, and what the machine alone did before and after them.

What other guests of a machine take changes within seconds, and p50 and p99 of a fast disk with it. A floor that was found in a
restless moment makes completions early in a quiet one.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tickdisk import host, standstill

STILL_TAKEN_SHARE = 0.01
"""Of the cores' time: a job is repeated while the machine takes more in pieces over 20 us, as p99 is the longer the more it is.
With 0.1 ms, 4 in flight, p99 lay 38 us above the median with less and 57 us with more; with 1 ms, 32 in flight, 59 and 88 us."""
_LOOK_S, _WAITS, _REST_S = 0.2, 5, 0.05
"""Whoever looks has its core to itself: without a rest the kernel lets other threads have it, which would seem a standstill."""


class Run(Protocol):
    """What is told of a job that was run."""

    @property
    def load(self) -> host.Load:
        """The machine's, meanwhile."""

    @property
    def too_loaded(self) -> bool:
        """Whether that is above a limit."""


Ran = TypeVar("Ran", bound=Run)


@dataclass(frozen=True)
class Watched(Generic[Ran]):
    """A job that was run, and what the machine alone did before and after it."""

    measured: Ran
    seen: standstill.Standstills

    @property
    def disturbed(self) -> tuple[bool, float]:
        """What is least for the job that the machine disturbed least."""
        return self.measured.too_loaded, max(self.seen.taken_share, self.measured.load.steal_share)

    @property
    def is_still(self) -> bool:
        """Whether the machine was, before and after it on average."""
        return self.disturbed <= (False, STILL_TAKEN_SHARE)


def watch(run: Callable[[], Ran], *, waits: bool) -> Watched[Ran]:
    """Runs between two looks, which leave cores as fast as busy ones are; who `waits` does for a quiet moment, 1.5 s at most."""
    before = look()
    for _ in range(_WAITS if waits else 0):
        if before.taken_share <= STILL_TAKEN_SHARE:
            break
        time.sleep(_REST_S)
        before = look()
    measured = run()
    return Watched(measured, standstill.both(before, look()))


def calmest(run: Callable[[], Ran], repeats: int, *, waits: bool = True) -> Watched[Ran]:
    """Returns of at most 1 + `repeats` runs the first that saw a still machine, or the one that it disturbed least."""
    tries = [watch(run, waits=waits)]
    while len(tries) <= repeats and not tries[-1].is_still:
        tries.append(watch(run, waits=waits))
    return min(tries, key=lambda each: each.disturbed)


def look() -> standstill.Standstills:
    """Returns how still the machine stands now, on one core of who asks and two of who answers."""
    cores = host.split_cores()
    return standstill.look(_LOOK_S, sorted({*cores.server[:1], *cores.others[:2]}))
