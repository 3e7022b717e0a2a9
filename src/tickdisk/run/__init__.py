"""One live cell: a real server on an emulated device under real clients, recorded in a run folder that appears whole."""

from tickdisk.run.cell import MANIFEST, run_cell
from tickdisk.run.progress import Progress

__all__ = ["MANIFEST", "Progress", "run_cell"]
