"""Figures: what is drawn is what the table says, nothing is cut, and the same table gives the same bytes."""

import re
from html import unescape

import altair as alt
import numpy as np
import pandas as pd
import pytest

from tickdisk import plot
from tickdisk.foundation.errors import TickdiskError
from tickdisk.plot.theme import decades, size_axis
from tickdisk.stats import slope

MS = 1_000_000
ARMS = ["ssd_100us", "ssd_100us_again", "latency_6ms"]
RNG = np.random.default_rng(1)


def _latency():
    return pd.DataFrame(
        [
            {
                "device": device,
                "op": op,
                "nominal_us": nominal,
                "p50_us": nominal + 20,
                "p99_us": nominal + 60,
                "p999_us": np.nan if op == "flush" else nominal + 200,
                "floor_limited": nominal < 20,
            }
            for device, nominal in (("scm", 7.0), ("nvme", 50.0), ("hdd", 6000.0))
            for op in ("read", "flush")
        ]
    )


def _epochs():
    rows = [(arm, latency, index) for index, (arm, latency) in enumerate([*zip(ARMS, (0.1, 0.1, 6.0), strict=True)] * 2)]
    return pd.DataFrame(
        [
            {
                "arm": arm,
                "latency_ms": latency,
                "start_ns": index * 5000 * MS,
                "steady_ns": (index * 5000 + 1500) * MS,
                "end_ns": (index + 1) * 5000 * MS,
            }
            for arm, latency, index in rows
        ]
    )


def _doses():
    dose = np.tile([0.1, 1.0, 6.0, 24.0], 6)
    return pd.DataFrame(
        {"latency_ms": dose, "gap_p95_ms": 95 + 3 * dose + RNG.normal(0, 3, 24), "life": np.repeat(np.arange(6), 4)}
    )


def _effects():
    return pd.DataFrame(
        [
            {
                "arm": "sham",
                "metric": "median tick gap",
                "ratio": 1.01,
                "low": 0.97,
                "high": 1.05,
                "n": 10,
                "verdict": "equivalent",
            },
            {
                "arm": "latency_6ms",
                "metric": "median tick gap",
                "ratio": 1.6,
                "low": 0.01,
                "high": 400.0,
                "n": 2,
                "verdict": "not valid",
            },
            {
                "arm": "sham",
                "metric": "join time",
                "ratio": np.nan,
                "low": np.nan,
                "high": np.nan,
                "n": 0,
                "verdict": "not valid",
            },
            {"arm": "latency_6ms", "metric": "join time", "ratio": 2.5, "low": 2.2, "high": 2.9, "n": 10, "verdict": "different"},
        ]
    )


def _runs():
    return pd.DataFrame(
        [
            {"life": block, "arm": arm, "join_p50_ms": level * (1 + block / 20)}
            for block in range(4)
            for arm, level in zip(ARMS, (1500.0, 1520.0, 2600.0), strict=True)
        ]
    )


def _dose_chart():
    rows = _doses()
    fit = slope(rows["latency_ms"], rows["gap_p95_ms"], rows["life"], at_ms=np.geomspace(0.1, 24, 30), alpha=0.05)
    return plot.dose_response([_dose("95th percentile of the tick gap", rows, fit)], margin=0.2, level=0.95)


def _dose(title, rows, fit=None):
    return plot.Dose(title, rows.rename(columns={"gap_p95_ms": "value"}), fit)


WORDS = dict(zip(ARMS, ("baseline", "A/A", "6 ms"), strict=True))


CHARTS = {
    "calibration latency": (
        lambda: plot.calibration_latency(_latency(), n="n = 20,000 requests"),
        ["Nominal latency (µs)", "Realised latency (µs)", "floor-limited", "n = 20,000 requests"],
    ),
    "iops": (
        lambda: plot.iops_over_depth(
            pd.DataFrame(
                {"device": "hdd", "depth": [1, 4, 16], "iops": [160.0, 640.0, 2500.0], "expected_iops": [166.0, 666.0, 2666.0]}
            ),
            order=["hdd"],
            n="2 s each",
        ),
        ["Queue depth (requests in flight)", "hdd", "2 s each"],
    ),
    "bandwidth": (
        lambda: plot.bandwidth(
            pd.DataFrame(
                {
                    "device": ["hdd", "memory"],
                    "op": "read",
                    "nominal_bytes_per_s": [150e6, 19.2e9],
                    "realised_bytes_per_s": [147e6, 3.4e9],
                    "floor_limited": [False, True],
                }
            ),
            n="2 s",
        ),
        ["147 of 150 MB/s", "3,400 of 19,200 MB/s, floor-limited"],
    ),
    "timeline": (
        lambda: plot.switchback_timeline(
            _epochs(),
            pd.DataFrame({"start_ns": np.arange(0, 30_000, 10) * MS, "gap_ms": 95.0}),
            budget_ms=90,
            words=WORDS,
        ),
        ["Tick gap (ms, log)", "n = 3,000 ticks", "the longest in each of 1,200 stretches shown", *WORDS.values()],
    ),
    "dose-response": (
        _dose_chart,
        ["Device latency (ms, log)", "ms per ms of latency", "n = 24 epochs at 4 latencies", "with the 95% band over lives"],
    ),
    "dots without a fit": (
        lambda: plot.dose_response([_dose("tick gap", _doses())], margin=0.2, level=0.95),
        ["Tick gap (ms)"],
    ),
    "tails": (
        lambda: plot.tails({arm: RNG.lognormal(4.6, 0.2, 3000) for arm in ARMS}, budget_ms=90),
        ["Tick gap (ms)", "step of 90 ms", "n = 3,000 per arm", *ARMS],
    ),
    "forest": (
        lambda: plot.forest(_effects(), margin=0.2, baseline="ssd_100us", level=0.95),
        ["not estimable", "not valid, n = 2", "different, n = 10", "2.50 [2.20, 2.90]", "Join time", "Median tick gap"],
    ),
    "joins": (
        lambda: plot.dots_by_arm(_runs(), "join_p50_ms", title="median join time", words=WORDS),
        ["Median join time (ms)", "n = 4 blocks", *WORDS.values()],
    ),
}


