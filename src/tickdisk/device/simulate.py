"""The device in simulated time: the completions that the emulator would make, without a mount and without waiting."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tickdisk import _native
from tickdisk.device.model import DeviceModel
from tickdisk.errors import TickdiskError

Integers = npt.NDArray[np.int64]


def simulate(
    model: DeviceModel,
    arrivals_ns: npt.ArrayLike,
    ops: npt.ArrayLike,
    offsets: npt.ArrayLike,
    lengths: npt.ArrayLike,
    *,
    stalls: Sequence[tuple[int, int]] = (),
) -> npt.NDArray[np.int64]:
    """Returns the completion of each request, in ns on the clock of `arrivals_ns`, which do not fall.

    `ops` are indices into `OPS`; offsets and lengths are bytes; each may be one for all requests. `stalls` are those that were
    ordered, begin and end as the mounted device's status tells them. TickdiskError names the request that is wrong.
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
    """Returns arrival and completion of each request in ns, in the order of arrival, when `depth` are always in the device.

    The first ones arrive at 0, each later one when the earliest of those under way completes, as fio's queue depth has it. `ops`
    are indices into `OPS`; offsets and lengths are bytes. TickdiskError names what is wrong.
    """
    requests = [np.ascontiguousarray(column, np.int64) for column in np.broadcast_arrays(ops, offsets, lengths)]
    arrivals_ns, completions_ns = np.empty_like(requests[0]), np.empty_like(requests[0])
    try:
        _native.simulate_closed(model.parameters(), depth, requests, [arrivals_ns, completions_ns])
    except (ValueError, OverflowError) as error:
        raise TickdiskError(f"device {model.name} cannot be simulated: {error}; correct the requests") from error
    return arrivals_ns, completions_ns


@dataclass(frozen=True)
class Steps:
    """What streams do, one step after another, in the order in which they would do it on a device without delay."""

    stream: npt.ArrayLike
    """Number of each step's stream, from 0 on."""
    due_ns: npt.ArrayLike
    requests: npt.ArrayLike
    """How many of the requests belong to the step; they are issued together, and it is completed when all are."""


def simulate_streams(
    model: DeviceModel, steps: Steps, ops: npt.ArrayLike, offsets: npt.ArrayLike, lengths: npt.ArrayLike
) -> tuple[Integers, Integers]:
    """Returns when each step is issued and completed, in ns: issued when it is due and its stream's previous one is completed.

    `ops` are indices into `OPS`, with offsets and lengths in bytes, in the order of the steps. TickdiskError when they are wrong.
    """
    columns = [np.ascontiguousarray(column, np.int64) for column in (steps.stream, steps.due_ns, steps.requests)]
    requests = [np.ascontiguousarray(column, np.int64) for column in (ops, offsets, lengths)]
    issued_ns, completed_ns = np.empty_like(columns[0]), np.empty_like(columns[0])
    try:
        _native.simulate_streams(model.parameters(), columns, requests, issued_ns, completed_ns)
    except ValueError as error:
        raise TickdiskError(f"device {model.name} cannot be simulated: {error}; correct the requests") from error
    return issued_ns, completed_ns
