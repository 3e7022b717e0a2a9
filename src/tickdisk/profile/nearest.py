"""The search for the known device that a measured disk is most like."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

from tickdisk.device import DeviceModel
from tickdisk.foundation.numbers import NS_PER_MS


@dataclass(frozen=True)
class NearestDevice:
    """The medians of a measured disk with one request at a time, and the known device that comes nearest to both."""

    read_ms: float
    """Median of a read of 4 KiB."""
    flushed_write_ms: float | None
    """Median of a write of 4 KiB together with its flush. None if no write was measured."""
    nearest: str
    description: str

    @property
    def slowest_ms(self) -> float:
        """The median of the slower kind of request."""
        return max(self.read_ms, self.flushed_write_ms or 0.0)


def nearest_device(model: DeviceModel, catalogue: Mapping[str, DeviceModel]) -> NearestDevice:
    """Finds the known device that is nearest to a profiled one at the least queue depth.

    The distance of two latencies is the difference of their logarithms, so 1 ms and 2 ms are as far apart as 10 ms and 20 ms.
    """
    read_ns = min((line for line in model.fit if line.op == "read"), key=lambda line: line.queue_depth).p50_ns
    flushed_ns = next((line.p50_ns for line in model.fit if line.op == "write_flush"), None)

    def distance(known: DeviceModel) -> float:
        read, write, flush, _ = (max(1, latency) for latency in known.latency_ns)
        far = abs(log(read_ns / read))
        return far if flushed_ns is None else far + abs(log(flushed_ns / (write + flush)))

    nearest = min(catalogue, key=lambda name: distance(catalogue[name]))
    flushed_ms = None if flushed_ns is None else flushed_ns / NS_PER_MS
    return NearestDevice(read_ns / NS_PER_MS, flushed_ms, nearest, catalogue[nearest].description)
