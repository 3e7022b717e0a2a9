"""Measures by fio how fast emulated devices really are on this machine, and compares that with what their models say.

A measured figure is called realised, and the same figure of the model nominal. `calibrate` writes calibration.json
(`Calibration`). It has the floor of each model, which is the time that the machine adds to each request, and the results of all
jobs of fio on the tiers. `acceptance` says for each bound on them whether it is kept. `measure_fidelity` writes fidelity.json
(`Fidelity`), which has latencies and bandwidths over queue depths, also of nbdkit and null_blk. A job on a machine that was too
loaded is repeated twice at most, and then marked.
"""

from tickdisk.calibrate.bench import LIMITS, REPEATS, Bench, Measured, bench, repeat_while_too_loaded
from tickdisk.calibrate.fidelity import CROSS_NS, PIPES_BYTES_PER_S, measure_fidelity
from tickdisk.calibrate.fio import Job, Requests, Target, parse_log, run_job
from tickdisk.calibrate.fio import version as fio_version
from tickdisk.calibrate.measure import calibrate, copy_calibration
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
    Reason,
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
    "Reason",
    "Requests",
    "Settled",
    "Target",
    "acceptance",
    "bench",
    "burn_ns",
    "calibrate",
    "copy_calibration",
    "describe",
    "fio_version",
    "floor_ns",
    "interpolate_floor",
    "load_calibration",
    "load_fidelity",
    "measure_fidelity",
    "parse_log",
    "percentile_ns",
    "ramp_s",
    "realised_ns",
    "repeat_while_too_loaded",
    "run_job",
    "settle",
]
