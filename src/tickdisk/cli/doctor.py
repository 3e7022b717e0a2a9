"""`tickdisk doctor`."""

from pathlib import Path

import typer

from tickdisk.doctor import Machine, backend_check, examine, load_check, render, tier_checks


def doctor() -> None:
    """Says what this machine can do and what to install for the rest; exit code 0 if `make paper` can run, 1 otherwise."""
    machine = Machine()
    tiers = tier_checks(Path("data/devices.yaml"), Path("results/calibration.json"))
    checks = [*examine(machine), backend_check(machine), load_check(), *tiers]
    print(render(checks))
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(1)
