"""The command `tickdisk doctor`."""

import shutil
import sys
from pathlib import Path

import typer

from tickdisk.cli.places import DEVICES, PROJECT, in_project


def doctor() -> None:
    """Says what this machine can do, and what to install for the rest.

    The exit code is 0 if `make paper` can run here, and 1 otherwise.
    """
    from tickdisk.doctor import Machine, backend_check, examine, load_check, render, tier_checks

    machine = Machine(project=PROJECT)
    tiers = tier_checks(in_project(DEVICES), in_project(Path("results/calibration.json")))
    checks = [*examine(machine), backend_check(machine), load_check(), *tiers]
    print(render(checks, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(1)
