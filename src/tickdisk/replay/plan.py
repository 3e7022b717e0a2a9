"""The plan of a replay: the captured requests that are made again, their due times, and the reasons against the others."""

import errno
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import formats
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.paths import on_disk
from tickdisk.replay.beginning import InitialFiles, beginning
from tickdisk.replay.changes import CHANGES, MAKES_NAME, RENAME_EXCHANGE, ROOT, is_unnamed
from tickdisk.replay.iolog import SUFFIX

SYNCS = ("fsync", "fdatasync", "sync", "syncfs")
_MOVES_NOTHING = ("seek", "dup")
_MAPS = ("mmap", "fault")
_COPIES = ("copy_file_range", "sendfile", "sendfile64", "splice")
"""Calls that are a read and a write at once."""
_REPLAYED = ("open", "close", "read", "sync", *(op for op in CHANGES if op != "discard"))
_NO_CALL, _OUTSIDE = "not a system call", "outside the folder that is replayed"
"""Reasons against requests that the replay is not about."""
_NS = 1_000_000_000
_LEAVE_OUT = "correct these lines, or leave them out with `tickdisk convert` and replay its output"


@dataclass(frozen=True)
class ReplayPlan:
    """The requests of a capture that a replay makes again, and the files that it needs. `plan` makes it."""

    requests: pd.DataFrame
    """Requests that are made again, in the order of due times.

    The columns are seq, thread, thread_name, op, call, file and other (the second path of MAKES_NAME), both relative to the root,
    offset, length, flags (of an open, a rename or a fallocate, else 0), storing (how a read or a write asks to be stored, null
    where the trace does not say), cuts (whether an open truncates the file to nothing), copies (whether it is the read of a copy
    whose write is the next request of its thread), due_ns (from the first request), expected (bytes of a read or write, 0 for
    another call, or the negative errno) and captured_ns (captured latency, or null if the trace lacks it).
    """
    refused: Mapping[str, int]
    """Number of requests that are not made again, by reason."""
    root: str
    """Folder of the captured program that the target folder stands for."""
    folders: frozenset[str]
    """Paths that are folders, relative to the root."""
    beginning: InitialFiles
    """Files that must exist before the first request."""
    unmade: pd.DataFrame
    """Calls that changed files below the root and are not made again: place (number of requests before it), op, file and other
    (null where they are not known), bytes (that a write wrote, else 0), and reason."""
    lacks: Mapping[str, int]
    """Number of things that happened and are no requests of the capture, by kind."""
    captured: int
    """Number of captured requests in the time that is replayed. `requests` and `refused` together have as many."""

    @property
    def streams(self) -> pd.DataFrame:
        """Table of the streams, one for each captured thread, with the columns thread, thread_name, requests (their number)."""
        threads = self.requests.groupby("thread", sort=False)["thread_name"].agg(["last", "size"]).reset_index()
        return threads.set_axis(["thread", "thread_name", "requests"], axis=1)


def load_capture(
    path: Path, format_name: str | None = None, *, say: Callable[[str], None] = lambda _: None
) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """Reads the requests of a capture, and the number of things that happened and are no requests, by kind, for `plan`.

    `path` is a file `requests.parquet` or another that `tickdisk convert` wrote, the folder of a capture, of a server life or of
    a cell (its first life is taken), a trace of system calls in one of the formats of `tickdisk.formats`, or a folder of trace
    files of fio that end in `.iolog`, each of which is a stream. If `format_name` is None, the format is recognised from the
    content. `say` is called with each sentence on what the capture lacks, and on what is doubtful in it. Raises TickdiskError if
    there is no requests table, a trace cannot be read wholly, or it lacks what a replay needs.
    """
    if path.is_dir() and (iologs := sorted(path.glob(f"*{SUFFIX}"))):
        requests, lacks = _streams(iologs, format_name, say)
    elif path.is_dir():
        paths = [path / "requests.parquet", *sorted(path.glob("*/requests.parquet"))]
        file = next((file for file in paths if file.exists()), paths[0])
        requests = table.read("requests", file)
        lacks = table.lacks(file)
        for sentence in formats.Counts("table of requests", lacks=lacks).first:
            say(sentence)
    else:
        requests, lacks = _streams([path], format_name, say)
    return table.need(requests, ("start_ns",), task="a replay", level="syscall"), lacks


