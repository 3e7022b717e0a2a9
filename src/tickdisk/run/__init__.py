"""Runs one live cell, with a real server on an emulated device under real clients, and records it in a run folder.

`run_cell` plays the server lives of a cell. In a life, the device switches from arm to arm (`play`), the server is captured if
the arm asks for it (`captures`), and everything that was recorded is written as tables (`life`). A life that was disturbed from
outside is replaced (`judge`). The run folder appears when the cell is whole. `check_server` rehearses with a server and real
players, and checks each clause of the contract that every server keeps. `measure_traffic` counts the bytes and datagrams that a
server exchanges with its players.
"""

from tickdisk.run.cell import MANIFEST, run_cell
from tickdisk.run.contract import Clause, check_server
from tickdisk.run.progress import Progress
from tickdisk.run.traffic import Traffic, measure_traffic

__all__ = ["MANIFEST", "Clause", "Progress", "Traffic", "check_server", "measure_traffic", "run_cell"]
