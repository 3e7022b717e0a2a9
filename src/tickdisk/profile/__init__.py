"""Measures a real disk by fio, and describes it as a device model that can be emulated on any machine.

`profile` does all steps. It takes a folder, a file or a block device, and writes a YAML file with one device.
- `source` chooses the part of the disk to measure. It refuses a file or block device whose data the measurement would overwrite.
- `measure` runs fio at several queue depths, and returns a `Sample` of latencies for each kind of request and each depth.
- `fit` makes a `DeviceModel` from the depths in `FIT_DEPTHS` only. The depths in `HELD_OUT_DEPTHS` remain to test it.
- `evidence` states how far the model is from each sample. `screen` prints that, and `verdict` says it in one sentence.
- `again` says how often each place was read or written, because a cache may then have answered instead of the disk.
- `nearest_device` finds the known device that is most like the disk.
"""

from tickdisk.profile.evidence import again, evidence, screen, verdict
from tickdisk.profile.fit import fit, simulated_ns
from tickdisk.profile.measure import FIT_DEPTHS, HELD_OUT_DEPTHS, Measurements, Sample, measure
from tickdisk.profile.nearest import NearestDevice, nearest_device
from tickdisk.profile.profile import Profile, profile, text
from tickdisk.profile.target import Source, source

__all__ = [
    "FIT_DEPTHS",
    "HELD_OUT_DEPTHS",
    "Measurements",
    "NearestDevice",
    "Profile",
    "Sample",
    "Source",
    "again",
    "evidence",
    "fit",
    "measure",
    "nearest_device",
    "profile",
    "screen",
    "simulated_ns",
    "source",
    "text",
    "verdict",
]
