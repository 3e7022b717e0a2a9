"""A project is the checkout on the machine: it says which cells are planned, what each result is computed with, where
everything lies, and who may work here now.
"""

from tickdisk.project.claim import claim
from tickdisk.project.kept import OTHER_CODE, OTHER_SETTINGS, Kept, kept
from tickdisk.project.project import DEVICES_PATH, PLAN_PATH, Project

__all__ = ["DEVICES_PATH", "OTHER_CODE", "OTHER_SETTINGS", "PLAN_PATH", "Kept", "Project", "claim", "kept"]
