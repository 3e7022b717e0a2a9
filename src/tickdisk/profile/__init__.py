"""A real disk, measured by fio and written down as a device model that behaves like it."""

from tickdisk.profile.alike import Alike, alike
from tickdisk.profile.evidence import again, evidence, screen, verdict
from tickdisk.profile.fit import fit, simulated_ns
from tickdisk.profile.measure import FIT_DEPTHS, HELD_OUT_DEPTHS, Measurements, Sample, measure
from tickdisk.profile.profile import Profile, profile, text
from tickdisk.profile.target import Source, source

__all__ = [
    "FIT_DEPTHS",
    "HELD_OUT_DEPTHS",
    "Alike",
    "Measurements",
    "Profile",
    "Sample",
    "Source",
    "again",
    "alike",
    "evidence",
    "fit",
    "measure",
    "profile",
    "screen",
    "simulated_ns",
    "source",
    "text",
    "verdict",
]
