"""The calibration notebook: what the emulated devices realise."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from IPython.display import SVG

from tickdisk import calibrate, plot, stats
from tickdisk import device as devices
from tickdisk.report.experiment import OURS
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study

_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


class CalibrationStudy(Study):
    """Realised against nominal latency, requests per second and bandwidth of every device."""

    def __init__(self, calibration: str, *, output: str | None) -> None:
        check_parameters()
        super().__init__("calibration", output)
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

    def _state_facts(self) -> None:
        source = f"fio {self.measured.fio}, raw request logs"
        backend = devices.BACKENDS[self.measured.backend]
        self.word("backend", backend.name, source="calibration.json", note=backend.description)
        self.word("file_system", self.measured.file_system, source="calibration.json", note="on the emulated device")
        for device in self.measured.devices:
            self.fact(
                f"{device.name}.floor",
                device.floor_ns / 1000,
                "us",
                source="median excess at queue depth 1",
                note="the emulator's own latency, subtracted from every deadline",
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
            source="calibration.json",
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
