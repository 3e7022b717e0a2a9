"""The profile of a real disk as a server life uses it, for its emulated twin, and a twin that is wrong on purpose."""

from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import device
from tickdisk.device import LONGEST_NS, DeviceModel, OpLatency, Quantiles, QuantilesByInflight
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.profile.measure import Measurements, Say
from tickdisk.profile.profile import Profile, profile


def profile_disk(folder: Path, output: Path, latencies: Path, *, seconds: float, size_bytes: int, say: Say) -> Profile:
    """Profiles the disk of a folder through the layers that lie between it and a server life, and writes its device and evidence.

    A server life uses a loop device on a file in the folder, and so does the profile, because a loop device adds to the latency
    of a fast disk. `output` is the YAML file of the device, and `latencies` a table with the latency of every request. `seconds`
    is the time of each job in all rounds together, and `size_bytes` the size of the file. Raises TickdiskError if the folder
    cannot be used, or if fio fails.
    """
    with device.up(device.REAL_DISK, backend="folder", backing=folder, size_bytes=size_bytes, file_system=None) as disk:
        profiled = profile(disk.block_device, output, write=True, seconds=seconds, size_bytes=size_bytes, say=say)
    table.write("latencies", latencies, _latencies(profiled.measured))
    return profiled


def _latencies(measured: Measurements) -> pd.DataFrame:
    """Returns one row for each request that was measured, with its operation, queue depth and round, and its latency in ns."""
    parts = [
        pd.DataFrame({"op": sample.op, "queue_depth": sample.queue_depth, "round": number, "latency_ns": latency_ns})
        for sample in measured.samples
        for number, latency_ns in enumerate(sample.rounds)
    ]
    return pd.concat(parts, ignore_index=True)


def wrong_twin(twin: DeviceModel, factor: float, flush_ns: int) -> DeviceModel:
    """Returns a profiled device whose reads and writes take `factor` times as long, and whose flushes take `flush_ns` longer."""
    return twin.model_copy(
        update={
            "name": f"{twin.name}_wrong",
            "read_latency_ns": _changed(twin.read_latency_ns, factor, 0),
            "write_latency_ns": _changed(twin.write_latency_ns, factor, 0),
            "flush_latency_ns": _changed(twin.flush_latency_ns, 1, flush_ns),
        }
    )


def _changed(latency: OpLatency, factor: float, longer_ns: int) -> OpLatency:
    def changed(latency_ns: float) -> float:
        return min(float(np.round(latency_ns * factor + longer_ns)), LONGEST_NS)

    match latency:
        case int():
            return int(changed(latency))
        case Quantiles():
            return Quantiles(quantiles=tuple((share, changed(latency_ns)) for share, latency_ns in latency.quantiles))
        case QuantilesByInflight():
            rows = tuple((row[0], *map(changed, row[1:])) for row in latency.quantiles)
            return QuantilesByInflight(inflight=latency.inflight, quantiles=rows)
        case _:
            raise TickdiskError(f"no latency of a profile is of the kind {type(latency).__name__}; profile the disk again")
