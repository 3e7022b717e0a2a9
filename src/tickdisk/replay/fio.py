"""fio's own replay of a plan (`read_iolog`), and how late that was by fio's own log."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.calibrate import parse_log
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, write_text
from tickdisk.process import Child
from tickdisk.replay.iolog import SUFFIX, unfit, write_iolog
from tickdisk.replay.log import COLUMNS, Replayed
from tickdisk.replay.plan import Plan
from tickdisk.replay.timing import lateness

_GRACE_S = 120.0
_MS = 1_000_000
_LEAST_SHARE = 0.5
"""A replay by fio that leaves out more of the reads, writes and syncs is none of the capture."""
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


def files_for_fio(plan: Plan) -> dict[str, int]:
    """Returns the size that each file must have beforehand: fio ends a job that reads beyond an end."""
    reads = plan.requests[(plan.requests["op"] == "read") & (plan.requests["expected"] > 0)]
    needed = (reads["offset"] + reads["expected"]).groupby(reads["file"]).max()
    return {
        **dict.fromkeys(set(plan.requests["file"]) - plan.folders, 0),
        **{str(path): int(size) for path, size in needed.items()},
    }


def replay_by_fio(
    plan: Plan, target: Path, folder: Path, *, cores: Sequence[int] | None = None, is_real_time: bool = False
) -> Replayed:
    """Lets fio replay the plan on files below `target`, made by `prepare` of `files_for_fio`: one job a stream, psync.

    Times are from the start of each job. fio logs completions in whole milliseconds, cut off: they are up to 1 ms too early. It
    logs no sync: there is no row for those, and lag and time lost of the request after one are null. `is_real_time` gives it the
    priority that our streams have. `folder` keeps trace files, job file, logs and fio's answer. TickdiskError when fio is missing
    or fails, or when its log is not of the requests that it was given.
    """
    streams, left_out = write_for_fio(plan, target, folder)
    given = pd.concat(streams.values())
    seconds = float(given["due_ns"].max() + given["captured_ns"].sum()) / 1e9
    _run(folder, seconds, cores, is_real_time=is_real_time)
    timed = [_timed(stream, folder, number) for number, stream in enumerate(streams.values(), start=1)]
    timings = pd.concat(timed).sort_values("due_ns", kind="stable", ignore_index=True)
    return Replayed(timings, is_real_time, left_out=dict(left_out))


def write_for_fio(plan: Plan, target: Path, folder: Path) -> tuple[dict[int, pd.DataFrame], Counter[str]]:
    """Writes the plan, on files below `target`, as fio takes it: a trace file for each stream, version 3, and a job file that
    replays them and logs latencies, `replay.fio`.

    Returns the requests of each stream, by thread, and how many were left out, by reason. TickdiskError when none is fit, or when
    so few are that fio would replay something else.
    """
    given, left_out = _given(plan, target)
    _check_share(plan, given, left_out)
    folder.mkdir(parents=True, exist_ok=True)
    streams = {thread: given[given["thread"] == thread] for thread in given["thread"].unique().tolist()}
    text = ["[global]", *_GLOBAL]
    for thread, stream in streams.items():
        left_out += write_iolog(folder / f"{thread}{SUFFIX}", stream)
        text += [f"[stream_{thread}]", f"read_iolog={folder / f'{thread}{SUFFIX}'}", f"write_lat_log={folder / str(thread)}"]
    write_text(folder / "replay.fio", "\n".join(text) + "\n")
    return streams, left_out


def _given(plan: Plan, target: Path) -> tuple[pd.DataFrame, Counter[str]]:
    """The requests that fio is given: with the bytes that were moved, as a read beyond the end would end its job."""
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
    given = given[~only_syncs]
    if given.empty:
        why = ", ".join(f"{count} {reason}" for reason, count in (+left_out).items()) or "it is empty"
        raise TickdiskError(f"the plan has no read and no write that fio could replay: {why}")
    return given.assign(length=given["expected"]), +left_out


def _check_share(plan: Plan, given: pd.DataFrame, left_out: Mapping[str, int]) -> None:
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
        raise TickdiskError(f"fio's replay did not end within {limit_s:g} s; the device hangs")
    errors = [job["error"] for job in read_json(answer)["jobs"] if job["error"]] if code == 0 and answer.exists() else []
    if code != 0 or errors:
        raise TickdiskError(f"fio's replay failed with exit code {code}, errors {errors}: {child.tail(3)}")


def _timed(stream: pd.DataFrame, folder: Path, number: int) -> pd.DataFrame:
    """The stream's reads and writes with fio's times; its log must be of just these."""
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
            f"{folder / str(thread)}_lat.{number}.log is not of the {len(moved)} requests that fio was given; run again"
        )
    completed_ns = logged.completed_ms * _MS
    issued_ns = completed_ns - logged.latency_ns
    lag_ns, lost_ns = lateness(moved["thread"], moved["due_ns"], issued_ns, completed_ns)
    known = ~after_sync.to_numpy(dtype=bool)
    found = moved.assign(issued_ns=issued_ns, completed_ns=completed_ns, result=logged.length, file=moved["name"])
    lags = {
        name: pd.array(np.where(known, values, 0), dtype="Int64") for name, values in (("lag_ns", lag_ns), ("lost_ns", lost_ns))
    }
    for values in lags.values():
        values[~known] = pd.NA
    return found.assign(**lags)[list(COLUMNS)]
