"""The optional parts of a device model, such as drawn latencies, token buckets, an arm, stalls and a write cache.

Each part is a class with its parameters, as a YAML file has them. `src/native/src/model` computes completions from them.
"""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Strict, Tag, model_validator

LONGEST_NS = 3_600_000_000_000
"""Longest time that a description may have, one hour. A lognormal latency may be drawn longer than that."""
Nanoseconds = Annotated[int, Field(ge=0, le=LONGEST_NS)]
Count = Annotated[int, Field(gt=0, lt=1 << 63)]
Points = Annotated[tuple[Annotated[tuple[float, float], Strict(False)], ...], Strict(False)]  # YAML has no tuples.


class ModelPart(BaseModel):
    """The base class of `DeviceModel` and its parts. Unknown keys and values of another type are errors in all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Lognormal(ModelPart):
    """A latency that is drawn for each request, and whose logarithm has a normal distribution.

    A description may give `p99_ns`, the 99th percentile, instead of `sigma`.
    """

    median_ns: Annotated[int, Field(gt=0, le=LONGEST_NS)]
    sigma: Annotated[float, Field(ge=0, le=3)]
    """Standard deviation of the natural logarithm."""

    @model_validator(mode="before")
    @classmethod
    def _sigma_of_p99(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and "p99_ns" in values:
            median_ns, p99_ns = values.get("median_ns"), values["p99_ns"]
            if "sigma" in values or not (isinstance(median_ns, int) and isinstance(p99_ns, int) and 0 < median_ns <= p99_ns):
                raise ValueError("it needs median_ns, and beside it either sigma or p99_ns, which is not below the median")
            rest = {key: value for key, value in values.items() if key != "p99_ns"}
            return rest | {"sigma": float(np.log(p99_ns / median_ns)) / NormalDist().inv_cdf(0.99)}
        return values


class Quantiles(ModelPart):
    """A latency that is drawn for each request from a distribution that is given by its quantiles."""

    quantiles: Points
    """Pairs of a share, which rises from 0 to 1, and the latency in ns that this share of the requests does not exceed. The
    latency is linear between the pairs."""

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if len(self.quantiles) < 2:  # noqa: PLR2004 - two points make a line
            raise ValueError("it needs the shares 0 and 1 at least")
        shares, latencies = np.array(self.quantiles).T
        if shares[0] != 0 or shares[-1] != 1 or (np.diff(shares) <= 0).any():
            raise ValueError("the shares have to rise from 0 to 1")
        if latencies[0] < 0 or latencies[-1] > LONGEST_NS or (np.diff(latencies) < 0).any():
            raise ValueError("the latencies must not fall, must not be negative, and must not be longer than an hour")
        return self


class QuantilesByInflight(ModelPart):
    """A latency that is drawn from a distribution which depends on the number of requests in flight.

    The distributions are given by their quantiles for several numbers, as a profile has measured them. The number in flight
    includes the request itself and those that arrived before it and are not completed. The latency is linear between the numbers.
    Below the first number it is as at the first, and beyond the last it keeps the last slope if that rises. The time that a
    request waits for a channel is added.
    """

    inflight: Annotated[tuple[Annotated[int, Field(ge=1, le=1 << 20)], ...], Strict(False)]
    """The numbers of requests in flight, which rise."""
    quantiles: Annotated[tuple[Annotated[tuple[float, ...], Strict(False)], ...], Strict(False)]
    """Rows of a share and, for each number in `inflight`, the latency in ns that this share of the requests does not exceed."""

    @model_validator(mode="after")
    def _tables(self) -> Self:
        if not self.inflight or list(self.inflight) != sorted(set(self.inflight)):
            raise ValueError("inflight needs numbers that rise")
        if any(len(row) != len(self.inflight) + 1 for row in self.quantiles):
            raise ValueError("every row needs a share and a latency for each number in inflight")
        for column in range(len(self.inflight)):
            self.table(column)
        return self

    def table(self, column: int) -> Quantiles:
        """Returns the distribution of the latency in ns at the number of requests in flight `inflight[column]`."""
        return Quantiles(quantiles=tuple((row[0], row[column + 1]) for row in self.quantiles))


KINDS: Mapping[str, type[ModelPart]] = {
    "lognormal latency": Lognormal,
    "quantile table": Quantiles,
    "quantile tables by requests in flight": QuantilesByInflight,
}
CONSTANT = "constant latency"


def _kind(value: Any) -> str:
    if isinstance(value, Mapping) and "inflight" in value:
        return "quantile tables by requests in flight"
    if isinstance(value, Mapping):
        return "quantile table" if "quantiles" in value else "lognormal latency"
    return next((kind for kind, part in KINDS.items() if isinstance(value, part)), CONSTANT)


Latency = Annotated[
    Annotated[Nanoseconds, Tag(CONSTANT)]
    | Annotated[Lognormal, Tag("lognormal latency")]
    | Annotated[Quantiles, Tag("quantile table")],
    Discriminator(_kind),
]
"""A latency in ns, which is either constant or drawn."""

OpLatency = Annotated[
    Annotated[Nanoseconds, Tag(CONSTANT)]
    | Annotated[Lognormal, Tag("lognormal latency")]
    | Annotated[Quantiles, Tag("quantile table")]
    | Annotated[QuantilesByInflight, Tag("quantile tables by requests in flight")],
    Discriminator(_kind),
]
"""The latency of an operation in ns, which may also depend on the number of requests in flight."""


def median_ns(latency: OpLatency) -> int:
    """Returns the median in ns of a constant or drawn latency on an idle device, which has no other request in flight."""
    match latency:
        case QuantilesByInflight():
            return median_ns(latency.table(0))
        case Lognormal():
            return latency.median_ns
        case Quantiles():
            shares, latencies = zip(*latency.quantiles, strict=True)
            return int(np.interp(0.5, shares, latencies) + 0.5)
        case _:
            return latency


def share_up_to(latency: OpLatency, longest_ns: float) -> float:
    """Returns the share of the requests to an idle device whose constant or drawn latency is at most `longest_ns`."""
    match latency:
        case QuantilesByInflight():
            return share_up_to(latency.table(0), longest_ns)
        case Quantiles():
            shares, latencies = np.array(latency.quantiles).T
            if longest_ns >= latencies[-1]:
                return 1.0
            after = int(np.searchsorted(latencies, longest_ns, side="right"))  # the first point with a longer latency
            around = slice(max(after - 1, 0), after + 1)
            return float(np.interp(longest_ns, latencies[around], shares[around], left=0.0))
        case Lognormal() if latency.sigma > 0 and longest_ns > 0:
            return NormalDist(float(np.log(latency.median_ns)), latency.sigma).cdf(float(np.log(longest_ns)))
        case _:
            return float(median_ns(latency) <= longest_ns)


class Bucket(ModelPart):
    """A token bucket, by which a cloud volume limits requests or bytes. Reads and writes pass it in the order of their arrival.

    The bucket is full at first. A request waits until the bucket holds what the request costs. If it costs more than `capacity`,
    a full bucket lets it pass.
    """

    per_s: Count
    """Number of tokens that come in a second."""
    capacity: Count
    """Number of tokens that the bucket holds at most."""
    request_bytes: Count | None = None
    """A request costs one token for every begun `request_bytes` of its length. If None, it costs one token for every byte."""


class Seek(ModelPart):
    """The arm of a hard disk over a turning platter. It has to move to the place of a request, which is called a seek.

    A seek takes `least_ns` + (`most_ns` - `least_ns`) * sqrt(distance / `span_bytes`), with the distance in bytes. After the
    seek the head waits until the place comes by. A track has as many bytes as the bandwidth transfers in a revolution. A read
    that continues where the last request ended needs no seek and no wait, because it has been read ahead.
    """

    least_ns: Nanoseconds
    most_ns: Nanoseconds
    """Time of a seek over `span_bytes` or more."""
    span_bytes: Count
    """Size of the whole disk. A smaller emulated device is a partition of it."""
    revolution_ns: Nanoseconds
    """Time of a revolution. If it is 0, the head never waits after a seek."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.most_ns < self.least_ns:
            raise ValueError("most_ns must not be below least_ns")
        return self


