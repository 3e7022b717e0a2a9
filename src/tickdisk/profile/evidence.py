"""The evidence of how well a model fits the measurements of a disk: errors of percentiles, and distances of distributions."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tickdisk.device import DeviceModel, FitLine
from tickdisk.profile.fit import P50_LIMIT, P99_LIMIT, simulated_ns
from tickdisk.profile.measure import BEYOND, Latencies, Measurements, Sample

_DIGITS = 4
SIMULATED = 200_000
"""Number of simulated requests. With only 20,000, the number beyond the 99th percentile would be known to 7 %, and this error
would be the same at all depths, because they have the same random draws."""
_BUSY = 0.8
"""Share of the time from which on fio itself is so busy that requests wait for it."""


def evidence(model: DeviceModel, measured: Measurements, fit_depths: Sequence[int]) -> tuple[FitLine, ...]:
    """Returns a line for each sample, which states how far the simulated latencies of a fitted model are from those of the disk.

    Lines of queue depths that are not in `fit_depths` are marked as held out.
    """
    return tuple(_line(model, sample, "fit" if sample.queue_depth in fit_depths else "held_out") for sample in measured.samples)


def _line(model: DeviceModel, sample: Sample, used: Literal["fit", "held_out"]) -> FitLine:
    measured_ns, simulated = sample.latency_ns, simulated_ns(model, sample.op, sample.queue_depth, SIMULATED)
    p50_ns, p99 = (round(ns) for ns in sample.quantiles([0.5, 0.99]))
    p99_ns = p99 if len(measured_ns) * (1 - 0.99) >= BEYOND else None
    load: dict[str, Any] = {
        f"{name}_share": round(max((getattr(load, f"{name}_share") for load in sample.loads), default=0.0), _DIGITS)
        for name in ("steal", "pressure_cpu", "pressure_io", "pressure_memory")
    }
    return FitLine(
        op=sample.op,
        queue_depth=sample.queue_depth,
        used=used,
        requests=len(measured_ns),
        p50_ns=p50_ns,
        p99_ns=p99_ns,
        p50_error=_off(float(np.quantile(simulated, 0.5)), p50_ns),
        p99_error=None if p99_ns is None else _off(float(np.quantile(simulated, 0.99)), p99_ns),
        ks_distance=round(_distance(simulated, measured_ns), _DIGITS),
        p50_repeat=_repeat(sample.rounds, 0.5, p50_ns),
        p99_repeat=None if p99_ns is None else _repeat(sample.rounds, 0.99, p99_ns),
        **load,
        client_cpu_share=round(sample.client_cpu_share, _DIGITS),
        repeats=sample.repeats,
        too_loaded=sample.too_loaded,
    )


def _distance(first: Latencies, second: Latencies) -> float:
    """Returns the largest difference between two empirical distributions (Kolmogorov and Smirnov)."""
    places = np.concatenate([first, second])
    shares = [np.searchsorted(np.sort(each), places, side="right") / len(each) for each in (first, second)]
    return float(np.abs(shares[0] - shares[1]).max())


def _off(found_ns: float, wanted_ns: float) -> float:
    return round(found_ns / max(wanted_ns, 1) - 1, _DIGITS)


def _repeat(rounds: Sequence[Latencies], share: float, all_ns: float) -> float:
    return max(
        (abs(_off(float(np.quantile(latency_ns, share)), all_ns)) for latency_ns in rounds if len(latency_ns)), default=0.0
    )


def again(measured: Measurements) -> str:
    """States how often each place on the disk was asked for, because a cache may have known places that were asked for before."""
    times = measured.asked_bytes / measured.size_bytes
    sentence = f"each place of the {measured.size_bytes >> 20:,} MiB was asked for {times:.2g} times on average"
    return f"{sentence}, so a cache of that size may have answered some of the requests" if times > 1 else sentence


def screen(model: DeviceModel) -> str:
    """Returns a table for the terminal of how well a profiled device fits its disk, with sentences on load, fio and `verdict`."""
    figures = "".join(f"{f'{name} us':>10}{'off':>8}{'repeats':>9}" for name in ("p50", "p99"))
    head = f"{'requests':12}{'depth':>6}{'':>10}{figures}{'KS':>7}"
    rows = [
        f"{line.op:12}{line.queue_depth:6}{line.used.replace('_', ' '):>10}{line.p50_ns / 1000:10.1f}{_share(line.p50_error)}"
        f"{_share(line.p50_repeat, 9)}{'-' if line.p99_ns is None else f'{line.p99_ns / 1000:.1f}':>10}{_share(line.p99_error)}"
        f"{_share(line.p99_repeat, 9)}{line.ks_distance:7.3f}{'  too loaded' if line.too_loaded else ''}"
        for line in model.fit
    ]
    steal, cpu = (max((getattr(line, f"{name}_share") for line in model.fit), default=0) for name in ("steal", "pressure_cpu"))
    load = f"up to {steal:.1%} of the cores' time was stolen, and some task waited for a core for up to {cpu:.1%} of the time"
    return "\n".join([head, *rows, load, _client(model.fit), verdict(model)])


def _client(fit: Sequence[FitLine]) -> str:
    busiest = max(fit, key=lambda line: line.client_cpu_share)
    sentence = (
        f"fio was on its core for up to {busiest.client_cpu_share:.0%} of the time ({busiest.op}, depth {busiest.queue_depth})"
    )
    return f"{sentence}, where requests waited for fio as much as for the disk" if busiest.client_cpu_share > _BUSY else sentence


def verdict(model: DeviceModel) -> str:
    """States in one sentence how close a profiled device is to the disk at the queue depths that were held out."""
    held_out = [line for line in model.fit if line.used == "held_out"]
    if not held_out:
        return "no queue depth was held out"
    p50 = max(abs(line.p50_error) for line in held_out)
    p99 = max((abs(line.p99_error) for line in held_out if line.p99_error is not None), default=None)
    is_close = p50 <= P50_LIMIT and (p99 is None or p99 <= P99_LIMIT)
    limits = f"{P50_LIMIT:.0%} and {P99_LIMIT:.0%}"
    return (
        f"at depths held out, p50 is within {p50:.1%} and p99 {'is not estimable' if p99 is None else f'within {p99:.1%}'}, "
        f"which is {'as close as' if is_close else 'not as close as'} {limits}"
        f"{_machine(model.fit)}"
    )


def _machine(fit: Sequence[FitLine]) -> str:
    return ", on a machine that was too loaded" if any(line.too_loaded for line in fit) else ""


def _share(value: float | None, width: int = 8) -> str:
    return f"{'-' if value is None else f'{value:.1%}':>{width}}"
