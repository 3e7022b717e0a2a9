"""Says which part of a game server's store each request is for: of a region file, an SQLite database or a LevelDB database."""

import os
import re
import stat
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from tickdisk.characterise.load import Load
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.paths import on_disk

SECTOR_BYTES = 4096
"""Size of a sector of a region file."""
_TABLES_BYTES = 2 * SECTOR_BYTES
"""A region file begins with the places of its 1,024 chunks and with the times of their last change, a sector each."""
_SQLITE_HEADER, _PAGE_SIZE_AT = b"SQLite format 3\x00", 16
_PAGE_KINDS = {
    2: "interior page of an index",
    5: "interior page of a table",
    10: "leaf page of an index",
    13: "leaf page of a table",
}
_FIRST_PAGE_AT = 100
"""The header of a database takes the first 100 bytes of its first page."""
_WAL_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_USUAL_PAGE_BYTES = 4096
_LEVELDB = (
    (r"\.(ldb|sst)$", "sorted table"),
    (r"/\d+\.log$", "log of writes"),
    (r"/MANIFEST-\d+$", "list of tables"),
    (r"/(CURRENT|LOCK|LOG|LOG\.old)$", "housekeeping"),
)


def store_parts(load: Load) -> pd.DataFrame:
    """Counts the requests to each part of the stores of game servers.

    Region files (Anvil, of Minecraft) have tables of chunks and sectors of chunks. SQLite databases (of Luanti) have a header and
    pages, whose kind is read from the file if it is still there, and beside them a journal or a write-ahead log. LevelDB
    databases (of Bedrock edition) consist of files of several kinds.

    There is one row per store, part and op: store (`region file`, `SQLite` or `LevelDB`), part, op, requests and bytes. Raises
    TickdiskError if the trace has no names or offsets, or none of its files is such a store.
    """
    rows = load.having("place", "offset", "bytes")
    parts = []
    for name, requests in rows.groupby("place", observed=True):
        parts_of_file = _parts_of(str(name), requests["offset"].to_numpy(dtype="int64"))
        if parts_of_file is not None:
            store, part = parts_of_file
            parts.append(requests[["op", "bytes"]].assign(store=store, part=part))
    if not parts:
        raise TickdiskError("not in the trace: region files, SQLite databases or LevelDB databases")
    table = pd.concat(parts, ignore_index=True).astype({"op": str})
    return table.groupby(["store", "part", "op"])["bytes"].agg(requests="size", bytes="sum").reset_index()


def _parts_of(name: str, offset: np.ndarray) -> tuple[str, np.ndarray] | None:
    """Returns the store that a file belongs to, and the part that each offset lies in, or None for another file."""
    for ending, (store, part) in _STORES.items():
        if re.search(ending, name):
            return store, part(name, offset)
    for ending, part_name in _LEVELDB:
        if "/db/" in name and re.search(ending, name):
            return "LevelDB", np.full(len(offset), part_name)
    return None


def _region(_: str, offset: np.ndarray) -> np.ndarray:
    return np.select(
        [offset < SECTOR_BYTES, offset < _TABLES_BYTES], ["table of places", "table of times"], default="sectors of chunks"
    )


def _database(name: str, offset: np.ndarray) -> np.ndarray:
    """Returns the kind of the page at each offset. The content of a file that is still there is that after the trace."""
    kind = np.full(len(offset), "page", dtype=object)
    header = _content(name, 0, _FIRST_PAGE_AT)
    size = int.from_bytes(header[_PAGE_SIZE_AT : _PAGE_SIZE_AT + 2], "big")
    if header.startswith(_SQLITE_HEADER) and size > 0:
        size = 1 << 16 if size == 1 else size
        pages = offset // size
        kinds = {page: _page_kind(_content(name, int(page) * size, 1)) for page in np.unique(pages)}
        kind = np.array([kinds[page] for page in pages], dtype=object)
    return np.where(offset < _FIRST_PAGE_AT, "header and first page", kind)


def _page_kind(first: bytes) -> str:
    return _PAGE_KINDS.get(first[0], "overflow or free page") if first else "page after the end"


def _journal(_: str, offset: np.ndarray) -> np.ndarray:
    return np.where(offset < _FIRST_PAGE_AT, "journal: header", "journal: old pages")


def _write_ahead_log(_: str, offset: np.ndarray) -> np.ndarray:
    inside = (offset - _WAL_HEADER_BYTES) % (_FRAME_HEADER_BYTES + _USUAL_PAGE_BYTES)
    return np.select(
        [offset < _WAL_HEADER_BYTES, inside < _FRAME_HEADER_BYTES],
        ["log: header", "log: headers of pages"],
        default="log: pages",
    )


_STORES: Mapping[str, tuple[str, Callable[[str, np.ndarray], np.ndarray]]] = {
    r"\.mc[ar]$": ("region file", _region),
    r"\.sqlite$": ("SQLite", _database),
    r"\.sqlite-journal$": ("SQLite", _journal),
    r"\.sqlite-wal$": ("SQLite", _write_ahead_log),
}


def chunks(load: Load) -> pd.DataFrame:
    """Counts the requests to each chunk of region files, as far as the files are still there to say which sectors it has.

    There is one row per chunk that is read or written: place (region file), x and z (in the region, from 0 to 31), reads, writes
    and bytes. A request that begins in no chunk is left out. Raises TickdiskError if no region file of the trace is still there.
    """
    rows = load.having("place", "offset", "bytes")
    tables = []
    for name, requests in rows.groupby("place", observed=True):
        header = _content(str(name), 0, SECTOR_BYTES) if re.search(r"\.mc[ar]$", str(name)) else b""
        if header:
            chunk = _chunk_of(header, requests["offset"].to_numpy(dtype="int64"))
            if (chunk >= 0).any():
                known = requests[chunk >= 0].assign(chunk=chunk[chunk >= 0], place=str(name)).astype({"op": str})
                tables.append(known)
    if not tables:
        raise TickdiskError("not in the trace: requests to region files that are still there")
    table = pd.concat(tables, ignore_index=True)
    grouped = table.groupby(["place", "chunk"])
    counts = grouped.agg(reads=("op", lambda op: int((op == "read").sum())), requests=("op", "size"), bytes=("bytes", "sum"))
    counts = counts.reset_index()
    return counts.assign(x=counts["chunk"] % 32, z=counts["chunk"] // 32, writes=counts["requests"] - counts["reads"])[
        ["place", "x", "z", "reads", "writes", "bytes"]
    ]


def _content(name: str, offset: int, length: int) -> bytes:
    """Returns a part of a file of the trace, or nothing if the file is not there, is no plain file, or cannot be read here."""
    try:
        descriptor = os.open(on_disk(name), os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError):
        return b""
    try:
        return os.pread(descriptor, length, offset) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _chunk_of(header: bytes, offset: np.ndarray) -> np.ndarray:
    """Returns the number of the chunk at each offset of a region file, or -1, by the file's own table of places."""
    table = np.frombuffer(header.ljust(SECTOR_BYTES, b"\0"), dtype=">u4").astype("int64")
    first, count = table >> 8, table & 255
    owner = np.full(max(int((first + count).max()), 2) + 1, -1)
    for chunk in np.flatnonzero(count):
        owner[first[chunk] : first[chunk] + count[chunk]] = chunk
    owner[:2] = -1
    sector = offset // SECTOR_BYTES
    return np.where(sector < len(owner), owner[np.minimum(sector, len(owner) - 1)], -1)
