"""Describes the files of a load: their sizes, how data are packed into them, and how much of them is touched."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.characterise.load import OPS, Load
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.paths import stored

MOST_FILES = 30
"""Number of files that are described one by one, as in the study of games."""
_SMALL_BYTES = 1 << 20
_MOST_OF_ALL, _HUGE, _ALIKE = 0.9, 0.5, 0.1
_MOST_DIGITS = 18
"""Most digits of a size in a list of files. Every file system's sizes have fewer."""


@dataclass(frozen=True)
class Listing:
    """The files of a folder with their sizes, such as those of an installed game or of a world."""

    table: pd.DataFrame
    """One row per file: file (path), bytes, and depth (number of folders above it, from the listed folder on)."""

    @property
    def packing(self) -> str:
        """Returns the way in which data are packed into files, in the words of the study of games.

        It is `one huge` if one file has at least half of all bytes, `many equal` if the standard deviation of the largest files,
        which have nine tenths of all bytes together, is at most a tenth of their mean size, `many small` if files have less than
        1 MiB on average, and `mixed` otherwise. The study gives no limits, so these are ours.
        """
        sizes = np.sort(self.table["bytes"].to_numpy(dtype=float))[::-1]
        total = max(sizes.sum(), 1.0)
        if sizes[0] >= _HUGE * total:
            return "one huge"
        large = sizes[: int(np.searchsorted(np.cumsum(sizes), _MOST_OF_ALL * total)) + 1]
        if large.std() <= _ALIKE * large.mean():
            return "many equal"
        return "many small" if sizes.mean() < _SMALL_BYTES else "mixed"


def listing(path: Path) -> Listing:
    r"""Reads the sizes of the files in a folder, or in a list of files.

    A list is a text file with a size in bytes and a path on each line, as `find FOLDER -type f -printf '%s %p\n'` prints them.
    Raises TickdiskError if the path does not exist, has no file, or a line has another form.
    """
    rows = _walked(path) if path.is_dir() else _listed(path)
    if not rows:
        raise TickdiskError(f"{path} has no file; name the folder that the trace's program reads and writes")
    table = pd.DataFrame(rows, columns=["file", "bytes"])
    parts = table["file"].str.count("/")
    return Listing(table.assign(depth=parts - parts.min()))


def _walked(path: Path) -> list[tuple[str, int]]:
    files = []
    for folder, _, names in os.walk(os.fsencode(path.resolve())):
        for name in sorted(names):
            whole = os.path.join(folder, name)  # noqa: PTH118 - names are bytes
            if os.path.isfile(whole) and not os.path.islink(whole):  # noqa: PTH113, PTH114 - names are bytes
                files.append((stored(whole), os.path.getsize(whole)))  # noqa: PTH202 - names are bytes
    return files


def _listed(path: Path) -> list[tuple[str, int]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise TickdiskError(f"the list of files {path} cannot be read: {error.strerror}; name a folder or a list") from error
    files = []
    for number, line in enumerate(lines, 1):
        size, _, name = line.strip().partition(b" ")
        if not size.isdigit() or len(size) > _MOST_DIGITS or not name:
            raise TickdiskError(
                f"{path}, line {number} is not a size and a path; make the list by find -type f -printf '%s %p\\n'"
            )
        files.append((stored(name), int(size)))
    return files


def touched(load: Load, files: Listing | None = None, most: int = MOST_FILES) -> pd.DataFrame:
    """Computes how much of each of the most accessed files or volumes is read or written at all.

    There is one row for each of the `most` most accessed ones: place, requests, share_reads, bytes_moved, touched_bytes (union of
    all ranges), size_bytes and share_touched. The last two are NaN if `files`, which has the sizes, is None or does not have the
    file. Raises TickdiskError if the trace has no names of files or volumes, no offsets or no sizes.
    """
    rows = load.having("op", "place", "offset", "bytes")
    counts = rows["place"].value_counts().head(most)
    sizes = {} if files is None else dict(zip(files.table["file"], files.table["bytes"], strict=True))
    table = []
    for name in counts[counts > 0].index:
        requests = rows[rows["place"] == name]
        union = _union(requests["offset"].to_numpy(), requests["bytes"].to_numpy())
        size = float(sizes.get(str(name), np.nan))
        table.append(
            {
                "place": str(name),
                "requests": len(requests),
                "share_reads": float((requests["op"] == "read").mean()),
                "bytes_moved": float(requests["bytes"].sum()),
                "touched_bytes": union,
                "size_bytes": size,
                "share_touched": min(union / size, 1.0) if size > 0 else np.nan,
            }
        )
    return pd.DataFrame(table)


def _union(offset: np.ndarray, length: np.ndarray) -> float:
    """Returns the number of bytes that at least one of the ranges has."""
    order = np.argsort(offset, kind="stable")
    begin, end = offset[order], (offset + length)[order]
    reached = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
    return float(np.maximum(end - np.maximum(begin, reached), 0).sum())


def share_of_files_touched(load: Load, files: Listing) -> float:
    """Returns the share of the listed files that the load accesses. Raises TickdiskError if the trace names no files."""
    return float(files.table["file"].isin(set(load.having("place")["place"].astype(str))).mean())


def by_place(load: Load) -> pd.DataFrame:
    """Splits a load by file or volume, and raises TickdiskError if the trace names none.

    There is one row each, those with the most bytes first: place, reads, writes, read_bytes and write_bytes.
    """
    rows = load.having("op", "place").astype({"place": str})
    split = {op: rows[rows["op"] == op].groupby("place", observed=True)["bytes"] for op in OPS}
    counts = {f"{op}s": sizes.size() for op, sizes in split.items()} | {f"{op}_bytes": sizes.sum() for op, sizes in split.items()}
    table = pd.DataFrame(counts).fillna(0)
    order = (table["read_bytes"] + table["write_bytes"]).sort_values(ascending=False, kind="stable").index
    return table.loc[order].rename_axis("place").reset_index().astype({"place": str})
