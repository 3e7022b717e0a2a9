"""The figures of the paper, each drawn for its place: as wide as a column or as the page, legible at 100 %, without a title."""

from tickdisk.plot.paper.accesses import accesses
from tickdisk.plot.paper.blame import shares
from tickdisk.plot.paper.doses import Metric, doses
from tickdisk.plot.paper.effects import effects
from tickdisk.plot.paper.fidelity import fidelity
from tickdisk.plot.paper.place import COLUMN, PAGE
from tickdisk.plot.paper.replay import lateness
from tickdisk.plot.paper.saving import costs, methods
from tickdisk.plot.paper.timeline import timeline

__all__ = [
    "COLUMN",
    "PAGE",
    "Metric",
    "accesses",
    "costs",
    "doses",
    "effects",
    "fidelity",
    "lateness",
    "methods",
    "shares",
    "timeline",
]
