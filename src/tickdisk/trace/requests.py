"""Makes the requests table from the captured calls and the files of their descriptors."""

from collections import Counter

import numpy as np
import pandas as pd

from tickdisk.foundation.storing import FLAGS, storing
from tickdisk.trace.calls import (
    AT_REMOVEDIR,
    CALLS,
    F_DUPFD,
    F_DUPFD_CLOEXEC,
    FILE_ONLY_CALLS,
    NOT_FOLLOWED,
    O_APPEND,
    RING_CALLS,
    RWF_APPEND,
)
from tickdisk.trace.descriptors import CLOSED, FileHistory
from tickdisk.trace.program import FAULT_POINTS
from tickdisk.trace.reading import Reading
from tickdisk.trace.summary import LeftOut

PAGE_BYTES = 4096
_MINOR_BITS = 20
"""Number of bits of a device's minor number. The kernel's device number is major << 20 | minor."""
_LOCATED = {"read", "write", "sync", "mmap", "fallocate"}
"""Kinds of requests for which `Call.offset`, if the call has it, is a place in the file."""
_ATTRIBUTES = "calls that change the owner, mode, times or attributes of files, or make special files, and are in no request"
_RINGS = [call.number for call in RING_CALLS.values()]
_COPIES = [call.number for call in CALLS.values() if call.copies is not None]
_KINDS = pd.DataFrame(
    [
        (
            call.number,
            name,
            call.op,
            call.op in _LOCATED and call.offset is not None,
            call.op in {*_LOCATED, "truncate"} and (call.length is not None or call.vector is not None),
            call.fd is not None and call.path is None,
            call.moves,
            name in FILE_ONLY_CALLS,
        )
        for name, call in (CALLS | RING_CALLS).items()
    ]
    + [(number, name, "", False, False, False, False, False) for name, number in NOT_FOLLOWED.items()],
    columns=["number", "call", "op", "located", "sized", "by_fd", "moves", "only_files"],
).set_index("number")


def request_rows(
    reading: Reading, followed: FileHistory, *, faults: str | None, has_rings: bool, window: tuple[int, int]
) -> tuple[pd.DataFrame, LeftOut, dict[str, int]]:
    """Makes the rows of the requests table from the calls and the page faults that began in the `window`.

    The rows lack seq, level, thread_name and data. The counts are those of the summary for what is left out, and those of what
    happened and is no row, by kind. `faults` is the
    tracepoint of faults. If it is not the one that every fault passes, a fault in a system call is no request, because the call
    may have caused it. `has_rings` says whether requests to io_uring were captured. Times are in the clock of `reading`.
    """
    called, no_file = _call_rows(reading.calls, followed)
    copied = _copy_rows(reading.calls, followed)
    every = faults == FAULT_POINTS[0]
    counted = reading.faults if every else reading.faults[~reading.in_call(reading.faults)]
    faulted = _fault_rows(counted, _inodes(reading, followed))
    rows = pd.concat([called, copied.astype(called.dtypes), faulted.astype(called.dtypes)], ignore_index=True)
    no_file = no_file.reindex(rows.index, fill_value=False)
    since = rows["process"].map(followed.since)
    known = since.notna() & (rows["start_ns"] >= since.fillna(0))
    inside = rows["start_ns"].between(*window)
    request = inside & (rows["op"] != "")
    enters = rows["call"] == "io_uring_enter"
    apart = rows[known & inside & rows["call"].isin([*NOT_FOLLOWED, "ioctl"]) & ~(enters & has_rings)]
    left_out = LeftOut(
        not_files=int((known & request & no_file).sum()),
        other_processes=int((~known & request).sum()),
        not_followed={str(name): int(count) for name, count in apart["call"].value_counts().items()},
    )
    others = {"requests to io_uring that neither read, write nor sync, and are in no request": reading.ring_others}
    return rows[known & request & ~no_file], left_out, _lacks(apart) | {kind: n for kind, n in others.items() if n}


def _lacks(calls: pd.DataFrame) -> dict[str, int]:
    """Returns what calls that are not followed did, by kind, in the words of the native reader of strace's output."""
    done = Counter[str]()
    for name, moved, errno in zip(calls["call"], calls["result"], calls["errno"], strict=True):
        match name:
            case "io_uring_enter":
                done["submissions to io_uring, whose requests are not in the trace"] += int(moved)
            case "io_submit":
                done["submissions to Linux's asynchronous I/O, whose requests are not in the trace"] += int(moved)
            case "ioctl":
                done["calls of ioctl that make a file share the data of another, and are in no request"] += int(errno == 0)
            case _:
                done[_ATTRIBUTES] += int(errno == 0)
    return {kind: count for kind, count in done.items() if count}


