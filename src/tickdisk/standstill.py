"""How long the machine stands still, as a thread sees it that does nothing but look at the clock.

What a hypervisor takes in pieces of microseconds is no steal in /proc/stat, and the pressure accounts do not see it. To a disk of
100 us it is what is late.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tickdisk import _native

_LEAST_NS = 20_000
"""A thread that looks at the clock is interrupted by the kernel's own for some microseconds, hundreds of times a second."""
_PATH_NS = 20_000
"""What a request passes of the machine: it is late by all of a standstill that begins there."""


@dataclass(frozen=True)
class Standstills:
    """What was seen: `gaps_ns`, all `cores`' together, each longer than 20 us, within `seconds`."""

    seconds: float
    gaps_ns: Sequence[int]
    cores: int

    @property
    def taken_share(self) -> float:
        """Which share of the cores' time was taken."""
        return sum(self.gaps_ns) / (self.seconds * 1e9 * self.cores)

    def late_share(self, allowed_ns: int, latency_ns: int) -> float:
        """Returns which share of requests of a latency the machine alone makes late by more than is allowed, one after another.

        Of a standstill, those that are due in it and more than `allowed_ns` before its end, and those that are on their way when
        it begins; a closed loop waits at most once, on any of the cores.
        """
        late_ns = (min(gap_ns - allowed_ns + _PATH_NS, latency_ns) for gap_ns in self.gaps_ns if gap_ns > allowed_ns)
        return sum(late_ns) / (self.seconds * 1e9)


NOTHING = Standstills(1.0, (), 1)
"""What somebody sees who does not look."""


def look(seconds: float, cores: Sequence[int]) -> Standstills:
    """Returns the standstills of `cores`, which are busy meanwhile."""
    seen = _native.standstills(cores, round(seconds * 1e9), _LEAST_NS)
    return Standstills(seconds, [gap_ns for gaps_ns in seen for gap_ns in gaps_ns], len(seen))


def both(before: Standstills, after: Standstills) -> Standstills:
    """Returns what was seen before and after something as one."""
    return Standstills(before.seconds + after.seconds, [*before.gaps_ns, *after.gaps_ns], before.cores)
