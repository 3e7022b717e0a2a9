"""`fidelity.json`: how close realised latencies came to the model's, point by point, and what holds."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tickdisk.calibrate.chains import OtherChain
from tickdisk.calibrate.quiet import STILL_TAKEN_SHARE
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json

SCHEMA_VERSION: Literal[6] = 6
ChainName = Literal["tickdisk"] | OtherChain
OURS: ChainName = "tickdisk"
SHARE_OF_CEILING = 0.5
"""Up to this share of the requests that the machine can serve a device is held to its model."""
LEAST_JUDGED_SHARE = 0.5
"""So many of the points must have been measured on a machine quiet enough for all of them to be said to hold."""
QUIET_LATE_SHARE = 0.005
"""Half of what p99 leaves: where the machine alone makes more of the requests late than this, it says nothing of the device."""
P50_NS, P50_SHARE, P99_NS, P99_SHARE, BANDWIDTH_SHARE = 3_000, 0.02, 50_000, 0.10, 0.02
P50_LIMIT, P99_LIMIT = f"max({P50_NS / 1000:g} us, {100 * P50_SHARE:g} %)", f"max({P99_NS / 1000:g} us, {100 * P99_SHARE:g} %)"
"""In words."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Point(_Strict):
    """4 KiB random requests of one kind at one queue depth: medians of its runs, and the highest of their loads."""

    chain: ChainName
    device: str
    latency_ns: int
    """Of a request on the idle device, the median."""
    op: Literal["read", "write"]
    queue_depth: int
    runs: int
    n: int
    """Requests of all runs."""
    p50_ns: int
    p99_ns: int | None
    p99_runs_ns: tuple[int | None, ...]
    """Run by run."""
    p999_ns: int | None
    nominal_p50_ns: int
    nominal_p99_ns: int | None
    nominal_p999_ns: int | None
    iops: float
    nominal_iops: float
    """Queue depth over the mean of what the model says (Little)."""
    floor_ns: int
    steal_share: float
    pressure_cpu_share: float
    pressure_memory_share: float
    late_share: float | None
    """Which share of the requests the machine alone makes late by more than p99 may be, as seen before and after (`standstill`);
    None where nothing says when they are due."""
    taken_share: float
    """Which share of the cores' time the machine took in pieces over 20 us, as seen then."""
    repeats: int
    """Runs that are not kept."""
    too_loaded: bool

    @property
    def p50_off_ns(self) -> int:
        """How far the realised median is from the model's."""
        return self.p50_ns - self.nominal_p50_ns

    @property
    def p50_holds(self) -> bool:
        """Within 3 us or 2 %."""
        return abs(self.p50_off_ns) <= max(P50_NS, P50_SHARE * self.nominal_p50_ns)

    @property
    def is_restless(self) -> bool:
        """Whether the machine stood still too much to tell p99 from it."""
        return (self.late_share or 0) > QUIET_LATE_SHARE

    @property
    def is_still(self) -> bool:
        """Whether it stood still no more than in a quiet moment, as p99 needs that is the device's own."""
        return self.taken_share <= STILL_TAKEN_SHARE

    @property
    def p99_is_near(self) -> bool | None:
        """Within 50 us or 10 %, whatever the machine did; None when too few requests lie beyond."""
        if self.p99_ns is None or self.nominal_p99_ns is None:
            return None
        return abs(self.p99_ns - self.nominal_p99_ns) <= allowed_p99_ns(self.nominal_p99_ns)

    @property
    def p99_holds(self) -> bool | None:
        """The same, but None, too, when the machine stood still too much to tell."""
        return None if self.is_restless else self.p99_is_near


def allowed_p99_ns(nominal_ns: int) -> int:
    """Returns how far p99 may be off."""
    return max(P99_NS, round(P99_SHARE * nominal_ns))


class Pipe(_Strict):
    """1 MiB sequential requests on a device that only has a bandwidth."""

    chain: ChainName
    op: Literal["read", "write"]
    nominal_bytes_per_s: float
    bytes_per_s: float
    n: int
    steal_share: float
    pressure_cpu_share: float
    pressure_memory_share: float
    too_loaded: bool

    @property
    def holds(self) -> bool:
        """Within `BANDWIDTH_SHARE`."""
        return abs(self.bytes_per_s / self.nominal_bytes_per_s - 1) <= BANDWIDTH_SHARE


