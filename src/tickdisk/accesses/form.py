"""Describes the form of accesses: their sizes, the shares of reads and writes, and whether they are sequential or random."""

import numpy as np
import pandas as pd

_KIB = 1024
SIZES = {
    "under 64 B": 64,
    "64 to 511 B": 512,
    "512 B to under 4 KiB": 4 * _KIB,
    "4 KiB": 4 * _KIB + 1,
    "over 4, under 8 KiB": 8 * _KIB,
    "8 KiB": 8 * _KIB + 1,
    "over 8 KiB": np.inf,
}
"""Upper limit in bytes of each class of request sizes, by name. The limit itself is too large for the class."""
PUBLISHED_SIZES = ("4 KiB", "8 KiB")
"""Size classes that have most of the requests according to PokeSto."""


def transfers(accesses: pd.DataFrame) -> pd.DataFrame:
    """Returns the accesses that move data, which are the reads and writes. Syncs are left out."""
    return accesses[accesses["op"] != "sync"]


def sequential(accesses: pd.DataFrame) -> pd.Series:
    """Returns whether each read or write begins where the read or write before it in the same file ended.

    Reads and writes of a file are taken together, in order of time. The definition is that of PokeSto: previous offset + previous
    length == current offset, within the same file, in file order. The result (`boolean`) has one value per read and write, in the
    index of `accesses`. It is null for the first access to a file, and if the offset of the access or of the access before it is
    unknown.
    """
    moved = transfers(accesses).sort_values(["file", "at_ns"], kind="stable")
    previous_end = (moved["offset"] + moved["bytes"]).groupby(moved["file"]).shift()
    return (moved["offset"] == previous_end).astype("boolean").mask(previous_end.isna() | moved["offset"].isna()).sort_index()


def size_class(asked_bytes: pd.Series) -> pd.Series:
    """Returns the size class of each request, a key of `SIZES`, as an ordered category.

    Examples
    --------
    >>> size_class(pd.Series([100, 4096])).tolist()
    ['64 to 511 B', '4 KiB']
    """
    classes = pd.cut(asked_bytes.astype("float64"), [-np.inf, *SIZES.values()], right=False, labels=list(SIZES))
    return classes.rename("size")


def sizes(accesses: pd.DataFrame) -> pd.DataFrame:
    """Counts the reads and writes of each size class. Combinations without a request have no row.

    The columns are data, op, size (class of the bytes that were asked for) and requests.
    """
    moved = transfers(accesses)
    by = [moved["data"], moved["op"], size_class(moved["asked_bytes"])]
    return moved.groupby(by, observed=True).size().rename("requests").reset_index()


def form(accesses: pd.DataFrame) -> pd.DataFrame:
    """Describes the reads and writes of each data type: their number, sizes, shares of all, and whether they are sequential.

    There is one row per data and op. The other columns are requests, bytes (moved), p50_bytes (median of the bytes asked for),
    share_4_8_kib (share of requests that ask for 4 or 8 KiB), share_sequential (NaN if no access has another before it in its
    file), share_requests and share_bytes (shares of all reads and writes).
    """
    moved = transfers(accesses)
    moved = moved.assign(
        sequential=sequential(accesses).astype("float64"), published=size_class(moved["asked_bytes"]).isin(PUBLISHED_SIZES)
    )
    table = moved.groupby(["data", "op"]).agg(
        requests=("bytes", "size"),
        bytes=("bytes", "sum"),
        p50_bytes=("asked_bytes", "median"),
        share_4_8_kib=("published", "mean"),
        share_sequential=("sequential", "mean"),
    )
    shares = {f"share_{name}": table[name] / max(1, table[name].sum()) for name in ("requests", "bytes")}
    return table.assign(**shares).reset_index()
