"""Describes a load over time: rates and peaks, times between requests, queue length, latencies, and the period of bursts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.characterise.load import OPS, Load
from tickdisk.foundation.errors import TickdiskError

STRETCHES = 300
"""Number of stretches of equal length into which the time of a load is divided for figures."""
BINS = 2048
"""Number of such stretches in which bursts are looked for."""
_PEAK_S = (1.0, 0.1, 0.01)
"""Lengths of the window in which a peak is looked for. The first is taken of which a load has `_FEWEST_WINDOWS`."""
_FEWEST_WINDOWS = 10
_CLASSES_PER_DECADE = 4


@dataclass(frozen=True)
class Peaks:
    """The average and the peak of a load."""

    window_s: float
    """Length of the window in s whose rate is the peak. It is 1 s, or less for a load of less than 10 s."""
    average_iops: float
    peak_iops: float
    """Requests per second, over the whole time and in the busiest window."""
    average_mb_per_s: float
    peak_mb_per_s: float
    """Megabytes per second, over the whole time and in the busiest window. NaN if the trace has no sizes."""
    first_tenth: float
    """Share of all requests in the first tenth of the time."""

    @property
    def ratio(self) -> float:
        """The peak of the requests per second over their average."""
        return self.peak_iops / self.average_iops


def _seconds(load: Load) -> tuple[pd.DataFrame, np.ndarray, float]:
    """Returns the rows that have a time, their times in s, and the time in s of the whole load."""
    rows = load.having("at_ns")
    at_s = rows["at_ns"].to_numpy() / 1e9
    whole_s = float(at_s[-1])
    if whole_s <= 0:
        raise TickdiskError("not in the trace: a time between its first request and its last")
    return rows, at_s, whole_s


def stretch_of(at_s: np.ndarray, whole_s: float, stretches: int = STRETCHES) -> np.ndarray:
    """Returns the number of the stretch of time, from 0, in which each time lies. The times and the whole have the same unit."""
    return np.asarray(np.minimum((at_s / whole_s * stretches).astype("int64"), stretches - 1))


def rates(load: Load) -> pd.DataFrame:
    """Computes requests and bytes per second over time, and raises TickdiskError if the trace has no times.

    There is one row per op and stretch of time: op, at_s (middle of the stretch), iops and mb_per_s.
    """
    load.having("op")
    rows, at_s, whole_s = _seconds(load)
    stretch, long_s = stretch_of(at_s, whole_s), whole_s / STRETCHES
    parts = []
    for op in OPS:
        of_op = (rows["op"] == op).to_numpy()
        if of_op.any():
            sizes = rows["bytes"].fillna(0).to_numpy()[of_op]
            parts.append(
                pd.DataFrame(
                    {
                        "op": op,
                        "at_s": (np.arange(STRETCHES) + 0.5) * long_s,
                        "iops": np.bincount(stretch[of_op], minlength=STRETCHES) / long_s,
                        "mb_per_s": np.bincount(stretch[of_op], sizes, STRETCHES) / long_s / 1e6,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def peaks(load: Load) -> Peaks:
    """Computes the average and the peak rate of a load, whose ratio was up to 200 in games (Maruf et al. 2021).

    Raises TickdiskError if the trace has no times.
    """
    rows, at_s, whole_s = _seconds(load)
    window_s = next((length for length in _PEAK_S if whole_s >= _FEWEST_WINDOWS * length), whole_s)
    # The last request of a load that is one window long belongs to this window. Only windows with requests are kept.
    last = max(int(whole_s / window_s) - 1, 0) if whole_s < _FEWEST_WINDOWS * window_s else int(whole_s / window_s)
    _, window = np.unique(np.minimum((at_s / window_s).astype("int64"), last), return_inverse=True)
    sizes_mb = rows["bytes"].fillna(0 if rows["bytes"].notna().any() else np.nan).to_numpy() / 1e6
    return Peaks(
        window_s,
        len(rows) / whole_s,
        float(np.bincount(window).max()) / window_s,
        float(sizes_mb.sum()) / whole_s,
        float(np.bincount(window, sizes_mb).max()) / window_s,
        float((at_s < whole_s / 10).mean()),
    )


def gaps(load: Load) -> pd.DataFrame:
    """Counts the times between the starts of two requests that follow each other.

    There is one row per class of times, with four classes for each power of 10: ms (upper limit of the class), requests, and
    share (of all times up to this limit). Raises TickdiskError if the trace has no times, or fewer than two requests.
    """
    _, at_s, _ = _seconds(load)
    classes = _log_class(np.diff(at_s) * 1e3)
    counted = pd.Series(classes).value_counts().sort_index()
    table = pd.DataFrame({"ms": _class_ends(counted.index.to_numpy()), "requests": counted.to_numpy()})
    return table.assign(share=table["requests"].cumsum() / table["requests"].sum())


def latency_map(load: Load) -> pd.DataFrame:
    """Counts requests by time and latency, for a heat map.

    There is one row per stretch and class of latencies that has requests: at_s (start of the stretch), until_s, ms (upper limit
    of the class), and requests. There are 60 stretches, and four classes for each power of 10. Raises TickdiskError if the trace
    has no times or no latencies.
    """
    stretches = 60
    _, _, whole_s = _seconds(load)
    rows = load.having("at_ns", "latency_ns")
    stretch = stretch_of(rows["at_ns"].to_numpy() / 1e9, whole_s, stretches)
    classes = _log_class(rows["latency_ns"].to_numpy() / 1e6)
    keys, counts = np.unique(stretch * 1000 + (classes + 500), return_counts=True)
    long_s = whole_s / stretches
    at_s, ms = (keys // 1000) * long_s, _class_ends(keys % 1000 - 500)
    return pd.DataFrame({"at_s": at_s, "until_s": at_s + long_s, "ms": ms, "requests": counts})


def _log_class(ms: np.ndarray) -> np.ndarray:
    """Returns the number of the logarithmic class of each time. Times under 1 ns are in the class of 1 ns."""
    return np.asarray(np.ceil(np.log10(np.maximum(ms, 1e-6)) * _CLASSES_PER_DECADE - 1e-9), dtype="int64")


def _class_ends(classes: np.ndarray) -> np.ndarray:
    return np.asarray(10.0 ** (classes / _CLASSES_PER_DECADE))


def queue(load: Load) -> pd.DataFrame:
    """Computes how many requests are in progress over time, and raises TickdiskError if the trace has no times or no latencies.

    There is one row per stretch of time: at_s (middle), mean (average over the stretch) and most (largest number in it).
    """
    _, _, whole_s = _seconds(load)
    rows = load.having("at_ns", "latency_ns")
    begin_ns = rows["at_ns"].to_numpy()
    end_ns = begin_ns + rows["latency_ns"].to_numpy()
    at_ns = np.concatenate([end_ns, begin_ns])
    change = np.repeat(np.array([-1, 1]), len(rows))
    # At one instant, ends come before begins, so that requests one after another count as one.
    order = np.argsort(at_ns, kind="stable")
    at_s, length = at_ns[order] / 1e9, np.cumsum(change[order])
    # A request that takes no time ends before it begins, which the count must not show.
    length = np.maximum(length, 0)
    inside = at_s <= whole_s
    at_s, length = at_s[inside], length[inside]
    edges = np.linspace(0, whole_s, STRETCHES + 1)
    area = np.concatenate([[0.0], np.cumsum(length[:-1] * np.diff(at_s))])
    until = np.interp(edges, at_s, area)
    stretch = stretch_of(at_s, whole_s)
    most = np.zeros(STRETCHES)
    np.maximum.at(most, stretch, length)
    # The number at the beginning of a stretch is that after the last change before it.
    before = np.searchsorted(at_s, edges[:-1], side="right") - 1
    most = np.maximum(most, np.where(before >= 0, length[before], 0))
    return pd.DataFrame({"at_s": (edges[:-1] + edges[1:]) / 2, "mean": np.diff(until) / np.diff(edges), "most": most})


def data_over_time(load: Load) -> pd.DataFrame:
    """Computes the bytes of each type of data over time, for a load of a game server.

    There is one row per type and stretch of time: data, at_s (middle) and mb_per_s. Raises TickdiskError if the trace has no
    times, or the types of its data are not known.
    """
    _, _, whole_s = _seconds(load)
    rows = load.having("at_ns", "data", "bytes")
    stretch = stretch_of(rows["at_ns"].to_numpy() / 1e9, whole_s, STRETCHES // 3)
    long_s = whole_s / (STRETCHES // 3)
    table = rows.groupby(["data", stretch], observed=True)["bytes"].sum().rename_axis(["data", "stretch"]).reset_index()
    return table.assign(at_s=(table["stretch"] + 0.5) * long_s, mb_per_s=table["bytes"] / long_s / 1e6)[
        ["data", "at_s", "mb_per_s"]
    ]
