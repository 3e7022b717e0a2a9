"""The game Knights and Archers, whose units are a state that the simulated algorithms save (`GameTrace`).

The paper of Vaz Salles et al. (VLDB 2009) does not give all of its rules. The first lines of `src/native/src/checkpoint/game.rs`
say which rules were added.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import _native
from tickdisk.foundation.errors import TickdiskError

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
"""Attributes of a unit, in the order of its cells. `ready_at` is the first tick in which the unit can act again. `target` is the
unit that it last pursued, struck or healed, or -1. `strength` is the health that a strike takes or a healing gives, `reach` its
largest distance in fields, and `rest` the number of ticks after it in which the unit cannot act.
"""


class KnightsAndArchers:
    """A game of two teams, each with a base, that march against each other. It is played tick by tick, to be inspected.

    Knights attack and pursue enemies that are near, archers attack and stay near allies, and healers heal the weakest ally. Units
    form squads. A tenth of the units is active at a time, and all active units are replaced within 100 ticks with high
    probability. The same seed gives the same game. Raises TickdiskError if `units` is not a positive multiple of 128.
    """

    def __init__(self, seed: int = 42, units: int = UNITS) -> None:
        if units <= 0 or units % (2 * SQUAD):
            raise TickdiskError(
                f"{units} units do not make two teams with the same number of squads of {SQUAD}; give a multiple of {2 * SQUAD}"
            )
        self._game = _native.KnightsAndArchers(units, seed)

    def step(self) -> npt.NDArray[np.uint32]:
        """Plays the next tick, and returns the updated cells in the order of updates. A cell is unit x 13 + attribute."""
        return np.frombuffer(self._game.step(), dtype="<u4")

    def units(self) -> pd.DataFrame:
        """Returns the units after the last tick, one a row, with the columns ATTRIBUTES.

        `kind` is 0 for a knight, 1 for an archer, and 2 for a healer.
        """
        values = np.frombuffer(self._game.values(), dtype="<i4").reshape(-1, len(ATTRIBUTES))
        return pd.DataFrame(values, columns=list(ATTRIBUTES))

    def active(self) -> npt.NDArray[np.uint32]:
        """Returns the numbers of the units that are active in the next tick. Only active units move, strike and heal."""
        return np.frombuffer(self._game.active(), dtype="<u4")
