"""The replay of a plan by fio (its option `read_iolog`), with the lateness of requests according to fio's own log."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.calibrate import parse_log
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json, write_text
from tickdisk.foundation.process import Child
from tickdisk.foundation.storing import BUFFERED, is_direct, sync_of
from tickdisk.replay.iolog import SUFFIX, unfit, write_iolog
from tickdisk.replay.log import COLUMNS, ReplayResult
from tickdisk.replay.plan import ReplayPlan
from tickdisk.replay.timing import lateness, ready_ns

_GRACE_S = 120.0
_MS = 1_000_000
_LEAST_SHARE = 0.5
"""Smallest share of the reads, writes and syncs that fio must be able to replay. With less, it would replay something else."""
_GLOBAL = (
    "ioengine=psync",
    "thread=1",
    "invalidate=0",
    "disk_util=0",
    "clocksource=clock_gettime",
    "disable_slat=1",
    "disable_clat=1",
    "log_entries=1048576",
)

_FIO_SYNCS = {"fdatasync": "dsync", "fsync": "sync"}
"""Values of fio's option `sync` for writes that wait for a sync in themselves."""


def files_for_fio(plan: ReplayPlan) -> dict[str, int]:
    """Returns the bytes that each file, by path, must have, because fio ends a job that reads beyond the end of a file."""
    reads = plan.requests[(plan.requests["op"] == "read") & (plan.requests["expected"] > 0)]
    needed = (reads["offset"] + reads["expected"]).groupby(reads["file"]).max()
    return {
        **dict.fromkeys(set(plan.requests["file"]) - plan.folders, 0),
        **{str(path): int(size) for path, size in needed.items()},
    }


def replay_by_fio(
    plan: ReplayPlan, target: Path, folder: Path, *, cores: Sequence[int] | None = None, is_real_time: bool = False
) -> ReplayResult:
    """Lets fio replay a plan in the folder `target`, with one job per stream and the engine psync.

    `prepare` must have made the files with the sizes of `files_for_fio`. `folder` keeps the trace files, the job file, the logs
    and fio's answer. Times count from the start of each job. fio cuts completion times to whole milliseconds, so they are up to 1
    ms too early. fio does not log syncs. They have no row, and the lag and the time lost (see `lateness`) of the request after a
    sync are null. Raises TickdiskError if fio is missing, fails or does not end, if it can replay too few of the requests, or if
    its log does not match them.
    """
    streams, left_out = write_for_fio(plan, target, folder)
    given = pd.concat(streams.values())
    seconds = float(given["due_ns"].max() + given["captured_ns"].sum()) / 1e9
    _run(folder, seconds, cores, is_real_time=is_real_time)
    timed = [_timed(stream, folder, number) for number, stream in enumerate(streams.values(), start=1)]
    timings = pd.concat(timed).sort_values("due_ns", kind="stable", ignore_index=True)
    return ReplayResult(timings, is_real_time, left_out=dict(left_out))


def write_for_fio(plan: ReplayPlan, target: Path, folder: Path) -> tuple[dict[int, pd.DataFrame], Counter[str]]:
    """Writes a plan in fio's formats: a trace file of version 3 for each stream, and the job file `replay.fio`.

    Returns the requests of each stream, by thread, and the number of requests that were left out, by reason. Raises TickdiskError
    if fio could replay no read and no write, or less than half of the reads, writes and syncs.
    """
    given, left_out = _given(plan, target)
    _check_share(plan, given, left_out)
    folder.mkdir(parents=True, exist_ok=True)
    streams = {thread: given[given["thread"] == thread] for thread in given["thread"].unique().tolist()}
    text = ["[global]", *_GLOBAL]
    for thread, stream in streams.items():
        left_out += write_iolog(folder / f"{thread}{SUFFIX}", stream)
        text += [f"[stream_{thread}]", f"read_iolog={folder / f'{thread}{SUFFIX}'}", f"write_lat_log={folder / str(thread)}"]
        text += _options(stream)
    write_text(folder / "replay.fio", "\n".join(text) + "\n")
    return streams, left_out


def _given(plan: ReplayPlan, target: Path) -> tuple[pd.DataFrame, Counter[str]]:
    """Returns the requests that fio can replay, whose length is the bytes that they moved, and the number of the others by
    reason.
    """
    requests = plan.requests
    is_sync = (requests["op"] == "sync") & requests["call"].isin(["fsync", "fdatasync"])
    moves = requests["op"].isin(["read", "write"])
    reasons = np.select(
        [
            ~(moves | is_sync),
            requests["file"].isin(plan.folders),
            (requests["expected"] < 0) | (moves & (requests["expected"] == 0)),
        ],
        ["neither read, write nor sync of a file", "sync of a folder", "failed or moved nothing"],
        "",
    )
    given = requests[reasons == ""].assign(
        name=lambda rows: rows["file"], file=lambda rows: [str(target / path) for path in rows["file"]]
    )
    misfits = unfit(given)
    given = given[misfits == ""]
    moving = given[given["op"] != "sync"].groupby("thread").size()
    only_syncs = ~given["thread"].isin(moving.index)
    left_out = Counter(reasons[reasons != ""].tolist()) + Counter(misfits[misfits != ""].tolist())
    left_out["of a stream that neither reads nor writes"] = int(only_syncs.sum())
    given = _with_own_syncs(given[~only_syncs])
    if given.empty:
        why = ", ".join(f"{count} {reason}" for reason, count in (+left_out).items()) or "it is empty"
        raise TickdiskError(f"the plan has no read and no write that fio could replay: {why}")
    return given.assign(length=given["expected"]), +left_out