def _streams(
    traces: Sequence[Path], format_name: str | None, say: Callable[[str], None]
) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """Reads traces. If a trace does not tell the threads of its requests, they are one stream with the trace's name."""
    parts, lacks = [], Counter[str]()
    for number, trace in enumerate(traces, start=1):
        requests, (counts,) = formats.read([trace], format_name, most_rejected=0, advice=_LEAVE_OUT)
        lacks.update(counts.lacks)
        for sentence in counts.first:
            say(f"{trace.name}: {sentence}")
        parts.append(
            requests.assign(
                thread=requests["thread"].fillna(number),
                thread_name=requests["thread_name"].where(
                    requests["thread_name"].notna() | requests["thread"].notna(), trace.stem
                ),
            )
        )
    joined = pd.concat(parts).sort_values("start_ns", kind="stable", ignore_index=True)
    return joined.assign(seq=joined.index), lacks


def plan(
    requests: pd.DataFrame,
    lacks: Mapping[str, int] | None = None,
    *,
    root: str | None = None,
    files: Path | None = None,
    seconds: float | None = None,
) -> ReplayPlan:
    """Plans the replay of a capture: chooses the requests that can be made again, and gives each a due time.

    `lacks` is the number of things that happened and are no requests, by kind.
    Files below `root`, a folder of the captured program, are replayed. If it is None, it is the captured folder below which most
    captured paths are found in `files`, a folder with the files as they were when the capture began. Without `files`, it is the
    deepest folder that has all captured files. If `seconds` is given, the plan has only the requests of this time from the first
    one that can be made again. Raises TickdiskError if no request can be made again, or no root is found.
    """
    ordered = requests.sort_values(["start_ns", "seq"], kind="stable", ignore_index=True)
    root = _root(ordered["file"].dropna(), files) if root is None else root.rstrip("/") or "/"
    below = below_root(ordered["file"], root)
    reasons = _reasons(ordered, below, root)
    if not (reasons == "").any():
        raise TickdiskError(f"no request of the capture can be made again below {root}: {_counted(reasons)}; give another root")
    first_ns = int(ordered.loc[reasons == "", "start_ns"].iloc[0])
    if seconds is not None:
        inside = ordered["start_ns"] < first_ns + seconds * _NS
        ordered, below, reasons = ordered[inside], below[inside], reasons[inside]
    kept = ordered[reasons == ""]
    errors = kept["errno"].fillna(0).astype("int64")
    # A trace without results is one of what somebody wanted to be done, so all of it is expected to be done.
    moved = kept["result"].fillna(kept["length"]).where(kept["op"].isin(["read", "write"]), 0).fillna(0).astype("int64")
    flags, copies = kept["flags"].fillna(0).astype("int64"), _copies(kept)
    made = pd.DataFrame(
        {
            "seq": kept["seq"],
            "thread": kept["thread"],
            "thread_name": kept["thread_name"].fillna(""),
            "op": kept["op"],
            "call": kept["call"],
            "file": below[reasons == ""].fillna(ROOT),
            "other": _new_names(kept, root).fillna(ROOT),
            "offset": kept["offset"].fillna(0).astype("int64"),
            "length": kept["length"].fillna(0).astype("int64"),
            "flags": flags,
            "storing": kept["storing"].where(kept["op"].isin(["read", "write"])),
            "cuts": (kept["op"] == "open") & ((kept["call"] == "creat") | (flags & os.O_TRUNC > 0)),
            "copies": copies,
            "due_ns": _due_ns(kept, copies) - first_ns,
            "expected": np.where(errors > 0, -errors, moved),
            "captured_ns": kept["latency_ns"],
        }
    ).reset_index(drop=True)
    refused = {str(reason): int(count) for reason, count in reasons[reasons != ""].value_counts().items()}
    folders = _folders(made)
    return ReplayPlan(
        made,
        refused,
        root,
        folders,
        beginning(made, folders),
        unmade=_unmade(ordered, below, reasons, root),
        lacks=lacks or {},
        captured=len(ordered),
    )


def _copies(requests: pd.DataFrame) -> "pd.Series[bool]":
    """Returns whether each request is the read of a copy whose write is the next request of its thread."""
    after = requests.groupby("thread")[["op", "call", "result"]].shift(-1)
    is_same = (after["call"] == requests["call"]) & (after["result"] == requests["result"]).fillna(value=False)
    return requests["call"].isin(_COPIES) & (requests["op"] == "read") & (after["op"] == "write") & is_same


def _due_ns(requests: pd.DataFrame, copies: "pd.Series[bool]") -> "pd.Series[int]":
    """Returns the captured times, where a copy's write has that of its read, because one call makes both."""
    of_read = requests["start_ns"].astype("Int64").where(copies).groupby(requests["thread"]).shift()
    return of_read.fillna(requests["start_ns"]).astype("int64")


