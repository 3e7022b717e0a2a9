"""Floors in depth that were found in one minute, mended by looks in others.

With many requests in flight medians move by more than a few percent from minute to minute, as the machine's neighbours do.
"""

from dataclasses import dataclass, field

import numpy as np

from tickdisk.calibrate.settle import LEAST_GAIN, Settled

_LEAST_LOOKS = 3


@dataclass
class Floors:
    """Floors in ns by requests in flight; what was found counts as one look."""

    found: dict[int, int]
    _now: dict[int, int] = field(init=False)
    _looks: dict[int, list[tuple[float, float]]] = field(init=False)
    """The floor that was in force, and by how much the median was missed."""

    def __post_init__(self) -> None:
        self._now = dict(self.found)
        self._looks = {depth: [] for depth in self.found}

    @classmethod
    def of(cls, settled: Settled) -> "Floors":
        """Returns those of the greater depths."""
        return cls(dict(settled.deep_floors))

    @property
    def in_force(self) -> list[tuple[int, int]]:
        """Requests in flight, ascending, and the floor in ns with so many."""
        return sorted(self._now.items())

    def learn(self, depth: int, missed_ns: float, most_ns: float) -> float:
        """Corrects the floor at a depth, if it has one, to the median of what all looks so far needed, at most `most_ns`.

        In this look the median of the latencies was longer than the device's by `missed_ns`. Returns how much of that floors take
        back from now on.
        """
        if depth not in self._now:
            return 0
        self._looks[depth].append((self._now[depth], missed_ns))
        needed_ns = np.median([self.found[depth], *(floor_ns + each_ns for floor_ns, each_ns in self._looks[depth])])
        self._now[depth] = round(min(max(1, float(needed_ns)), most_ns))
        return missed_ns

    def end(self) -> None:
        """Leaves a floor as it was found where hardly any look told, or a longer one took next to nothing back."""
        for depth, looks in self._looks.items():
            if len(looks) < _LEAST_LOOKS or _gain(looks) < LEAST_GAIN:
                self._now[depth] = self.found[depth]


def _gain(looks: list[tuple[float, float]]) -> float:
    """By how much of what the floor is longer less is missed: where the machine is busy only others come early then."""
    floors_ns, missed_ns = np.array(looks).T
    longer_ns = floors_ns - floors_ns.mean()
    return 1 if not longer_ns.any() else float(-(longer_ns @ missed_ns) / (longer_ns @ longer_ns))
