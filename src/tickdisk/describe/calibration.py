"""The files about emulated devices: their calibration, their fidelity, and the device models."""

from tickdisk.calibrate import Calibration, DeviceResult, Fidelity, JobResult, Pipe, Point
from tickdisk.describe.entry import Block, Entry, Section, written
from tickdisk.describe.keys import keys_of_class
from tickdisk.device import (
    Bucket,
    Cache,
    DeviceModel,
    FitLine,
    Lognormal,
    Quantiles,
    QuantilesByInflight,
    Seek,
    Stalls,
)

_LOAD_WORDS = {
    "steal_share": "The share of the cores' time that the hypervisor gave to other guests.",
    "pressure_cpu_share": "The share of the time in which some task waited for a core.",
    "pressure_memory_share": "The share of the time in which some task waited for memory.",
}

_CALIBRATION = Block(
    "The file is an object with these keys:",
    keys_of_class(Calibration),
    {
        "schema_version": "The version of the form of this file.",
        "machine": "The machine that was calibrated. See *Host* below.",
        "backend": "The way in which devices were emulated, such as fuse or tree.",
        "file_system": (
            "The file system on the devices. Jobs without a file system go to the block device below it, or, where there "
            "is none, to a file past the page cache."
        ),
        "fio": "The version of fio.",
        "seconds_per_job": "The measured time of a job.",
        "ramp_s": "The time that is cut from the start of every job.",
        "started_unix_s": "The time at which the calibration began, counted from the beginning of 1970.",
        "wall_s": "The time that the calibration took.",
        "arrivals_lack": (
            "The reason for which the kernel did not tell when requests arrived; empty if it told. The time that the "
            "emulator takes to take a request is then part of the floors."
        ),
        "devices": "The devices that were calibrated.",
    },
    {"seconds_per_job": "s", "limits": "share"},
)

_DEVICE = Block(
    "Each object of `devices` has these keys:",
    keys_of_class(DeviceResult),
    {
        "name": "The name of the device model.",
        "model": "The device model, with every parameter. See *Device model* below.",
        "floor_ns": (
            "The latency of the emulator itself: the time by which the median of requests that come one at a time exceeds "
            "the model. It is subtracted from every deadline."
        ),
        "floor_looks": "The number of measurements until the floor was settled.",
        "p50_ns": (
            "The realised median latency of requests that come one at a time, with the floor subtracted: the mean of "
            "reads and writes."
        ),
        "cpu_ns_per_request": "The processor time of the emulator for each request when requests come one at a time.",
        "floor_limited": "Whether this machine cannot be as fast as the model demands.",
        "jobs": (
            "The results of the fio jobs. The list is empty for a device of which only floor and processor time were measured."
        ),
    },
    {"floor_looks": "measurements"},
)

_JOB = Block(
    "Each object of `jobs` has these keys:",
    keys_of_class(JobResult),
    {
        "job": "The name of the fio job, such as `read_random_4k_qd16`.",
        "op": "The operation.",
        "pattern": "The order of the places that were asked for.",
        "block_bytes": "The size of a request.",
        "queue_depth": "The number of requests that fio kept in flight.",
        "p50_ns": "The median latency.",
        "p99_ns": "The 99th percentile of the latency. It is null when fewer than ten requests lie beyond it.",
        "p999_ns": "The 99.9th percentile of the latency. It is null when fewer than ten requests lie beyond it.",
        "iops": "The requests per second of the whole job. It is null for a job that was shorter than a millisecond.",
        "bandwidth_bytes_per_s": "The bandwidth of the whole job. It is null for a job that was shorter than a millisecond.",
        "nominal_p50_ns": (
            "The median latency of the model. It is stated for random requests that come one at a time, and null otherwise."
        ),
        "nominal_iops": "The requests per second of the model. It is null where the model sets no limit.",
        "nominal_bandwidth_bytes_per_s": "The bandwidth of the model. It is null where the model sets no limit.",
        "compared": (
            "The key that is compared with the model: the latency of requests that come one at a time, the requests per "
            "second of more in flight, the bandwidth of sequential jobs. It is null where the model says nothing."
        ),
        "within_tolerance": "Whether that ratio is within the tolerance.",
        **_LOAD_WORDS,
        "pressure_io_share": "The share of the time in which some task waited for storage.",
        "too_loaded": "Whether the machine was still too loaded at the last repeat, which was kept and marked.",
    },
    {
        "queue_depth": "requests",
        "n": "requests",
        "n_counted": "requests",
        "n_device": "requests",
        "ratio": "ratio",
        "repeats": "times",
    },
)