def _call_rows(calls: pd.DataFrame, followed: FileHistory) -> tuple[pd.DataFrame, "pd.Series[bool]"]:
    """Returns a row for each call, whose op is empty if it is no request, and whether the descriptor of the call is no file's."""
    kinds = _KINDS.loc[calls["number"]].set_index(calls.index)
    paths = np.array([*(opened.path for opened in followed.opened), None], dtype=object)
    length = calls["length"].astype("Int64")
    rows = pd.DataFrame(
        {
            "op": kinds["op"]
            .where((kinds["call"] != "fcntl") | length.isin([F_DUPFD, F_DUPFD_CLOEXEC]), "")
            .mask((kinds["call"] == "unlinkat") & (length.fillna(0) & AT_REMOVEDIR > 0), "rmdir"),
            "call": kinds["call"],
            "start_ns": calls["start_ns"],
            "latency_ns": calls["end_ns"] - calls["start_ns"],
            "thread": calls["thread"],
            "process": calls["process"],
            "file": followed.paths.where(followed.paths.notna(), pd.Series(paths[followed.of], index=calls.index)),
            "renamed": followed.renamed,
            "offset": _offsets(calls, kinds).mask(_at_once(calls, kinds, followed) | _appends_in_rings(calls, kinds, followed)),
            "length": length.where(kinds["sized"] & (length >= 0)),
            "flags": length.where(kinds["op"].isin(["open", "rename", "link"]) & (length >= 0)).where(
                kinds["op"] != "fallocate", calls["flags"]
            ),
            "result": calls["result"].clip(lower=0),
            "errno": (-calls["result"]).clip(lower=0),
            "storing": _storing(calls, kinds["op"], followed),
        }
    )
    _fill_msync(rows, calls, followed)
    is_registered = calls["number"].isin(_RINGS) & (calls["fd"] < 0)
    return rows, kinds["by_fd"] & (followed.of == CLOSED) & ~(kinds["only_files"] & (calls["result"] >= 0)) & ~is_registered


