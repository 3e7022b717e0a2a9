"""Fits a line to the number of accesses over the number of regions that players come to."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from tickdisk.accesses.life import AccessesOfLife, counts, interactions
from tickdisk.stats import half_length, over_lives

ARRIVALS = {"joins": "server join", "teleports": "position change"}
"""Phases in which players come to places where no player has been, with the interaction that takes place in each."""


@dataclass(frozen=True)
class FittedLine:
    """The number of accesses over the number of regions, as `line` fits it: accesses = intercept + slope x regions.

    A number that the points cannot give is NaN.
    """

    slope: float
    """Mean over lives of the number of accesses that one more region costs."""
    low: float
    high: float
    """Ends of Student's interval over the slopes of lives. For one life it is the interval of the least-squares slope."""
    intercept: float
    r_squared: float
    """Squared correlation of all points together."""
    points: int
    lives: int
    """Number of lives that have a slope."""


def region_points(lives: Sequence[AccessesOfLife]) -> pd.DataFrame:
    """Counts the regions and the accesses of every phase in which players arrive at new places, to fit a `line` to them.

    There is one row per phase, with life, kind (joins or teleports), regions, requests (of all kinds) and reads (of terrain). A
    region is a place: the chunk of 5 x 5 x 5 map blocks around the position at which a player joins or to which a player is
    teleported. Each place is used once. If a region is still loading at the end of a phase, only a part of it counts, as only a
    part of its requests does.
    """
    rows = []
    for life in lives:
        for phase in life.phases[life.phases["name"].isin(list(ARRIVALS))].itertuples():
            edges = np.array([phase.start_ns, phase.end_ns], dtype="int64")
            requests = counts(life.accesses, edges).iloc[0]
            rows.append(
                {
                    "life": life.name,
                    "kind": phase.name,
                    "regions": float(interactions(life, edges)[ARRIVALS[str(phase.name)]].iloc[0]),
                    "requests": float(requests.sum()),
                    "reads": float(requests.get(("terrain", "read"), 0.0)),
                }
            )
    return pd.DataFrame(rows, columns=["life", "kind", "regions", "requests", "reads"])


def line(points: pd.DataFrame, y: str = "requests", x: str = "regions", *, alpha: float) -> FittedLine:
    """Fits a least-squares line to the number of accesses (column `y`) over the number of regions (column `x`), within each life.

    The slope is the mean of the slopes of lives, because the life is the unit of analysis, and its interval has confidence 1 -
    alpha. A life without two different values of `x` has no slope. If no life has a slope, all numbers are NaN.
    """
    lives = [rows for _, rows in points.groupby("life") if np.ptp(rows[x]) > 0]
    if not lives:
        return FittedLine(nan, nan, nan, nan, nan, len(points), 0)
    fits = [stats.linregress(rows[x], rows[y]) for rows in lives]
    slope = over_lives([fit.slope for fit in fits], alpha)
    low, high = slope.low, slope.high
    if len(fits) == 1 and len(lives[0]) > 2:  # noqa: PLR2004 - a line through two points has no error
        half = float(half_length(fits[0].stderr, len(lives[0]) - 1, alpha))
        low, high = slope.value - half, slope.value + half
    intercept = float(points[y].mean() - slope.value * points[x].mean())
    r_squared = float(stats.linregress(points[x], points[y]).rvalue ** 2)
    return FittedLine(slope.value, low, high, intercept, r_squared, len(points), len(fits))


def ratio_of_rates(points: pd.DataFrame, y: str = "requests") -> NDArray[np.float64]:
    """Compares the accesses per region in the phase with most regions with those in the phase with fewest, in each life.

    Returns the natural logarithm of the ratio, one value per life. It is zero if accesses are in proportion to regions. Lives
    that do not have two phases with regions, or have no accesses in one of the two, are left out.
    """
    per_region = points.assign(each=points[y] / points["regions"])[points["regions"] > 0].sort_values("regions")
    ends = per_region.groupby("life")["each"].agg(["first", "last", "size"])
    ends = ends[(ends["size"] > 1) & (ends[["first", "last"]] > 0).all(axis=1)]
    return np.asarray(np.log(ends["last"] / ends["first"]))
