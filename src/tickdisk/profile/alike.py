"""The device of the catalogue that a measured disk is most like."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from tickdisk.device import DeviceModel

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class Alike:
    """The medians of a measured disk with one request at a time, and the device that comes nearest to them."""

    read_ms: float
    flushed_write_ms: float | None
    """A write of 4 KiB and its flush; None if no write was measured."""
    nearest: str
    description: str

    @property
    def slowest_ms(self) -> float:
        """The latency of the slower kind of request."""
        return max(self.read_ms, self.flushed_write_ms or 0.0)


def alike(model: DeviceModel, catalogue: Mapping[str, DeviceModel]) -> Alike:
    """Returns what a profiled device is like. Distances are those of logarithms: 1 and 2 ms differ like 10 and 20 ms."""
    read_ns = min((line for line in model.fit if line.op == "read"), key=lambda line: line.queue_depth).p50_ns
    flushed_ns = next((line.p50_ns for line in model.fit if line.op == "write_flush"), None)

    def distance(known: DeviceModel) -> float:
        read, write, flush, _ = (max(1, latency) for latency in known.latency_ns)
        far = abs(log(read_ns / read))
        return far if flushed_ns is None else far + abs(log(flushed_ns / (write + flush)))

    nearest = min(catalogue, key=lambda name: distance(catalogue[name]))
    flushed_ms = None if flushed_ns is None else flushed_ns / _NS_PER_MS
    return Alike(read_ns / _NS_PER_MS, flushed_ms, nearest, catalogue[nearest].description)
