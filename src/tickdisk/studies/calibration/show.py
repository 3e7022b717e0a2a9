"""Makes the tables and figures of the calibration study."""

from collections.abc import Callable, Mapping
from math import nan
from typing import Any

import pandas as pd

from tickdisk import calibrate, plot
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.calibration.compute import DeviceJob, Results
from tickdisk.studies.calibration.state import CAPPED
from tickdisk.studies.tiers import tier_name

_DEPTH = 32
"""Queue depth of the requests per second in the table of devices."""
_KEPT = {True: "kept", False: "missed", None: "not judged"}


def conditions(results: Results) -> pd.DataFrame:
    """Returns the table of the circumstances of the calibration, and of the other chains that were measured beside the emulator.

    If a chain, such as nbdkit behind a loop device, was not measured, its row says why.
    """
    rows = [(each.name.replace("_", " "), each.word, each.note) for each in results.conditions]
    rows += [("another chain", name, words) for name, words in results.fidelity.others.items()]
    return pd.DataFrame(rows, columns=["what", "here", "note"]).set_index("what")


def summary(results: Results) -> pd.DataFrame:
    """Returns the table of devices: nominal and realised values with intervals, the floor, and the limits on this machine.

    A device of which only the floor was measured has no percentiles, rates and bandwidths.
    """
    return pd.DataFrame([_summary_row(results, device) for device in results.measured.devices]).set_index("device")


def _summary_row(results: Results, device: calibrate.DeviceResult) -> dict[str, Any]:
    read = results.job(device.name, "read", "random", 1)
    deep = results.job(device.name, "read", "random", _DEPTH)
    pipe = results.job(device.name, "read", "sequential")
    capped = [f"floor {CAPPED}"] if device.name in results.capped else []
    return {
        "device": device.name,
        "nominal (µs)": number(device.latency_ns / 1000),
        "realised (µs)": number(device.p50_ns / 1000),
        **{f"read {name} (µs)": _quantile(read, key) for key, name in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))},
        "n": "" if read is None else number(read.result.n),
        f"requests/s, depth {_DEPTH}": "" if deep is None else number(deep.result.iops),
        "read bandwidth (MB/s)": "" if pipe is None else number((pipe.result.bandwidth_bytes_per_s or nan) / 1e6),
        "floor (µs)": number(device.floor_ns / 1000),
        "emulator CPU (us per request)": number(device.cpu_ns_per_request / 1000),
        "limits here": "; ".join([*capped, *results.reasons(device)]),
    }


def _quantile(job: DeviceJob | None, name: str) -> str:
    if job is None:
        return ""
    found = job.quantiles_us[name]
    return number(None) if found is None else with_interval(found.value, found.low, found.high)


def points(results: Results) -> pd.DataFrame:
    """Returns the table of the points of fidelity.json, with at most as many columns as pandas shows.

    The column `bounds` is empty for a point that is not compared with the model, such as one of another chain.
    """
    return pd.DataFrame([_point_row(results.fidelity, point) for point in results.fidelity.points])


def _point_row(found: calibrate.Fidelity, point: calibrate.Point) -> dict[str, Any]:
    p50, p99 = _KEPT[point.p50_holds], _KEPT[point.p99_holds]
    return {
        "device": point.device if point.chain == calibrate.OURS else f"{point.chain}, {point.device}",
        "op": point.op,
        "depth": point.queue_depth,
        "n": number(point.n),
        "p50 (µs)": _us(point.p50_ns),
        "model's p50": _us(point.nominal_p50_ns),
        "p99 (µs)": _us(point.p99_ns),
        "model's p99": _us(point.nominal_p99_ns),
        "p99.9 (µs)": _us(point.p999_ns),
        "model's p99.9": _us(point.nominal_p999_ns),
        "requests/s": number(point.iops),
        "bounds": f"p50 {p50}, p99 {p99}" if found.counts(point) else "",
        "steal": percent(point.steal_share),
        "pressure, cores": percent(point.pressure_cpu_share),
        "pressure, memory": percent(point.pressure_memory_share),
        "too loaded": "yes" if point.too_loaded else "no",
        "repeats": point.repeats,
    }


def _us(ns: int | None) -> str:
    return number(None if ns is None else ns / 1000)


