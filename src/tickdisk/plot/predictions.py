"""Figure of predicted over measured effects."""

from textwrap import wrap
from typing import Any

import altair as alt
import pandas as pd

from tickdisk.plot.theme import MUTED, NOTEBOOK, Theme, checked, colour_and_shape, finish, log_axis, row


def predicted_and_measured(rows: pd.DataFrame, *, margin: float, theme: Theme = NOTEBOOK) -> Any:
    """Draws predicted ratios over measured ones, with a row of panels for each method and a column for each server.

    The columns are server, method, metric, is_held_out (whether no rule of the prediction had seen the disk), measured and ratio.
    Both ratios are those of a slower disk to the fast one. A ratio that is NaN is not drawn. A right prediction lies on the
    diagonal. The margin of equivalence is shaded. To the left and to the right of it, an effect was measured.
    """
    table = checked(rows, ["server", "method", "metric", "is_held_out", "measured", "ratio"], "predictions").dropna()
    servers, methods, metrics = (list(dict.fromkeys(table[name])) for name in ("server", "method", "metric"))
    ends = pd.concat([table["measured"], table["ratio"]])
    axis = log_axis(ends, 1.0)
    low, high = axis["scale"]["domain"]
    lines = []
    for method in methods:
        panels: list[Any] = []
        for server in servers:
            own = table[(table["server"] == server) & (table["method"] == method)]
            is_last = method == methods[-1]
            x = alt.X("measured:Q", title="Measured ratio (log)" if is_last else None, **axis)
            y = alt.Y("ratio:Q", title=wrap(f"By {method}", 20) if not panels else None, **axis)
            band = row(low=1 / (1 + margin), high=1 + margin).mark_rect(style="margin", clip=True)
            panel = alt.layer(
                band.encode(alt.X("low:Q", **axis), x2="high:Q"),
                alt.Chart(pd.DataFrame({"measured": [low, high], "ratio": [low, high]}))
                .mark_line(color=MUTED, strokeWidth=theme.scale * 0.7)
                .encode(x, y),
                *(
                    alt.Chart(own[own["is_held_out"] == is_held_out])
                    .mark_point(size=theme.area(22), opacity=0.9 if is_held_out else 0.35)
                    .encode(x, y, *colour_and_shape(metrics, "metric"))
                    for is_held_out in (False, True)
                ),
            )
            size = {"width": theme.panel_width(len(servers), 26 * len(servers)), "height": 95 * theme.height}
            panels.append(panel.properties(**size, title=server if method == methods[0] else ""))
        lines.append(alt.hconcat(*panels))
    words = (
        "A point is a metric on a disk. Pale: the rules of the prediction had seen the disk.",
        "Line: a right prediction. Grey: a measured ratio within the margin.",
    )
    return finish(alt.vconcat(*lines), "Predicted and measured effects of slower disks", words, theme=theme)