class Stalls(ModelPart):
    """Times in which the device starts nothing, such as the garbage collection of flash."""

    every_bytes: Annotated[int, Field(ge=4096, lt=1 << 63)] | None = None
    """Number of written bytes from one stall to the next, which begins with the write that completes it. If None, writes begin no
    stalls."""
    period_ns: Annotated[int, Field(gt=0, le=LONGEST_NS)] | None = None
    """Length of a period, each of which has one stall. Periods begin with the first request. If None, there are no periods."""
    at_random: bool = False
    """Whether the stall of a period is at a drawn place in the period, and not at its end."""
    length_ns: Latency
    """Length of a stall. A stall of a period is at most as long as the period."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.every_bytes is None and self.period_ns is None:
            raise ValueError("it needs every_bytes or period_ns")
        return self


class Cache(ModelPart):
    """A volatile write cache of a device, which writes its contents to the medium in the order in which they came.

    A write takes `latency_ns` while there is room, and otherwise first waits for room. A flush waits until all is on the medium.
    """

    bytes: Count
    latency_ns: Latency
    """Latency of a write into the cache, instead of the device's `write_latency_ns`."""
    destage_bytes_per_s: Count
    """Bandwidth at which the cache is written to the medium."""


class FitLine(ModelPart):
    """Closeness of the model of a profiled disk to the measurement of one kind of 4 KiB requests at one queue depth.

    The simulated latencies are those that the model gives at that depth. Errors are relative, so 0.1 is 10 % too much. Loads are
    as in `host.Load`, each the largest of any round that was kept.
    """

    op: Literal["read", "write", "write_flush"]
    """Kind of request. `write_flush` is a write and then a flush, measured together."""
    queue_depth: Annotated[int, Field(ge=1)]
    used: Literal["fit", "held_out"]
    """Whether the model was fitted to this measurement, or only compared with it."""
    requests: Annotated[int, Field(ge=1)]
    p50_ns: Nanoseconds
    """Measured median latency, which is the median over the rounds. `p99_ns` is made in the same way."""
    p99_ns: Nanoseconds | None
    """Measured 99th percentile. It is None if fewer than ten requests lie beyond it, because it cannot be estimated then."""
    p50_error: float
    """Simulated median divided by the measured one, less 1."""
    p99_error: float | None
    """Simulated 99th percentile divided by the measured one, less 1. It is None if `p99_ns` is."""
    ks_distance: Annotated[float, Field(ge=0, le=1)]
    """Two-sample Kolmogorov-Smirnov distance between measured and simulated latencies."""
    p50_repeat: Annotated[float, Field(ge=0)]
    """Error of the round whose median is farthest from `p50_ns`. No model can be expected to be much closer than that."""
    p99_repeat: Annotated[float, Field(ge=0)] | None
    """Error of the round whose 99th percentile is farthest from `p99_ns`. It is None if `p99_ns` is."""
    steal_share: float
    pressure_cpu_share: float
    pressure_io_share: float
    pressure_memory_share: float
    client_cpu_share: float = 0.0
    """Largest share of a round in which fio was on its core. Near 1 the latencies are as much fio's as the disk's."""
    repeats: Annotated[int, Field(ge=0)]
    """Number of rounds that were not kept, because the machine was too loaded during them."""
    too_loaded: bool
    """Whether the machine was too loaded during a round that was kept."""
