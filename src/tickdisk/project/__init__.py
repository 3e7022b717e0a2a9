"""The checkout on the machine: the plan of its cells, where everything lies, and who may work here now."""

from tickdisk.project.claim import claim
from tickdisk.project.project import PLAN_PATH, Project

__all__ = ["PLAN_PATH", "Project", "claim"]