def _words(svg):
    return [unescape(text) for text in re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", svg)]


@pytest.mark.parametrize("name", CHARTS)
def test_figure_is_drawn_with_its_words_inside_the_frame(name):
    chart, words = CHARTS[name]
    svg = plot.to_svg(chart())
    texts = _words(svg)
    for word in words:
        assert any(word in text for text in texts), f"{word!r} is not in {texts}"
    assert not any(text.endswith("…") for text in texts), "a label was cut"
    assert not any(re.search(r"\de[+-]\d|NaN|Infinity|undefined", text) for text in texts), texts
    assert "http" not in svg.replace("http://www.w3.org", "")
    assert 'font-family="Liberation Sans' in svg


@pytest.mark.parametrize("name", ["timeline", "forest", "bandwidth"])
def test_the_same_table_gives_the_same_bytes(name, tmp_path):
    plot.save_svg(CHARTS[name][0](), tmp_path / "one.svg")
    plot.save_svg(CHARTS[name][0](), tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.svg", "two.svg"]


def test_png_is_written(tmp_path):
    plot.save_png(CHARTS["joins"][0](), tmp_path / "joins.png")
    assert (tmp_path / "joins.png").read_bytes().startswith(b"\x89PNG")


def _rows(chart):
    return {name: len(rows) for name, rows in chart.to_dict(format="vega-lite")["datasets"].items()}


def test_long_inputs_are_thinned_and_no_stall_is_lost():
    gap_ms = np.full(200_000, 95.0)
    gap_ms[123_456] = 4321.0
    epochs = _epochs()
    gaps = pd.DataFrame({"start_ns": np.linspace(0, 30_000 * MS - 1, 200_000).astype("int64"), "gap_ms": gap_ms})
    chart = plot.switchback_timeline(epochs, gaps, budget_ms=90, words=WORDS)
    assert max(_rows(chart).values()) <= 1200
    drawn = [row["gap_ms"] for rows in chart.to_dict()["datasets"].values() for row in rows if "gap_ms" in row]
    assert max(drawn) == 4321
    assert max(_rows(plot.tails({"a": np.random.default_rng(0).lognormal(4, 1, 300_000)}, budget_ms=90)).values()) <= 700


def test_dots_carry_the_table_and_lost_runs_are_counted():
    runs = _runs()
    runs.loc[2, "join_p50_ms"] = np.nan
    chart = plot.dots_by_arm(runs, "join_p50_ms", title="median join time", words=WORDS)
    values = sorted(row["value"] for rows in chart.to_dict()["datasets"].values() for row in rows if "life" in row)
    assert values == sorted(runs["join_p50_ms"].dropna())
    assert any("1 runs not estimable" in text for text in _words(plot.to_svg(chart)))


def test_a_median_beyond_all_known_tails_is_inside_the_frame():
    table = _latency().assign(p99_us=np.nan, p999_us=np.nan)
    table.loc[table["device"] == "hdd", "p50_us"] = 10 * table["p50_us"].max()
    chart = plot.calibration_latency(table, n="").to_dict()
    tops = [layer["encoding"]["y"]["scale"]["domain"][1] for layer in chart["layer"] if "scale" in layer["encoding"]["y"]]
    assert min(tops) > table["p50_us"].max()


def test_intervals_beyond_the_frame_are_cut_at_it_and_written_in_full():
    svg = plot.to_svg(plot.forest(_effects(), margin=0.2, baseline="ssd_100us", level=0.95))
    assert any("1.60 [0.0100, 400]" in text for text in _words(svg))


def _domain(chart, channel):
    """Returns the ends of the axes of a channel in all layers of a chart."""
    encodings = [layer.get("encoding", {}).get(channel, {}) for layer in chart["layer"]]
    return [encoding["scale"]["domain"] for encoding in encodings if "domain" in encoding.get("scale", {})]


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 30.0])
def test_all_ratios_and_latencies_of_servers_are_inside_the_frame(ratio):
    rows = pd.DataFrame(
        {
            "server": "one",
            "metric": ["tick gap", "join time"],
            "latency_ms": [0.1, 200.0],
            "ratio": ratio,
            "low": [ratio / 100, ratio * 0.9],
            "high": [np.nan, ratio * 100],
        }
    )
    panel = plot.server_effects(rows, margin=0.2).to_dict()["hconcat"][0]
    for low, high in _domain(panel, "y"):
        assert low < min(ratio, 1 / 1.2)
        assert max(ratio, 1.2) < high < 1000
    for low, high in _domain(panel, "x"):
        assert 0.05 < low < 0.1
        assert 200 < high < 300


