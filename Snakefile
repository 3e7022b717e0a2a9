# From a machine to a paper: configuration, includes, targets.
import json
import os
from pathlib import Path

from tickdisk import device, project, report
from tickdisk.checkpoint import simulator_digest
from tickdisk.config import file_digest
from tickdisk.replay import experiment_digest
from tickdisk.report import analysis_digest
from tickdisk.store import check_room, study_digest


configfile: "workflow/config/config.yaml"


# Made from envs/Containerfile; read only with `--software-deployment-method apptainer`.
container: "build/tickdisk.sif"


PROJECT = project.Project.of(config)
CELLS = PROJECT.cells

if workflow.is_main_process:
    os.environ.update(TICKDISK_OWNER_PID=str(os.getpid()))
    if not project.PLAN_PATH.exists():
        PROJECT.save()


onstart:
    project.claim(Path("results"))
    PROJECT.save()  # only now: another run may have been at work with its own plan
    for line in device.recover():
        print(f"left by an earlier run, removed: {line}")
    if not Path("results/store/calibrated.json").exists():
        # Said now, not after the hours in which the other experiments run.
        kept = PROJECT.config.chosen.store
        check_room([kept.rows, *(game.rows for game in kept.games)])


include: "workflow/rules/common.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/live.smk"
include: "workflow/rules/checkpoint.smk"
include: "workflow/rules/notebooks.smk"
include: "workflow/rules/paper.smk"


rule all:
    default_target: True
    input:
        "results/paper.pdf",
        "results/index.html",
        "results/checked.json",
    localrule: True
