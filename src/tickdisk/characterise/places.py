"""Describes where a load reads and writes: hot areas, sequences, the working set, and how soon a page is accessed again."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk._native import reuse_distances
from tickdisk.characterise.load import Load
from tickdisk.characterise.times import stretch_of
from tickdisk.foundation.errors import TickdiskError

AREA_BYTES, PAGE_BYTES = 1 << 20, 4096
HOT_SHARE = 0.1
"""Share of the touched areas that are called hot."""
_MAP_BINS = 300
_WORKING_SET_STRETCHES = 100
_MOST_BYTES, _MOST_ADDRESS = float(1 << 47), float(1 << 62)
"""Bytes that a trace may move in all, and the largest address, for reuse distances to be looked at."""
_MOST_ACCESSES = 4_000_000
"""Number of accesses to single pages from which reuse distances are sampled."""


def laid_out(load: Load) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Lays the files or volumes of a load end to end, in the order of their first request.

    Returns the n rows of `load.moves` that have offset and size, the address in bytes of each row, shape (n,), and the first
    address of each category of `place`, which is NaN for a place without rows. The length of a file or volume is the largest end
    of a request in it, rounded up to areas. Raises TickdiskError if the trace has no offsets or no sizes.
    """
    rows = load.having("offset", "bytes")
    # A trace of one nameless volume has no places.
    codes = rows["place"].cat.codes.to_numpy().astype("int64") + 1
    ends = np.zeros(len(rows["place"].cat.categories) + 1)
    np.maximum.at(ends, codes, (rows["offset"] + rows["bytes"]).to_numpy())
    order = pd.unique(codes)
    lengths = np.ceil(ends[order] / AREA_BYTES).clip(min=1) * AREA_BYTES
    bases = np.full(len(ends), np.nan)
    bases[order] = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return rows, bases[codes] + rows["offset"].to_numpy(), bases[1:]


@dataclass(frozen=True)
class Locality:
    """The spread of the accesses of a load over areas of 1 MiB."""

    areas: int
    hot_ratio: float
    """Mean accesses of a hot area over mean accesses of another. Hot areas are the tenth with the most accesses."""
    hot_share: float
    """Share of all accesses that are to hot areas."""
    over_space: pd.DataFrame
    """Accesses over the address space: mib (middle of a stretch of the space) and requests, for at most 300 stretches."""
    concentration: pd.DataFrame
    """Share of accesses (`requests`) that go to the most accessed share of areas (`areas`), at up to 101 points."""


