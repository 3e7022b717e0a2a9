"""The device in simulated time: the completions that the emulator would make, without a mount and without waiting."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tickdisk import _native
from tickdisk.device.model import DeviceModel
from tickdisk.errors import TickdiskError


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
