"""What a device can be made of beside constant latencies, one pipe and channels; `src/native/src/model` computes with it."""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Strict, Tag, model_validator

_LONGEST_NS = 3_600_000_000_000
Nanoseconds = Annotated[int, Field(ge=0, le=_LONGEST_NS)]
Count = Annotated[int, Field(gt=0, lt=1 << 63)]
Points = Annotated[tuple[Annotated[tuple[float, float], Strict(False)], ...], Strict(False)]  # YAML has lists


class Part(BaseModel):
    """What a device has or has not."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Lognormal(Part):
    """A latency whose logarithm is normal; `p99_ns` may be given instead of `sigma`."""

    median_ns: Annotated[int, Field(gt=0, le=_LONGEST_NS)]
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
        if latencies[0] < 0 or latencies[-1] > _LONGEST_NS or (np.diff(latencies) < 0).any():
            raise ValueError("latencies do not fall, are not negative and at most an hour")
        return self


KINDS: Mapping[str, type[Part]] = {"lognormal latency": Lognormal, "quantile table": Quantiles}
CONSTANT = "constant latency"


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "quantile table" if "quantiles" in value else "lognormal latency"
    return next((kind for kind, part in KINDS.items() if isinstance(value, part)), CONSTANT)


Latency = Annotated[
    Annotated[Nanoseconds, Tag(CONSTANT)]
    | Annotated[Lognormal, Tag("lognormal latency")]
    | Annotated[Quantiles, Tag("quantile table")],
    Discriminator(_kind),
]
"""How long an operation takes, in ns: always the same, or drawn."""


def median_ns(latency: Latency) -> int:
    """Returns the latency that half of the requests do not exceed."""
    match latency:
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
    period_ns: Annotated[int, Field(gt=0, le=_LONGEST_NS)] | None = None
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
