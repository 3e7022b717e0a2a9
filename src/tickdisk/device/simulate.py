"""The simulation of a device. It computes the completions that the emulator would make, without a mount and without waiting."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tickdisk import _native
from tickdisk.device.log import OPS
from tickdisk.device.model import DeviceModel
from tickdisk.foundation.errors import TickdiskError

Integers = npt.NDArray[np.int64]
_PAGE_BYTES = 4096
_SPAN_BYTES = 2 << 30
"""The size of the emulated device over which random places lie."""
_WRITES = 8
"""The number of writes before the second kind of flush."""


def simulate(
    model: DeviceModel,
    arrivals_ns: npt.ArrayLike,
    ops: npt.ArrayLike,
    offsets: npt.ArrayLike,
    lengths: npt.ArrayLike,
    *,
    stalls: Sequence[tuple[int, int]] = (),
) -> npt.NDArray[np.int64]:
    """Returns when a device completes requests whose arrivals are known, in ns on the clock of the arrivals.

    `arrivals_ns` must not be negative or fall. `ops` are indices into `OPS`, and `offsets` and `lengths` are in bytes. These
    columns have a number for each request and are broadcast against each other, so that a single number holds for all requests.
    `stalls` has begin and end in ns of the stalls that were ordered, in order of time, as the status of a mounted device has
    them. If a request is wrong, TickdiskError names it.

    >>> slow = DeviceModel(name="slow", read_latency_ns=1000, write_latency_ns=1000, flush_latency_ns=1000, channels=1)
    >>> simulate(slow, [0, 100, 5000], 0, 0, 4096).tolist()
    [1000, 2000, 6000]
    """
    requests = [np.ascontiguousarray(column, np.int64) for column in np.broadcast_arrays(arrivals_ns, ops, offsets, lengths)]
    completions_ns = np.empty_like(requests[0])
    try:
        _native.simulate(model.parameters(), requests, completions_ns, [(begin, end - begin) for begin, end in stalls])
    except ValueError as error:
        raise TickdiskError(f"device {model.name} cannot be simulated: {error}; correct the requests") from error
    return completions_ns


def simulate_closed(
    model: DeviceModel, depth: int, ops: npt.ArrayLike, offsets: npt.ArrayLike, lengths: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Computes arrivals and completions of requests in a closed loop, in which `depth` requests are always in flight.

    The first `depth` requests arrive at time 0. Each later one arrives when the earliest of those in flight completes, as with
    the queue depth of fio. `ops`, `offsets` and `lengths` are as in `simulate`. Two arrays in ns are returned, in the order of
    arrival. If the depth is below 1 or a request is wrong, TickdiskError is raised.

    >>> slow = DeviceModel(name="slow", read_latency_ns=1000, write_latency_ns=1000, flush_latency_ns=1000, channels=1)
    >>> [times_ns.tolist() for times_ns in simulate_closed(slow, 2, [0, 0, 0], 0, 4096)]
    [[0, 0, 1000], [1000, 2000, 3000]]
    """
    requests = [np.ascontiguousarray(column, np.int64) for column in np.broadcast_arrays(ops, offsets, lengths)]
    arrivals_ns, completions_ns = np.empty_like(requests[0]), np.empty_like(requests[0])
    try:
        _native.simulate_closed(model.parameters(), depth, requests, [arrivals_ns, completions_ns])
    except (ValueError, OverflowError) as error:
        raise TickdiskError(f"device {model.name} cannot be simulated: {error}; correct the requests") from error
    return arrivals_ns, completions_ns


