"""The files about emulated devices: their calibration, their fidelity, and the device models."""

from tickdisk.calibrate import Calibration, Fidelity
from tickdisk.describe.entry import DescribedTable, Entry, Section, blocks_of, table_entry, written
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
from tickdisk.foundation.host import HostFacts
from tickdisk.foundation.table import SCHEMAS

_LOAD_WORDS = {
    "steal_share": "The share of the cores' time that the hypervisor gave to other guests.",
    "pressure_cpu_share": "The share of the time in which some task waited for a core.",
    "pressure_memory_share": "The share of the time in which some task waited for memory.",
}

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

_MODEL = DescribedTable(
    "A device model has these keys; files of results leave out `description`, `source`, `tier`, `sizing_class` and `fit`:",
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

_LOGNORMAL = DescribedTable(
    "A latency is a number of ns, or one of three objects. The first is a latency whose logarithm has a normal distribution:",
    keys_of_class(Lognormal),
    {
        "median_ns": "The median latency.",
        "sigma": "The standard deviation of the logarithm. A YAML file may give `p99_ns`, the 99th percentile, instead.",
    },
)

_QUANTILES = DescribedTable(
    "The second is a table of quantiles:",
    keys_of_class(Quantiles),
    {"quantiles": "Pairs of a share, which rises from 0 to 1, and a latency in ns; the latency is linear between them."},
)

_BY_INFLIGHT = DescribedTable(
    "The third is a table of quantiles for several numbers of requests in flight, linear between them:",
    keys_of_class(QuantilesByInflight),
    {
        "inflight": "The numbers of requests in flight, rising.",
        "quantiles": "Rows of a share, which rises from 0 to 1, and a latency in ns for each number in `inflight`.",
    },
    {"inflight": "requests"},
)

_BUCKET = DescribedTable(
    "Each object of `credits` is a token bucket that is full at first:",
    keys_of_class(Bucket),
    {
        "per_s": "The number of tokens that come in a second.",
        "capacity": "The number of tokens that the bucket holds.",
    },
    {"per_s": "tokens/s", "capacity": "tokens"},
)

_SEEK = DescribedTable(
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

_STALLS = DescribedTable(
    "`stalls` has these keys:",
    keys_of_class(Stalls),
    {
        "every_bytes": "A stall begins with the write that completes so many bytes; null: writes begin none.",
        "period_ns": "A stall begins in each period of this length, from the first request on; null: periods have none.",
        "at_random": "Whether the stall of a period begins at a random time in it, and not at its end.",
        "length_ns": "The length of a stall, which is a latency as above.",
    },
)

_CACHE = DescribedTable(
    "`cache` has these keys:",
    keys_of_class(Cache),
    {
        "bytes": "The size of the cache.",
        "latency_ns": "The latency of a write while the cache has room.",
        "destage_bytes_per_s": "The bandwidth at which the cache is written to the medium; a flush waits for all of it.",
    },
)

_FIT = DescribedTable(
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
        Entry(
            "results/calibration.json",
            "This file holds the results of the calibration.",
            tuple(blocks_of(Calibration, elsewhere=(DeviceModel, HostFacts))),
        ),
        Entry("results/calibration/requests.parquet", "Each row is a request of fio during the calibration.", (_RAW,)),
        table_entry(
            "results/disks/DIGEST/latencies.parquet",
            "Each row is a request of fio during the profile of a real disk. `disk.yaml` beside it is the device that was fitted "
            "to them. DIGEST is that of the path of the folder on the disk.",
            SCHEMAS["latencies"],
            {
                "op": "The kind of request: read, write, or write_flush, which is a write together with its flush.",
                "queue_depth": "The number of requests that fio kept in flight.",
                "round": "The number of the round; the first is 0.",
                "latency_ns": "The latency that fio saw.",
            },
            {"queue_depth": "requests"},
        ),
        Entry(
            "results/fidelity.json",
            "This file holds the realised latency and the latency of the model, over queue depths.",
            tuple(blocks_of(Fidelity, elsewhere=(HostFacts,))),
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
