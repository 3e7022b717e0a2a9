"""The fit of a device model to measured latencies: a table of quantiles for each queue depth, and a number of channels.

In a closed loop the number of requests in flight is the queue depth, so a table of latencies for each measured depth reproduces
that depth, whatever the device is. Between measured depths the tables are interpolated. Interpolation alone cannot see at which
depth a queue begins to build up. A model with channels can, because with the right number of channels the service times hardly
depend on the depth. Each inner depth is left out in turn and predicted from the others, and the number of channels with the best
predictions is taken.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from tickdisk.device import LONGEST_NS, OPS, DeviceModel, OpLatency, Quantiles, QuantilesByInflight, simulate_closed
from tickdisk.foundation.errors import TickdiskError
from tickdisk.profile.measure import BEYOND, BLOCK_BYTES, FIT_DEPTHS, Latencies, Measurements, Sample

Floats = npt.NDArray[np.float64]
SHARES: Floats = np.array([0, 0.005, 0.01, *(n / 40 for n in range(1, 40)), 0.99, 0.995, 0.999, 1])
_COMPARED = (0.5, 0.99)
P50_LIMIT, P99_LIMIT = 0.05, 0.20
"""Largest relative errors of p50 and p99 that a profile may have at depths that were held out."""
_REQUESTS, _TRIAL_REQUESTS = 20_000, 4000
"""Numbers of simulated requests for the final tables, and for each trial of a number of channels."""
_WARM_UP = 10
"""Number of requests for each place in the queue after which the common start of all requests no longer matters."""
_STEEPEST, _HALVINGS = 4.0, 9
"""Largest power by which a distribution is stretched, and number of steps of the bisection that finds the power."""
_ALIKE = 0.05
"""Largest relative error of the ratio of the 99th percentile to the median with which a distribution is not stretched."""
_FINE = 16
"""Number of channels up to which every number is tried."""
_CLEARLY_BETTER_RATIO = 1.3
"""Ratio of errors above which a number of channels counts as clearly better than no limit of channels."""
_PIPE_ROOM = 1.25
"""Least ratio of the model's bandwidth to that of the fastest random requests. Sequential reads that are no faster than random
ones do not show the limit of the bandwidth."""


def simulated_ns(model: DeviceModel, op: str, depth: int, requests: int = _REQUESTS) -> Latencies:
    """Simulates latencies in ns of 4 KiB requests in a closed loop, in which a request begins whenever one is completed.

    `op` is `read`, `write`, or `write_flush`, which is a write and then a flush, one pair at a time. `depth` requests are always
    in flight. The result has the shape (requests,) and begins after a warm-up.
    """
    warm_up = _WARM_UP * depth
    if op == "write_flush":
        ops = np.tile([OPS.index("write"), OPS.index("flush")], requests + warm_up)
        arrivals_ns, completions_ns = simulate_closed(model, 1, ops, 0, np.where(ops == OPS.index("write"), BLOCK_BYTES, 0))
        return (completions_ns[1::2] - arrivals_ns[::2])[warm_up:]
    ops = np.full(requests + warm_up, OPS.index(op))
    arrivals_ns, completions_ns = simulate_closed(model, depth, ops, 0, BLOCK_BYTES)
    return (completions_ns - arrivals_ns)[warm_up:]


def fit(measured: Measurements, name: str, *, fit_depths: Sequence[int] = FIT_DEPTHS) -> DeviceModel:
    """Fits a device model, without description, source and fit, to the samples of a disk at the queue depths `fit_depths`.

    Without samples of writes, a write is taken to be like a read, and a flush to be like a read of the idle device. Raises
    TickdiskError if there are no reads at these depths.
    """
    used = {key: sample for key, sample in ((_key(sample), sample) for sample in measured.samples) if key[1] in fit_depths}
    reads, writes = (
        {depth: sample for (op, depth), sample in used.items() if op == direction} for direction in ("read", "write")
    )
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
    """Returns the latency of a flush: the time by which a write with its flush takes longer than the median of a write alone."""
    shares = _shares([flushed])
    column = _column(flushed, shares) - float(written.quantiles(0.5)[0])
    return Quantiles(quantiles=tuple(zip(shares.tolist(), np.maximum(column, 0).round().tolist(), strict=True)))


def _shares(samples: Sequence[Sample]) -> Floats:
    """Returns the shares of `SHARES` beyond which the samples have ten requests.

    Up to the 99th percentile, all rounds together must have them. Above, each round must.
    """
    least = min(len(latency_ns) for sample in samples for latency_ns in sample.rounds)
    told = least * (1 - SHARES) >= BEYOND
    told |= (_COMPARED[1] >= SHARES) & (min(len(sample.latency_ns) for sample in samples) * (1 - SHARES) >= BEYOND)
    kept = SHARES[told | (SHARES == 1)]
    return kept if len(kept) > 1 else np.array([0.0, 1.0])


def _column(sample: Sample, shares: Floats) -> Floats:
    """Returns the quantiles at `shares`. The one at 1 is not the maximum, so that one outlier does not decide it. It is chosen so
    that the mean of the latencies beyond the last but one share is kept.
    """
    column = sample.quantiles(shares)
    last = column[-2]
    means = [latency_ns[latency_ns >= last].mean() for latency_ns in sample.rounds if (latency_ns >= last).any()]
    column[-1] = float(np.clip(2 * np.median(means) - last, last, sample.latency_ns.max()))
    return column


def _step(channels: int) -> int:
    """Returns the distance from one number of channels that is tried to the next."""
    return max(1, (1 << (channels - 1).bit_length()) // _FINE)


class _Tables:
    """Quantiles of latencies at some depths, and the service times that explain them for a number of channels."""

    def __init__(self, samples: Mapping[int, Sample]) -> None:
        self.depths = sorted(samples)
        self.shares = _shares(list(samples.values()))
        self._columns = {depth: _column(samples[depth], self.shares) for depth in self.depths}
        self._wanted = {depth: samples[depth].quantiles(_COMPARED) for depth in self.depths}
        self._solve = cache(self._solved)

    @property
    def idle_ns(self) -> float:
        """The median latency at the least depth."""
        return float(self._wanted[self.depths[0]][0])

    def best_channels(self) -> int | None:
        """Returns the number of channels with which the inner depths are predicted best from the others.

        None stands for as many channels as there are requests, with which the tables are the latencies themselves. It is returned
        unless another number is clearly better.
        """
        inner = self.depths[1:-1]
        if not inner:
            return None

        def miss(channels: int | None) -> float:
            return sum(self._miss(channels, depth) for depth in inner)

        # Above 16 channels, one channel more or less makes no difference, because the service times compensate for it, except
        # near a measured depth. So every second number is tried up to 32, every fourth up to 64 and so on, and then the numbers
        # beside the best of these.
        counts = [count for count in range(1, self.depths[-1]) if count % _step(count) == 0]
        misses = {count: miss(count) for count in counts}
        near = min(misses, key=lambda count: misses[count])
        beside = range(near - _step(near) + 1, min(near + _step(near + 1), self.depths[-1]))
        misses |= {count: miss(count) for count in beside if count not in misses}
        best = min(misses, key=lambda count: misses[count])
        return None if miss(None) <= _CLEARLY_BETTER_RATIO * misses[best] else best

    def latency(self, channels: int | None) -> OpLatency:
        """Returns the service times for a number of channels, as a table for each number of requests in flight."""
        return self._latency(channels, self.depths, _REQUESTS)

    def _miss(self, channels: int | None, depth: int) -> float:
        """Returns the error of the prediction of `depth` from the other depths, as a multiple of the error that is allowed."""
        latency = self._latency(channels, [known for known in self.depths if known != depth], _TRIAL_REQUESTS)
        off = np.abs(_closed(latency, channels, depth, _TRIAL_REQUESTS) / self._wanted[depth] - 1)
        return float(off @ (1 / P50_LIMIT, 1 / P99_LIMIT))

    def _latency(self, channels: int | None, depths: Sequence[int], requests: int) -> QuantilesByInflight:
        columns = []
        for depth in depths:
            # At depths above the number of channels, the distribution has the shape of that at the largest depth below it.
            free = [known for known in depths if channels is None or known <= channels]
            columns.append(self._solve(channels, depth, max(free, default=depths[0]), requests))
        rows = np.column_stack([self.shares, *np.round(columns)])
        return QuantilesByInflight(inflight=tuple(depths), quantiles=tuple(tuple(row) for row in rows.tolist()))

    def _solved(self, channels: int | None, depth: int, base: int, requests: int) -> Floats:
        """Returns service times with which a closed loop at `depth` has the measured median and 99th percentile.

        If there are as many channels as requests, they are the latencies themselves. Otherwise the latencies at the depth `base`
        are taken. If the ratio of the two percentiles is wrong, their logarithms are stretched until it is right. Then they are
        multiplied by a factor, which multiplies all latencies of the closed loop by the same factor.
        """
        if channels is None or depth <= channels:
            return self._columns[depth]
        measured = self._wanted[depth]
        shape = np.maximum(self._columns[base], 1)
        middle = float(np.interp(0.5, self.shares, shape))

        def stretched(power: float) -> tuple[Floats, Floats]:
            column = np.minimum(middle * (shape / middle) ** power, LONGEST_NS)
            table = Quantiles(quantiles=tuple(zip(self.shares.tolist(), column.tolist(), strict=True)))
            return column, _closed(table, channels, depth, requests)

        # Requests that take nearly the same time wait in a pattern that can have the same ratio, so the bisection alone could end
        # with such a distribution.
        column, latency = stretched(1.0)
        low, high = 0.0, _STEEPEST
        if abs(latency[1] / latency[0] / (measured[1] / measured[0]) - 1) > _ALIKE:
            for _ in range(_HALVINGS):
                power = (low + high) / 2
                _, latency = stretched(power)
                low, high = (power, high) if latency[1] / latency[0] < measured[1] / measured[0] else (low, power)
            column, latency = stretched((low + high) / 2)
        return np.minimum(column * float(measured[0] / latency[0]), LONGEST_NS)


def _closed(latency: OpLatency, channels: int | None, depth: int, requests: int) -> Floats:
    """Returns the median and the 99th percentile of latencies in a closed loop, in ns."""
    model = DeviceModel(name="fit", read_latency_ns=latency, write_latency_ns=0, flush_latency_ns=0, channels=channels)
    return np.quantile(simulated_ns(model, "read", depth, requests), _COMPARED)
