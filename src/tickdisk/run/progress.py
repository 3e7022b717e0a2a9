"""Tells the user which cell of the plan runs, and how much time is left."""

import time
from collections.abc import Sequence
from pathlib import Path

from tickdisk.config import Cell
from tickdisk.manifest import has_run


class Progress:
    """Tells how far a run of the plan has come. A cell whose run folder in `runs` has a manifest is done."""

    def __init__(self, cells: Sequence[Cell], runs: Path) -> None:
        self._cells, self._runs = cells, runs

    def line(self, cell: Cell) -> str:
        """Returns a line such as `cell 3 of 17, switchback on luanti, block 3, about 12 min left (until 14:05)`."""
        left_s = sum(planned.seconds for planned in self._cells if not has_run(self._runs / planned.hash))
        position = [planned.hash for planned in self._cells].index(cell.hash) + 1
        until = time.strftime("%H:%M", time.localtime(time.time() + left_s))
        return f"cell {position} of {len(self._cells)}, {cell.title}, about {max(1, round(left_s / 60))} min left (until {until})"