def locality(load: Load) -> Locality:
    """Counts the accesses to each area of 1 MiB of the files or volumes laid end to end (Maruf et al. 2021).

    A request counts for the area in which it begins. The ratio and the share of hot areas are NaN for fewer than ten areas.
    Raises TickdiskError if the trace has no offsets or no sizes.
    """
    _, address, _ = laid_out(load)
    areas, counts = np.unique((address // AREA_BYTES).astype("int64"), return_counts=True)
    ordered = np.sort(counts)[::-1]
    hot = int(len(ordered) * HOT_SHARE)
    ratio = float(ordered[:hot].mean() / ordered[hot:].mean()) if hot else np.nan
    share = float(ordered[:hot].sum() / ordered.sum()) if hot else np.nan
    edges = np.linspace(0, areas[-1] + 1, min(_MAP_BINS, int(areas[-1]) + 1) + 1)
    spread, _ = np.histogram(areas, edges, weights=counts)
    points = np.unique(np.linspace(0, len(ordered), 101).astype("int64"))
    gathered = np.concatenate([[0], np.cumsum(ordered)])[points] / ordered.sum()
    return Locality(
        len(areas),
        ratio,
        share,
        pd.DataFrame({"mib": (edges[:-1] + edges[1:]) / 2, "requests": spread}),
        pd.DataFrame({"areas": points / len(ordered), "requests": gathered}),
    )


def sequences(load: Load) -> pd.DataFrame:
    """Finds sequences, in which each request begins where the request before it in the same file or volume ended.

    There is one row per op: op, requests, later (requests that have another before them in their place), share_sequential (of
    these; NaN without any), sequences (their number, in which a single request is a sequence), mean_requests and mean_bytes (of a
    sequence). Raises TickdiskError if the trace has no offsets or no sizes.
    """
    rows = load.having("op", "offset", "bytes")
    place = rows["place"].cat.codes
    ends = (rows["offset"] + rows["bytes"]).groupby(place).shift()
    continues, begins = rows["offset"] == ends, ends.isna()
    operation = rows["op"].cat.codes
    same = operation == operation.groupby(place).shift()
    table = []
    for op, requests in rows.groupby("op", observed=True):
        follows, first = continues[requests.index], begins[requests.index]
        # A request that goes on after one of the other operation begins a sequence of its own operation.
        number = len(requests) - int((follows & same[requests.index]).sum())
        later = len(requests) - int(first.sum())
        table.append(
            {
                "op": op,
                "requests": len(requests),
                "later": later,
                "share_sequential": follows.sum() / later if later else np.nan,
                "sequences": number,
                "mean_requests": len(requests) / number,
                "mean_bytes": float(requests["bytes"].sum()) / number,
            }
        )
    return pd.DataFrame(table)


@dataclass(frozen=True)
class Reuse:
    """The time until pages of 4 KiB are accessed again, and the number of different pages that are accessed."""

    hits: pd.DataFrame
    """Hits of a cache that drops the page whose last access is the oldest: mib (its size), share (of accesses to pages that hit),
    low and high (interval if pages were sampled, else both the share)."""
    working_set: pd.DataFrame
    """Different pages in each stretch of time, in MiB: at_s (middle), mib, low and high. It is empty without times."""
    distinct_mib: float
    """Different pages in the whole trace, in MiB."""
    sample: int
    """One of this many pages was looked at. 1 means all."""


def reuse(load: Load, alpha: float, most: int = _MOST_ACCESSES) -> Reuse:
    """Measures reuse distances and working sets over pages of 4 KiB.

    The algorithm counts the pages between two accesses with a tree of sums (Bennett and Kruskal 1975). A trace with more than
    `most` accesses to single pages is sampled by page (Waldspurger et al. 2015), and Student's intervals over 16 random groups of
    pages, at confidence 1 - alpha, say how far off that can be. Raises TickdiskError if the trace has no offsets or no sizes, or
    no request moves a byte.
    """
    rows, address, _ = laid_out(load)
    sizes = rows["bytes"].to_numpy()
    if not (sizes.sum() < _MOST_BYTES and address.min() >= 0 and address.max() < _MOST_ADDRESS):
        raise TickdiskError("not in the trace: sizes and offsets that a disk can have")
    first = (address // PAGE_BYTES).astype("int64")
    pages = np.where(sizes > 0, ((address + sizes - 1) // PAGE_BYTES).astype("int64") - first + 1, 0)
    times_s = rows["at_ns"].ffill().to_numpy() / 1e9
    whole_s = float(np.nanmax(times_s)) if np.isfinite(times_s).any() else 0.0
    timed = whole_s > 0
    stretches = _WORKING_SET_STRETCHES if timed else 1
    stretch = stretch_of(times_s, whole_s, stretches) if timed else np.zeros(len(rows), dtype="int64")
    stretch = stretch.clip(0, stretches - 1)
    shift, again, new, distinct = reuse_distances(first.tobytes(), pages.tobytes(), stretch.tobytes(), stretches, most)
    counts, fresh, seen = np.array(again, dtype=float), np.array(new, dtype=float), np.array(distinct, dtype=float)
    used = np.flatnonzero(counts.sum(axis=0))
    last = int(used[-1]) if len(used) else 0
    mib_of_page = PAGE_BYTES / (1 << 20)
    classes = np.arange(last + 1)
    # Class k has distances below 2^k, which a cache of 2^k pages hits.
    hit = np.cumsum(counts[:, : last + 1], axis=1)
    total = counts.sum(axis=1) + fresh
    share = hit.sum(axis=0) / max(total.sum(), 1.0)
    low, high = _ratio_interval(hit, total, alpha) if shift else (share, share)
    hits = pd.DataFrame({"mib": 2.0**classes * mib_of_page, "share": share, "low": low.clip(0), "high": high.clip(max=1)})
    scale = mib_of_page * 2**shift
    working = pd.DataFrame(columns=["at_s", "mib", "low", "high"], dtype=float)
    if timed:
        mib = seen.sum(axis=0) * scale
        half = _total_error(seen, alpha) * scale if shift else np.zeros_like(mib)
        at_s = (np.arange(stretches) + 0.5) * whole_s / stretches
        working = pd.DataFrame({"at_s": at_s, "mib": mib, "low": (mib - half).clip(0), "high": mib + half})
    return Reuse(hits, working, float(fresh.sum()) * scale, 2**shift)


def _ratio_interval(hit: np.ndarray, total: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ends of the interval of a share over groups, by the spread of the residuals of a ratio (Cochran 1977, 6.3)."""
    groups = len(total)
    ratio = hit.sum(axis=0) / max(total.sum(), 1.0)
    residual = hit - ratio * total[:, None]
    error = np.sqrt(groups / (groups - 1) * (residual**2).sum(axis=0)) / max(total.sum(), 1.0)
    half = stats.half_length(error, groups, alpha)
    return ratio - half, ratio + half


def _total_error(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Returns half the length of the interval of the sum of each column, from the spread over its rows."""
    groups = len(counts)
    return stats.half_length(counts.std(axis=0, ddof=1) * np.sqrt(groups), groups, alpha)
