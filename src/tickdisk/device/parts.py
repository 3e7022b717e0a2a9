"""What a device can be made of beside constant latencies, one pipe and channels; `src/native/src/model` computes with it."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Strict, Tag, model_validator

LONGEST_NS = 3_600_000_000_000
"""Of what is described; a lognormal latency may be drawn longer."""
Nanoseconds = Annotated[int, Field(ge=0, le=LONGEST_NS)]
Count = Annotated[int, Field(gt=0, lt=1 << 63)]
Points = Annotated[tuple[Annotated[tuple[float, float], Strict(False)], ...], Strict(False)]  # YAML has lists


class Part(BaseModel):
    """What a device has or has not."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Lognormal(Part):
    """A latency whose logarithm is normal; `p99_ns` may be given instead of `sigma`."""

    median_ns: Annotated[int, Field(gt=0, le=LONGEST_NS)]
    sigma: Annotated[float, Field(ge=0, le=3)]

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


class Quantiles(Part):
    """A latency by its quantiles: [share, ns] from share 0 to share 1, linear in between."""

    quantiles: Points

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        if len(self.quantiles) < 2:  # noqa: PLR2004 - a line
            raise ValueError("it needs the shares 0 and 1 at least")
        shares, latencies = np.array(self.quantiles).T
        if shares[0] != 0 or shares[-1] != 1 or (np.diff(shares) <= 0).any():
            raise ValueError("shares rise from 0 to 1")
        if latencies[0] < 0 or latencies[-1] > LONGEST_NS or (np.diff(latencies) < 0).any():
            raise ValueError("latencies do not fall, are not negative and at most an hour")
        return self


class QuantilesByInflight(Part):
    """A latency by its quantiles for some numbers of requests in flight: rows of [share, ns at the first, ns at the next ...].

    A request counts, with those that arrived before it and are not completed. Linear in between, as at the first number below it,
    and beyond the last on with the last slope where that rises. Waiting for a channel comes on top.
    """

    inflight: Annotated[tuple[Annotated[int, Field(ge=1, le=1 << 20)], ...], Strict(False)]
    quantiles: Annotated[tuple[Annotated[tuple[float, ...], Strict(False)], ...], Strict(False)]

    @model_validator(mode="after")
    def _tables(self) -> Self:
        if not self.inflight or list(self.inflight) != sorted(set(self.inflight)):
            raise ValueError("inflight has numbers that rise")
        if any(len(row) != len(self.inflight) + 1 for row in self.quantiles):
            raise ValueError("a row has a share and a latency for each number in inflight")
        for column in range(len(self.inflight)):
            self.table(column)
        return self

    def table(self, column: int) -> Quantiles:
        """Returns the quantiles for the number in place `column` of `inflight`."""
        return Quantiles(quantiles=tuple((row[0], row[column + 1]) for row in self.quantiles))


KINDS: Mapping[str, type[Part]] = {
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
"""How long something takes, in ns: always the same, or drawn."""

OpLatency = Annotated[
    Annotated[Nanoseconds, Tag(CONSTANT)]
    | Annotated[Lognormal, Tag("lognormal latency")]
    | Annotated[Quantiles, Tag("quantile table")]
    | Annotated[QuantilesByInflight, Tag("quantile tables by requests in flight")],
    Discriminator(_kind),
]
"""How long an operation takes, in ns: as a latency, or by the requests in flight."""


def median_ns(latency: OpLatency) -> int:
    """Returns the latency that half of the requests do not exceed, on an idle device."""
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


class Bucket(Part):
    """A token bucket that reads and writes pass in their order; full at first."""

    per_s: Count
    capacity: Count
    request_bytes: Count | None = None
    """A request costs a token for each begun run of so many bytes; without it, one for each byte."""


class Seek(Part):
    """One arm over a turning platter: a seek takes `least_ns` + (`most_ns` - `least_ns`) * sqrt(distance / `span_bytes`).

    Then the head waits until the place comes by: a track is what the bandwidth transfers in a revolution. A read that goes on
    where the last request ended has been read ahead.
    """

    least_ns: Nanoseconds
    most_ns: Nanoseconds
    span_bytes: Count
    """Of the whole disk: an emulated device that is smaller is a partition of it."""
    revolution_ns: Nanoseconds

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.most_ns < self.least_ns:
            raise ValueError("most_ns is not below least_ns")
        return self


class Stalls(Part):
    """Times in which the device starts nothing, such as the garbage collection of flash."""

    every_bytes: Annotated[int, Field(ge=4096, lt=1 << 63)] | None = None
    """One begins with the write that completes so many bytes written."""
    period_ns: Annotated[int, Field(gt=0, le=LONGEST_NS)] | None = None
    """One in each period, from the first request on."""
    at_random: bool = False
    """At a drawn place in its period; otherwise at its end."""
    length_ns: Latency

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.every_bytes is None and self.period_ns is None:
            raise ValueError("it needs every_bytes or period_ns")
        return self


class Cache(Part):
    """A volatile write cache: while there is room a write takes `latency_ns`; a flush waits until all is on the medium."""

    bytes: Count
    latency_ns: Latency
    destage_bytes_per_s: Count


class FitLine(Part):
    """How a model fits what it was fitted to: one kind of 4 KiB requests at one queue depth. Shares and errors are of 1."""

    op: Literal["read", "write", "write_flush"]
    queue_depth: Annotated[int, Field(ge=1)]
    used: Literal["fit", "held_out"]
    """Whether the model was fitted to it, or only held against it."""
    requests: Annotated[int, Field(ge=1)]
    p50_ns: Nanoseconds
    """As measured, the median of the rounds; as p99."""
    p99_ns: Nanoseconds | None
    """None where fewer than ten requests lie beyond: not estimable."""
    p50_error: float
    """Simulated over measured, less 1."""
    p99_error: float | None
    ks_distance: Annotated[float, Field(ge=0, le=1)]
    """Two-sample Kolmogorov-Smirnov distance between measured and simulated latencies."""
    p50_repeat: Annotated[float, Field(ge=0)]
    """How far the round farthest off is from that: no model can be expected to be much closer."""
    p99_repeat: Annotated[float, Field(ge=0)] | None
    steal_share: float
    pressure_cpu_share: float
    pressure_io_share: float
    pressure_memory_share: float
    """The most of any round that was kept."""
    client_cpu_share: float = 0.0
    """For how much of a round fio itself was on its core, at most: near 1 it was waited for as much as the disk."""
    repeats: Annotated[int, Field(ge=0)]
    """How many rounds were not kept, because the machine was too loaded in them."""
    too_loaded: bool
    """Whether it was too loaded in a round that was kept."""
