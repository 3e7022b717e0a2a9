"""Sums a load up in numbers, and several runs of it in means."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from tickdisk import stats
from tickdisk.characterise.amounts import amounts, quantile, size_class
from tickdisk.characterise.load import OPS, Load
from tickdisk.characterise.period import period
from tickdisk.characterise.places import locality, sequences
from tickdisk.characterise.syncs import syncs
from tickdisk.characterise.times import peaks, queue
from tickdisk.foundation.errors import TickdiskError

_TAIL = 0.99

NUMBERS: Mapping[str, tuple[str, str]] = {
    "syncs": ("requests", "syncs, which wait until what was written is stored"),
    "sync_total_ms": ("ms", "time of all syncs together"),
    "sync_p50_ms": ("ms", "median latency of a sync"),
    "sync_p99_ms": ("ms", "99th percentile of the latency of a sync"),
    "share_sync_time": ("share", "time in which a sync is in progress, of the whole time"),
    "reads": ("requests", "reads"),
    "writes": ("requests", "writes"),
    "share_reads": ("share", "share of reads among reads and writes"),
    "share_read_bytes": ("share", "share of bytes read among bytes read and written"),
    "share_read_time": ("share", "share of reads in the time that reads and writes take"),
    "p50_bytes": ("bytes", "median size"),
    "p25_bytes": ("bytes", "lower quartile of the size"),
    "p75_bytes": ("bytes", "upper quartile of the size"),
    "share_sequential": ("share", "requests that begin where the one before in their file or volume ended"),
    "hot_ratio": ("ratio", "accesses of a hot area of 1 MiB over those of another"),
    "seconds": ("s", "time from the first request to the last"),
    "average_iops": ("requests/s", "requests per second on average"),
    "peak_iops": ("requests/s", "requests per second in the busiest window"),
    "peak_ratio": ("ratio", "requests per second in the busiest window over the average"),
    "average_mb_per_s": ("MB/s", "megabytes per second on average"),
    "peak_mb_per_s": ("MB/s", "megabytes per second in the busiest window"),
    "first_tenth": ("share", "requests in the first tenth of the time"),
    "queue_mean": ("", "requests in progress on average"),
    "queue_most": ("", "requests in progress at most"),
    "p50_ms": ("ms", "median latency"),
    "p99_ms": ("ms", "99th percentile of latency"),
    "tail_ratio": ("ratio", "99th percentile of the latency of the largest requests over that of the smallest"),
    "read_period_s": ("s", "period of bursts of reads"),
    "write_period_s": ("s", "period of bursts of writes"),
}
"""The numbers that sum a load up, with unit and description."""


def summary(load: Load) -> dict[str, float]:
    """Returns a value for each of `NUMBERS`. It is NaN if the trace does not tell it."""
    values = dict.fromkeys(NUMBERS, np.nan)
    for compute in _GROUPS:
        with suppress(TickdiskError):
            values |= compute(load)
    return values


def _syncs(load: Load) -> dict[str, float]:
    found = syncs(load)
    every = found.table.iloc[-1]
    return {
        "syncs": float(every["requests"]),
        **{f"sync_{name}": float(every[name]) for name in ("total_ms", "p50_ms", "p99_ms")},
        "share_sync_time": found.share_of_time,
    }


def _amounts(load: Load) -> dict[str, float]:
    table = amounts(load)
    requests, share, share_bytes = (table[name].to_dict() for name in ("requests", "share_requests", "share_bytes"))
    return {
        "reads": float(requests["read"]),
        "writes": float(requests["write"]),
        "share_reads": share["read"],
        "share_read_bytes": share_bytes["read"],
    }


def _sizes(load: Load) -> dict[str, float]:
    low, middle, high = load.having("bytes")["bytes"].quantile([0.25, 0.5, 0.75])
    return {"p25_bytes": low, "p50_bytes": middle, "p75_bytes": high}


def _places(load: Load) -> dict[str, float]:
    table = sequences(load)
    later = table["later"]
    share = float((table["share_sequential"].fillna(0) * later).sum() / later.sum()) if later.sum() else np.nan
    return {"share_sequential": share, "hot_ratio": locality(load).hot_ratio}


def _times(load: Load) -> dict[str, float]:
    rates = peaks(load)
    return {
        "seconds": load.seconds,
        "average_iops": rates.average_iops,
        "peak_iops": rates.peak_iops,
        "peak_ratio": rates.ratio,
        "average_mb_per_s": rates.average_mb_per_s,
        "peak_mb_per_s": rates.peak_mb_per_s,
        "first_tenth": rates.first_tenth,
    }


def _periods(load: Load) -> dict[str, float]:
    return {f"{op}_period_s": burst.period_s for op in OPS if (burst := period(load, op)) is not None}


def _queue(load: Load) -> dict[str, float]:
    table = queue(load)
    return {"queue_mean": float(table["mean"].mean()), "queue_most": float(table["most"].max())}


def _latencies(load: Load) -> dict[str, float]:
    ms = load.having("latency_ns")["latency_ns"].to_numpy() / 1e6
    return {f"p{100 * q:.0f}_ms": quantile(ms, q) for q in (0.5, _TAIL)}


def _read_time(load: Load) -> dict[str, float]:
    times = load.having("op", "latency_ns").groupby("op", observed=False)["latency_ns"].sum()
    return {"share_read_time": float(times["read"] / times.sum()) if times.sum() > 0 else np.nan}


def _tail(load: Load) -> dict[str, float]:
    """Returns the 99th percentile of latency of the largest class of `SIZES` over that of the smallest, of reads and writes
    together.

    Classes with too few requests for a 99th percentile are left out. The ratio is NaN if fewer than two classes are left.
    """
    rows = load.having("latency_ns", "bytes")
    classes = rows.groupby(size_class(rows["bytes"]), observed=True)["latency_ns"]
    tails = [tail for _, latency_ns in classes if np.isfinite(tail := quantile(latency_ns.to_numpy(), _TAIL))]
    return {"tail_ratio": tails[-1] / tails[0] if len(tails) > 1 and tails[0] > 0 else np.nan}


_GROUPS: tuple[Callable[[Load], dict[str, float]], ...] = (
    *(_syncs, _read_time, _amounts, _sizes, _places, _times, _periods, _queue, _latencies, _tail),
)
"""Parts of the numbers. If the trace does not tell what one part needs, the other parts are still computed."""


def over_runs(summaries: Sequence[Mapping[str, float]], alpha: float) -> dict[str, stats.Mean]:
    """Computes the mean of each of `NUMBERS` over the runs that have it, with intervals of confidence 1 - alpha.

    With one such run there is no interval. The ends of intervals are clipped at 0, and for shares at 1, because no value can lie
    beyond.
    """
    means = {}
    for name, (unit, _) in NUMBERS.items():
        mean, most = stats.over_lives([values[name] for values in summaries], alpha), 1.0 if unit == "share" else np.inf
        means[name] = replace(mean, low=float(np.clip(mean.low, 0, most)), high=float(np.clip(mean.high, 0, most)))
    return means
