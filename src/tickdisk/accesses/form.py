"""What accesses look like: sizes, shares of reads and writes, sequential or random."""

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
"""Classes of request sizes by the size that is too large for them."""
PUBLISHED_SIZES = ("4 KiB", "8 KiB")


def transfers(accesses: pd.DataFrame) -> pd.DataFrame:
    """Returns the accesses that move data: no syncs."""
    return accesses[accesses["op"] != "sync"]


def sequential(accesses: pd.DataFrame) -> pd.Series:
    """Returns whether each read and write begins where the one before it in the same file ended (`boolean`).

    Null for the first of a file and after an access whose offset is unknown; reads and writes follow each other in order of time.
    Source: PokeSto, previous offset + previous length == current offset, within the same file, in file order.
    """
    moved = transfers(accesses).sort_values(["file", "at_ns"], kind="stable")
    previous_end = (moved["offset"] + moved["bytes"]).groupby(moved["file"]).shift()
    return (moved["offset"] == previous_end).astype("boolean").mask(previous_end.isna() | moved["offset"].isna()).sort_index()


def size_class(asked_bytes: pd.Series) -> pd.Series:
    """Returns the class of each size, a key of SIZES, ordered."""
    classes = pd.cut(asked_bytes.astype("float64"), [-np.inf, *SIZES.values()], right=False, labels=list(SIZES))
    return classes.rename("size")


def sizes(accesses: pd.DataFrame) -> pd.DataFrame:
    """Returns data, op, size (class of the bytes that were asked for), requests; classes without a request are not there."""
    moved = transfers(accesses)
    by = [moved["data"], moved["op"], size_class(moved["asked_bytes"])]
    return moved.groupby(by, observed=True).size().rename("requests").reset_index()


def form(accesses: pd.DataFrame) -> pd.DataFrame:
    """Returns one row a data type and direction.

    Columns: data, op, requests, bytes, p50_bytes, share_4_8_kib, share_sequential (NaN where no access has one before it in its
    file), share_requests, share_bytes.
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
