"""The measurement of the floor, which is the time that this machine adds to a device's latency."""

import mmap
import os
import random
import statistics
import time
from pathlib import Path

from tickdisk.device.model import DeviceModel
from tickdisk.device.mounted import MountedDevice

_BLOCK = 4096
_SECONDS = 1.0
_MOST, _LEAST, _WARM_UP = 400, 3, 20
_ROUNDS, _TOLERANCE_NS = 4, 1_000
_SLOW_NS = 25_000_000
"""Latency above which a device is slow. Its floor is measured by few reads, and to a thousandth of the latency."""


def seconds_of_round(model: DeviceModel) -> float:
    """Returns about how long a round of `measure_floor` takes at least, of which a slow device mostly has one."""
    nominal_ns = model.steady().service_ns(_BLOCK)
    return sum(_counts(nominal_ns)) * nominal_ns / 1e9


def measure_floor(device: MountedDevice, model: DeviceModel) -> int:
    """Measures the floor in ns of a model on a mounted device, so that `MountedDevice.set` can subtract it.

    The floor is the median time by which 4 KiB O_DIRECT reads, one at a time, exceed the model's latency. It includes the wake-up
    of an idle core, and therefore depends on the latency. The measurement is repeated with the floor found so far subtracted,
    until the rest is at most 1 us (a thousandth of the latency of a slow device) or the floor reaches the model's latency, for at
    most four rounds. A model whose latency varies is held at its median (`DeviceModel.steady`), and in this form it stays in
    force on the device.
    """
    model = model.steady()
    floor_ns, nominal_ns = 0, model.service_ns(_BLOCK)
    tolerance_ns = nominal_ns // 1000 if nominal_ns > _SLOW_NS else _TOLERANCE_NS
    for _ in range(_ROUNDS):
        device.set(model, floor_ns=floor_ns)
        excess_ns = _excess_ns(device, model)
        floor_ns = max(0, floor_ns + excess_ns)
        if abs(excess_ns) <= tolerance_ns or floor_ns >= nominal_ns:
            break
    return floor_ns


def _excess_ns(device: MountedDevice, model: DeviceModel) -> int:
    with device.probe() as (path, size_bytes):
        return _typical_ns(path, size_bytes, model.service_ns(_BLOCK)) - model.service_ns(_BLOCK)


def _counts(nominal_ns: int) -> tuple[int, int]:
    """Returns the number of reads to warm up, and of those that are measured."""
    count = min(_MOST, max(_LEAST, int(_SECONDS * 1e9 / max(nominal_ns, 1))))
    return min(_WARM_UP, count // 2), count


def _typical_ns(path: Path, size_bytes: int, nominal_ns: int) -> int:
    place = random.Random(1)  # noqa: S311 - offsets, not secrets
    warm_up, count = _counts(nominal_ns)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)

    def read(buffer: mmap.mmap) -> int:
        offset = place.randrange(size_bytes // _BLOCK) * _BLOCK
        start_ns = time.monotonic_ns()
        os.preadv(descriptor, [buffer], offset)
        return time.monotonic_ns() - start_ns

    try:
        with mmap.mmap(-1, _BLOCK) as buffer:
            for _ in range(warm_up):
                read(buffer)
            return round(statistics.median(read(buffer) for _ in range(count)))
    finally:
        os.close(descriptor)