def _ways(stream: pd.DataFrame) -> tuple[set[str], set[bool]]:
    """Returns the syncs that the writes of a stream wait for in themselves, and whether its reads and writes are direct."""
    moves = stream[stream["op"] != "sync"]
    words = {op: [str(word) for word in rows.fillna(BUFFERED).unique()] for op, rows in moves.groupby("op")["storing"]}
    return {sync_of(word) for word in words.get("write", [])}, {is_direct(word) for own in words.values() for word in own}


def _options(stream: pd.DataFrame) -> list[str]:
    """Returns the options with which fio opens the files of a stream as they were opened, where all its requests ask alike."""
    syncs, directs = _ways(stream)
    alike = [f"sync={_FIO_SYNCS[sync]}" for sync in syncs if sync and len(syncs) == 1]
    return [*alike, *(["direct=1"] if directs == {True} else [])]


def _with_own_syncs(given: pd.DataFrame) -> pd.DataFrame:
    """Puts a sync behind each write that waits for one in itself, in streams that also have other writes.

    fio opens all files of a job alike. The sync has the number `seq` of its write.
    """
    mixed = [thread for thread, stream in given.groupby("thread") if len(_ways(stream)[0]) > 1]
    syncs = given["storing"].fillna(BUFFERED).map(sync_of)
    waiting = given[given["thread"].isin(mixed) & (given["op"] == "write") & (syncs != "")]
    own = waiting.assign(op="sync", call=syncs[waiting.index], storing=None, offset=0, length=0, expected=0, captured_ns=0)
    return pd.concat([given, own.astype(given.dtypes)]).sort_index(kind="stable").reset_index(drop=True) if len(own) else given


def said_of_fio(streams: Mapping[int, pd.DataFrame]) -> list[str]:
    """Returns sentences about the requests in `streams`, as `write_for_fio` returns them, that fio stores in another way than the
    captured program.
    """
    own = sum(int(stream["seq"].duplicated().sum()) for stream in streams.values())
    mixed = [stream for stream in streams.values() if len(_ways(stream)[1]) > 1]
    directs = sum(int(stream["storing"].fillna(BUFFERED).map(is_direct).sum()) for stream in mixed)
    return [
        *([f"{own} writes wait by a sync of their own behind them, as fio opens all files of a stream alike"] if own else []),
        *([f"{directs} direct requests go through the page cache, as fio opens all files of a stream alike"] if directs else []),
    ]


def _check_share(plan: ReplayPlan, given: pd.DataFrame, left_out: Mapping[str, int]) -> None:
    asked = int(plan.requests["op"].isin(["read", "write", "sync"]).sum())
    if len(given) < _LEAST_SHARE * asked:
        why = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise TickdiskError(
            f"fio could replay only {len(given)} of {asked} reads, writes and syncs ({why}); replay the capture without --for-fio"
        )


def _run(folder: Path, seconds: float, cores: Sequence[int] | None, *, is_real_time: bool) -> None:
    answer = folder / "answer.json"
    priority = ["chrt", "--fifo", "1"] if is_real_time else []
    command: list[str | Path] = [
        *priority,
        "fio",
        "--output-format=json",
        f"--output={answer}",
        "--eta=never",
        folder / "replay.fio",
    ]
    child = Child("fio_replay", command, folder, cores=cores)
    limit_s = 10 * math.ceil(seconds) + _GRACE_S
    try:
        code = child.wait(limit_s)
    finally:
        if child.poll() is None:
            child.stop(1)
    if code is None:
        raise TickdiskError(f"fio's replay did not end within {limit_s:g} s; check that the device completes its requests")
    errors = [job["error"] for job in read_json(answer)["jobs"] if job["error"]] if code == 0 and answer.exists() else []
    if code != 0 or errors:
        raise TickdiskError(f"fio's replay failed with exit code {code} and errors {errors}: {child.tail(3)}")


def _timed(stream: pd.DataFrame, folder: Path, number: int) -> pd.DataFrame:
    """Returns the reads and writes of a stream with the times of fio's log, which must have exactly these requests."""
    thread = int(stream["thread"].iloc[0])
    logged = parse_log(folder / f"{thread}_lat.{number}.log")
    after_sync = (stream["op"].shift(1) == "sync")[stream["op"] != "sync"]
    moved = stream[stream["op"] != "sync"]
    if (
        len(logged) != len(moved)
        or bool((logged.length != moved["expected"].to_numpy()).any())
        or bool((logged.is_write != (moved["op"] == "write").to_numpy()).any())
    ):
        raise TickdiskError(
            f"{folder / str(thread)}_lat.{number}.log does not match the {len(moved)} requests that fio was given; replay again"
        )
    completed_ns = logged.completed_ms * _MS
    issued_ns = completed_ns - logged.latency_ns
    lag_ns, lost_ns = lateness(ready_ns(moved["thread"], completed_ns), moved["due_ns"], issued_ns)
    known = ~after_sync.to_numpy(dtype=bool)
    requests = moved.assign(issued_ns=issued_ns, completed_ns=completed_ns, result=logged.length, file=moved["name"])
    lags = {
        name: pd.array(np.where(known, values, 0), dtype="Int64") for name, values in (("lag_ns", lag_ns), ("lost_ns", lost_ns))
    }
    for values in lags.values():
        values[~known] = pd.NA
    return requests.assign(**lags)[list(COLUMNS)]