_RAW = written(
    "",
    {
        "device": ("category", "The name of the device model."),
        "job": ("category", "The name of the fio job."),
        "op": ("category", "The operation: read, write or pwrite_fsync."),
        "completed_ms": ("int32", "The time at which the request was completed, counted from the start of the job."),
        "latency_ns": ("int64", "The latency of the request."),
        "ramp": ("bool", "Whether the request was completed during the ramp, and is not counted."),
    },
)

_FIDELITY = Block(
    "The file is an object with these keys:",
    keys_of_class(Fidelity),
    {
        "schema_version": "The version of the form of this file.",
        "machine": "The machine that was measured. See *Host* below.",
        "fio": "The version of fio.",
        "seconds_per_point": "The measured time of a point.",
        "limits": "The shares above which a job was repeated because the machine was too loaded, by name.",
        "points": "The measured points.",
        "pipes": "The measured bandwidths.",
        "others": "The other ways of emulating a device: how each was built, or why it was not measured, by name.",
    },
    {"seconds_per_point": "s", "limits": "share"},
)

_POINT = Block(
    "Each object of `points` is a queue depth of a device, at which 4 KiB requests at random places were "
    "measured. A value of several runs is their median, and a load is the highest of theirs. It has these keys:",
    keys_of_class(Point),
    {
        "chain": "The way in which the device was emulated.",
        "device": "The name of the device model.",
        "latency_ns": "The median latency of the model for a request on the idle device.",
        "op": "The operation.",
        "queue_depth": "The number of requests that fio kept in flight.",
        "runs": "The number of runs that were kept.",
        "p50_ns": "The realised median latency.",
        "p99_ns": "The realised 99th percentile. It is null when fewer than ten requests lie beyond it.",
        "p99_runs_ns": "The realised 99th percentile of each run.",
        "p999_ns": "The realised 99.9th percentile. It is null when fewer than ten requests lie beyond it.",
        "nominal_p50_ns": "The median latency that the model says of the same requests.",
        "nominal_p99_ns": "The 99th percentile that the model says of them. It is null when fewer than ten lie beyond it.",
        "nominal_p999_ns": ("The 99.9th percentile that the model says of them. It is null when fewer than ten lie beyond it."),
        "iops": "The realised requests per second.",
        "nominal_iops": "The requests per second of the model: the queue depth over the mean latency that it says.",
        "floor_ns": "The latency of the emulator itself that was subtracted.",
        **_LOAD_WORDS,
        "too_loaded": "Whether the machine was too loaded in a run that was kept.",
    },
    {"queue_depth": "requests", "runs": "runs", "n": "requests", "repeats": "runs"},
)

_PIPE = Block(
    "Each object of `pipes` is a device that has only a bandwidth, read or written by sequential requests of 1 "
    "MiB. It has these keys:",
    keys_of_class(Pipe),
    {
        "chain": "The way in which the device was emulated.",
        "op": "The operation.",
        "nominal_bytes_per_s": "The bandwidth of the model.",
        "bytes_per_s": "The realised bandwidth.",
        "n": "The number of requests.",
        **_LOAD_WORDS,
        "too_loaded": "Whether the machine was too loaded.",
    },
    {"bytes_per_s": "B/s", "n": "requests"},
)

_MODEL = Block(
    "A device model has these keys; files of results leave out `description`, `source`, `tier` and `fit`:",
    keys_of_class(DeviceModel),
    {
        "name": "The name of the device. In a YAML file it is the key above the others.",
        "description": "A description of the device.",
        "read_latency_ns": "The latency of a read.",
        "write_latency_ns": "The latency of a write.",
        "flush_latency_ns": "The latency of a flush.",
        "discard_latency_ns": "The latency of a discard.",
        "bandwidth_bytes_per_s": "The bandwidth that all channels share. It is null for a device without that limit.",
        "channels": "The number of requests that are served at once. It is null for a device without that limit.",
        "credits": "The token buckets that reads and writes pass.",
        "seek": "The movement of an arm over a turning platter; null for a device without it.",
        "stalls": "The times in which the device starts nothing; null for a device without them.",
        "cache": "The volatile write cache; null for a device without it.",
        "seed": "The seed of everything that is drawn; with it the same arrivals have the same completions.",
        "fit": "The closeness of a profiled device to the measurements, one line for each kind of request and queue depth.",
    },
    {"channels": "requests"},
)

_LOGNORMAL = Block(
    "A latency is a number of ns, or one of three objects. The first is a latency whose logarithm has a normal distribution:",
    keys_of_class(Lognormal),
    {
        "median_ns": "The median latency.",
        "sigma": "The standard deviation of the logarithm. A YAML file may give `p99_ns`, the 99th percentile, instead.",
    },
)

