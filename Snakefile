# From a machine to a paper: configuration, includes, targets.
import json
import os
from pathlib import Path

from tickdisk import device, project, report
from tickdisk.config import file_digest
from tickdisk.report import analysis_digest


configfile: "workflow/config/config.yaml"


if workflow.is_main_process:
    os.environ["TICKDISK_OWNER_PID"] = str(os.getpid())

PROJECT = project.Project.of(config)
CELLS = PROJECT.cells


onstart:
    project.claim(Path("results"))
    for line in device.recover():
        print(f"left by an earlier run, removed: {line}")


include: "workflow/rules/prepare.smk"
include: "workflow/rules/live.smk"
include: "workflow/rules/notebooks.smk"
include: "workflow/rules/paper.smk"


rule all:
    default_target: True
    localrule: True
    input:
        "results/paper.pdf",
        "results/index.html",
        "results/checked.json",
