"""What this machine can do, what it cannot, and what to install for it: one screen."""

from tickdisk.doctor.backends import backend_check
from tickdisk.doctor.checks import Check, examine
from tickdisk.doctor.load import load_check
from tickdisk.doctor.screen import render
from tickdisk.doctor.tiers import tier_checks
from tickdisk.machine import Machine

__all__ = ["Check", "Machine", "backend_check", "examine", "load_check", "render", "tier_checks"]
