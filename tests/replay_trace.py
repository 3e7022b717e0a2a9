"""Traces made by hand for the tests of replay: every result follows from a model in memory."""

import errno
import os
from collections.abc import Iterator

import numpy as np
import pandas as pd

ROOT = "/captured/world"
_STEP_NS = 40_000
_CALLS = {"read": "pread64", "write": "pwrite64", "open": "openat", "truncate": "ftruncate"}


def row(thread: int, start_ns: int, op: str, file: str | None, result: int = 0, **values: object) -> dict[str, object]:
    """Returns one row of a requests table, without its number; `file` is below the root."""
    known = {"level": "syscall", "call": _CALLS.get(op, op), "latency_ns": 1000, "process": 1, "data": "other", "errno": 0}
    path = None if file is None else f"{ROOT}/{file}" if file else ROOT
    own = {"op": op, "thread": thread, "thread_name": f"t{thread}", "start_ns": start_ns, "file": path, "result": result}
    return known | {"offset": None, "length": None, "flags": None, "renamed": None, "storing": None} | own | values


def requests_table(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Returns rows as a requests table."""
    frame = pd.DataFrame(rows).assign(seq=range(len(rows)))
    return frame.astype(
        {"offset": "Int64", "length": "Int64", "flags": "Int64", "renamed": object, "file": object, "storing": object}
    )


def one_thread(  # noqa: C901 - one case a kind of request
    thread: int, requests: int, rng: np.random.Generator, shared: int
) -> Iterator[dict[str, object]]:
    """One thread's requests on files of its own, and reads of a file of `shared` bytes that is there before."""
    mine, journal, state = f"t{thread}/data", f"t{thread}/data-journal", f"t{thread}/state"
    size, start_ns, made = 0, 1_000_000 + thread * 7, 0

    def at() -> int:
        nonlocal start_ns, made
        start_ns, made = start_ns + int(rng.exponential(_STEP_NS)), made + 1
        return start_ns

    yield row(thread, at(), "open", mine, errno=errno.ENOENT)
    yield row(thread, at(), "open", "shared", 17)
    yield row(thread, at(), "open", mine, 18)
    while made < requests:
        offset, length = int(rng.integers(0, 1 << 16)), int(rng.integers(1, 1 << 14))
        place = {"offset": offset, "length": length}
        match rng.integers(13):
            case 0 | 1 | 2:
                yield row(thread, at(), "write", mine, length, **place)
                size = max(size, offset + length)
            case 3 | 4:
                yield row(thread, at(), "read", mine, max(0, min(length, size - offset)), **place)
            case 5 | 6:
                yield row(thread, at(), "read", "shared", max(0, min(length, shared - offset)), **place)
            case 7:
                yield row(thread, at(), "sync", mine, call="fdatasync" if offset % 2 else "fsync")
            case 8:
                size = offset
                yield row(thread, at(), "truncate", mine, length=offset)
            case 9:
                yield row(thread, at(), "open", journal, 19)
                yield row(thread, at(), "write", journal, length, offset=0, length=length)
                yield row(thread, at(), "close", journal)
                yield row(thread, at(), "unlink", journal)
                yield row(thread, at(), "unlink", journal, errno=errno.ENOENT)
            case 10:
                yield row(thread, at(), "close", mine)
                yield row(thread, at(), "open", mine, 18)
            case 11:
                yield row(thread, at(), "open", f"{state}.new", 19)
                yield row(thread, at(), "write", f"{state}.new", length, offset=0, length=length)
                yield row(thread, at(), "close", f"{state}.new")
                yield row(thread, at(), "rename", f"{state}.new", renamed=f"{ROOT}/{state}")
                yield row(thread, at(), "sync", f"t{thread}", call="fsync")
            case 12:
                size = 0
                yield row(thread, at(), "close", mine)
                yield row(
                    thread, at(), "open", mine, 18, **({"call": "creat"} if offset % 2 else {"flags": os.O_RDWR | os.O_TRUNC})
                )


def made_by_hand(seed: int = 1, threads: int = 4, each: int = 2500) -> tuple[pd.DataFrame, bytes]:
    """Returns a requests table and the content of the file `shared` that it begins with."""
    rng = np.random.default_rng(seed)
    shared = rng.bytes(50_000)
    rows = [request for thread in range(threads) for request in one_thread(thread, each, rng, len(shared))]
    return requests_table(sorted(rows, key=lambda request: int(str(request["start_ns"])))), shared