def test_a_device_without_latency_has_a_place_on_the_logarithmic_axis():
    gaps = pd.DataFrame({"start_ns": np.arange(0, 30_000, 100) * MS, "gap_ms": 95.0})
    epochs = _epochs()
    epochs.loc[epochs["arm"] == ARMS[0], "latency_ms"] = 0.0
    chart = plot.switchback_timeline(epochs, gaps, budget_ms=90, words=WORDS).to_dict()
    drawn = [row["latency_ms"] for rows in chart["datasets"].values() for row in rows if "latency_ms" in row]
    ((low, high), *_) = _domain(chart["vconcat"][0], "y")
    assert low < min(drawn) < 0.1 < max(drawn) < high


def test_the_frame_of_fidelity_does_not_need_a_point_that_is_held_to_the_model():
    rows = pd.DataFrame({"device": "hdd", "depth": [1, 32], "quantile": "p99", "off_share": 3.0, "state": plot.BEYOND})
    panel = plot.fidelity_over_depth(rows, order=["hdd"], titles={"p99": "p99"}).to_dict()["hconcat"][0]
    assert all(np.isfinite(end) for ends in _domain(panel, "y") for end in ends)


@pytest.mark.parametrize(
    "draw",
    [
        lambda theme: plot.forest(_effects(), margin=0.2, baseline="x", level=0.95, theme=theme),
        lambda theme: plot.dose_response([_dose("tick gap", _doses())] * 2, margin=0.2, level=0.95, theme=theme),
        lambda theme: plot.lateness_tails({"Late": {"fio": RNG.lognormal(3, 1, 500)}}, limit_us=1000, theme=theme),
    ],
)
def test_a_figure_of_the_paper_has_the_width_of_its_place_and_no_title(draw):
    svg = plot.to_svg(draw(plot.PAPER))
    width = float(re.search(r'width="([0-9.]+)"', svg)[1])
    assert any(place * 0.85 < width < place * 1.1 for place in (plot.PAPER.column, plot.PAPER.page))
    assert not any(text.startswith(("Geometric", "n =", "Line")) for text in _words(svg))
    assert 'font-family="Libertinus Serif' in svg


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(80, 300, [100, 150, 200, 300]), (0.1, 24, [0.1, 0.2, 0.5, 1, 2, 5, 10, 20]), (1, 10_000, [1, 10, 100, 1000, 10_000])],
)
def test_log_axes_have_round_ticks(low, high, ticks):
    assert decades(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plot.forest(_effects().drop(columns="n"), margin=0.2, baseline="x", level=0.95), "no column n"),
        (lambda: plot.forest(_effects().iloc[:0], margin=0.2, baseline="x", level=0.95), "0 rows"),
        (lambda: plot.calibration_latency(pd.concat([_latency()] * 1000), n=""), "6000 rows; pass an aggregated table"),
        (lambda: plot.tails({"a": np.array([])}, budget_ms=90), "no arm has a value"),
        (
            lambda: plot.dots_by_arm(_runs().assign(join_p50_ms=np.nan), "join_p50_ms", title="join", words=WORDS),
            "no run has an estimable",
        ),
    ],
)
def test_tables_that_cannot_be_drawn_are_refused(draw, words):
    with pytest.raises(TickdiskError, match=words):
        draw()


@pytest.mark.parametrize(
    ("sizes_bytes", "written"),
    [
        ([0, 5_000], ["1 B", "16 B", "256 B", "4 KiB"]),
        ([4096, 16384], ["4 KiB", "16 KiB"]),
        ([4096, 6000], ["4 KiB"]),
        ([5000, 5100], ["4.88 KiB"]),
        ([512, 1 << 31], ["4 KiB", "64 KiB", "1 MiB", "16 MiB", "256 MiB"]),
    ],
)
def test_an_axis_of_sizes_writes_binary_units(sizes_bytes, written):
    rows = pd.DataFrame({"bytes": sizes_bytes}).clip(lower=1)
    chart = alt.Chart(rows).mark_point().encode(alt.X("bytes:Q", **size_axis(rows["bytes"])))
    assert [text for text in _words(plot.to_svg(chart)) if text.endswith("B")] == written
