"""The content of `fidelity.json`, which compares realised latencies with nominal ones, and the bounds on their distance."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from tickdisk.calibrate.chains import OtherChain
from tickdisk.foundation.host import HostFacts
from tickdisk.foundation.record import Record, Unit, read

SCHEMA_VERSION: Literal[7] = 7
ChainName = Literal["tickdisk"] | OtherChain
OURS: ChainName = "tickdisk"
SHARE_OF_CEILING = 0.5
"""A device is held to its model below this share of the requests per second that the machine can serve at all."""
LEAST_JUDGED_SHARE = 0.5
"""Least share of the points that must have been measured on a machine that was not too loaded, before all points are said to keep
a bound. One point that misses the bound is enough to say that they do not."""
P50_NS, P50_SHARE, P99_NS, P99_SHARE, BANDWIDTH_SHARE = 5_000, 0.03, 100_000, 0.15, 0.03
P50_LIMIT, P99_LIMIT = f"max({P50_NS / 1000:g} us, {100 * P50_SHARE:g} %)", f"max({P99_NS / 1000:g} us, {100 * P99_SHARE:g} %)"
"""The bounds on the distance of realised percentiles from nominal ones, in words."""


class Point(Record):
    """The latencies of 4 KiB random requests of one kind on one device at one queue depth, as realised and as nominal.

    Values are the medians of the runs of the point, and loads, as in `host.MachineLoad`, are the highest of any run. A percentile
    is None if too few requests lie beyond it.
    """

    chain: ChainName
    """The way in which the device was emulated."""
    device: str
    """The name of the device model."""
    latency_ns: int
    """The median latency of the model for a request on the idle device."""
    op: Literal["read", "write"]
    """The operation."""
    queue_depth: Annotated[int, Unit("requests")]
    """The number of requests that fio kept in flight."""
    runs: Annotated[int, Unit("runs")]
    """The number of runs that were kept."""
    n: Annotated[int, Unit("requests")]
    """Requests of all runs."""
    p50_ns: int
    """The realised median latency."""
    p99_ns: int | None
    """The realised 99th percentile. It is null when fewer than ten requests lie beyond it."""
    p99_runs_ns: tuple[int | None, ...]
    """The realised 99th percentile of each run."""
    p999_ns: int | None
    """The realised 99.9th percentile. It is null when fewer than ten requests lie beyond it."""
    nominal_p50_ns: int
    """The median latency that the model says of the same requests."""
    nominal_p99_ns: int | None
    """The 99th percentile that the model says of them. It is null when fewer than ten lie beyond it."""
    nominal_p999_ns: int | None
    """The 99.9th percentile that the model says of them. It is null when fewer than ten lie beyond it."""
    iops: float
    """The realised requests per second."""
    nominal_iops: float
    """The requests per second of the model: the queue depth over the mean latency that it says, after Little's law."""
    floor_ns: int
    """The latency of the emulator itself that was subtracted."""
    steal_share: float
    """The share of the cores' time that the hypervisor gave to other guests."""
    pressure_cpu_share: float
    """The share of the time in which some task waited for a core."""
    pressure_memory_share: float
    """The share of the time in which some task waited for memory."""
    repeats: Annotated[int, Unit("runs")]
    """Runs that are not kept, because the machine was too loaded."""
    too_loaded: bool
    """Whether the machine was too loaded in a run that was kept."""

    @property
    def p50_off_ns(self) -> int:
        """The realised median minus the nominal median, in ns."""
        return self.p50_ns - self.nominal_p50_ns

    @property
    def p50_holds(self) -> bool:
        """Whether the realised median is within 5 us or 3 % of the nominal median."""
        return abs(self.p50_off_ns) <= max(P50_NS, P50_SHARE * self.nominal_p50_ns)

    @property
    def p99_holds(self) -> bool | None:
        """Whether the realised p99 is within 100 us or 15 % (the larger) of the nominal one.

        None if fewer than ten requests lie beyond either of the two percentiles.
        """
        if self.p99_ns is None or self.nominal_p99_ns is None:
            return None
        return abs(self.p99_ns - self.nominal_p99_ns) <= max(P99_NS, P99_SHARE * self.nominal_p99_ns)


class Pipe(Record):
    """The bandwidth of 1 MiB sequential requests on a device whose model has a bandwidth and no latency.

    Loads are as in `host.MachineLoad`.
    """

    chain: ChainName
    """The way in which the device was emulated."""
    op: Literal["read", "write"]
    """The operation."""
    nominal_bytes_per_s: float
    """The bandwidth of the model."""
    bytes_per_s: Annotated[float, Unit("B/s")]
    """The realised bandwidth."""
    n: Annotated[int, Unit("requests")]
    """The number of requests."""
    steal_share: float
    """The share of the cores' time that the hypervisor gave to other guests."""
    pressure_cpu_share: float
    """The share of the time in which some task waited for a core."""
    pressure_memory_share: float
    """The share of the time in which some task waited for memory."""
    too_loaded: bool
    """Whether the machine was too loaded."""

    @property
    def holds(self) -> bool:
        """Whether the realised bandwidth is within `BANDWIDTH_SHARE` of the nominal one."""
        return abs(self.bytes_per_s / self.nominal_bytes_per_s - 1) <= BANDWIDTH_SHARE