def _copy_rows(calls: pd.DataFrame, followed: FileHistory) -> pd.DataFrame:
    """Returns the rows of calls that copied bytes: a read of the source in the first half of the call's time, and a write of the
    target in the second. If only one of the two is a file, it has the whole time.
    """
    copies = calls[calls["number"].isin(_COPIES) & (calls["result"] > 0)]
    names = copies["number"].map(_KINDS["call"])
    source, target = followed.at(copies, "fd", "start_ns"), followed.at(copies, "flags", "start_ns")
    # This call has files at both ends.
    is_of_files = names == "copy_file_range"
    reads, writes = is_of_files | (source != CLOSED), is_of_files | (target != CLOSED)
    took_ns = copies["end_ns"] - copies["start_ns"]
    half_ns = (took_ns // 2).where(reads & writes, 0)
    parts = []
    for op, opened, end, chosen, begin_ns, latency_ns in (
        ("read", source, "length", reads, copies["start_ns"], half_ns.where(writes, took_ns)),
        ("write", target, "offset", writes, copies["start_ns"] + half_ns, took_ns - half_ns),
    ):
        files = [followed.opened[one] if one != CLOSED else None for one in opened]
        rows = copies[["thread", "process", "result"]].assign(op=op, call=names, start_ns=begin_ns, latency_ns=latency_ns)
        rows["file"] = pd.Series([file and file.path for file in files], rows.index, dtype=object)
        words = [file and storing(file.flags & FLAGS, 0, is_write=op == "write") for file in files]
        rows["storing"] = pd.Series(words, rows.index, dtype=object)
        rows = rows.assign(renamed=np.nan, flags=None, offset=copies[end] - copies["result"], length=copies["result"], errno=0)
        parts.append(rows[chosen])
    return pd.concat(parts)


def _offsets(calls: pd.DataFrame, kinds: pd.DataFrame) -> "pd.Series[int]":
    """Returns the offset of each call: its argument, or where it began if it moved the position, or where a seek led."""
    offset = calls["offset"].astype("Int64")
    before = offset - calls["result"].clip(lower=0)
    located = offset.where(kinds["located"] & (offset >= 0))
    return located.where(~kinds["moves"], before).where(kinds["op"] != "seek", calls["result"].astype("Int64"))


def _at_once(calls: pd.DataFrame, kinds: pd.DataFrame, followed: FileHistory) -> "pd.Series[bool]":
    """Returns whether a call that moved the position of its open file ran at the same time as another one that did. The position
    after the call then belongs to either, and the capture does not tell to which.
    """
    moving = calls[(kinds["moves"] | (kinds["op"] == "seek")) & (followed.of != CLOSED)]
    of_file = moving.groupby(followed.of[moving.index])
    last_end_ns = of_file["end_ns"].cummax().groupby(followed.of[moving.index]).shift()
    both = (moving["start_ns"] < last_end_ns) | (moving["end_ns"] > of_file["start_ns"].shift(-1))
    return both.reindex(calls.index, fill_value=False) & kinds["moves"]


def _appends_in_rings(calls: pd.DataFrame, kinds: pd.DataFrame, followed: FileHistory) -> "pd.Series[bool]":
    """Returns whether a call is a request to io_uring that appends, whose place the kernel decides after the submission."""
    opened = np.array([*((opened.flags & O_APPEND) > 0 for opened in followed.opened), False])[followed.of]
    return calls["number"].isin(_RINGS) & (kinds["op"] == "write") & (opened | ((calls["flags"] & RWF_APPEND) > 0))


def _storing(calls: pd.DataFrame, ops: "pd.Series[str]", followed: FileHistory) -> "pd.Series[str]":
    """Returns how each read and write asks to be stored, and None for other calls and where the open file is not known."""
    of_file = np.array([*(opened.flags & FLAGS for opened in followed.opened), 0], dtype=np.int64)[followed.of]
    asked = pd.DataFrame({"of_file": of_file, "of_call": calls["flags"].to_numpy(), "is_write": (ops == "write").to_numpy()})
    moves = (ops.isin(["read", "write"]) & (followed.of != CLOSED)).to_numpy()
    words = pd.Series(None, index=calls.index, dtype=object)
    kinds = asked[moves].drop_duplicates()
    for flags, of_call, is_write in zip(kinds["of_file"], kinds["of_call"], kinds["is_write"], strict=True):
        alike = (asked["of_file"] == flags) & (asked["of_call"] == of_call) & (asked["is_write"] == is_write)
        words[alike.to_numpy() & moves] = storing(int(flags), int(of_call), is_write=bool(is_write))
    return words


def _fault_rows(faults: pd.DataFrame, inodes: dict[tuple[int, int], str]) -> pd.DataFrame:
    """Returns a row for each page fault, which reads a page of the file with its device and inode."""
    rows = faults[["start_ns", "thread", "process", "offset"]].assign(op="fault", call="fault", renamed=np.nan, flags=None)
    rows["storing"] = None
    rows["file"] = pd.Series(map(inodes.get, zip(faults["device"], faults["inode"], strict=True)), rows.index, dtype=object)
    return rows.assign(length=PAGE_BYTES, **dict.fromkeys(("latency_ns", "result", "errno"), 0))


def _inodes(reading: Reading, followed: FileHistory) -> dict[tuple[int, int], str]:
    """Returns the paths of the files that may be mapped, by device and inode."""
    paths = {}
    for snapshot in followed.snapshots.values():
        for _, _, _, device, inode, path in snapshot["maps"]:
            major, minor = map(int, device.split(":"))
            paths[major << _MINOR_BITS | minor, inode] = path
    for event in reading.events:
        if event.kind == "exec" and event.text.startswith("/"):
            paths[event.device, event.inode] = event.text
    inodes = reading.of("inode")
    for device, inode, opened in zip(inodes["device"], inodes["inode"], followed.at(inodes, "fd", "ns"), strict=True):
        if opened != CLOSED:
            paths[device, inode] = followed.opened[opened].path
    return paths


def _fill_msync(rows: pd.DataFrame, calls: pd.DataFrame, followed: FileHistory) -> None:
    """Fills in file and offset of each msync, whose address belongs to the file that was mapped there last."""
    mapped = [
        (process, 0, start, end, offset, path)
        for process, snapshot in followed.snapshots.items()
        for start, end, offset, _, _, path in snapshot["maps"]
    ]
    maps = calls[(calls["number"] == CALLS["mmap"].number) & (calls["result"] > 0)].assign(file=rows["file"])
    order = maps.sort_values("end_ns")[["process", "end_ns", "result", "length", "offset", "file"]].itertuples(index=False)
    mapped += [(process, ns, start, start + length, offset, path) for process, ns, start, length, offset, path in order]
    synced = calls[calls["number"] == CALLS["msync"].number]
    places: list[tuple[str | None, int | None]] = []
    for process, ns, address in zip(synced["process"], synced["start_ns"], synced["offset"], strict=True):
        regions = (
            region for region in reversed(mapped) if region[0] == process and region[1] < ns and region[2] <= address < region[3]
        )
        _, _, start, _, offset, path = next(regions, (0, 0, 0, 0, None, None))
        places.append((path, None if offset is None else offset + address - start))
    rows.loc[synced.index, "file"] = [path for path, _ in places]
    rows.loc[synced.index, "offset"] = pd.array([offset for _, offset in places], dtype="Int64")
