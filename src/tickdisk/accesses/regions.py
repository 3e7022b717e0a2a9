"""Accesses over the number of regions, with a line through them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from tickdisk.accesses.life import Life, counts, interactions
from tickdisk.stats import over_lives

ARRIVALS = {"joins": "server join", "teleports": "position change"}
"""Phases in which players come to places where nobody has been, and what they do."""


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x; what the points do not give is NaN."""

    slope: float
    low: float
    high: float
    """Student's interval over the slopes of lives; with one life that of its least squares."""
    intercept: float
    r_squared: float
    points: int
    lives: int


def region_points(lives: Sequence[Life]) -> pd.DataFrame:
    """Returns life, kind (joins or teleports), regions, requests, reads (of terrain) of every phase in which players arrive.

    A region is a place: the chunk of 5 x 5 x 5 map blocks around where a player joins or is teleported to, each used once. One
    that is still loading at the end of a phase counts in parts, as its requests do.
    """
    rows = []
    for life in lives:
        for phase in life.phases[life.phases["name"].isin(list(ARRIVALS))].itertuples():
            edges = np.array([phase.start_ns, phase.end_ns], dtype="int64")
            found = counts(life.accesses, edges).iloc[0]
            rows.append(
                {
                    "life": life.name,
                    "kind": phase.name,
                    "regions": float(interactions(life, edges)[ARRIVALS[str(phase.name)]].iloc[0]),
                    "requests": float(found.sum()),
                    "reads": float(found.get(("terrain", "read"), 0.0)),
                }
            )
    return pd.DataFrame(rows, columns=["life", "kind", "regions", "requests", "reads"])


def line(points: pd.DataFrame, y: str = "requests", x: str = "regions", alpha: float = 0.05) -> Line:
    """Returns the least-squares line of `y` over `x`.

    The slope is the mean of the slopes of lives (column life), the unit of analysis; R^2 is that of all points together.
    """
    lives = [own for _, own in points.groupby("life") if np.ptp(own[x]) > 0]
    if not lives:
        return Line(nan, nan, nan, nan, nan, len(points), 0)
    fits = [stats.linregress(own[x], own[y]) for own in lives]
    slope = over_lives([fit.slope for fit in fits], alpha)
    low, high = slope.low, slope.high
    if len(fits) == 1 and len(lives[0]) > 2:  # noqa: PLR2004 - a line through two points has no error
        half = float(stats.t.ppf(1 - alpha / 2, len(lives[0]) - 2)) * float(fits[0].stderr)
        low, high = slope.value - half, slope.value + half
    intercept = float(points[y].mean() - slope.value * points[x].mean())
    r_squared = float(stats.linregress(points[x], points[y]).rvalue ** 2)
    return Line(slope.value, low, high, intercept, r_squared, len(points), len(fits))


def ratio_of_rates(points: pd.DataFrame, y: str = "requests") -> NDArray[np.float64]:
    """Returns, one value a life, the log of: `y` per region in the phase with most regions over that in the phase with fewest.

    Zero when the number is in proportion to that of regions. Lives without two such phases are not there.
    """
    per_region = points.assign(each=points[y] / points["regions"])[points["regions"] > 0].sort_values("regions")
    ends = per_region.groupby("life")["each"].agg(["first", "last", "size"])
    ends = ends[(ends["size"] > 1) & (ends[["first", "last"]] > 0).all(axis=1)]
    return np.asarray(np.log(ends["last"] / ends["first"]))
