"""The lateness of requests in a replay, divided into the part that the tool caused and the part that earlier requests caused."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import stats
from tickdisk.replay.record import Differing, Spread, Summary

Integers = npt.NDArray[np.int64]


def ready_ns(stream: npt.ArrayLike, completed_ns: npt.ArrayLike, needs: npt.NDArray[np.void] | None = None) -> Integers:
    """Returns for each request the time in ns at which the last of those that it waits for was completed, shape (n,).

    These are the request before it in its stream, and those in `needs`. A request that waits for nothing has the smallest
    integer. The requests of a stream are in the order in which they were issued. `needs` has the fields request (a place in the
    arrays), stream (its number from 0 on, so that streams must have such numbers) and count (number of requests of that stream
    that must be completed).

    Examples
    --------
    >>> ready_ns([0, 0, 1], [25, 30, 31])[1:].tolist()
    [25, -9223372036854775808]
    """
    streams, completed = np.asarray(stream), np.asarray(completed_ns, dtype=np.int64)
    order = np.argsort(streams, kind="stable")
    ready = np.full(len(streams), np.iinfo(np.int64).min)
    same = streams[order][1:] == streams[order][:-1]
    ready[order[1:][same]] = completed[order[:-1][same]]
    if needs is not None and len(needs):
        first = np.searchsorted(streams[order], needs["stream"])
        np.maximum.at(ready, needs["request"], completed[order[first + needs["count"] - 1]])
    return ready


def lateness(ready: npt.ArrayLike, due_ns: npt.ArrayLike, issued_ns: npt.ArrayLike) -> tuple[Integers, Integers]:
    """Divides the lateness of each request, which is issued - due, into lag and time lost, each of shape (n,) and in ns.

    The lag is issued - max(due, ready). It is the delay that the tool and other programs of the machine caused. The time lost is
    max(0, ready - due). It is the delay that the device and earlier requests caused. `ready` is what `ready_ns` returns.

    Examples
    --------
    >>> ready = ready_ns([7, 7, 7, 7], [25, 30, 31, 110])
    >>> lag, lost = lateness(ready, [0, 10, 20, 100], [0, 28, 30, 102])
    >>> lag.tolist(), lost.tolist()
    ([0, 3, 0, 2], [0, 15, 10, 0])
    """
    due, issued = np.asarray(due_ns, dtype=np.int64), np.asarray(issued_ns, dtype=np.int64)
    possible = np.maximum(due, np.asarray(ready, dtype=np.int64))
    return issued - possible, possible - due


def behind_ns(stream: npt.ArrayLike, due_ns: npt.ArrayLike, lost_ns: npt.ArrayLike) -> int:
    """Returns the time in ns in which a stream had a request that was due and could not be issued yet, summed over streams.

    If several requests of a stream wait at the same time, the time counts once. The arrays have the shape (n,), with ascending
    due times within each stream, and `lost_ns` as `lateness` returns it.

    Examples
    --------
    >>> behind_ns([7, 7, 7, 7], [0, 10, 20, 100], [0, 15, 10, 0])
    20
    """
    due = np.asarray(due_ns, dtype=np.int64)
    end = due + np.asarray(lost_ns, dtype=np.int64)
    return int(np.maximum(0, end - np.maximum(due, ready_ns(stream, end))).sum())


def summarise(timings: pd.DataFrame) -> Summary:
    """Sums up the table of a replay (`ReplayResult.timings`)."""
    lag, lost = (timings[name].dropna().to_numpy(float) for name in ("lag_ns", "lost_ns"))
    tenth = len(lag) // 10
    return Summary(
        streams=int(timings["thread"].nunique()),
        requests=len(timings),
        seconds=float(timings["completed_ns"].max() - timings["due_ns"].min()) / 1e9,
        lag_unknown=int(timings["lag_ns"].isna().sum()),
        lag_ns=spread(lag),
        lag_first_tenth_ns=spread(lag[:tenth]),
        lag_last_tenth_ns=spread(lag[len(lag) - tenth :]),
        lost_ns=spread(lost),
        delayed=int(np.count_nonzero(lost > 0)),
        behind_ns=behind_ns(timings["thread"], timings["due_ns"], timings["lost_ns"].fillna(0)),
        service_ns=spread((timings["completed_ns"] - timings["issued_ns"]).to_numpy(float)),
        differing=differing(timings),
    )


def spread(values: npt.NDArray[np.float64]) -> Spread:
    """Returns the spread of times in ns."""
    p50, p99 = (stats.estimate(values, q) for q in (0.5, 0.99))
    return Spread(p50=p50, p99=p99, max=float(values.max()) if len(values) else None)


def differing(timings: pd.DataFrame) -> Differing:
    """Returns the number of results of calls in a replay that were not as captured, by kind."""
    result, expected = timings["result"], timings["expected"]
    fine = (result >= 0) & (expected >= 0)
    return Differing(
        short=int((fine & (result < expected)).sum()),
        long=int((fine & (result > expected)).sum()),
        failed=int(((result < 0) & (result != expected)).sum()),
        succeeded=int(((result >= 0) & (expected < 0)).sum()),
    )
