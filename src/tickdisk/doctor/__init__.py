"""Checks whether this machine can run the whole project, for the command `tickdisk doctor`.

Each check is about one part: hardware, kernel, programs, backends of emulated devices, load of the machine, or the tiers (the
emulated devices that stand for a class of disks), of which the calibration says how fast they really are here. The state of a
check is "ok", "limited" (`make paper`, which makes all results, runs without what the check names) or "missing" (`make paper`
cannot run). `render` writes the checks, the Debian packages to install, and at the end whether `make paper` can run.
"""

from tickdisk.doctor.backends import backend_check
from tickdisk.doctor.checks import Check, examine
from tickdisk.doctor.load import load_check
from tickdisk.doctor.screen import render
from tickdisk.doctor.tiers import tier_checks
from tickdisk.machine import Machine

__all__ = ["Check", "Machine", "backend_check", "examine", "load_check", "render", "tier_checks"]
