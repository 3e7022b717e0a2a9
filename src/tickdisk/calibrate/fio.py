"""One job of fio: its description, its run, and the latency of every request from fio's log."""

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pc

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json
from tickdisk.foundation.process import Child, run

Op = Literal["read", "write", "read_write", "pwrite_fsync", "pwrite_fdatasync"]
Pattern = Literal["random", "sequential"]
Integers = npt.NDArray[np.int64]

_KIB, _MIB = 1 << 10, 1 << 20
_GRACE_S = 60.0
_COLUMNS = ("completed_ms", "latency_ns", "direction", "length", "priority")
_LINE = re.compile(r"\d+, \d+, [01], \d+, \d+\Z")
_RW = {
    ("read", "random"): "randread",
    ("read", "sequential"): "read",
    ("write", "random"): "randwrite",
    ("write", "sequential"): "write",
    ("read_write", "random"): "randrw",
    ("pwrite_fsync", "random"): "randwrite",
    ("pwrite_fdatasync", "random"): "randwrite",
}
_SYNCED = {"pwrite_fsync": "sync", "pwrite_fdatasync": "dsync"}


_LOG_ENTRIES = 1 << 20
"""The largest size of a log that fio accepts, in entries."""


@dataclass(frozen=True)
class Job:
    """A job of fio: requests of one kind, pattern and size at one queue depth, for either `seconds` or a number of `requests`.

    `pwrite_fsync` and `pwrite_fdatasync` go through the page cache. All other requests bypass it.
    """

    op: Op
    """`pwrite_fsync` is a write and an fsync together, and `pwrite_fdatasync` a write and an fdatasync."""
    pattern: Pattern
    block_bytes: int
    queue_depth: int
    seconds: float | None = None
    requests: int | None = None
    seed: int | None = None
    """Seed of the places of random requests. If None, the places are the same in every job."""

    @property
    def name(self) -> str:
        """A name that is unique among the jobs of a device, such as `read_random_4k_qd16`."""
        size = f"{self.block_bytes // _MIB}m" if self.block_bytes >= _MIB else f"{self.block_bytes // _KIB}k"
        return f"{self.op}_{self.pattern}_{size}_qd{self.queue_depth}"

    def text(self, target: "Target", log_prefix: Path) -> str:
        """Returns the text of fio's job file for a run on `target`, whose logs have names that begin with `log_prefix`.

        fio's own ramp is not used. The ramp is cut from the log later, so that the log has as many requests as fio reports.
        """
        lines = [
            f"[{self.name}]",
            # fio takes a colon as a separator between several files.
            "filename=" + str(target.path).replace(":", r"\:"),
            f"offset={target.offset}",
            f"size={target.size_bytes}",
            f"rw={_RW[self.op, self.pattern]}",
            f"bs={self.block_bytes}",
            "thread=1",
            "norandommap=1",
            "invalidate=0",
            "allow_file_create=0",
            "allow_mounted_write=1",  # fio writes only inside the blocks of a file that was made for it, see region.py
            "disk_util=0",
            "clocksource=clock_gettime",
            "disable_slat=1",
            "disable_clat=1",
            f"write_lat_log={log_prefix}",
            # If its log is full, fio enlarges it, and loses the last few requests of a job that ends at that moment.
            f"log_entries={_LOG_ENTRIES}",
        ]
        if self.op in _SYNCED:
            # With fsync=1, fio logs only the write to the page cache, and counts the fsync in a histogram. With O_SYNC, the
            # kernel calls the same fsync at the end of each pwrite (generic_write_sync), and fio logs both as one request.
            # O_DSYNC does the same with fdatasync.
            lines += ["ioengine=psync", f"sync={_SYNCED[self.op]}"]
        elif self.queue_depth == 1:
            # With psync each request is one system call, as those of a server are. With libaio, one call submits the request and
            # another waits for it, which takes 1 to 3 us more.
            lines += ["ioengine=psync", "direct=1"]
        else:
            lines += ["ioengine=libaio", "direct=1", f"iodepth={self.queue_depth}"]
        if self.seed is not None:
            lines.append(f"randseed={self.seed}")
        if self.requests is not None:
            lines.append(f"io_size={self.requests * self.block_bytes}")
        else:
            assert self.seconds is not None
            lines += ["time_based=1", f"runtime={math.ceil(self.seconds * 1000)}ms"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Target:
    """A part of a block device or a file that a job may read and write."""

    path: Path
    offset: int
    """Beginning of the part in bytes."""
    size_bytes: int


@dataclass(frozen=True)
class Requests:
    """Every request of a job, in the order of completion. All arrays have the same length."""

    completed_ms: Integers
    """Time of the completion since the start of the job, in whole ms as fio records it."""
    latency_ns: Integers
    """Time from submission to completion, as fio sees it."""
    is_write: npt.NDArray[np.bool_]
    length: Integers
    """Size in bytes."""
    cpu_share: float = 0.0
    """Share of the job's time in which fio itself was running. Near 1, the latencies are as much fio's as the device's."""

    def __len__(self) -> int:
        return len(self.latency_ns)

    def after(self, cut_ms: float, cut_requests: int = 0) -> "Requests":
        """Returns the requests that completed at `cut_ms` (the end of the ramp) or later, without the first `cut_requests`."""
        keep = (self.completed_ms >= cut_ms) & (np.arange(len(self)) >= cut_requests)
        return Requests(self.completed_ms[keep], self.latency_ns[keep], self.is_write[keep], self.length[keep], self.cpu_share)

    @property
    def requests_per_s(self) -> float | None:
        """The requests per second from the start of the job to the last completion. None if that time is less than a millisecond.

        The time includes the first latency, so the rate of a short job is a little low. A window within the job would also count
        bursts at its edges that belong to requests outside it.
        """
        if len(self) == 0 or self.completed_ms[-1] == 0:
            return None
        return len(self) / int(self.completed_ms[-1]) * 1000


def version() -> str:
    """Returns the version of fio, such as `fio-3.33`. If fio is not installed, TickdiskError is raised."""
    return run(["fio", "--version"]).strip()


def run_job(job: Job, target: Target, folder: Path, *, cores: Sequence[int] | None = None, interrupts: bool = True) -> Requests:
    """Runs a job of fio to its end on a part of a device or file, and returns all its requests.

    `folder` gets the job file, fio's JSON output, its log, and the record of the command. If `cores` is None, fio may run on all
    cores of this process. If `interrupts` is set, fio is a real-time thread, which runs as soon as a request completes, in place
    of any other thread on its core. Otherwise fio is a batch thread, and notices the completion when the core is free.

    If fio is not installed, fails or does not end, or if its log and its own count of requests differ, TickdiskError is raised.
    fio is then stopped.
    """
    folder.mkdir(parents=True, exist_ok=True)
    job_file, answer, prefix = folder / f"{job.name}.fio", folder / f"{job.name}.answer.json", folder / job.name
    job_file.write_text(job.text(target, prefix), encoding="utf-8")
    for left in (answer, prefix.with_name(f"{job.name}_lat.1.log")):
        left.unlink(missing_ok=True)
    command: list[str | Path] = ["fio", "--output-format=json", f"--output={answer}", "--eta=never", job_file]
    child = Child(f"fio_{job.name}", command, folder, cores=cores, policy=os.SCHED_FIFO if interrupts else os.SCHED_BATCH)
    try:
        code = child.wait((job.seconds or 0) + _GRACE_S)
    finally:
        if child.poll() is None:
            child.stop(1)
    if code is None:
        raise TickdiskError(
            f"fio job {job.name} on {target.path} did not end within {_GRACE_S:g} s of its time; the device hangs"
        )
    output = child.log_path.read_text(encoding="utf-8", errors="replace")
    log = prefix.with_name(f"{job.name}_lat.1.log")
    if code != 0 or not log.exists():  # fio can refuse a job and still exit with code 0
        raise TickdiskError(f"fio job {job.name} on {target.path} failed with exit code {code}: {_reason(output, answer)}")
    requests, said = parse_log(log), parse_answer(answer)
    _agree(job, requests, said.requests)
    return replace(requests, cpu_share=said.cpu_share)


@dataclass(frozen=True)
class JobFigures:
    """The figures that fio reports of a job as a whole. Its log must have as many requests, or lines of the log were lost."""

    requests: Mapping[str, int]
    """Number of requests, by `read` and `write`."""
    cpu_share: float
    """CPU time of fio itself, as a share of the job's time."""


def parse_answer(path: Path) -> JobFigures:
    """Returns the figures in fio's JSON output. If fio reports an error of the job, TickdiskError is raised."""
    try:
        (job,) = read_json(path)["jobs"]
        error, counts = int(job["error"]), {way: int(job[way]["total_ios"]) for way in ("read", "write")}
        cpu_share = (float(job["usr_cpu"]) + float(job["sys_cpu"])) / 100
    except (KeyError, TypeError, ValueError) as problem:
        raise TickdiskError(f"{path}: this is not the answer of one fio job ({problem!r}); is this fio 3?") from problem
    if error:
        raise TickdiskError(f"{path}: fio reports error {error} for job {job.get('jobname')}; its log is beside the file")
    return JobFigures(counts, cpu_share)


def parse_log(path: Path) -> Requests:
    """Reads a latency log of fio that has a line for every request.

    If the log is empty, a line is not a request, or the times run backwards, TickdiskError counts the wrong lines.
    """
    read = pc.ReadOptions(column_names=list(_COLUMNS))
    convert = pc.ConvertOptions(column_types={name: pa.int64() for name in _COLUMNS}, null_values=[])
    try:
        if path.stat().st_size == 0:
            raise TickdiskError(f"{path}: fio logged no request; give the job more time")
        table = pc.read_csv(path, read_options=read, convert_options=convert)
    except pa.ArrowInvalid as error:
        raise _bad_lines(path) from error
    columns = {name: table[name].to_numpy() for name in _COLUMNS}
    directions = columns["direction"]
    if bool(((directions != 0) & (directions != 1)).any()) or bool((np.diff(columns["completed_ms"]) < 0).any()):
        raise _bad_lines(path)
    return Requests(columns["completed_ms"], columns["latency_ns"], directions == 1, columns["length"])


def _bad_lines(path: Path) -> TickdiskError:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    bad = [number for number, line in enumerate(lines, start=1) if not _LINE.match(line)]
    if not bad:
        return TickdiskError(f"{path}: the times in this log run backwards; run the calibration again")
    return TickdiskError(
        f"{path}: {len(bad)} of {len(lines)} lines are not requests (time, latency, direction, length, priority), the first is "
        f"line {bad[0]}; is the disk full, or fio older than 3.30?"
    )


def _agree(job: Job, requests: Requests, counts: Mapping[str, int]) -> None:
    writes = int(np.count_nonzero(requests.is_write))
    logged = {"read": len(requests) - writes, "write": writes}
    if logged != counts:
        raise TickdiskError(
            f"fio job {job.name}: its log holds {logged} requests and its answer says {counts}; is the disk full?"
        )
    if bool((requests.length != job.block_bytes).any()):
        raise TickdiskError(f"fio job {job.name}: its log holds requests that are not of {job.block_bytes} bytes; run it again")
    if job.requests is not None and len(requests) != job.requests:
        raise TickdiskError(f"fio job {job.name}: {job.requests} requests were asked for and {len(requests)} made; run it again")


def _reason(output: str, answer: Path) -> str:
    """Returns the line of fio's output or of its JSON output that names the error of the operating system."""
    said = output + (answer.read_text(encoding="utf-8", errors="replace") if answer.exists() else "")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("fio:") and "error" in line.lower()]
    return (named or [line for line in lines if line.startswith("fio:")] or lines or ["no output"])[0]
