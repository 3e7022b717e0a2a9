"""Profiles of real disks: a disk is measured by fio and written down as a device model that behaves like it.

`profile` does the whole work. It takes a folder, a file or a block device, and writes a YAML file with one device, which can be
emulated on any machine. Its steps can also be called one by one:

- `source` prepares the part of the disk that is measured, and refuses whatever would be damaged.
- `measure` lets fio make requests at several queue depths, in several rounds, and returns `Measurements` with a `Sample` of
  latencies for each kind of request and queue depth.
- `fit` makes a `DeviceModel` of the samples at `FIT_DEPTHS`. The samples at `HELD_OUT_DEPTHS` are held out, which means that the
  fit does not see them, so that they can test the model.
- `evidence` states how far the model is from each sample. `screen`, `verdict` and `again` put that into words.
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
