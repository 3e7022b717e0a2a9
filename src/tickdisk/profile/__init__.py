"""Measures a real disk by fio, and describes it as a device model that can be emulated on any machine.

`profile` does all steps, and writes a YAML file with one device. `source` chooses the part of the disk to measure, and refuses a
file or block device whose data the measurement would overwrite. `measure` runs fio at several queue depths. `fit` makes a
`DeviceModel` from the depths in `FIT_DEPTHS` only, and `evidence` states how far it is from the disk at these and at the
`HELD_OUT_DEPTHS`. `nearest_device` finds the known device that is most like the disk. `profile_disk` profiles the disk of a
folder as a server life uses it.
"""

from tickdisk.profile.disk import profile_disk
from tickdisk.profile.evidence import again, evidence, screen, verdict
from tickdisk.profile.fit import fit, simulated_ns
from tickdisk.profile.measure import FIT_DEPTHS, HELD_OUT_DEPTHS, Measurements, Sample, measure
from tickdisk.profile.nearest import nearest_device
from tickdisk.profile.profile import profile, text
from tickdisk.profile.target import source
from tickdisk.profile.truth import DiskTruth, read_truth, write_truth

__all__ = [
    "FIT_DEPTHS",
    "HELD_OUT_DEPTHS",
    "DiskTruth",
    "Measurements",
    "Sample",
    "again",
    "evidence",
    "fit",
    "measure",
    "nearest_device",
    "profile",
    "profile_disk",
    "read_truth",
    "screen",
    "simulated_ns",
    "source",
    "text",
    "verdict",
    "write_truth",
]
