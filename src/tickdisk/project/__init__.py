"""Says what the workflow has to compute, from the configuration, the arms, the device models and the code of this checkout.

A `Project` lists the cells of the plan, and has a digest of everything that a result is made from. The workflow computes a result
again if, and only if, this digest has changed. `kept` counts cells in the results that other code or other settings made. `claim`
locks a results folder, so that no second workflow works in it at the same time.
"""

from tickdisk.project.built import TOOLCHAINS, Toolchains
from tickdisk.project.claim import claim
from tickdisk.project.failures import failures
from tickdisk.project.kept import OTHER_CODE, OTHER_SETTINGS, Kept, kept
from tickdisk.project.nodes import OnNodes, Step, Work, measured, on_nodes, work_of
from tickdisk.project.plan import KeptPlan, Plan, SizingClass, read_plan, scale_of, write_plan
from tickdisk.project.project import DEVICES_PATH, PLAN_PATH, Project, RealDisk, left_out, sizing_classes, unable
from tickdisk.project.sweep import POINTS, SWEEPS, Point, read_points

__all__ = [
    "DEVICES_PATH",
    "OTHER_CODE",
    "OTHER_SETTINGS",
    "PLAN_PATH",
    "POINTS",
    "SWEEPS",
    "TOOLCHAINS",
    "Kept",
    "KeptPlan",
    "OnNodes",
    "Plan",
    "Point",
    "Project",
    "RealDisk",
    "SizingClass",
    "Step",
    "Toolchains",
    "Work",
    "claim",
    "failures",
    "kept",
    "left_out",
    "measured",
    "on_nodes",
    "read_plan",
    "read_points",
    "scale_of",
    "sizing_classes",
    "unable",
    "work_of",
    "write_plan",
]
