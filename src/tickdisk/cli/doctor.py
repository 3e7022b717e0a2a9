"""`tickdisk doctor`."""

from pathlib import Path

import typer

from tickdisk.doctor import Machine, examine, load_check, render, tier_checks


def doctor() -> None:
    """Says what this machine can do and what to install for the rest; exit code 0 if `make paper` can run, 1 otherwise."""
    checks = [*examine(Machine()), load_check(), *tier_checks(Path("data/devices.yaml"), Path("results/calibration.json"))]
    print(render(checks))
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(1)
