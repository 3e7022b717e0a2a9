"""What a machine adds to some requests by itself, found by fio, and taken back from as many that are long anyway.

While a core stands still, or is behind, some requests take longer than the device says. A disk that is slow for one request in
a hundred is then slow for two: for the one that the model draws, and for the one that the machine adds. So fewer are drawn: at a
latency x that the share e(x) of requests exceeds on the device and that the machine makes n(x) exceed, e(x) - n(x), or what comes
nearest to that and rises nowhere, as shares that exceed something cannot. What the machine makes is the median of several looks.
Medians of latencies are the floors' (`settle`), which the same looks mend.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from tickdisk.calibrate.bench import Bench
from tickdisk.calibrate.fio import Job, Op
from tickdisk.calibrate.floors import Floors
from tickdisk.calibrate.settle import MOST_IOPS, Around, Settled, ramp_s, without_history
from tickdisk.calibrate.summary import latency_tolerance_ns
from tickdisk.device import OPS, DeviceModel, Tail, simulate_closed

Floats = npt.NDArray[np.float64]
Points = list[tuple[int, int]]
_BLOCK = 4 << 10
_SHARES: Floats = np.array([*(n / 40 for n in range(20, 40)), 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.999, 1])
"""From the median up."""
_STEP, _LEVEL = 1.08, 0.98
"""Where two are further apart, as at the edge of a rare mode, there are more between, as a line over latencies is not true there.
Of those that as many requests exceed only the last tells more: how many of the next mode the machine makes."""
_LOOKS = 9
"""At each depth, spread out: one alone sees some of the stalls, or a burst of them. A minority decides nothing."""
_LOOK_REQUESTS = 10_000
"""At least: 100 beyond the 99th percentile."""
_LOOK_S, _LONGEST_LOOK_S = 1.5, 6.0
"""A device that makes too few requests for that is so slow that what the machine adds is little beside it."""
_FINEST = 1e-12
"""Shares that are told apart."""
_ROOM = 2
"""Channels for each request in flight, and of the bandwidth: a request takes them until the model completes it, however early is
its answer."""
_SIMULATED, _CUT_TURNS = 40_000, 10
_TOGETHER: dict[Op, Sequence[Op]] = {"read_write": ("read", "write")}
_APART: dict[Op, Sequence[Op]] = {"read": ("read",), "write": ("write",)}


def settle_tails(
    bench: Bench,
    model: DeviceModel,
    depths: Sequence[int],
    settled: Settled,
    most_iops: float = MOST_IOPS,
    around: Around = lambda run: run(),
) -> Settled:
    """Returns the floors with what is to be taken back from long latencies at each of `depths` where the device varies.

    All depths are looked at in turn, nine times, reads and writes together where they are alike. Nothing is taken back where that
    brings less than leaving it, where requests may wait for channels or the bandwidth, which early replies do not free, and where
    more than `most_iops` are asked of this machine. A look at a machine that was too loaded corrects nothing. The floors are in
    force meanwhile; those of the greater depths are mended by the medians of the looks. `around` makes each look, as for them.
    """
    varying = without_history(model)
    searches = _searches(varying, depths, most_iops)
    told, floors = [search for search in searches if search.is_told], Floors.of(settled)
    for number in range(_LOOKS):
        # There and back, so that no depth is always the first.
        for search in told[:: 1 if number % 2 == 0 else -1]:
            bench.set(varying, floor_ns=settled.floor_ns, deep_floors=floors.in_force, tails=_tails(searches))
            cut_s = ramp_s(search.length_s)
            measured = around(partial(bench.run, Job(search.asked, "random", _BLOCK, search.depth, cut_s + search.length_s)))
            if not measured.too_loaded:
                latency_ns, median_ns = measured.requests.after(cut_s * 1000).latency_ns, search.thinned.median_ns
                late_ns = floors.learn(search.depth, float(np.median(latency_ns)) - median_ns, median_ns)
                search.learn(latency_ns - round(late_ns))
    floors.end()
    for search in searches:
        search.end()
    return replace(settled, deep_floors=floors.in_force, tails=_tails(searches))


def _searches(varying: DeviceModel, depths: Sequence[int], most_iops: float) -> list["Search"]:
    are_alike = varying.read_latency_ns == varying.write_latency_ns
    searches = []
    for (asked, ops), depth in itertools.product((_TOGETHER if are_alike else _APART).items(), sorted(set(depths))):
        latency_ns = _closed_ns(varying, depth, ops)
        iops = depth / float(latency_ns.mean()) * 1e9 if latency_ns.any() else math.inf
        length_s = max(_LOOK_S, _LOOK_REQUESTS / iops)
        is_told = _waits_for_nothing(varying, depth, iops) and iops <= most_iops and length_s <= _LONGEST_LOOK_S
        thinned = Thinned.of(latency_ns)
        if not thinned.is_constant:
            searches.append(Search(thinned, asked, ops, depth, length_s, is_told))
    return searches


def _tails(searches: Sequence["Search"]) -> list[Tail]:
    return [(op, search.depth, search.points) for search in searches for op in search.ops]


@dataclass(frozen=True)
class Thinned:
    """Latencies of a device, from the median up, and the shares of its requests that exceed them."""

    latency_ns: Floats
    exceeding: Floats
    standing_for: Floats
    """How many points of a level each stands for."""
    sample_ns: Floats
    """Of the device, ascending."""

    @classmethod
    def of(cls, latency_ns: npt.NDArray[np.int64]) -> "Thinned":
        """Returns those of a sample."""
        ordered = np.sort(latency_ns.astype(float))
        points = np.unique(np.quantile(ordered, _SHARES))
        # Beyond what many requests take: how many exceed just that a microsecond decides.
        points += [latency_tolerance_ns(round(point)) for point in points.tolist()]
        points = _refined(points)
        told = _told(_exceeding(ordered, points))
        return cls(points[told], _exceeding(ordered, points[told]), np.diff(told, prepend=-1).astype(float), ordered)

    @property
    def median_ns(self) -> float:
        """Of the sample."""
        return float(np.median(self.sample_ns))

    @property
    def is_constant(self) -> bool:
        """Whether nothing is longer than the median."""
        return len(self.latency_ns) == 1

    def without(self, added: Floats) -> tuple[Floats, Points]:
        """Returns the shares that are drawn to leave room for those that are `added` at each latency, and that tail's points."""
        thinned = np.clip(self.exceeding - added, 0, self.exceeding)
        drawn = isotonic_regression(thinned, weights=self._certainty * self.standing_for, increasing=False).x
        # Less than one of the sample is none.
        drawn = np.where(drawn * _SIMULATED < 1, 0, drawn)
        is_all = drawn >= _LEVEL * self.exceeding
        is_all[-1] = is_all[-2]  # where none exceed it
        return np.where(is_all, self.exceeding, drawn), self._points(drawn, is_all)

    def realised(self, latency_ns: npt.NDArray[np.int64]) -> Floats:
        """Returns the shares of requests that exceeded each latency."""
        return _exceeding(np.sort(latency_ns.astype(float)), self.latency_ns)

    def distance(self, missed: Floats) -> float:
        """Returns how much is missed at all latencies, in what counting so many requests leaves open at each."""
        return float((np.abs(missed) * np.sqrt(self._certainty)).sum())

    @property
    def _certainty(self) -> Floats:
        """Of counting, at each latency: what is rare is told to a smaller share of all requests."""
        return 1 / np.maximum(self.exceeding, 1 / _LOOK_REQUESTS)

    def _points(self, drawn: Floats, is_all: npt.NDArray[np.bool_]) -> Points:
        """What is taken from each latency so that only `drawn` exceed it."""
        # A latency that the share e exceeds becomes the one that e of those exceed that are drawn. Where that is level it jumps.
        reached = slice(0, int(np.argmax(drawn == 0)) + 1 if (drawn == 0).any() else len(drawn))
        shares = drawn[reached][::-1] + _FINEST * np.arange(len(drawn[reached]))
        edges = np.concatenate([self.latency_ns, np.quantile(self.sample_ns, 1 - drawn)])
        # As many exceed what is between two of the sample: only the next one is certain to be beyond an edge.
        after = np.minimum(np.searchsorted(self.sample_ns, edges, side="right"), len(self.sample_ns) - 1)
        at = np.unique(np.concatenate([edges, self.sample_ns[after]]))
        at = at[at >= self.latency_ns[0]]
        taken = np.maximum(at - np.interp(_exceeding(self.sample_ns, at), shares, self.latency_ns[reached][::-1]), 0)
        taken[is_all[np.searchsorted(self.latency_ns, at, side="right") - 1]] = 0
        return [(round(at_ns), round(ns)) for at_ns, ns in zip(at.tolist(), taken.tolist(), strict=True)]


