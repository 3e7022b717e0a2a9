"""The calibration notebook: what the emulated devices realise."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from IPython.display import SVG

from tickdisk import calibrate, plot, stats
from tickdisk import device as devices
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import OURS, Study

_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def verdict_of_points(holds: Sequence[bool], told: int) -> stats.Word:
    """Returns the verdict on points of which `holds` says whether they do, of `told` that have enough requests to say so."""
    if not all(holds):
        return "different"
    return "equivalent" if holds and len(holds) >= calibrate.LEAST_JUDGED_SHARE * told else "not valid"


def _us(ns: int | None) -> float | None:
    return None if ns is None else ns / 1000


def _holds(point: calibrate.Point) -> str:
    """Which of its percentiles hold; p99 is not judged where too few requests tell it, or the machine stood still too much."""
    p99 = {True: "p99", False: "not p99", None: "p99 not judged"}[point.p99_holds]
    return f"{'p50' if point.p50_holds else 'not p50'}, {p99}"


class CalibrationStudy(Study):
    """Realised against nominal latency, requests per second and bandwidth of every device, and how faithful it is."""

    def __init__(self, calibration: str, fidelity: str, *, output: str | None) -> None:
        check_parameters()
        super().__init__("calibration", output)
        self.faithful = calibrate.load_fidelity(Path(fidelity))
        self.measured = calibrate.load_calibration(Path(calibration))
        raw = pq.read_table(Path(calibration).parent / self.measured.requests).to_pandas()
        self._raw = dict(tuple(raw.groupby(["device", "job"], observed=True)["latency_ns"]))
        self._rows = pd.DataFrame(
            [
                {
                    "device": device.name,
                    "latency_ns": device.latency_ns,
                    "floor_limited": device.floor_limited,
                    **job.model_dump(),
                }
                for device in self.measured.devices
                for job in device.jobs
            ]
        )
        self._state_facts()
        self._state_claims()
        self._state_fidelity()

    def _state_facts(self) -> None:
        source = f"fio {self.measured.fio}, raw request logs"
        backend = devices.BACKENDS[self.measured.backend]
        said = "calibration.json"
        self.word("backend", backend.name, source=said, note=backend.description)
        self.word("file_system", self.measured.file_system, source=said, note="on the emulated device")
        lack = self.measured.arrivals_lack
        note = f"the kernel does not say when they come: {lack}" if lack else "a request arrives when the kernel issues it"
        self.word("arrivals", "as the emulator takes them" if lack else "as the kernel stamps them", source=said, note=note)
        led = "what the kernel takes to complete a request is learned as it goes"
        step = "replies are sent a little earlier after each completion that was late, a little later after each that was not"
        self.word("leads", "it holds all that is added" if lack else led, source=said, note=note if lack else step)
        for device in self.measured.devices:
            self.fact(
                f"{device.name}.floor",
                device.floor_ns / 1000,
                "us",
                source="median excess at queue depth 1",
                note="what is added to the model's latency, subtracted from every deadline",
            )
            for job in device.jobs:
                if job.op == "read" and job.pattern == "random" and job.queue_depth == 1:
                    for name, q in _QUANTILES.items():
                        found = stats.quantile(self._raw[device.name, job.job].to_numpy(float) / 1000, q)
                        self.fact(
                            f"{device.name}.read_{name}",
                            None if found is None else found.value,
                            "us",
                            n=job.n,
                            source=source,
                            interval=None if found is None else (found.low, found.high),
                            note="4 KiB random read, queue depth 1",
                        )
                if job.compared == "iops":
                    self.fact(
                        f"{device.name}.{job.op}_iops_depth_{job.queue_depth}", job.iops, "requests/s", n=job.n, source=source
                    )
                if job.compared == "bandwidth_bytes_per_s" or job.pattern == "sequential":
                    bandwidth = job.bandwidth_bytes_per_s
                    self.fact(
                        f"{device.name}.{job.op}_bandwidth",
                        None if bandwidth is None else bandwidth / 1e6,
                        "MB/s",
                        n=job.n,
                        source=source,
                    )
                if job.op == "pwrite_fsync":
                    self.fact(
                        f"{device.name}.pwrite_fsync_p50",
                        job.p50_ns / 1000,
                        "us",
                        n=job.n,
                        source=source,
                        note=f"4 KiB pwrite + fsync on {self.measured.file_system}",
                    )
        self.fact(
            "floor_limited_devices",
            sum(device.floor_limited for device in self.measured.devices),
            "devices",
            n=len(self.measured.devices),
            source=said,
        )

    def _state_claims(self) -> None:
        for number, line in enumerate(calibrate.acceptance(self.measured), start=1):
            value = "not measured" if line["value"] is None else f"{line['value']:.3g}"
            self.claim(
                f"acceptance_{number}",
                source=OURS,
                statement=f"{line['statement']} {line['limit']:.3g}",
                verdict="equivalent" if line["holds"] else "different",
                evidence=f"realised: {value}",
                facts=[],
                n=1,
            )

    def _state_fidelity(self) -> None:
        found, source = self.faithful, "fio's raw request logs against the device's log of what its model said"
        self.fact("ceiling", found.ceiling_iops, "requests/s", source=source, note="4 KiB random reads of a device without delay")
        self.fact(
            "floor",
            found.least_latency_ns / 1000,
            "us",
            source=source,
            note="median of a read of a device without delay, one at a time",
        )
        share = 100 * calibrate.SHARE_OF_CEILING
        held = [point for point in found.points if found.counts(point)]
        kept = [point for point in held if not point.too_loaded]
        loaded = f"{len(held) - len(kept)} more were measured under too much load"
        restless = f"{sum(point.is_restless for point in kept)} had no moment in which the machine stood still little enough"
        for name, limit, holds, told, others in (
            ("p50", calibrate.P50_LIMIT, [point.p50_holds for point in kept], len(held), loaded),
            (
                "p99",
                calibrate.P99_LIMIT,
                [point.p99_holds for point in kept if point.p99_holds is not None],
                sum(point.p99_is_near is not None for point in held),
                f"{restless}, {loaded}",
            ),
        ):
            self.fact(f"faithful.{name}", sum(holds), "points", n=len(holds), source=source, note=f"within {limit} of the model")
            self.claim(
                f"faithful_{name}",
                source=OURS,
                statement=f"{name} is within {limit} of the model's, up to {share:g} % of the requests the machine can serve",
                verdict=verdict_of_points(holds, told),
                evidence=f"{sum(holds)} of {len(holds)} points; {others}",
                facts=[f"faithful.{name}"],
                n=len(holds),
            )
        pipes = [pipe for pipe in found.own_pipes if not pipe.too_loaded]
        self.claim(
            "faithful_bandwidth",
            source=OURS,
            statement=f"bandwidths of up to {max(calibrate.PIPES_BYTES_PER_S) / 1e9:g} GB/s are within "
            f"{100 * calibrate.BANDWIDTH_SHARE:g} % of the model's",
            verdict=("equivalent" if all(pipe.holds for pipe in pipes) else "different") if pipes else "not valid",
            evidence=", ".join(
                f"{pipe.op} {pipe.bytes_per_s / 1e6:,.0f} of {pipe.nominal_bytes_per_s / 1e6:,.0f} MB/s" for pipe in pipes
            ),
            facts=[],
            n=len(pipes),
        )
        self._state_cross_check()

    def _state_cross_check(self) -> None:
        """States what other chains do at the latency and depths at which they were measured, beside ours."""
        reads = [point for point in self.faithful.points if point.op == "read" and point.latency_ns == calibrate.CROSS_NS]
        depths = {point.queue_depth for point in reads if point.chain != calibrate.OURS}
        for point in [point for point in reads if point.queue_depth in depths]:
            chain = "ours" if point.chain == calibrate.OURS else point.chain
            name, note = f"cross.depth_{point.queue_depth}.{chain}", "reads of 1 ms"
            self.fact(f"{name}.off", point.p50_off_ns / 1000, "us", n=point.n, source="fio", note=f"median over nominal, {note}")
            self.fact(f"{name}.iops", point.iops, "requests/s", n=point.n, source="fio", note=note)
        beside = {pipe.nominal_bytes_per_s for pipe in self.faithful.pipes if pipe.chain != calibrate.OURS}
        for pipe in [pipe for pipe in self.faithful.pipes if pipe.nominal_bytes_per_s in beside]:
            name = f"cross.{pipe.op}_bandwidth.{'ours' if pipe.chain == calibrate.OURS else pipe.chain}"
            note = f"1 MiB {pipe.op}s on a device of {pipe.nominal_bytes_per_s / 1e6:,.0f} MB/s"
            self.fact(name, pipe.bytes_per_s / 1e6, "MB/s", n=pipe.n, source="fio", note=note)

    def fidelity(self) -> SVG:
        """Returns how far medians, p99 and p99.9 of reads are from the model's, over queue depth."""
        found = self.faithful
        points = [point for point in found.points if point.op == "read" and point.latency_ns > 0]
        rows = [
            {
                "device": point.device if point.chain == calibrate.OURS else f"{point.chain}, {point.latency_ns / 1e6:g} ms",
                "depth": point.queue_depth,
                "quantile": name,
                "off_share": realised / said - 1,
                "state": plot.HELD if found.counts(point) else plot.BEYOND if point.chain == calibrate.OURS else plot.BESIDE,
            }
            for point in points
            for name, realised, said in (
                ("median", point.p50_ns, point.nominal_p50_ns),
                ("p99", point.p99_ns, point.nominal_p99_ns),
                ("p99.9", point.p999_ns, point.nominal_p999_ns),
            )
            if realised is not None and said
        ]
        table = pd.DataFrame(rows)
        counts = [point.n for point in points]
        note = f"n = {min(counts):,} to {max(counts):,} a point"
        return self.figure("fidelity", plot.fidelity(table, order=table["device"].unique().tolist(), n=note))

    def fidelity_table(self) -> pd.DataFrame:
        """Returns every point: realised and the model's latencies in us, requests per second, and what holds.

        No more columns than pandas shows.
        """
        found = self.faithful
        return pd.DataFrame(
            [
                {
                    "device": point.device if point.chain == calibrate.OURS else f"{point.chain}, {point.device}",
                    "op": point.op,
                    "depth": point.queue_depth,
                    "n": point.n,
                    "p50 us": point.p50_ns / 1000,
                    "model's p50": point.nominal_p50_ns / 1000,
                    "p99 us": _us(point.p99_ns),
                    "model's p99": _us(point.nominal_p99_ns),
                    "p99.9 us": _us(point.p999_ns),
                    "model's p99.9": _us(point.nominal_p999_ns),
                    "requests/s": round(point.iops),
                    "holds": _holds(point) if found.counts(point) else "",
                    "steal": round(point.steal_share, 3),
                    "pressure, cores": round(point.pressure_cpu_share, 3),
                    "pressure, memory": round(point.pressure_memory_share, 3),
                    "too loaded": point.too_loaded,
                    "late by the machine": None if point.late_share is None else round(point.late_share, 4),
                    "taken by the machine": round(point.taken_share, 4),
                    "repeats": point.repeats,
                }
                for point in found.points
            ]
        )

    def how(self) -> pd.DataFrame:
        """Returns what the devices are made of here, when their requests arrive, and what else ran beside them."""
        rows = [
            (name.replace("_", " "), self.facts[f"calibration.{name}"])
            for name in ("backend", "file_system", "arrivals", "leads")
        ]
        table = [(name, fact.word, fact.note) for name, fact in rows]
        table += [("beside it", name, words) for name, words in self.faithful.others.items()]
        return pd.DataFrame(table, columns=["what", "here", "that is"]).set_index("what")

    def summary(self) -> pd.DataFrame:
        """Returns one row a device: nominal, realised at queue depth 1, floor, and why it is floor-limited."""
        return pd.DataFrame(
            [
                {
                    "device": device.name,
                    "nominal us": device.latency_ns / 1000,
                    "realised p50 us": device.p50_ns / 1000,
                    "floor us": device.floor_ns / 1000,
                    "emulator CPU us per request": round(device.cpu_ns_per_request / 1000, 1),
                    "floor-limited": "; ".join(device.reasons),
                }
                for device in self.measured.devices
            ]
        ).set_index("device")

    def _n(self, rows: pd.DataFrame) -> str:
        return f"n = {rows['n'].min():,} to {rows['n'].max():,} requests a point"

    def latency(self) -> SVG:
        """Returns realised over nominal latency at queue depth 1."""
        rows = self._rows[(self._rows["pattern"] == "random") & (self._rows["queue_depth"] == 1)]
        table = rows.assign(
            nominal_us=rows["latency_ns"] / 1000, **{f"{name}_us": rows[f"{name}_ns"].astype(float) / 1000 for name in _QUANTILES}
        )
        return self.figure("latency", plot.calibration_latency(table, n=self._n(rows)))

    def iops(self) -> SVG:
        """Returns requests per second over queue depth."""
        rows = self._rows[(self._rows["pattern"] == "random") & (self._rows["op"] == "read")].dropna(subset=["iops"])
        by_latency = rows["queue_depth"] * 1e9 / rows["latency_ns"].clip(lower=1)
        by_bandwidth = rows["device"].map(self._bandwidth) / rows["block_bytes"]
        table = rows.assign(depth=rows["queue_depth"], expected_iops=np.fmin(by_latency, by_bandwidth))
        return self.figure("iops", plot.iops_over_depth(table, order=list(rows["device"].unique()), n=self._n(rows)))

    def _bandwidth(self, name: str) -> float:
        limit = self.measured.device(name).model["bandwidth_bytes_per_s"]
        return np.inf if limit is None else float(limit)

    def bandwidth(self) -> SVG:
        """Returns realised over nominal bandwidth."""
        rows = self._rows[self._rows["pattern"] == "sequential"].dropna(subset=["bandwidth_bytes_per_s"])
        table = rows.assign(
            nominal_bytes_per_s=rows["device"].map(self._bandwidth), realised_bytes_per_s=rows["bandwidth_bytes_per_s"]
        )
        return self.figure("bandwidth", plot.bandwidth(table, n=self._n(rows)))

    def promises(self) -> pd.DataFrame:
        """Returns what the emulated devices must fulfil, and whether they do here."""
        return pd.DataFrame(calibrate.acceptance(self.measured))
