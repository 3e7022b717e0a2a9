"""Checks of what this machine can do, for the command `tickdisk doctor`.

Each check examines one part of the machine: its hardware, the kernel's features, installed programs, the backends of emulated
devices, its load, and the tiers that its calibration reached. A check is "ok", "limited" (`make paper` runs, with the loss that
the check names) or "missing" (`make paper` cannot run). `render` turns checks into a text that ends with the packages to install.
"""

from tickdisk.doctor.backends import backend_check
from tickdisk.doctor.checks import Check, examine
from tickdisk.doctor.load import load_check
from tickdisk.doctor.screen import render
from tickdisk.doctor.tiers import tier_checks
from tickdisk.machine import Machine

__all__ = ["Check", "Machine", "backend_check", "examine", "load_check", "render", "tier_checks"]
