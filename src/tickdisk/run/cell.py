"""A cell: its lives one after another, again when the machine was too loaded, into a folder that appears whole or not at all."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tickdisk import calibrate, device, host
from tickdisk.config import Cell, digest
from tickdisk.errors import TickdiskError
from tickdisk.files import write_json
from tickdisk.project import Project
from tickdisk.run.life import Stage, run_life

MANIFEST = "manifest.json"
Say = Callable[[str], None]


def run_cell(project: Project, cell: Cell, calibration: calibrate.Calibration, runs: Path, say: Say) -> Path:
    """Runs `cell` and returns its folder under `runs`.

    The whole cell is repeated, at most as often as the scale allows, when steal or memory pressure was above the limit: the
    machine decides that, never the outcome. The last attempt is kept and marked. TickdiskError when a life cannot be run.
    """
    for line in device.recover():
        say(f"left by an earlier run, removed: {line}")
    final = runs / cell.hash
    _remove_partial(runs, cell)
    if (final / MANIFEST).exists():
        return final
    partial = runs / f".{cell.hash}.{os.getpid()}.partial"
    models = arm_models(project, cell, calibration)
    attempts: list[dict[str, Any]] = []
    try:
        while True:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            meter, started = host.LoadMeter(), time.time()
            lives = {}
            for life in cell.lives:
                say(f"{cell.title}, {life.name}: {life.seconds:.0f} s")
                lives[life.name] = run_life(Stage(project, cell, life, models, calibration, partial / life.name))
            load = meter.read()
            attempts.append({"started_unix_s": started, "load": load.as_dict(), "too_loaded": _too_loaded(load, project)})
            if not attempts[-1]["too_loaded"] or len(attempts) > project.config.chosen.repeats:
                break
            say(f"{cell.title}: repeated, {attempts[-1]['too_loaded']}")
        write_json(
            partial / MANIFEST,
            {
                "hash": cell.hash,
                "experiment": cell.experiment,
                "block": cell.block,
                "resolved": dict(cell.resolved),
                "plan": [asdict(life) for life in cell.lives],
                "models": {arm: model.as_dict() for arm, model in models.items()},
                "host": host.facts(),
                "backend": calibration.backend,
                "attempts": attempts,
                "marked": attempts[-1]["too_loaded"],
                "lives": lives,
                "calibration": digest(calibration.model_dump(mode="json")),
            },
        )
        _publish(partial, final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return final


def arm_models(project: Project, cell: Cell, calibration: calibrate.Calibration) -> dict[str, device.DeviceModel]:
    """Returns the device model of every arm; a sham's burns what the slowest arm costs the emulator more."""
    arms = [arm for arm in project.arms if arm.experiment == cell.experiment]
    models = {arm.arm: project.model(cell.experiment, arm.arm) for arm in arms}
    slowest = max(models.values(), key=lambda model: model.latency_ns[0])
    for sham in (arm.arm for arm in arms if arm.role == "sham"):
        models[sham] = models[sham].with_burn(calibrate.burn_ns(calibration, own=models[sham].name, other=slowest.name))
    return models


def _too_loaded(load: host.Load, project: Project) -> str | None:
    limits = project.config.limits
    if load.steal_share > limits.steal_share:
        return f"steal {load.steal_share:.1%} above {limits.steal_share:.0%}"
    if load.pressure_memory_share > limits.pressure_memory_share:
        return f"memory pressure {load.pressure_memory_share:.1%} above {limits.pressure_memory_share:.0%}"
    return None


def _remove_partial(runs: Path, cell: Cell) -> None:
    for left in runs.glob(f".{cell.hash}.*.partial"):
        shutil.rmtree(left, ignore_errors=True)


def _publish(partial: Path, final: Path) -> None:
    """Snakemake makes the output's empty folder beforehand; a rename replaces an empty folder, and nothing else."""
    try:
        partial.rename(final)
    except OSError as error:
        raise TickdiskError(f"cannot put the run at {final}: {error.strerror}; remove what is there and run again") from error
