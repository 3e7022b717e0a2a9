"""Figure of how late requests were issued in a replay, at the width of a column."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.plot.paper.place import COLUMN, finish
from tickdisk.plot.theme import checked, colour, log_scale
from tickdisk.stats import ecdf

_POINTS, _AXES, _HEIGHT = 200, 36, 100
_LEAST_US = 1.0
"""Left end of the logarithmic axis. Smaller values are drawn there."""


def lateness(parts: Mapping[str, NDArray[np.float64]]) -> Any:
    """Draws the share of requests that were issued later than x, on two logarithmic axes.

    `parts` has the time of issue less the due time of each request in us, by replayer. Values below 1 us are drawn at 1 us.
    """
    frames = []
    for name, values in parts.items():
        at, share = ecdf(np.maximum(values, _LEAST_US), _POINTS)
        frames.append(pd.DataFrame({"replay": name, "us": at, "above": 1 - share}))
    table = pd.concat(frames, ignore_index=True)
    lowest = 0.8 / max(len(values) for values in parts.values())
    table = checked(table[table["above"] > lowest / 2], ["replay", "us", "above"], "lateness")
    x_scale, ticks = log_scale(table["us"], pad=1.1)
    x = alt.X("us:Q", scale=x_scale, title="Issued later than due by (µs, log)", axis=alt.Axis(values=ticks[::1], format="~s"))
    shares = [10.0**exponent for exponent in range(-6, 1) if 10.0**exponent >= lowest]
    y = alt.Y(
        "above:Q",
        title="Share later than x (log)",
        scale=alt.Scale(type="log", domain=[lowest, 1], nice=False),
        axis=alt.Axis(values=shares, format="~%"),
    )
    lines = (
        alt.Chart(table).mark_line(interpolate="step-after", strokeWidth=1.2).encode(x, y, color=colour(list(parts), "replay"))
    )
    return finish(lines.properties(width=COLUMN - _AXES, height=_HEIGHT))
