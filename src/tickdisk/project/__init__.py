"""The project is this checkout of the sources on this machine, as the workflow sees it.

`Project` joins the configuration, the arms of the experiments, the device models and the identity of the code. It says which
cells are planned, where the world lies, and which digest each result depends on, so that the workflow computes a result again if
and only if something changed that it depends on. The plan file `results/plan.json` is written from it.

`kept` finds cells in the results that belong to another plan. They are kept and counted, but not used. `claim` lets one workflow
at a time work in a results folder.
"""

from tickdisk.project.claim import claim
from tickdisk.project.kept import OTHER_CODE, OTHER_SETTINGS, Kept, kept
from tickdisk.project.project import DEVICES_PATH, PLAN_PATH, Project

__all__ = ["DEVICES_PATH", "OTHER_CODE", "OTHER_SETTINGS", "PLAN_PATH", "Kept", "Project", "claim", "kept"]
