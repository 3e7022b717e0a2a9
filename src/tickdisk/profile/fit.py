"""From measured latencies to a device model: a quantile table for each depth, and the number of channels that explains them best.

In a closed loop the requests in flight are the queue depth, so a table for each measured depth reproduces it whatever the device
is, and the tables are interpolated. What interpolation cannot see is where a queue begins to build up. Channels say that: with
the right number the tables hardly depend on the depth any more. It is the number with which the inner depths are foretold best
from the others, each left out in turn.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from tickdisk.device import LONGEST_NS, OPS, DeviceModel, OpLatency, Quantiles, QuantilesByInflight, simulate_closed
from tickdisk.errors import TickdiskError
from tickdisk.profile.measure import BEYOND, BLOCK_BYTES, FIT_DEPTHS, Latencies, Measurements, Sample

Floats = npt.NDArray[np.float64]
SHARES: Floats = np.array([0, 0.005, 0.01, *(n / 40 for n in range(1, 40)), 0.99, 0.995, 0.999, 1])
_COMPARED = (0.5, 0.99)
P50_LIMIT, P99_LIMIT = 0.05, 0.20
"""How far a profile may be off at depths that it was not fitted to."""
_REQUESTS, _LOOK = 20_000, 4000
_WARM_UP = 10
"""Requests for each place in the queue until the closed loop has forgotten that all began at once."""
_STEEPEST, _HALVINGS = 4.0, 9
_FINE = 16
_CLEARLY = 1.3
_PIPE_ROOM = 1.25
"""Sequential reads that are no faster than random ones show no pipe: then it is this much wider than what is known to pass."""


def simulated_ns(model: DeviceModel, op: str, depth: int, requests: int = _REQUESTS) -> Latencies:
    """Returns latencies in ns of 4 KiB requests on `model`, `depth` always in flight; `write_flush` is a write, then a flush."""
    warm_up = _WARM_UP * depth
    if op == "write_flush":
        ops = np.tile([OPS.index("write"), OPS.index("flush")], requests + warm_up)
        arrivals_ns, completions_ns = simulate_closed(model, 1, ops, 0, np.where(ops == OPS.index("write"), BLOCK_BYTES, 0))
        return (completions_ns[1::2] - arrivals_ns[::2])[warm_up:]
    ops = np.full(requests + warm_up, OPS.index(op))
    arrivals_ns, completions_ns = simulate_closed(model, depth, ops, 0, BLOCK_BYTES)
    return (completions_ns - arrivals_ns)[warm_up:]


def fit(measured: Measurements, name: str, *, fit_depths: Sequence[int] = FIT_DEPTHS) -> DeviceModel:
    """Returns the model that fits the samples at `fit_depths`; the others are not looked at.

    Without samples of writes, writes are taken to be as reads, and flushes to be as a read of the idle device. TickdiskError when
    there are no reads at these depths.
    """
    used = {key: sample for key, sample in ((_key(sample), sample) for sample in measured.samples) if key[1] in fit_depths}
    reads, writes = ({depth: sample for (op, depth), sample in used.items() if op == wanted} for wanted in ("read", "write"))
    if not reads:
        raise TickdiskError(f"no reads were measured at queue depths {', '.join(map(str, fit_depths))}; measure them")
    read_tables = _Tables(reads)
    channels = read_tables.best_channels()
    read = read_tables.latency(channels)
    write = _Tables(writes).latency(channels) if writes else read
    flushed = used.get(("write_flush", 1))
    return DeviceModel(
        name=name,
        read_latency_ns=read,
        write_latency_ns=write,
        flush_latency_ns=_flush(flushed, writes[min(writes)]) if flushed and writes else round(read_tables.idle_ns),
        bandwidth_bytes_per_s=_bandwidth(measured, used),
        channels=channels,
    )


def _key(sample: Sample) -> tuple[str, int]:
    return sample.op, sample.queue_depth


def _bandwidth(measured: Measurements, used: Mapping[tuple[str, int], Sample]) -> int:
    random = max(sample.requests_per_s for (op, _), sample in used.items() if op != "write_flush") * BLOCK_BYTES
    return round(max(measured.bandwidth_bytes_per_s, _PIPE_ROOM * random))


def _flush(flushed: Sample, written: Sample) -> Quantiles:
    """What a write that is flushed takes longer than the median of a write."""
    shares = _shares([flushed])
    column = _column(flushed, shares) - float(written.quantiles(0.5)[0])
    return Quantiles(quantiles=tuple(zip(shares.tolist(), np.maximum(column, 0).round().tolist(), strict=True)))


def _shares(samples: Sequence[Sample]) -> Floats:
    """Those that every round can tell, with ten requests beyond; up to the 99th percentile those that all rounds together can."""
    least = min(len(latency_ns) for sample in samples for latency_ns in sample.rounds)
    told = least * (1 - SHARES) >= BEYOND
    told |= (_COMPARED[1] >= SHARES) & (min(len(sample.latency_ns) for sample in samples) * (1 - SHARES) >= BEYOND)
    kept = SHARES[told | (SHARES == 1)]
    return kept if len(kept) > 1 else np.array([0.0, 1.0])


def _column(sample: Sample, shares: Floats) -> Floats:
    """Quantiles at `shares`; at 1 what keeps the mean of what lies beyond the last share: one outlier must not weigh there."""
    column = sample.quantiles(shares)
    last = column[-2]
    means = [latency_ns[latency_ns >= last].mean() for latency_ns in sample.rounds if (latency_ns >= last).any()]
    column[-1] = float(np.clip(2 * np.median(means) - last, last, sample.latency_ns.max()))
    return column


def _step(channels: int) -> int:
    """From one number of channels that is tried to the next."""
    return max(1, (1 << (channels - 1).bit_length()) // _FINE)


class _Tables:
    """Latencies at some depths as columns of quantiles, and what service times explain them for a number of channels."""

    def __init__(self, samples: Mapping[int, Sample]) -> None:
        self.depths = sorted(samples)
        self.shares = _shares(list(samples.values()))
        self._columns = {depth: _column(samples[depth], self.shares) for depth in self.depths}
        self._wanted = {depth: samples[depth].quantiles(_COMPARED) for depth in self.depths}
        self._solve = cache(self._solved)

    @property
    def idle_ns(self) -> float:
        """Median at the least depth."""
        return float(self._wanted[self.depths[0]][0])

    def best_channels(self) -> int | None:
        """Returns the number of channels with which the inner depths are foretold best; None: as many as there are requests.

        None, with which the tables are the latencies themselves, unless another number is clearly better.
        """
        inner = self.depths[1:-1]
        if not inner:
            return None

        def miss(channels: int | None) -> float:
            return sum(self._miss(channels, depth) for depth in inner)

        # Beyond 16 one more or less is made up for by the service times, except near a depth: every second up to 32, every fourth
        # up to 64 ..., and then those beside the best.
        counts = [count for count in range(1, self.depths[-1]) if count % _step(count) == 0]
        misses = {count: miss(count) for count in counts}
        near = min(misses, key=lambda count: misses[count])
        beside = range(near - _step(near) + 1, min(near + _step(near + 1), self.depths[-1]))
        misses |= {count: miss(count) for count in beside if count not in misses}
        best = min(misses, key=lambda count: misses[count])
        return None if miss(None) <= _CLEARLY * misses[best] else best

    def latency(self, channels: int | None) -> OpLatency:
        """Returns the service times for `channels`, by requests in flight."""
        return self._latency(channels, self.depths, _REQUESTS)

    def _miss(self, channels: int | None, depth: int) -> float:
        """How far off `depth` is when it is foretold from the others, over what is allowed."""
        latency = self._latency(channels, [other for other in self.depths if other != depth], _LOOK)
        off = np.abs(_closed(latency, channels, depth, _LOOK) / self._wanted[depth] - 1)
        return float(off @ (1 / P50_LIMIT, 1 / P99_LIMIT))

    def _latency(self, channels: int | None, depths: Sequence[int], requests: int) -> QuantilesByInflight:
        columns = []
        for depth in depths:
            # Beyond the channels the shape is that of the deepest queue that still finds one free.
            free = [other for other in depths if channels is None or other <= channels]
            columns.append(self._solve(channels, depth, max(free, default=depths[0]), requests))
        rows = np.column_stack([self.shares, *np.round(columns)])
        return QuantilesByInflight(inflight=tuple(depths), quantiles=tuple(tuple(row) for row in rows.tolist()))

    def _solved(self, channels: int | None, depth: int, base: int, requests: int) -> Floats:
        """Service times whose closed loop at `depth` has the measured median and 99th percentile.

        In as many channels as requests they are the latencies themselves. Otherwise they are those of the depth `base`, their
        logarithms stretched until the ratio of the two percentiles is right, and then all multiplied, which multiplies all.
        """
        if channels is None or depth <= channels:
            return self._columns[depth]
        wanted = self._wanted[depth]
        shape = np.maximum(self._columns[base], 1)
        middle = float(np.interp(0.5, self.shares, shape))

        def stretched(power: float) -> tuple[Floats, Floats]:
            column = np.minimum(middle * (shape / middle) ** power, LONGEST_NS)
            table = Quantiles(quantiles=tuple(zip(self.shares.tolist(), column.tolist(), strict=True)))
            return column, _closed(table, channels, depth, requests)

        low, high = 0.0, _STEEPEST
        for _ in range(_HALVINGS):
            power = (low + high) / 2
            _, found = stretched(power)
            low, high = (power, high) if found[1] / found[0] < wanted[1] / wanted[0] else (low, power)
        column, found = stretched((low + high) / 2)
        return np.minimum(column * float(wanted[0] / found[0]), LONGEST_NS)


def _closed(latency: OpLatency, channels: int | None, depth: int, requests: int) -> Floats:
    """Median and 99th percentile in a closed loop."""
    model = DeviceModel(name="fit", read_latency_ns=latency, write_latency_ns=0, flush_latency_ns=0, channels=channels)
    return np.quantile(simulated_ns(model, "read", depth, requests), _COMPARED)
