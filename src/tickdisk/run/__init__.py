"""Runs one live cell, with a real server on an emulated device under real clients, and records it in a run folder.

In a server life, the device switches from arm to arm, the server is captured if the arm asks for it, and everything that was
recorded is written as tables. A life that was disturbed from outside is replaced. The run folder appears when the cell is whole.
`check_server` rehearses the contract that every server keeps, and `measure_traffic` counts what it sends.
"""

from tickdisk.run.cell import run_cell
from tickdisk.run.contract import Clause, check_server
from tickdisk.run.progress import Progress
from tickdisk.run.traffic import measure_traffic

__all__ = ["Clause", "Progress", "check_server", "measure_traffic", "run_cell"]
