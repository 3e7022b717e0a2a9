"""The device model once more, written to be read: lists, fractions and searches instead of closed forms. It shares the words of
`DeviceModel` with `src/native/src/model`, and no code or arithmetic."""

from bisect import bisect_left
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

from tickdisk.device import Bucket, DeviceModel, Lognormal, Quantiles, QuantilesByInflight

READ, WRITE, FLUSH, DISCARD = range(4)
_MASK = (1 << 64) - 1


def word(seed: int, n: int) -> int:
    """Output `n` of SplitMix64, as Vigna's splitmix64.c has it after n + 1 steps of its state."""
    state = (seed + (n + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def share(seed: int, stream: int, n: int) -> Fraction:
    """The middle of one of 2^52 equal parts of 0 to 1."""
    return Fraction(2 * (word(word(seed, stream), n) >> 12) + 1, 1 << 53)


def nearest(value: Fraction) -> int:
    return int(value + Fraction(1, 2))


def line(points: list[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    if x < points[0][0] or len(points) == 1:
        return points[0][1]
    ends = next((ends for ends in pairwise(points) if x < ends[1][0]), tuple(points[-2:]))
    (low, start), (high, end) = ends
    return start + (end - start) * (x - low) / (high - low)


def exact(points: tuple[tuple[float, float], ...]) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(x), Fraction(y)) for x, y in points]


def drawn(latency: int | Lognormal | Quantiles | QuantilesByInflight, at: Fraction, inflight: int = 1) -> int:
    if isinstance(latency, QuantilesByInflight):
        known = [line(exact(latency.table(column).quantiles), at) for column in range(len(latency.inflight))]
        if inflight > latency.inflight[-1] and len(known) > 1 and known[-1] < known[-2]:
            return nearest(known[-1])
        return nearest(line(list(zip(map(Fraction, latency.inflight), known, strict=True)), Fraction(inflight)))
    if isinstance(latency, Quantiles):
        return nearest(line(exact(latency.quantiles), at))
    assert isinstance(latency, int)
    return latency


class TokenBucket:
    """Remembers all that was ever spent."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.spent: list[tuple[int, int]] = []

    def cost(self, length: int) -> int:
        return length if self.bucket.request_bytes is None else max(1, -(-length // self.bucket.request_bytes))

    def level(self, at_ns: int) -> Fraction:
        level, last_ns = Fraction(self.bucket.capacity), 0
        for when_ns, cost in [*self.spent, (at_ns, 0)]:
            level = min(level + Fraction(self.bucket.per_s * (when_ns - last_ns), 10**9), Fraction(self.bucket.capacity)) - cost
            last_ns = when_ns
        return level

    def earliest_ns(self, from_ns: int, length: int) -> int:
        need = min(self.cost(length), self.bucket.capacity)
        longest_ns = 10**9 * (self.cost(length) + sum(cost for _, cost in self.spent)) // self.bucket.per_s + 2
        return from_ns + bisect_left(range(longest_ns), True, key=lambda wait: self.level(from_ns + wait) >= need)


@dataclass
class Arm:
    model: DeviceModel
    offset: int = 0
    left_ns: int | None = None

    def reach(self, start_ns: int, offset: int, known_ns: int) -> int:
        seek, bandwidth = self.model.seek, self.model.bandwidth_bytes_per_s
        assert seek is not None
        assert bandwidth is not None
        if self.left_ns is None:
            self.left_ns = start_ns
        distance = abs(offset - self.offset)
        if distance == 0 and known_ns <= self.left_ns:
            return start_ns
        if distance:
            with localcontext(prec=50):
                way = min(Decimal(1), Decimal(distance) / seek.span_bytes).sqrt()
                start_ns += seek.least_ns + int(way * (seek.most_ns - seek.least_ns) + Decimal("0.5"))
        if seek.revolution_ns == 0:
            return start_ns
        # The place passes the head when its part of a track has passed after `left_ns`, and again with every revolution.
        track_bytes = max(1, bandwidth * seek.revolution_ns // 10**9)
        way_ns = nearest(Fraction(distance % track_bytes * 10**9, bandwidth)) * (1 if offset > self.offset else -1)
        return start_ns + (self.left_ns + way_ns - start_ns) % seek.revolution_ns


@dataclass
class Oracle:
    """Requests one after another; `completion` returns when each is done."""

    model: DeviceModel
    number: int = 0
    channels: list[int] = field(default_factory=list)
    pipe_free_ns: int = 0
    done: list[int] = field(default_factory=list)
    passed_ns: int = 0
    admitted_ns: int = 0
    cached: list[tuple[int, int]] = field(default_factory=list)
    stalls: list[tuple[int, int]] = field(default_factory=list)
    written: int = 0
    collections: int = 0
    first_ns: int | None = None

    def __post_init__(self) -> None:
        self.channels = [0] * (self.model.channels or 0)
        self.buckets = [TokenBucket(bucket) for bucket in self.model.credits]
        self.arm, self.destaging_arm = Arm(self.model), Arm(self.model)

    def completion(self, arrival_ns: int, op: int, offset: int, length: int) -> int:
        model, number = self.model, self.number
        self.number += 1
        moves, caches = op in {READ, WRITE}, op == WRITE and model.cache is not None
        start = self.pay(arrival_ns, length) if moves and self.buckets else arrival_ns
        start = self.room(start, length) if caches else max([start, *sorted(self.channels)[:1]])
        if op == WRITE:
            self.collect(start, length)
        start = self.after_stalls(start)
        latency = model.cache.latency_ns if caches and model.cache else self.own_latency(op)
        inflight = 1 + sum(done > arrival_ns for done in self.done)
        latency_ns = drawn(latency, share(model.seed, 0, number), inflight)
        if model.load:
            latency_ns = nearest(latency_ns * line(exact(model.load), Fraction(inflight)))
        if moves and not caches and model.seek:
            start = self.arm.reach(start, offset, 0 if op == READ else arrival_ns)
        if op == FLUSH and self.cached:
            start = max(start, self.cached[-1][0])
        done = start + latency_ns
        if moves:
            crossed = start
            if model.bandwidth_bytes_per_s is not None:
                crossed = max(start, self.pipe_free_ns) + nearest(Fraction(length * 10**9, model.bandwidth_bytes_per_s))
                self.pipe_free_ns = crossed
            done = max(done, crossed)
            if not caches:
                self.arm.offset, self.arm.left_ns = offset + length, crossed
        if caches:
            self.destage(done, offset, length)
        elif self.channels:
            self.channels[self.channels.index(min(self.channels))] = done
        self.done.append(done)
        return done

    def own_latency(self, op: int) -> int | Lognormal | Quantiles | QuantilesByInflight:
        model = self.model
        return (model.read_latency_ns, model.write_latency_ns, model.flush_latency_ns, model.discard_latency_ns)[op]

    def pay(self, ready_ns: int, length: int) -> int:
        ready_ns = max(ready_ns, self.passed_ns)
        self.passed_ns = max(bucket.earliest_ns(ready_ns, length) for bucket in self.buckets)
        for bucket in self.buckets:
            bucket.spent.append((self.passed_ns, bucket.cost(length)))
        return self.passed_ns

    def room(self, ready_ns: int, length: int) -> int:
        assert self.model.cache is not None
        ready_ns = max(ready_ns, self.admitted_ns)
        for at_ns in [ready_ns, *sorted(drained for drained, _ in self.cached if drained > ready_ns)]:
            inside = [size for drained, size in self.cached if drained > at_ns]
            if not inside or sum(inside) + length <= self.model.cache.bytes:
                self.admitted_ns = at_ns
                break
        return self.admitted_ns

    def destage(self, done_ns: int, offset: int, length: int) -> None:
        assert self.model.cache is not None
        start = max([done_ns, *(drained for drained, _ in self.cached[-1:])])
        if self.model.seek:
            start = self.destaging_arm.reach(start, offset, done_ns)
        drained = start + nearest(Fraction(length * 10**9, self.model.cache.destage_bytes_per_s))
        self.destaging_arm.offset, self.destaging_arm.left_ns = offset + length, drained
        self.cached.append((drained, length))

    def collect(self, start_ns: int, length: int) -> None:
        stalls = self.model.stalls
        if stalls is None or stalls.every_bytes is None:
            return
        before, self.written = self.written // stalls.every_bytes, self.written + length
        for _ in range(self.written // stalls.every_bytes - before):
            begin = max([start_ns, *(end for _, end in self.stalls)])
            self.stalls.append((begin, begin + drawn(stalls.length_ns, share(self.model.seed, 1, self.collections))))
            self.collections += 1

    def after_stalls(self, start_ns: int) -> int:
        stalls = self.model.stalls
        if stalls is None:
            return start_ns
        start_ns = self.after_collections(start_ns)
        if self.first_ns is None:
            self.first_ns = start_ns
        while (start_ns := self.after_collections(end_ns := self.after_periods(start_ns))) > end_ns:
            pass
        return start_ns

    def after_collections(self, start_ns: int) -> int:
        for begin, end in self.stalls:
            if begin <= start_ns < end:
                start_ns = end
        return start_ns

    def after_periods(self, start_ns: int) -> int:
        stalls, first_ns = self.model.stalls, self.first_ns
        assert stalls is not None
        assert first_ns is not None
        if stalls.period_ns is None:
            return start_ns
        number = max(0, (start_ns - first_ns) // stalls.period_ns - 2)
        while (period_begin := first_ns + number * stalls.period_ns) <= start_ns:
            length = min(drawn(stalls.length_ns, share(self.model.seed, 2, number)), stalls.period_ns)
            latest = stalls.period_ns - length
            place = nearest(latest * share(self.model.seed, 3, number)) if stalls.at_random else latest
            if period_begin + place <= start_ns < period_begin + place + length:
                return period_begin + place + length
            number += 1
        return start_ns
