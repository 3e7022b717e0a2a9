"""What an emulated device really does on this machine: fio's figures beside the model's, the emulator's own latency and CPU."""

from tickdisk.calibrate.bench import LIMITS, REPEATS, Bench, Measured, bench
from tickdisk.calibrate.fio import Job, Requests, Target, parse_log, run_job
from tickdisk.calibrate.fio import version as fio_version
from tickdisk.calibrate.measure import calibrate, ramp_s
from tickdisk.calibrate.record import Calibration, DeviceResult, JobResult, burn_ns, floor_ns, interpolate_floor, load_calibration
from tickdisk.calibrate.summary import Line, acceptance, nominal_latency_ns, percentile_ns

__all__ = [
    "LIMITS",
    "REPEATS",
    "Bench",
    "Calibration",
    "DeviceResult",
    "Job",
    "JobResult",
    "Line",
    "Measured",
    "Requests",
    "Target",
    "acceptance",
    "bench",
    "burn_ns",
    "calibrate",
    "fio_version",
    "floor_ns",
    "interpolate_floor",
    "load_calibration",
    "nominal_latency_ns",
    "parse_log",
    "percentile_ns",
    "ramp_s",
    "run_job",
]
