"""Figures of storage accesses: what is drawn is what the table says, long tables are thinned, and nothing is cut."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from tickdisk import TickdiskError, plot
from tickdisk.accesses import FittedLine

RNG = np.random.default_rng(5)
N = 40_000


def _cumulative():
    at_s = np.sort(RNG.uniform(0, 60, N))
    rows = pd.DataFrame({"data": RNG.choice(["terrain", "player"], N), "op": RNG.choice(["read", "write"], N), "at_s": at_s})
    return rows.assign(bytes=rows.assign(b=4096).groupby(["data", "op"])["b"].cumsum())


def _sizes():
    rows = [("terrain", "read", "4 KiB", 300), ("terrain", "read", "under 64 B", 100), ("player", "write", "4 KiB", 50)]
    return pd.DataFrame(rows, columns=["data", "op", "size", "requests"])


def _offsets():
    return pd.DataFrame(
        {"at_s": RNG.uniform(0, 60, N), "offset": RNG.integers(0, 30 << 20, N), "op": RNG.choice(["read", "write"], N)}
    )


def _points():
    regions = np.tile([5.0, 10.0, 20.0], 4)
    rows = pd.DataFrame({"kind": "teleports", "life": np.repeat(list("abcd"), 3), "regions": regions, "reads": 130 * regions})
    return pd.concat([rows, rows.assign(kind="joins", reads=140 * regions)])


LINES = {
    "joins": FittedLine(140.0, np.nan, np.nan, 0.0, 0.99, 12, 1),
    "teleports": FittedLine(130.0, 125.2, 134.8, 4.0, 0.998, 12, 4),
}


def _windows():
    at_s = np.arange(1.5, 60, 1.5)
    one = pd.DataFrame({"at_s": at_s, "observed": RNG.poisson(500, at_s.size), "predicted": 500.0})
    return pd.concat([one.assign(life="block 5"), one.assign(life="block 6")])


CHARTS = {
    "cumulative": (
        lambda: plot.cumulative_accesses(_cumulative(), saves_s=[1.0, 2.5, 4.0, 99.0], life="block 1"),
        ["Read so far (MB)", "Written so far (MB)", "One server life (block 1); triangles: its 3 saves", "terrain", "player"],
    ),
    "sizes": (
        lambda: plot.access_sizes(_sizes()),
        ["Reads (n = 400)", "Writes (n = 50)", "under 64 B", "4 KiB", "Share of reads", "Share of writes"],
    ),
    "offsets": (
        lambda: plot.offset_time(_offsets(), store="map.sqlite"),
        ["Offset in the file (MiB)", "n = 40,000 reads and writes of map.sqlite", "read", "write"],
    ),
    "regions": (
        lambda: plot.accesses_over_regions(_points(), LINES),
        ["130 [125, 135] reads per region", "140 reads per region", "R² = 0.998, n = 12 phases", "Teleports", "Joins"],
    ),
    "predicted": (
        lambda: plot.predicted_observed(_windows()),
        ["n = 78 windows between saves in 2 lives that the model was not fitted to", "observed", "predicted", "block 5"],
    ),
}


def _words(chart):
    return [unescape(text) for text in re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", plot.to_svg(chart))]


def _tables(chart):
    return [pd.DataFrame(rows) for rows in chart.to_dict(format="vega-lite")["datasets"].values()]


@pytest.mark.parametrize("name", CHARTS)
def test_a_figure_is_drawn_with_its_words(name):
    chart, words = CHARTS[name]
    texts = _words(chart())
    for word in words:
        assert any(word in text for text in texts), f"{word!r} is not in {texts}"
    assert not any(text.endswith("…") for text in texts), "a label was cut"
    assert not any(re.search(r"\de[+-]\d|NaN|Infinity|undefined", text) for text in texts), texts


def test_long_tables_are_thinned_and_keep_their_end():
    table = _cumulative()
    lines = [frame for frame in _tables(plot.cumulative_accesses(table, saves_s=[], life="x")) if "mb" in frame]
    assert max(map(len, lines)) <= 2 * 401
    for (data, op), own in table.groupby(["data", "op"]):
        drawn = pd.concat(lines)
        drawn = drawn[(drawn["data"] == data) & (drawn["op"] == op)]
        assert drawn["mb"].max() == pytest.approx(own["bytes"].max() / 1e6)


def test_no_corner_of_the_file_is_left_out():
    table = _offsets()
    (dots,) = [frame for frame in _tables(plot.offset_time(table, store="x")) if "mib" in frame]
    assert len(dots) <= 5000
    for op, own in table.groupby("op"):
        drawn = dots[dots["op"] == op]
        assert abs(drawn["at_s"].max() - own["at_s"].max()) < 2
        assert abs(drawn["mib"].max() - own["offset"].max() / 2**20) < 2
        assert drawn["mib"].min() < 2


def test_shares_of_a_direction_add_up_to_one():
    bars = pd.concat([frame for frame in _tables(plot.access_sizes(_sizes())) if "share" in frame])
    assert bars.groupby("op")["share"].sum().to_dict() == {"read": 1.0, "write": 1.0}
    assert bars.set_index(["data", "op", "size"]).loc[("terrain", "read", "4 KiB"), "share"] == 0.75


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plot.access_sizes(_sizes().iloc[:0]), "0 rows"),
        (lambda: plot.accesses_over_regions(_points().drop(columns="reads"), LINES), "no column reads"),
        (lambda: plot.predicted_observed(_windows().iloc[:0]), "0 rows"),
    ],
)
def test_tables_that_cannot_be_drawn_are_refused(draw, words):
    with pytest.raises(TickdiskError, match=words):
        draw()