class Fidelity(Record):
    """The content of `fidelity.json`: how close emulated devices are to their models, by one measurement on one machine."""

    schema_version: Literal[7]
    """The version of the form of this file."""
    machine: HostFacts
    """The machine that was measured. See *Host* below."""
    fio: str
    """The version of fio."""
    seconds_per_point: Annotated[float, Unit("s")]
    """The measured time of a point."""
    limits: Annotated[Mapping[str, float], Unit("share")]
    """The shares above which a job was repeated because the machine was too loaded, by name."""
    points: list[Point]
    """The measured points. A point is a queue depth of a device, at which 4 KiB requests at random places were measured. A value
    of several runs is their median, and a load is the highest of theirs."""
    pipes: list[Pipe]
    """The measured bandwidths, each of a device that has only a bandwidth, read or written by sequential requests of 1 MiB."""
    others: dict[str, str]
    """The other ways of emulating a device: how each was built, or why it was not measured, by name."""

    @property
    def ceiling_iops(self) -> float:
        """The largest number of requests per second that a device without delay served on this machine."""
        return max(point.iops for point in self.points if point.chain == OURS and point.latency_ns == 0)

    @property
    def least_latency_ns(self) -> int:
        """The smallest median latency of reads on a device without delay. No emulated device can be faster on this machine."""
        return min(point.p50_ns for point in self.points if point.chain == OURS and point.latency_ns == 0)

    def counts(self, point: Point) -> bool:
        """Returns whether a point must keep the bounds on its distance from the model, as this machine is fast enough for it.

        Such a point is one of this project's emulator. Its nominal rate is below half of the ceiling, and its nominal median is
        longer than the least latency of this machine.
        """
        return (
            point.chain == OURS
            and point.nominal_p50_ns > self.least_latency_ns
            and point.nominal_iops < SHARE_OF_CEILING * self.ceiling_iops
        )

    @property
    def own_pipes(self) -> list[Pipe]:
        """The bandwidths of this project's emulator, without those of other chains. They must be near their models."""
        return [pipe for pipe in self.pipes if pipe.chain == OURS]

    @property
    def holds(self) -> bool:
        """Whether the points and bandwidths of this project's emulator are near enough to their models.

        Only points that `counts` accepts matter. Points and bandwidths that were measured under too much load are left out. If
        too few points are left (`LEAST_JUDGED_SHARE`), the answer is False.
        """
        held = [point for point in self.points if self.counts(point)]
        judged = [point for point in held if not point.too_loaded]
        if not judged or len(judged) < LEAST_JUDGED_SHARE * len(held):
            return False
        pipes = [pipe for pipe in self.own_pipes if not pipe.too_loaded]
        return all(point.p50_holds and point.p99_holds is not False for point in judged) and all(pipe.holds for pipe in pipes)


def load_fidelity(path: Path) -> Fidelity:
    """Reads `fidelity.json`. If it is missing or has another form, TickdiskError names the key that is wrong."""
    return read(Fidelity, path, "remove the file and run `tickdisk fidelity`")


def describe(fidelity: Fidelity) -> Iterator[str]:
    """Yields the lines of a table of `fidelity.json` for the terminal. The last two lines summarise all points."""
    latencies = "".join(f"{f'{name} us':>11}{'off':>9}" for name in ("p50", "p99", "p99.9"))
    yield f"{'chain':9}{'device':22}{'op':6}{'depth':>6}{latencies}{'requests/s':>12}  held to its model"
    for point in fidelity.points:
        realised = [point.p50_ns, point.p99_ns, point.p999_ns]
        said = [point.nominal_p50_ns, point.nominal_p99_ns, point.nominal_p999_ns]
        off = [
            f"{each / 1000:11,.1f}{(each - of) / 1000:+9.1f}" if each is not None and of is not None else f"{'':20}"
            for each, of in zip(realised, said, strict=True)
        ]
        holds = {(True, True): "holds", (True, None): "p50 holds", (True, False): "p99 DOES NOT HOLD"}
        verdict = holds.get((point.p50_holds, point.p99_holds), "p50 DOES NOT HOLD") if fidelity.counts(point) else ""
        loaded = ", too much load" if point.too_loaded else ""
        if verdict and point.nominal_p99_ns is not None and len(told := [ns for ns in point.p99_runs_ns if ns is not None]) > 1:
            least, most = ((ns - point.nominal_p99_ns) / 1000 for ns in (min(told), max(told)))
            loaded += f", p99 of its runs {least:+.1f} to {most:+.1f}"
        head = f"{point.chain:9}{point.device:22}{point.op:6}{point.queue_depth:6}"
        yield f"{head}{''.join(off)}{point.iops:12,.0f}  {verdict}{loaded}"
    for pipe in fidelity.pipes:
        share = pipe.bytes_per_s / pipe.nominal_bytes_per_s - 1
        verdict = "" if pipe.chain != OURS else ", holds" if pipe.holds else ", DOES NOT HOLD"
        yield f"{pipe.chain}, 1 MiB {pipe.op}: {pipe.bytes_per_s / 1e6:,.0f} MB/s, {share:+.2%}{verdict}"
    least_us = fidelity.least_latency_ns / 1000
    beside = "; ".join(f"{name}: {words}" for name, words in fidelity.others.items())
    ceiling = f"at most {fidelity.ceiling_iops:,.0f} requests/s"
    yield f"without delay: {ceiling}, p50 at least {least_us:.1f} us; other chains: {beside}"
    held = [point for point in fidelity.points if fidelity.counts(point)]
    told = [point.p99_holds for point in held if point.p99_holds is not None]
    p50 = sum(point.p50_holds for point in held)
    yield f"p50 holds at {p50} of {len(held)} points, p99 at {sum(told)} of {len(told)}"
