"""Runs the lives of a cell one after another. The folder of the cell appears when it is whole, or not at all."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from tickdisk import calibrate, device, server
from tickdisk.config import Cell, arms_of, digest
from tickdisk.experiment import REAL, TWIN_ARM, WRONG
from tickdisk.foundation import cluster, host
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import Attempt, LifeRecord, Manifest, has_run, write_manifest
from tickdisk.project import Project
from tickdisk.run.judge import InstrumentError, arms_not_valid, not_judged, noted, reasons_to_replace
from tickdisk.run.life import run_life
from tickdisk.run.stage import Stage

_CONTROLS = ("baseline", "null")
"""Roles of the arms whose device is fast. Clients that are saturated there are so because the machine is too slow for them."""
Say = Callable[[str], None]


def run_cell(
    project: Project, cell: Cell, calibration: calibrate.Calibration, runs: Path, say: Say, staging: Path | None = None
) -> Path:
    """Runs the server lives of a cell, and returns its folder in `runs`, with their tables and the manifest.

    If `runs` lies on another machine, what is recorded goes to the folder `staging` first, so that it does not disturb the lives.

    A life is replaced if something outside the system under test disturbed it, but not for anything that a slow disk may cause.
    The scale says how often a life may be replaced. If the last attempt was disturbed, too, it is kept and marked. If the folder
    has a manifest already, nothing is run. Raises TickdiskError if a life cannot be run.
    """
    for line in device.recover():
        say(f"left by an earlier run, removed: {line}")
    final = runs / cell.hash
    _remove_partial(runs, cell)
    if has_run(final):
        return final
    partial = runs / f".{cell.hash}.{os.getpid()}.partial"
    models = arm_models(project, cell, calibration)
    recorded = partial if staging is None else staging / cell.hash
    try:
        recorded.mkdir(parents=True)
        lives = {}
        for life in cell.lives:
            say(f"{cell.title}, {life.name}: {life.seconds:.0f} s")
            lives[life.name] = undisturbed(Stage(project, cell, life, models, calibration, recorded / life.name), say)
        write_manifest(
            recorded,
            Manifest(
                hash=cell.hash,
                experiment=cell.experiment,
                server=server.named(cell.server).facts,
                block=cell.block,
                resolved=cell.resolved,
                plan=cell.lives,
                models=models,
                realised_ns={arm: calibrate.realised_ns(calibration, model) for arm, model in models.items()},
                host=host.facts(),
                machine=host.machine(),
                node=cluster.node(),
                cores=host.split_cores(),
                backend=calibration.backend,
                not_judged=tuple(not_judged()),
                lives=lives,
                calibration=digest(calibration.model_dump(mode="json")),
            ),
        )
        if recorded != partial:
            shutil.copytree(recorded, partial)
        _publish(partial, final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return final


def arm_models(project: Project, cell: Cell, calibration: calibrate.Calibration) -> dict[str, device.DeviceModel]:
    """Returns the device model of every arm of a cell, by the name of the arm.

    The model of a sham burns as much more processor time as the arm with the slowest reads costs the emulator. This time is taken
    from the calibration. The twin of a real disk, and the wrong twin, are made from the profile of the disk. Raises TickdiskError
    if it was not profiled.
    """
    arms = arms_of(project.arms, cell.experiment, cell.server)
    models = {arm.arm: project.model(cell.experiment, arm.arm) for arm in arms}
    slowest = max(models.values(), key=lambda model: model.latency_ns[0])
    if cell.resolved.disk is not None:
        design = cell.resolved.design
        twin = device.load_device(project.disk.profile)
        wrong = device.slower(twin, design["wrong_factor"], round(design["wrong_flush_ms"] * 1e6))
        return {REAL: device.REAL_DISK, TWIN_ARM: twin, WRONG: wrong}
    for sham in (arm.arm for arm in arms if arm.role == "sham"):
        models[sham] = models[sham].with_burn(calibrate.burn_ns(calibration, own=models[sham].name, other=slowest.name))
    return models


def undisturbed(stage: Stage, say: Say) -> LifeRecord:
    """Runs a server life again and again, until nothing outside disturbs it or it may not be replaced once more.

    Returns the record of the life with all attempts, and under `marked` the reasons why the kept attempt counts as disturbed.
    Raises InstrumentError if an instrument fails in the last permitted attempt.
    """
    config, what = stage.project.config, f"{stage.cell.title}, {stage.life.name}"
    most = config.chosen.replacements
    arms = [arm for arm in stage.project.arms if arm.experiment == stage.cell.experiment]
    # How many players the clients can play is a result of a life with a number of its own, and no reason to run it again.
    controls = {arm.arm for arm in arms if arm.role in _CONTROLS and stage.life.players is None}
    attempts: list[Attempt] = []
    while True:
        shutil.rmtree(stage.folder, ignore_errors=True)
        meter, started = host.LoadMeter(programs=True), time.time()
        try:
            life = run_life(stage)
            load, reasons = life.load, reasons_to_replace(config.limits, life, controls)
        except InstrumentError as error:
            if len(attempts) == most:
                raise
            load, reasons = meter.read(), [str(error)]
        attempts.append(Attempt(started_unix_s=started, load=load, reasons=tuple(reasons)))
        if not reasons or len(attempts) > most:
            break
        say(f"{what}: replaced ({len(attempts)} of at most {most}), {'; '.join(reasons)}")
    if reasons:
        say(f"{what}: kept and marked, {'; '.join(reasons)}")
    for sentence in noted(life):
        say(f"{what}: {sentence}")
    return LifeRecord(
        **dict(life),
        attempts=tuple(attempts),
        marked=tuple(reasons),
        not_valid=arms_not_valid(life, controls),
        noted=tuple(noted(life)),
    )


def _remove_partial(runs: Path, cell: Cell) -> None:
    for left in runs.glob(f".{cell.hash}.*.partial"):
        shutil.rmtree(left, ignore_errors=True)


def _publish(partial: Path, final: Path) -> None:
    """Gives the folder its final name. A rename replaces the empty folder that Snakemake makes beforehand, and nothing else."""
    try:
        partial.rename(final)
    except OSError as error:
        raise TickdiskError(f"cannot put the run at {final}: {error.strerror}; remove what is there and run again") from error
