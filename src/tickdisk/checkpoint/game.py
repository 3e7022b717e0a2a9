"""Knights and Archers, played by the native core, to look into.

The rules that the paper does not give are in `src/native/src/checkpoint/game.rs`, whose first lines say which.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import _native
from tickdisk.errors import TickdiskError

UNITS = 400_128
SQUAD = 64
ATTRIBUTES = (
    "team",
    "kind",
    "squad",
    "x",
    "y",
    "health",
    "ready_at",
    "target",
    "strength",
    "reach",
    "rest",
    "kills",
    "deaths",
)
KINDS = ("knight", "archer", "healer")


class KnightsAndArchers:
    """A game of so many units, the same for the same seed: 400,128 of 13 attributes, unless told otherwise.

    Two teams with bases; knights attack and pursue who is near, archers attack and stay near allies, healers heal the weakest;
    units cluster into squads; a tenth is active at a time, renewed within 100 ticks with high probability.
    """

    def __init__(self, seed: int = 42, units: int = UNITS) -> None:
        if units <= 0 or units % (2 * SQUAD):
            raise TickdiskError(
                f"{units} units: a game has as many squads of {SQUAD} in both teams; give a multiple of {2 * SQUAD}"
            )
        self._game = _native.KnightsAndArchers(units, seed)

    def step(self) -> npt.NDArray[np.uint32]:
        """Plays a tick; returns the updated cells (unit x 13 + attribute) in the order in which they were updated."""
        return np.frombuffer(self._game.step(), dtype="<u4")

    def units(self) -> pd.DataFrame:
        """Returns the table of units: a row a unit, a column each of ATTRIBUTES; `kind` by number, as in KINDS."""
        values = np.frombuffer(self._game.values(), dtype="<i4").reshape(-1, len(ATTRIBUTES))
        return pd.DataFrame(values, columns=list(ATTRIBUTES))

    def active(self) -> npt.NDArray[np.uint32]:
        """Returns the units that are active in the next tick."""
        return np.frombuffer(self._game.active(), dtype="<u4")