def mean_latencies_ns(model: DeviceModel, *, requests: int = 20_000) -> tuple[float, float, float]:
    """Computes the mean times in ns by which a read, a write and a flush lengthen a sequence of requests, one after another.

    Requests are of 4 KiB at random places. A write counts with the time that a flush after it waits for what the write left in a
    cache, because every write before the flush makes it that much longer. This time comes from flushes after one write and after
    eight. About `requests` requests of each kind are simulated. Raises TickdiskError if the model is wrong for such requests.

    >>> mean_latencies_ns(DeviceModel(name="slow", read_latency_ns=3000, write_latency_ns=2000, flush_latency_ns=1000))
    (3000.0, 2000.0, 1000.0)
    """
    places = np.random.default_rng(model.seed).integers(0, _SPAN_BYTES // _PAGE_BYTES, requests) * _PAGE_BYTES
    arrivals, completions = simulate_closed(model, 1, OPS.index("read"), places, _PAGE_BYTES)
    read_ns = float((completions - arrivals).mean())

    def after(writes: int) -> tuple[float, float]:
        """Returns the mean latencies of a write and of a flush in sequences of some writes and a flush."""
        count = requests // writes
        ops = np.tile([OPS.index("write")] * writes + [OPS.index("flush")], count)
        lengths = np.where(ops == OPS.index("write"), _PAGE_BYTES, 0)
        offsets = np.where(lengths > 0, np.resize(places, ops.size), 0)
        arrivals, completions = simulate_closed(model, 1, ops, offsets, lengths)
        latencies = (completions - arrivals).reshape(count, writes + 1)
        return float(latencies[:, :-1].mean()), float(latencies[:, -1].mean())

    (write_ns, short_ns), (_, long_ns) = after(1), after(_WRITES)
    left_ns = max(0.0, (long_ns - short_ns) / (_WRITES - 1))
    return read_ns, write_ns + left_ns, max(0.0, short_ns - left_ns)


@dataclass(frozen=True)
class Steps:
    """The steps of streams of requests, in the order in which they would be issued on a device without delay.

    A stream issues its steps one after another. A step consists of requests that are issued together, and is completed when all
    of them are.
    """

    stream: npt.ArrayLike
    """Number of each step's stream, from 0 on and below the number of steps."""
    due_ns: npt.ArrayLike
    """Earliest time in ns at which each step is issued."""
    requests: npt.ArrayLike
    """Number of requests that belong to each step, which may be 0."""
    needs: bytes = b""
    """The steps of other streams that steps wait for, as records of three little-endian words of 4 bytes: the place of the
    waiting step, the stream that it waits for, and the number of steps of that stream that must be completed."""


def simulate_streams(
    model: DeviceModel,
    steps: Steps,
    ops: npt.ArrayLike,
    offsets: npt.ArrayLike,
    lengths: npt.ArrayLike,
    *,
    is_closed: bool = False,
) -> tuple[Integers, Integers]:
    """Computes the times in ns at which streams of requests issue and complete each of their steps.

    A step is issued when it is due, the previous step of its stream is completed, and the steps that it needs are completed.
    If `is_closed`, its due time counts from the moment at which it has nothing more to wait for, and not from the start. `ops`,
    `offsets` and `lengths` have a number for each request, as in `simulate`, in the order of the steps. If a number is negative
    or unknown, the numbers of requests do not agree, or a step needs one that is not before it, TickdiskError is raised.

    >>> slow = DeviceModel(name="slow", read_latency_ns=1000, write_latency_ns=1000, flush_latency_ns=1000)
    >>> steps = Steps(stream=[0, 0], due_ns=[0, 10], requests=[1, 1])
    >>> [times_ns.tolist() for times_ns in simulate_streams(slow, steps, [0, 0], [0, 0], [4096, 4096])]
    [[0, 1000], [1000, 2000]]
    """
    columns = [np.ascontiguousarray(column, np.int64) for column in (steps.stream, steps.due_ns, steps.requests)]
    requests = [np.ascontiguousarray(column, np.int64) for column in (ops, offsets, lengths)]
    issued_ns, completed_ns = np.empty_like(columns[0]), np.empty_like(columns[0])
    try:
        _native.simulate_streams(model.parameters(), columns, requests, steps.needs, is_closed, [issued_ns, completed_ns])
    except ValueError as error:
        raise TickdiskError(f"device {model.name} cannot be simulated: {error}; correct the requests") from error
    return issued_ns, completed_ns
