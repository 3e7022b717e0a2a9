"""Checks whether this machine can run the whole project, for the command `tickdisk doctor`.

A check is about hardware, kernel, programs, backends, load, or the tiers. Its state is "ok", "limited" (`make paper` runs without
what the check names) or "missing" (`make paper` cannot run).
"""

from tickdisk.doctor.backends import backend_check
from tickdisk.doctor.checks import Check, examine
from tickdisk.doctor.load import load_check
from tickdisk.doctor.screen import render
from tickdisk.doctor.tiers import tier_checks
from tickdisk.foundation.machine import Machine

__all__ = ["Check", "Machine", "backend_check", "examine", "load_check", "render", "tier_checks"]