@dataclass
class Search:
    """Looks for what is to be taken back at one depth; `points` is what is in force at the next look."""

    thinned: Thinned
    asked: Op
    ops: Sequence[Op]
    depth: int
    length_s: float
    """Of a look."""
    is_told: bool
    """Whether looks tell what is to be taken back; nothing is where they do not."""
    points: Points = field(init=False)
    _drawn: Floats = field(init=False)
    _added: list[Floats] = field(default_factory=list, init=False)
    _missed: list[Floats] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._drawn, self.points = self.thinned.without(np.zeros_like(self.thinned.exceeding))

    def learn(self, latency_ns: npt.NDArray[np.int64]) -> None:
        """Corrects the points by a look at realised latencies in ns: by what was added in all so far."""
        realised = self.thinned.realised(latency_ns)
        self._added.append(realised - self._drawn)
        self._missed.append(self.thinned.exceeding - realised)
        self._drawn, self.points = self.thinned.without(np.median(self._added, axis=0))

    def end(self) -> None:
        """Leaves no points if the later looks were no nearer to the device than the first, with nothing taken back."""
        later = self._missed[1:]
        late = later[len(later) // 2 :]
        distance = self.thinned.distance
        if not late or distance(np.median(late, axis=0)) >= distance(self._missed[0]):
            self.points = []


def _waits_for_nothing(model: DeviceModel, depth: int, iops: float) -> bool:
    """Whether channels and bandwidth are free for as many requests as there are, and as many again."""
    piped_bytes_per_s = model.bandwidth_bytes_per_s or math.inf
    return _ROOM * depth <= (model.channels or math.inf) and _ROOM * iops * _BLOCK <= piped_bytes_per_s


def _refined(points: Floats) -> Floats:
    counts = np.ceil(np.log(points[1:] / points[:-1]) / math.log(_STEP)).astype(int).tolist()
    between = [np.geomspace(low, high, count + 1)[1:] for low, high, count in zip(points[:-1], points[1:], counts, strict=True)]
    return np.concatenate([points[:1], *between])


def _told(exceeding: Floats) -> list[int]:
    """The places of the first, and of the last of each level: of those that almost as many requests exceed."""
    last = [0]
    level = exceeding[0]
    for place in range(1, len(exceeding)):
        if exceeding[place] < _LEVEL * level:
            level = exceeding[place]
            last.append(place)
        else:
            last[-1] = place
    return sorted({0, *last})


def _exceeding(ordered: Floats, points: Floats) -> Floats:
    return 1 - np.searchsorted(ordered, points, side="right") / len(ordered)


def _closed_ns(model: DeviceModel, depth: int, kinds: Sequence[Op]) -> npt.NDArray[np.int64]:
    """Returns latencies of requests of these kinds in turn, `depth` always in the device."""
    ops = np.resize([OPS.index(op) for op in kinds], _SIMULATED + _CUT_TURNS * depth)
    arrivals_ns, completions_ns = simulate_closed(model, depth, ops, 0, _BLOCK)
    return (completions_ns - arrivals_ns)[_CUT_TURNS * depth :]
