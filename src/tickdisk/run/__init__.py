"""Runs one live cell, with a real server on an emulated device under real clients, and records it in a run folder.

In a server life, the device switches from arm to arm, the server is captured if the arm asks for it, and everything that was
recorded is written as tables. A life that was disturbed from outside is replaced. The run folder appears when the cell is whole.
`check_server` rehearses the contract that every server keeps, `measure_traffic` counts what it sends, and `act_out` lets players
act out any player trace.
"""

from tickdisk.run.act import Acted, act_out
from tickdisk.run.cell import run_cell
from tickdisk.run.contract import Clause, check_server
from tickdisk.run.progress import Progress
from tickdisk.run.provision import Provisioned, provision
from tickdisk.run.traffic import measure_traffic

__all__ = ["Acted", "Clause", "Progress", "Provisioned", "act_out", "check_server", "measure_traffic", "provision", "run_cell"]