_QUANTILES = Block(
    "The second is a table of quantiles:",
    keys_of_class(Quantiles),
    {"quantiles": "Pairs of a share, which rises from 0 to 1, and a latency in ns; the latency is linear between them."},
)

_BY_INFLIGHT = Block(
    "The third is a table of quantiles for several numbers of requests in flight, linear between them:",
    keys_of_class(QuantilesByInflight),
    {
        "inflight": "The numbers of requests in flight, rising.",
        "quantiles": "Rows of a share, which rises from 0 to 1, and a latency in ns for each number in `inflight`.",
    },
    {"inflight": "requests"},
)

_BUCKET = Block(
    "Each object of `credits` is a token bucket that is full at first:",
    keys_of_class(Bucket),
    {
        "per_s": "The number of tokens that come in a second.",
        "capacity": "The number of tokens that the bucket holds.",
    },
    {"per_s": "tokens/s", "capacity": "tokens"},
)

_SEEK = Block(
    "`seek` has these keys. A seek takes `least_ns` + (`most_ns` - `least_ns`) x sqrt(distance / `span_bytes`), "
    "and then the head waits for the place to come by:",
    keys_of_class(Seek),
    {
        "least_ns": "The time of the shortest seek.",
        "most_ns": "The time of the longest seek.",
        "span_bytes": "The size of the whole disk, of which an emulated device that is smaller is a part.",
        "revolution_ns": "The time of a revolution.",
    },
)

_STALLS = Block(
    "`stalls` has these keys:",
    keys_of_class(Stalls),
    {
        "every_bytes": "A stall begins with the write that completes so many bytes; null: writes begin none.",
        "period_ns": "A stall begins in each period of this length, from the first request on; null: periods have none.",
        "at_random": "Whether the stall of a period begins at a random time in it, and not at its end.",
        "length_ns": "The length of a stall, which is a latency as above.",
    },
)

_CACHE = Block(
    "`cache` has these keys:",
    keys_of_class(Cache),
    {
        "bytes": "The size of the cache.",
        "latency_ns": "The latency of a write while the cache has room.",
        "destage_bytes_per_s": "The bandwidth at which the cache is written to the medium; a flush waits for all of it.",
    },
)

_FIT = Block(
    "Each object of `fit` is a kind of 4 KiB requests at one queue depth:",
    keys_of_class(FitLine),
    {
        "op": "The kind of request.",
        "queue_depth": "The number of requests that fio kept in flight.",
        "requests": "The number of requests that were measured.",
        "p50_ns": "The measured median latency: the median of the rounds.",
        "p99_ns": "The measured 99th percentile. It is null when fewer than ten requests lie beyond it.",
        "p50_error": "The simulated median over the measured one, less 1.",
        "p99_error": "The simulated 99th percentile over the measured one, less 1. It is null where `p99_ns` is.",
        "p50_repeat": "The error of the round whose median is farthest from `p50_ns`; no model can be much closer.",
        "p99_repeat": "The error of the round whose 99th percentile is farthest from `p99_ns`, or null.",
        **_LOAD_WORDS,
        "pressure_io_share": "The share of the time in which some task waited for storage.",
        "client_cpu_share": "The highest share of a round in which fio was on its core; near 1 the disk is no slower than fio.",
        "repeats": "The number of rounds that were not kept, because the machine was too loaded.",
        "too_loaded": "Whether the machine was too loaded in a round that was kept.",
    },
    {
        "queue_depth": "requests",
        "requests": "requests",
        "p50_error": "share",
        "p99_error": "share",
        "p50_repeat": "share",
        "p99_repeat": "share",
        "repeats": "rounds",
    },
)

SECTION = Section(
    "Emulated devices",
    "Calibration measures every device of the experiments with fio before they run. The measurement of fidelity "
    "compares the latency that fio saw with the latency that the model says of the same requests.",
    (
        Entry("results/calibration.json", "This file holds the results of the calibration.", (_CALIBRATION, _DEVICE, _JOB)),
        Entry("results/calibration/requests.parquet", "Each row is a request of fio during the calibration.", (_RAW,)),
        Entry(
            "results/fidelity.json",
            "This file holds the realised latency and the latency of the model, over queue depths.",
            (_FIDELITY, _POINT, _PIPE),
        ),
    ),
)

MODEL = Entry(
    "Device model",
    "Manifests, calibrations and replays hold device models. `data/devices.yaml` and the files that `tickdisk "
    "device profile` writes hold them as YAML.",
    (_MODEL, _LOGNORMAL, _QUANTILES, _BY_INFLIGHT, _BUCKET, _SEEK, _STALLS, _CACHE, _FIT),
    is_file=False,
)