class Fidelity(_Strict):
    """`fidelity.json`: the points of one run, and what this machine can serve at all."""

    schema_version: Literal[6]
    machine: Mapping[str, Any]
    fio: str
    seconds_per_point: float
    limits: Mapping[str, float]
    points: list[Point]
    pipes: list[Pipe]
    others: dict[str, str]
    """The other chains, with what they are made of, or why they are not beside ours."""

    @property
    def ceiling_iops(self) -> float:
        """The most requests a second that a device without delay served."""
        return max(point.iops for point in self.points if point.chain == OURS and point.latency_ns == 0)

    @property
    def least_latency_ns(self) -> int:
        """The least median of reads of a device without delay: the floor."""
        return min(point.p50_ns for point in self.points if point.chain == OURS and point.latency_ns == 0)

    def counts(self, point: Point) -> bool:
        """Returns whether a point is held to the model: its modelled rate is under half of the ceiling, and above the floor."""
        return (
            point.chain == OURS
            and point.nominal_p50_ns > self.least_latency_ns
            and point.nominal_iops < SHARE_OF_CEILING * self.ceiling_iops
        )

    @property
    def own_pipes(self) -> list[Pipe]:
        """The bandwidths that are held to the model."""
        return [pipe for pipe in self.pipes if pipe.chain == OURS]

    @property
    def holds(self) -> bool:
        """Whether all points that are held to the model hold, p99 where that is judged, and all pipes; not without points.

        Nor where too few of the points that tell p99 are judged (`LEAST_JUDGED_SHARE`).
        """
        held = [point for point in self.points if self.counts(point)]
        told = [point for point in held if point.p99_is_near is not None]
        judged = [point for point in told if point.p99_holds is not None]
        if not held or len(judged) < LEAST_JUDGED_SHARE * len(told):
            return False
        holds = [point.p50_holds and point.p99_holds is not False for point in held]
        return all(holds) and all(pipe.holds for pipe in self.own_pipes)


def load_fidelity(path: Path) -> Fidelity:
    """Returns what `measure_fidelity` wrote to `path`; TickdiskError names the file and the key that is wrong."""
    try:
        return Fidelity.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise TickdiskError(f"{path}: {key}: {first['msg']}; remove the file and run `tickdisk fidelity`") from error


def describe(found: Fidelity) -> Iterator[str]:
    """Yields a table of the points and pipes, and what is to be said of all of them."""
    latencies = "".join(f"{f'{name} us':>11}{'off':>9}" for name in ("p50", "p99", "p99.9"))
    yield f"{'chain':9}{'device':22}{'op':6}{'depth':>6}{latencies}{'requests/s':>12}  held to its model"
    for point in found.points:
        realised = [point.p50_ns, point.p99_ns, point.p999_ns]
        said = [point.nominal_p50_ns, point.nominal_p99_ns, point.nominal_p999_ns]
        off = [
            f"{each / 1000:11,.1f}{(each - of) / 1000:+9.1f}" if each is not None and of is not None else f"{'':20}"
            for each, of in zip(realised, said, strict=True)
        ]
        holds = {(True, True): "holds", (True, None): "p50 holds", (True, False): "p99 DOES NOT HOLD"}
        verdict = holds.get((point.p50_holds, point.p99_holds), "p50 DOES NOT HOLD") if found.counts(point) else ""
        loaded = ", too much load" if point.too_loaded else ""
        if verdict and point.nominal_p99_ns is not None and len(told := [ns for ns in point.p99_runs_ns if ns is not None]) > 1:
            least, most = ((ns - point.nominal_p99_ns) / 1000 for ns in (min(told), max(told)))
            loaded += f", p99 of its runs {least:+.1f} to {most:+.1f}"
        if verdict and point.is_restless:
            loaded += f", p99 not judged: the machine alone makes {point.late_share:.1%} late"
        head = f"{point.chain:9}{point.device:22}{point.op:6}{point.queue_depth:6}"
        yield f"{head}{''.join(off)}{point.iops:12,.0f}  {verdict}{loaded}"
    for pipe in found.pipes:
        share = pipe.bytes_per_s / pipe.nominal_bytes_per_s - 1
        verdict = "" if pipe.chain != OURS else ", holds" if pipe.holds else ", DOES NOT HOLD"
        yield f"{pipe.chain}, 1 MiB {pipe.op}: {pipe.bytes_per_s / 1e6:,.0f} MB/s, {share:+.2%}{verdict}"
    least_us = found.least_latency_ns / 1000
    beside = "; ".join(f"{name}: {words}" for name, words in found.others.items())
    yield f"ceiling {found.ceiling_iops:,.0f} requests/s, floor {least_us:.1f} us, beside it: {beside}"
    held = [point for point in found.points if found.counts(point)]
    judged = [point.p99_holds for point in held if point.p99_holds is not None]
    restless = [point.p99_is_near for point in held if point.is_restless and point.p99_is_near is not None]
    moving = sum(not point.is_still for point in held)
    limit = f"{STILL_TAKEN_SHARE:.0%} of the cores' time in pieces over 20 us"
    yield f"at {moving} of {len(held)} points the machine took more than {limit}"
    p50, p99 = sum(point.p50_holds for point in held), f"{sum(judged)} of {len(judged)}"
    others = f"{len(restless)} without a quiet moment, {sum(restless)} of which are near all the same"
    yield f"p50 holds at {p50} of {len(held)} points, p99 at {p99}; {others}"
