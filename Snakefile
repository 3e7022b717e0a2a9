# The workflow that leads from a machine to a paper. It has the configuration, the includes and the targets.
import json
import os
import shlex
import sys
from pathlib import Path

from tickdisk import device, project, rights
from tickdisk.foundation import host
from tickdisk.config import CONFIG_PATH, file_digest
from tickdisk.foundation.errors import TickdiskError, exit_with_message
from tickdisk.foundation.machine import Machine
from tickdisk.foundation.record import plain
from tickdisk.foundation.yaml_file import read_yaml
from tickdisk.experiment import EXPERIMENTS, STUDIES

# Snakemake reads configurations as YAML 1.1. Numbers that it would read otherwise than the project does are refused first.
with exit_with_message():
    for path in (CONFIG_PATH, *map(Path, workflow.overwrite_configfiles)):
        if path.suffix != ".json":
            read_yaml(path, "run from the project's folder")


configfile: "workflow/config/config.yaml"


# The profile for a cluster says on how many nodes steps run at the same time. Without a number they run on this machine.
NODES = config.pop("nodes", None)

# A step ends when this process ends. In a job on a node, that is the process that executes the job there.
if workflow.is_main_process or workflow.remote_exec:
    os.environ.update(TICKDISK_OWNER_PID=str(os.getpid()))


# With `--config sweep=NAME`, the points of results/sweeps/NAME/points.tsv run, and not the paper. `tickdisk sweep` writes the table.
SWEEP = config.pop("sweep", None)

with exit_with_message():
    PROJECT = project.Project.of(config)
    PLAN, POINTS = project.PLAN_PATH, {}
    if SWEEP is not None:
        SWEEP = project.SWEEPS / str(SWEEP)
        table = project.read_points(SWEEP / project.POINTS)
        POINTS = {point.name: PROJECT.at(point) for point in table}
        WHOLE, PLAN = PROJECT.at(*table), SWEEP / "plan.json"
    CELLS, SCALE = PROJECT.cells, PROJECT.config.chosen
    # On a cluster, the machine on which the workflow is planned measures nothing.
    LACKS = rights.lacking(Machine()) if NODES is None else {}
    LEFT_OUT = PROJECT.left_out_here(LACKS)
    if LACKS and not STUDIES.keys() - LEFT_OUT.keys():
        why = LEFT_OUT.get(PROJECT.config.study, next(iter(LACKS.values())))
        raise TickdiskError(f"no study can run here: {why}")
    SERVERS = list(PROJECT.identity.servers)  # The first is the server of the studies.
    if workflow.is_main_process:
        cores = workflow.resource_settings.cores
        if cores is not None and cores < 1:
            raise TickdiskError(
                f"--cores {cores} would wait for ever; give at least 1, or `all`"
            )
        settings = workflow.resource_settings
        if (
            (settings.nodes not in (None, 1) and NODES is None)
            or settings.max_threads is not None
            or settings.overwrite_threads
        ):
            raise TickdiskError(
                "with --jobs (-j), --max-threads or --set-threads measurements would run side by side; give --cores instead"
            )
        wanted, there = PROJECT.config.scale, project.scale_of(project.PLAN_PATH)
        if SWEEP is None and there not in (None, wanted):
            other = f"{project.PLAN_PATH} is of scale {there}; `--config scale={there}` plans that one"
            print(f"this plans scale {wanted}, and {other}", file=sys.stderr)
        PLANS = {SWEEP / name / "plan.json": point for name, point in POINTS.items()}
        PLANS[PLAN] = PROJECT if SWEEP is None else WHOLE
        for path, planned in {project.PLAN_PATH: PROJECT, **PLANS}.items():
            if not path.exists():
                planned.save(path)


onstart:
    with exit_with_message():
        project.claim(Path("results"))
        for path, planned in PLANS.items():
            planned.save(
                path
            )  # only now: another run may have been at work with its own plan
        for line in device.recover():
            print(f"left by an earlier run, removed: {line}")
        for name, reason in PROJECT.missing_servers.items():
            print(f"{name} does not take part: {reason}")
        for reason in LACKS.values():
            names = [name for name, why in LEFT_OUT.items() if why == reason]
            if SWEEP is None and names:
                print(f"the paper comes without {', '.join(names)}: {reason}")
        for kept in project.kept(PROJECT.plan, Path("results/runs")):
            print(kept.sentence(Path("results/runs")))
        if SWEEP is None and not Path("results/store/calibrated.json").exists():
            # The message comes now and not after hours of other experiments. The import is here because it takes a second.
            from tickdisk.saving.store import check_device_memory

            store = SCALE.store
            check_device_memory([store.rows, *(game.rows for game in store.games)])


include: "workflow/rules/common.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/live.smk"
include: "workflow/rules/checkpoint.smk"
include: "workflow/rules/netcode.smk"
include: "workflow/rules/notebooks.smk"
include: "workflow/rules/paper.smk"


if SWEEP is not None:

    include: "workflow/rules/sweep.smk"


# If a step failed, its reason is said last. The paper and the page are made from what is whole, and both say what is missing.
onerror:
    for line in project.failures(log):
        print(line, file=sys.stderr)
    if SWEEP is None and Path("results/plan.json").exists():
        folders, failed = notebooks_of_this_run()
        words = [
            *folders,
            *LEFT_OUT_OPTIONS,
            *(f"--failed {name}" for name in failed),
        ]
        shell(f"tickdisk publish {' '.join(words)} || true")


rule all:
    default_target: True
    input:
        (
            [*RESULTS, "results/ro-crate-metadata.json"]
            if SWEEP is None
            else [f"{SWEEP}/{name}.html" for name in (*POINTS, "sweep")]
        ),
    localrule: True