def _folders(made: pd.DataFrame) -> frozenset[str]:
    """Returns the paths that are folders at some time, relative to the root."""
    has_other = made["op"].isin(["rename", "link"])
    paths = {*made["file"], *made.loc[has_other, "other"]}
    folders = {ROOT, *(str(parent) for path in paths for parent in Path(path).parents)}
    is_folder = (made["op"] == "open") & (made["flags"] & os.O_DIRECTORY > 0) & ~made["flags"].map(is_unnamed)
    folders.update(made.loc[made["op"].isin(["mkdir", "rmdir"]) | (is_folder & (made["expected"] >= 0)), "file"])
    renames = made[made["op"] == "rename"]
    for path, other, flags in zip(renames["file"], renames["other"], renames["flags"], strict=True):
        if path in folders:
            folders.add(other)
        elif flags & RENAME_EXCHANGE and other in folders:
            folders.add(path)
    return frozenset(folders)


def _unmade(requests: pd.DataFrame, below: pd.Series, reasons: pd.Series, root: str) -> pd.DataFrame:
    """Returns the calls that changed files and are not made again, as in `ReplayPlan.unmade`."""
    op, flags = requests["op"], requests["flags"].fillna(0).astype("int64")
    changed = op.isin(CHANGES) | ((op == "open") & ((flags & (os.O_CREAT | os.O_TRUNC) > 0) | (requests["call"] == "creat")))
    moved = requests["result"].fillna(requests["length"]).where(op == "write", 0).fillna(0).astype("int64")
    unmade = changed & ~reasons.isin(["", _OUTSIDE, _NO_CALL]) & requests["errno"].fillna(0).eq(0)
    return pd.DataFrame(
        {
            "place": (reasons == "").cumsum(),
            "op": op,
            "file": below,
            "other": _new_names(requests, root),
            "bytes": moved,
            "reason": reasons,
        }
    )[unmade & ~((op == "write") & (moved == 0))]


def _root(captured: pd.Series, files: Path | None) -> str:
    """Returns the captured folder below which most paths exist in `files`, or, without `files`, the deepest common folder."""
    distinct = [Path(path) for path in captured.unique() if path.startswith("/")]
    if not distinct and captured.empty:
        raise TickdiskError("the capture names no file; capture with a tool that sees paths")
    if not distinct:
        # All names are relative to the folder in which the program began, as fio writes them by default.
        return ROOT
    if files is not None:
        roots = Counter(
            parent for path in distinct for parent in path.parents if (files / on_disk(str(path.relative_to(parent)))).is_file()
        )
        if not roots:
            raise TickdiskError(f"none of the captured files is in {files}; give the captured folder that it stands for as root")
        return str(roots.most_common(1)[0][0])
    folders = {parent for path in distinct for parent in path.parents}
    return os.path.commonpath([path if path in folders else path.parent for path in distinct])


def below_root(files: pd.Series, root: str) -> pd.Series:
    """Returns absolute paths relative to the folder `root`, and null for paths that are not below it. `root` itself is `.`."""
    distinct = {path: Path(path) for path in files.dropna().unique()}
    relative = {
        path: str(at.relative_to(root)) for path, at in distinct.items() if at.is_relative_to(root) and ".." not in at.parts
    }
    return files.map(relative).astype(object)


def _reasons(requests: pd.DataFrame, below: pd.Series, root: str) -> pd.Series:
    """Returns the reason why each request is not made again, or an empty string if it is made again."""
    op, call, errors = requests["op"], requests["call"], requests["errno"].fillna(0)
    moves, whole = op.isin(["read", "write"]), call.isin(["sync"])
    refused = {
        _NO_CALL: requests["level"] != "syscall",
        _OUTSIDE: requests["file"].notna() & below.isna(),
        "moves the position or copies a descriptor only": op.isin(_MOVES_NOTHING),
        "through a memory map": op.isin(_MAPS) | (call == "msync"),
        "of a kind that is not replayed": ~op.isin(_REPLAYED),
        "without a file": requests["file"].isna() & ~whole,
        "without offset or length": moves & (requests["offset"].isna() | requests["length"].isna()),
        "without a length": op.isin(["truncate", "fallocate"]) & requests["length"].isna(),
        "to a name that is not known": op.isin(MAKES_NAME) & _new_names(requests, root).isna(),
        "of a part of a file": (op == "sync") & ~call.isin(SYNCS),
        "failed in a way that cannot be repeated": ~errors.isin([0, errno.ENOENT])
        & (op.isin([*CHANGES, "open"]) | call.isin(_COPIES))
        & ~((op == "mkdir") & (errors == errno.EEXIST)),
    }
    return pd.Series(
        np.select([np.asarray(which, dtype=bool) for which in refused.values()], list(refused), ""), index=requests.index
    )


def _counted(reasons: pd.Series) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons[reasons != ""].value_counts().items())


def _new_names(requests: pd.DataFrame, root: str) -> pd.Series:
    """Returns the second path of each request, relative to the root, and null if the capture does not have it."""
    return below_root(requests["renamed"], root)
