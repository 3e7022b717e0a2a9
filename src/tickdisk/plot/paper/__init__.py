"""Figures of the paper, each drawn for its place.

A figure is as wide as a column or as the page, is legible at 100 %, and has no title, because the paper has a caption. The
functions take prepared tables, whose columns their docstrings list, and return Altair charts in the paper's theme.
"""

from tickdisk.plot.paper.accesses import accesses
from tickdisk.plot.paper.blame import shares
from tickdisk.plot.paper.doses import Metric, doses
from tickdisk.plot.paper.effects import effects
from tickdisk.plot.paper.fidelity import fidelity
from tickdisk.plot.paper.loads import loads
from tickdisk.plot.paper.network import PANELS as NETWORK_PANELS
from tickdisk.plot.paper.network import network
from tickdisk.plot.paper.pools import pools
from tickdisk.plot.paper.replay import lateness
from tickdisk.plot.paper.saving import costs, methods
from tickdisk.plot.paper.servers import server_effects
from tickdisk.plot.paper.timeline import timeline

__all__ = [
    "NETWORK_PANELS",
    "Metric",
    "accesses",
    "costs",
    "doses",
    "effects",
    "fidelity",
    "lateness",
    "loads",
    "methods",
    "network",
    "pools",
    "server_effects",
    "shares",
    "timeline",
]
