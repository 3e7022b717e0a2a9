"""The calibration, which measures the floor of every model on one emulated device, and runs every job for the tiers."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk.calibrate import fio, summary
from tickdisk.calibrate.bench import LIMITS, REPEATS, Bench, Measured, bench
from tickdisk.calibrate.fio import Job
from tickdisk.calibrate.points import BANDWIDTH_SHARE
from tickdisk.calibrate.record import SCHEMA_VERSION, Calibration, DeviceResult, Reason, load_calibration
from tickdisk.calibrate.settle import Settled, excess_ns, ramp_s, settle
from tickdisk.device import DEFAULT_FILE_SYSTEM, DeviceModel
from tickdisk.foundation import host, memory, record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole

Say = Callable[[str], None]
_4K, _1M = 4 << 10, 1 << 20
DEPTHS = (1, 4, 16, 32)
PIPE_DEPTH = 16
_FSYNCS = 100
_SIZE_BYTES = 1 << 30
"""Size of the device. Only what is written takes memory, some 150 MiB. On less than 512 MiB, ext4 would use blocks of 1 KiB."""
_REQUESTS = pa.schema(
    [
        pa.field("device", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("job", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("op", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("completed_ms", pa.int32(), nullable=False),
        pa.field("latency_ns", pa.int64(), nullable=False),
        pa.field("ramp", pa.bool_(), nullable=False),
    ],
    metadata={"schema_version": str(SCHEMA_VERSION), "table": "calibration_requests"},
)


def tier_jobs(seconds: float, model: DeviceModel) -> list[Job]:
    """Returns the jobs with which a tier is calibrated, each measured for `seconds` after its ramp. Queue depth 1 comes first.

    An fsync costs several requests one after another. Its job is longer on a slow device, so that the median can be estimated.
    """
    _, write_ns, flush_ns, _ = model.latency_ns
    fsync_s = (2 * write_ns + flush_ns) / 1e9
    length = seconds + ramp_s(seconds)
    return [
        *(Job(op, "random", _4K, depth, length) for depth in DEPTHS for op in ("read", "write")),
        *(Job(op, "sequential", _1M, PIPE_DEPTH, length) for op in ("read", "write")),
        Job("pwrite_fsync", "random", _4K, 1, max(length, ramp_s(seconds) + _FSYNCS * fsync_s)),
    ]


def calibrate(
    models: Sequence[DeviceModel],
    *,
    tiers: Sequence[str],
    seconds_per_job: float,
    out_path: Path,
    say: Say = print,
    size_bytes: int = _SIZE_BYTES,
    limits: dict[str, float] | None = None,
    repeats: int = REPEATS,
    backend: str | None = None,
    file_system: str = DEFAULT_FILE_SYSTEM,
) -> Calibration:
    """Measures with fio how fast emulated devices really are on this machine, finds the floor of each, and writes `out_path`.

    Every job is run for the models that `tiers` names, and measured for `seconds_per_job` after its ramp. For the other models
    only the floor and the CPU time are measured. A folder beside `out_path`, with its name without the suffix, gets the raw
    latencies (`requests.parquet`) and fio's files (`logs`). `say` prints a line after each model. A job is repeated at most
    `repeats` times while the load exceeds `limits`, which are shares of `host.MachineLoad` (if None, `LIMITS`). If `backend`
    is None, the first one that works on this machine is taken.

    If a tier has no model, or if the device or fio fails, TickdiskError is raised. Nothing is then left running or mounted, and
    no result is written.
    """
    if not models or not set(tiers) <= {model.name for model in models}:
        raise TickdiskError(
            f"there is no model for tier {', '.join(sorted(set(tiers) - {m.name for m in models})) or '(none given)'}; add one"
        )
    limits = LIMITS if limits is None else limits
    started, began = time.time(), time.monotonic()
    beside = out_path.with_suffix("")
    with (
        whole(beside / "requests.parquet") as partial,
        memory.folder() as fast,
    ):
        with (
            pq.ParquetWriter(partial, _REQUESTS, compression="zstd") as writer,
            bench(
                models[0],
                size_bytes=size_bytes,
                folder=fast,
                limits=limits,
                repeats=repeats,
                backend=backend,
                file_system=file_system,
            ) as table,
        ):
            ran, on_it, lack = table.disk.backend.name, table.disk.file_system, table.disk.arrivals_lack
            session = _CalibrationRun(table, writer, seconds_per_job)
            devices = []
            for model in models:
                devices.append(session.tier(model) if model.name in tiers else session.floor_only(model))
                say(_sentence(devices[-1]))
        _keep_fio_files(fast, beside / "logs")
    result = Calibration(
        schema_version=SCHEMA_VERSION,
        machine=host.facts(),
        backend=ran,
        file_system=str(on_it),
        fio=fio.version(),
        seconds_per_job=seconds_per_job,
        ramp_s=ramp_s(seconds_per_job),
        started_unix_s=started,
        wall_s=time.monotonic() - began,
        limits=limits,
        arrivals_lack=lack,
        requests=f"{beside.name}/requests.parquet",
        devices=_with_ceiling(devices),
    )
    record.write(out_path, result)
    return result


def copy_calibration(path: Path, out_path: Path) -> None:
    """Copies a calibration with its raw latencies, but without fio's files, to another file.

    Raises TickdiskError if there is no calibration at `path`, or if its latencies are missing.
    """
    calibration = load_calibration(path)
    latencies, copy = path.parent / calibration.requests, out_path.with_suffix("") / "requests.parquet"
    if not latencies.exists():
        raise TickdiskError(f"{latencies} is missing; remove {path} and run `tickdisk calibrate` again")
    with whole(copy) as partial:
        shutil.copyfile(latencies, partial)
    record.write(out_path, calibration.model_copy(update={"requests": f"{copy.parent.name}/{copy.name}"}))


class _CalibrationRun:
    """The measurement of several models on one bench. Every request that is kept goes to the table of raw latencies."""

    def __init__(self, table: Bench, writer: pq.ParquetWriter, seconds: float) -> None:
        self._bench, self._writer, self._seconds = table, writer, seconds
        self._ramp_ms = ramp_s(seconds) * 1000

    def tier(self, model: DeviceModel) -> DeviceResult:
        """Settles the floor, then runs every job once. p50 of the two jobs at queue depth 1 shows whether the floor is right."""
        settled = settle(self._bench, model, self._seconds)
        self._bench.set(model, floor_ns=settled.floor_ns)
        measured = [self._bench.run(job) for job in tier_jobs(self._seconds, model)]
        for each in measured:
            self._keep(model, each)
        result = self._device(model, settled, measured[:2])
        return result.model_copy(update={"jobs": [summary.job_result(model, each, self._ramp_ms) for each in measured]})

    def floor_only(self, model: DeviceModel) -> DeviceResult:
        """Settles the floor. Its last measurement gives p50 and the CPU time."""
        settled = settle(self._bench, model, self._seconds)
        self._keep(model, settled.last)
        return self._device(model, settled, [settled.last])

    def _device(self, model: DeviceModel, settled: Settled, shallow: list[Measured]) -> DeviceResult:
        p50_ns = model.service_ns(_4K, "read_write") + np.mean(excess_ns(model, shallow, self._ramp_ms))
        cpu_ns = sum(each.cpu_ns for each in shallow) / sum(len(each.requests) for each in shallow)
        return DeviceResult(
            name=model.name,
            model=model,
            latency_ns=model.service_ns(_4K, "read"),
            floor_ns=settled.floor_ns,
            floor_looks=settled.looks,
            p50_ns=round(float(p50_ns)),
            cpu_ns_per_request=cpu_ns,
            floor_limited=False,
            reasons=(),
            jobs=[],
        )

    def _keep(self, model: DeviceModel, measured: Measured) -> None:
        requests, n = measured.requests, len(measured.requests)
        op = np.where(requests.is_write, "write", "read") if measured.job.op != "pwrite_fsync" else np.full(n, "pwrite_fsync")
        columns = [
            np.full(n, model.name),
            np.full(n, measured.job.name),
            op,
            requests.completed_ms,
            requests.latency_ns,
            requests.completed_ms < self._ramp_ms,
        ]
        self._writer.write_table(
            pa.table(
                [
                    pa.array(column).cast(field.type)
                    if not pa.types.is_dictionary(field.type)
                    else pa.array(column).dictionary_encode().cast(field.type)
                    for column, field in zip(columns, _REQUESTS, strict=True)
                ],
                schema=_REQUESTS,
            )
        )


def _with_ceiling(devices: list[DeviceResult]) -> list[DeviceResult]:
    """Marks the devices that are faster than this machine can be.

    Their latencies are below the floor, or their bandwidths are above the largest bandwidth that any device realised.
    """
    pipes = [job for device in devices for job in device.jobs if job.pattern == "sequential"]
    ceilings = {op: max((job.bandwidth_bytes_per_s or 0 for job in pipes if job.op == op), default=0) for op in ("read", "write")}
    marked = []
    for device in devices:
        reasons = list[Reason]()
        for job in device.jobs:
            nominal, realised = job.nominal_bandwidth_bytes_per_s, job.bandwidth_bytes_per_s
            if job.nominal_p50_ns is not None and not job.within_tolerance and device.floor_ns >= device.latency_ns:
                values = f"nominal p50 {job.nominal_p50_ns / 1e3:.1f} us, realised {job.p50_ns / 1e3:.1f} us"
                reasons.append(Reason(job=job.job, values=values))
            if job.pattern == "sequential" and nominal and realised and nominal * (1 - BANDWIDTH_SHARE) > ceilings[job.op]:
                values = f"nominal {nominal / 1e9:.2f} GB/s, realised {realised / 1e9:.2f} GB/s"
                reasons.append(Reason(job=job.job, values=values))
        if not device.jobs and device.floor_ns >= device.latency_ns:
            values = f"nominal {device.latency_ns / 1e3:.1f} us, realised {device.p50_ns / 1e3:.1f} us"
            reasons.append(Reason(job="", values=values))
        marked.append(device.model_copy(update={"floor_limited": bool(reasons), "reasons": tuple(reasons)}))
    return marked


def _sentence(device: DeviceResult) -> str:
    kind = f"{len(device.jobs)} jobs" if device.jobs else "floor only"
    latency = (
        f"nominal {device.latency_ns / 1e3:.1f} us, realised {device.p50_ns / 1e3:.1f} us, floor {device.floor_ns / 1e3:.1f} us"
    )
    return f"{device.name}: {latency}, {device.cpu_ns_per_request / 1e3:.1f} us of CPU a request ({kind})"


def _keep_fio_files(folder: Path, kept: Path) -> None:
    """Keeps fio's job files, JSON outputs, commands and outputs, but not its latency logs, which are in the table of requests."""
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder, kept, ignore=shutil.ignore_patterns("*_lat.*.log"))
