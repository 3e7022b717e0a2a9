"""Measurements of what emulated devices really do on this machine, compared with what their models say.

A job is one measurement by fio: requests of one kind, pattern and size at one queue depth on a mounted device. Its percentiles,
requests per second and bandwidth are realised, and the same figures of the model are nominal.

- `calibrate` takes device models and returns a `Calibration`, which `load_calibration` reads again. A calibration has the floor
  of every device, which is the time that this machine adds to the model's latency and that is subtracted from it (`settle`). It
  also has the emulator's CPU time per request, and for the tiers the figures of every job. `acceptance` lists the bounds on them.
- `measure_fidelity` returns a `Fidelity`, which compares the latencies of requests with the model's latencies of the same
  requests over queue depths. It also measures other chains, which are other ways to have a slow block device.
- `Bench` and `run_job` run single jobs, also for other rooms. A job on a machine that was too loaded is repeated.
"""

from tickdisk.calibrate.bench import LIMITS, REPEATS, Bench, Measured, bench, repeat_while_too_loaded
from tickdisk.calibrate.fidelity import CROSS_NS, PIPES_BYTES_PER_S, measure_fidelity
from tickdisk.calibrate.fio import Job, Requests, Target, parse_log, run_job
from tickdisk.calibrate.fio import version as fio_version
from tickdisk.calibrate.measure import calibrate
from tickdisk.calibrate.nominal import nominal_latency_ns
from tickdisk.calibrate.points import (
    BANDWIDTH_SHARE,
    LEAST_JUDGED_SHARE,
    OURS,
    P50_LIMIT,
    P99_LIMIT,
    SHARE_OF_CEILING,
    Fidelity,
    Pipe,
    Point,
    describe,
    load_fidelity,
)
from tickdisk.calibrate.record import (
    Calibration,
    DeviceResult,
    JobResult,
    burn_ns,
    floor_ns,
    interpolate_floor,
    load_calibration,
    realised_ns,
)
from tickdisk.calibrate.settle import Settled, ramp_s, settle
from tickdisk.calibrate.summary import Line, acceptance, percentile_ns

__all__ = [
    "BANDWIDTH_SHARE",
    "CROSS_NS",
    "LEAST_JUDGED_SHARE",
    "LIMITS",
    "OURS",
    "P50_LIMIT",
    "P99_LIMIT",
    "PIPES_BYTES_PER_S",
    "REPEATS",
    "SHARE_OF_CEILING",
    "Bench",
    "Calibration",
    "DeviceResult",
    "Fidelity",
    "Job",
    "JobResult",
    "Line",
    "Measured",
    "Pipe",
    "Point",
    "Requests",
    "Settled",
    "Target",
    "acceptance",
    "bench",
    "burn_ns",
    "calibrate",
    "describe",
    "fio_version",
    "floor_ns",
    "interpolate_floor",
    "load_calibration",
    "load_fidelity",
    "measure_fidelity",
    "nominal_latency_ns",
    "parse_log",
    "percentile_ns",
    "ramp_s",
    "realised_ns",
    "repeat_while_too_loaded",
    "run_job",
    "settle",
]
