"""The profile of a real disk as a server life uses it, for its emulated twin."""

import time
from pathlib import Path

import pandas as pd

from tickdisk import device
from tickdisk.foundation import table
from tickdisk.profile.measure import Measurements, Say
from tickdisk.profile.profile import Profile, profile


def profile_disk(
    folder: Path, output: Path, latencies: Path, *, seconds: float, settle_s: float, size_bytes: int, say: Say
) -> Profile:
    """Profiles the disk of a folder through the layers that lie between it and a server life, and writes its device and evidence.

    A server life uses a loop device on a file in the folder, and so does the profile, because a loop device adds to the latency
    of a fast disk. `output` is the YAML file of the device, and `latencies` a table with the latency of every request. `seconds`
    is the time of each job in all rounds together, `settle_s` the time for which the disk rests after the file was written, and
    `size_bytes` the size of the file. Raises TickdiskError if the folder
    cannot be used, or if fio fails.
    """
    with device.up(device.REAL_DISK, backend="folder", backing=folder, size_bytes=size_bytes, file_system=None) as disk:
        time.sleep(settle_s)
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