def _jobs(results: Results) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "device": job.device.name,
                "floor_limited": job.device.floor_limited,
                "op": job.result.op,
                "pattern": job.result.pattern,
                "depth": job.result.queue_depth,
                "n": job.result.n,
                "n_counted": job.result.n_counted,
                "nominal_us": (job.result.nominal_p50_ns or job.device.latency_ns) / 1000,
                **{f"{name}_us": nan if found is None else found.value for name, found in job.quantiles_us.items()},
                "iops": job.result.iops or nan,
                "expected_iops": job.result.nominal_iops or nan,
                "nominal_bytes_per_s": job.result.nominal_bandwidth_bytes_per_s or nan,
                "realised_bytes_per_s": job.result.bandwidth_bytes_per_s or nan,
            }
            for job in results.jobs
        ],
        columns=[
            *("device", "floor_limited", "op", "pattern", "depth", "n", "n_counted", "nominal_us", "p50_us", "p99_us", "p999_us"),
            *("iops", "expected_iops", "nominal_bytes_per_s", "realised_bytes_per_s"),
        ],
    )


def _counted(n: "pd.Series[int]") -> str:
    return f"n = {number(int(n.min()))} to {number(int(n.max()))} requests a point" if len(n) else ""


def latency(results: Results) -> Any:
    """Draws realised over nominal latency at queue depth 1, for the jobs of fio on the tiers that have a latency.

    The job pwrite + fsync has no nominal latency of its own, and is drawn at the nominal latency of a read.
    """
    jobs = _jobs(results)
    rows = jobs[(jobs["pattern"] == "random") & (jobs["depth"] == 1) & (jobs["nominal_us"] > 0)]
    return plot.calibration_latency(rows, n=_counted(rows["n"]))


def iops(results: Results) -> Any:
    """Draws the requests per second of random reads over queue depth on the tiers, beside those of the model."""
    jobs = _jobs(results)
    rows = jobs[(jobs["pattern"] == "random") & (jobs["op"] == "read")].dropna(subset=["iops", "expected_iops"])
    return plot.iops_over_depth(rows, order=list(rows["device"].unique()), n=_counted(rows["n_counted"]))


def bandwidth(results: Results) -> Any:
    """Draws the realised over the nominal bandwidth of the sequential jobs, for the tiers with a bandwidth."""
    jobs = _jobs(results)
    rows = jobs[jobs["pattern"] == "sequential"].dropna(subset=["nominal_bytes_per_s", "realised_bytes_per_s"])
    return plot.bandwidth(rows, n=_counted(rows["n_counted"]))


def fidelity(results: Results) -> Any:
    """Draws the relative distance of the median, p99 and p99.9 of reads from the model's percentiles, over queue depth.

    It has all points on devices with a latency, also those of other chains.
    """
    table = _distances(results.fidelity)
    titles, note = {"median": "Median", "p99": "p99", "p99.9": "p99.9"}, _counted(table["n"])
    return plot.fidelity_over_depth(table, order=table["device"].unique().tolist(), titles=titles, n=note)


def paper_fidelity(results: Results) -> Any:
    """Draws the relative distance of the median and p99 of reads from the model's percentiles, over queue depth, for the paper.

    It has the points that are held to the model and were not measured under too much load.
    """
    table = _distances(results.fidelity)
    table = table[(table["state"] == plot.HELD) & ~table["too_loaded"]]
    table = table.assign(device=table["device"].map(tier_name))
    titles = {"median": "Median", "p99": "99th percentile"}
    return plot.fidelity_over_depth(table, order=table["device"].unique().tolist(), titles=titles, theme=plot.PAPER)


def _distances(found: calibrate.Fidelity) -> pd.DataFrame:
    """Returns one row per quantile of reads on devices with a latency: how far it is from the model, and how it counts."""
    rows = []
    for point in found.points:
        if point.op != "read" or point.latency_ns == 0:
            continue
        is_ours = point.chain == calibrate.OURS
        about = {
            "device": point.device if is_ours else f"{point.chain}, {number(point.latency_ns / 1e6)} ms",
            "depth": point.queue_depth,
            "state": plot.HELD if found.counts(point) else plot.BEYOND if is_ours else plot.BESIDE,
            "too_loaded": point.too_loaded,
            "n": point.n,
        }
        rows += [
            {**about, "quantile": name, "off_share": realised / said - 1}
            for name, realised, said in (
                ("median", point.p50_ns, point.nominal_p50_ns),
                ("p99", point.p99_ns, point.nominal_p99_ns),
                ("p99.9", point.p999_ns, point.nominal_p999_ns),
            )
            if realised is not None and said
        ]
    return pd.DataFrame(rows, columns=["device", "depth", "state", "too_loaded", "n", "quantile", "off_share"])


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "latency": latency,
    "iops": iops,
    "bandwidth": bandwidth,
    "fidelity": fidelity,
    "paper_fidelity": paper_fidelity,
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "conditions": conditions,
    "summary": summary,
    "points": points,
}
