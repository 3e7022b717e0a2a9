"""The calibration study on made-up measurements of which every quantile and verdict is known: facts, claims, tables, figures."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from records_of import HOST, plan_in

from tickdisk import calibrate, stats
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_json
from tickdisk.foundation.numbers import with_interval
from tickdisk.foundation.record import plain
from tickdisk.studies import Study
from tickdisk.studies import calibration as calibration_study
from tickdisk.studies.calibration import Results
from tickdisk.studies.calibration.show import _jobs

RAMP, KEPT = 400, 4000
"""Requests that complete during the ramp, which are very late, and after it."""
LOAD = {"steal_share": 0.0, "pressure_cpu_share": 0.1, "pressure_io_share": 0.0, "pressure_memory_share": 0.0}
NO_COUNT = re.compile(r"(^|[ (])0 [a-z]")


@dataclass(frozen=True)
class Made:
    """A job as calibration.json describes it, and its raw latencies: those of the ramp first."""

    described: dict[str, Any]
    latency_ns: np.ndarray


def model(name: str, latency_ns: int, bandwidth: int | None) -> DeviceModel:
    latencies = dict.fromkeys(("read_latency_ns", "write_latency_ns", "flush_latency_ns"), latency_ns)
    return DeviceModel(name=name, bandwidth_bytes_per_s=bandwidth, **latencies)


MEMORY, SSD, HDD = model("memory", 0, 19_200_000_000), model("sata_ssd", 100_000, 550_000_000), model("hdd", 6_000_000, None)
PIPES = {"nominal_bandwidth_bytes_per_s": 550e6, "compared": "bandwidth_bytes_per_s"}


def made(op: str, pattern: str, depth: int, typical_ns: int, *, kept: int = KEPT, **changed: Any) -> Made:
    spread = np.random.default_rng(depth).exponential(0.02 * typical_ns, kept)
    latency_ns = np.concatenate([np.full(RAMP, 50 * typical_ns), typical_ns + spread.astype(np.int64)])
    job = calibrate.Job(op, pattern, 1 << 20 if pattern == "sequential" else 4096, depth, 1)
    described = {"job": job.name, "op": op, "pattern": pattern, "block_bytes": job.block_bytes, "queue_depth": depth}
    described |= {"n": kept, "n_counted": RAMP + kept, "n_device": {}, "p50_ns": int(np.median(latency_ns[RAMP:]))}
    described |= {"iops": depth * 1e9 / typical_ns, "bandwidth_bytes_per_s": 548e6, "repeats": 0, "too_loaded": False}
    described |= dict.fromkeys(("p99_ns", "p999_ns", "compared", "ratio", "within_tolerance"))
    described |= dict.fromkeys(("nominal_p50_ns", "nominal_iops", "nominal_bandwidth_bytes_per_s"))
    return Made({**described, **LOAD, **changed}, latency_ns)


def shallow(typical_ns: int, nominal_ns: int, **changed: Any) -> list[Made]:
    """Reads and writes at queue depth 1."""
    held = {"nominal_p50_ns": nominal_ns, "compared": "p50_ns", **changed}
    return [made(op, "random", 1, typical_ns, **held) for op in ("read", "write")]


def measured() -> list[tuple[DeviceModel, int, list[dict[str, str]], list[Made]]]:
    """Devices with floor, reasons and jobs: one capped, one near its model, one far from it, one with a floor only."""
    deep = made("read", "random", 32, 240_000, compared="iops", nominal_iops=134_000, ratio=0.98)
    slow = made("read", "random", 32, 9_000_000, compared="iops", nominal_iops=5333, ratio=0.7)
    pipe = made("read", "sequential", 16, 30_000_000, kept=180, ratio=0.998, **PIPES)
    unknown = made("write", "sequential", 16, 30_000_000, kept=180, **PIPES, iops=None, bandwidth_bytes_per_s=None)
    fsync = made("pwrite_fsync", "random", 1, 210_000)
    reason = [{"job": "read_random_4k_qd1", "values": "nominal p50 0.2 us, realised 9.0 us"}]
    return [
        (MEMORY, 213, reason, shallow(9000, 213)),
        (SSD, 6000, [], [*shallow(100_000, 100_000), deep, pipe, unknown, fsync]),
        (HDD, 17_000, [], [*shallow(6_500_000, 6_000_000, too_loaded=True), slow]),
        (SSD.with_latency(3_000_000), 13_000, [], []),
    ]


def point(**changed: Any) -> dict[str, Any]:
    described = {"chain": "tickdisk", "device": "sata_ssd", "op": "read", "queue_depth": 1, "runs": 1, "n": 1000}
    described |= dict.fromkeys(("latency_ns", "p50_ns", "p99_ns", "nominal_p50_ns", "nominal_p99_ns"), 1_000_000)
    described |= {"p99_runs_ns": [1_000_000], "p999_ns": None, "nominal_p999_ns": None, "iops": 1000, "nominal_iops": 1000}
    described |= {"floor_ns": 6000, "repeats": 0, "too_loaded": False}
    return {**described, **{name: share for name, share in LOAD.items() if "_io_" not in name}, **changed}


NO_DELAY = point(device="no_delay", latency_ns=0, p50_ns=20_000, nominal_p50_ns=0, iops=100_000)
PIPE = {"chain": "tickdisk", "op": "read", "nominal_bytes_per_s": 1e9, "bytes_per_s": 0.999e9, "n": 900}
PIPE |= {"steal_share": 0, "pressure_cpu_share": 0, "pressure_memory_share": 0, "too_loaded": False}


def study(folder: Path, points: list[dict[str, Any]], pipes: list[dict[str, Any]]) -> Study[Results]:
    devices, rows = [], []
    for each, floor_ns, reasons, jobs in measured():
        about = {"name": each.name, "model": each.as_dict(), "floor_ns": floor_ns, "floor_looks": 2, "p50_ns": 9600}
        about |= {"latency_ns": each.service_ns(4096), "cpu_ns_per_request": 40_000.0}
        about |= {"floor_limited": bool(reasons), "reasons": reasons, "jobs": [job.described for job in jobs]}
        devices.append(about)
        for job in jobs:
            raw = pd.DataFrame({"device": each.name, "job": job.described["job"], "latency_ns": job.latency_ns})
            rows.append(raw.assign(ramp=raw.index < RAMP))
    (folder / "calibration").mkdir(exist_ok=True)
    pd.concat(rows).to_parquet(folder / "calibration" / "requests.parquet")
    whole = {"schema_version": 4, "machine": plain(HOST), "backend": "fuse", "file_system": "ext4", "fio": "fio-3.33"}
    whole |= {"seconds_per_job": 0.5, "ramp_s": 0.05, "started_unix_s": 1.0, "wall_s": 60.0, "limits": {}}
    write_json(folder / "calibration.json", {**whole, "requests": "calibration/requests.parquet", "devices": devices})
    found = {"schema_version": 7, "machine": plain(HOST), "fio": "fio-3.33", "seconds_per_point": 1, "limits": {}, "pipes": pipes}
    write_json(folder / "fidelity.json", {**found, "points": [NO_DELAY, *points], "others": {"nbdkit": "not here"}})
    return calibrated(folder)


def calibrated(folder: Path) -> Study[Results]:
    files = {name: str(folder / f"{name}.json") for name in ("calibration", "fidelity")}
    return calibration_study(plan_in(folder), **files)


@pytest.fixture
def known(tmp_path: Path) -> Study[Results]:
    return study(tmp_path, [point(), point(p99_ns=None), point(too_loaded=True)], [PIPE])


def test_quantiles_are_of_the_requests_after_the_ramp(known: Study[Results]) -> None:
    said = known.statement
    latency_us = measured()[1][3][0].latency_ns[RAMP:] / 1000
    for name, q in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        fact = said[f"sata_ssd.read_{name}"]
        assert fact.value == pytest.approx(np.quantile(latency_us, q, method="median_unbiased"))
        assert fact.low is not None
        assert fact.low < fact.value < (fact.high or 0)
        assert (fact.n, fact.unit) == (KEPT, "us")
    assert said["sata_ssd.read_iops_depth_32"].n == RAMP + KEPT, "a rate is over the whole job"
    assert said["sata_ssd.read_bandwidth"].text == "548 MB/s"
    assert said["sata_ssd.nominal_bandwidth"].text == "550 MB/s"
    assert said["sata_ssd.pwrite_fsync_p50"].n == KEPT
    assert said["tiers"].word == "memory, sata_ssd, hdd"
    assert {said[f"{name}.nominal"].value for name in ("sata_ssd", "hdd", "sata_ssd_3000us")} == {100, 6000, 3000}


def test_tables_and_figures_show_what_facts_state(known: Study[Results]) -> None:
    summary, fact = known.table("summary"), known.statement["sata_ssd.read_p99"]
    assert summary.loc["sata_ssd", "read p99 (µs)"] == with_interval(fact.value, fact.low, fact.high)
    assert fact.text == f"{summary.loc['sata_ssd', 'read p99 (µs)']} µs"
    assert summary.loc["sata_ssd_3000us", "read p99 (µs)"] == "", "its floor was measured, and nothing else"
    jobs = _jobs(known.results)
    drawn = jobs[(jobs["device"] == "sata_ssd") & (jobs["op"] == "read") & (jobs["depth"] == 1)]
    assert drawn["p99_us"].tolist() == [fact.value]


def test_a_capped_floor_says_so(known: Study[Results]) -> None:
    said, limits = known.statement, known.table("summary")["limits here"]
    assert "capped at the nominal latency" in said["memory.floor"].note
    assert "capped" not in said["sata_ssd.floor"].note
    assert limits["memory"] == (
        "floor capped at the nominal latency; 4 KiB random read, queue depth 1: nominal p50 0.2 us, realised 9.0 us"
    )
    assert limits["sata_ssd"] == ""
    assert (said["capped_floors"].value, said["capped_floors"].note) == (1, "floors capped at the nominal latency: memory")
    assert [said[f"{name}.floor_limited"].word for name in ("memory", "hdd")] == ["yes", "no"]


def test_acceptance_is_a_bound(known: Study[Results]) -> None:
    claims = {claim.statement: claim for claim in known.statement.claims if "acceptance" in claim.id}
    assert {statement: claim.verdict for statement, claim in claims.items()} == {
        "sata_ssd, 4 KiB random read, queue depth 1: p50 is at most 5 µs from nominal": "kept",
        "sata_ssd, 4 KiB random write, queue depth 1: p50 is at most 5 µs from nominal": "kept",
        "sata_ssd, 1 MiB sequential read, queue depth 16: the bandwidth is at most 3 % from nominal": "kept",
        "sata_ssd, 1 MiB sequential write, queue depth 16: the bandwidth is at most 3 % from nominal": "not valid",
        "hdd, 4 KiB random read, queue depth 1: p50 is at most 180 µs from nominal": "missed",
        "hdd, 4 KiB random write, queue depth 1: p50 is at most 180 µs from nominal": "missed",
        "hdd, 4 KiB random read, queue depth 32: requests per second are at least 90 % of nominal": "missed",
    }
    by_end = {statement.partition(", ")[2]: claim for statement, claim in claims.items()}
    unknown = by_end["1 MiB sequential write, queue depth 16: the bandwidth is at most 3 % from nominal"]
    assert (unknown.evidence, unknown.causes) == ("the value could not be measured", (stats.NotMeasured(what="the value"),))
    slow = by_end["4 KiB random read, queue depth 32: requests per second are at least 90 % of nominal"]
    assert slow.evidence == "requests per second are 70 % of nominal"
    assert (slow.effect, slow.n) == ("calibration.hdd.read_iops_depth_32", RAMP + KEPT)
    loaded = by_end["4 KiB random write, queue depth 1: p50 is at most 180 µs from nominal"]
    assert loaded.evidence.endswith("the machine was under too much load")


def test_fidelity_is_a_bound(known: Study[Results], tmp_path: Path) -> None:
    claims = {claim.id: claim for claim in known.statement.claims}
    assert (claims["calibration.faithful_p50"].verdict, claims["calibration.faithful_p50"].evidence) == (
        "kept",
        "kept at 2 of 2 points; 1 point had too much load",
    )
    p99 = claims["calibration.faithful_p99"]
    assert (p99.verdict, p99.n) == ("kept", 1), "one point of the two that have enough requests was judged"
    assert p99.evidence == (
        "kept at the only point that could be judged; 1 point had too few requests beyond the percentile; "
        "1 point had too much load"
    )
    assert claims["calibration.faithful_bandwidth"].evidence == "read 999 of 1,000 MB/s"
    bad = point(p50_ns=2_000_000, p99_ns=2_000_000)
    off = study(tmp_path, [bad], [PIPE | {"bytes_per_s": 0.9e9}])
    assert [claim.verdict for claim in off.statement.claims if "faithful" in claim.id] == ["missed"] * 3
    assert {claim.evidence for claim in off.statement.claims if "faithful_p" in claim.id} == {
        "missed at the only point that could be judged"
    }
    two = study(tmp_path, [bad, bad], [])
    assert {claim.evidence for claim in two.statement.claims if "faithful_p" in claim.id} == {"kept at none of 2 points"}


def test_where_nothing_was_judged_evidence_is_english(tmp_path: Path) -> None:
    nothing = study(tmp_path, [], [])
    found = {claim.id: claim for claim in nothing.statement.claims if "faithful" in claim.id}
    assert {claim.verdict for claim in found.values()} == {"not valid"}
    assert found["calibration.faithful_p99"].evidence == "no point could be judged"
    assert {claim.causes for claim in found.values()} == {(stats.PointsNotJudged(judged=0, untold=0, loaded=0),)}
    assert found["calibration.faithful_bandwidth"].evidence == "no bandwidth was measured without too much load"
    assert not [claim.evidence for claim in nothing.statement.claims if NO_COUNT.search(claim.evidence)]
    assert "No figure" in nothing.figure("fidelity").data


def test_what_is_drawn_changes_no_fact(known: Study[Results], tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    assert f"{len(known.figures)} figures" in known.save(str(first))
    for name in reversed(known.figures):
        assert "<svg" in known.figure(name).data
    for name in known.tables:
        assert len(known.table(name))
    known.save(str(again))
    for file in ("facts.json", "claims.json", "figures.json"):
        assert (first / file).read_bytes() == (again / file).read_bytes()


def test_raw_latencies_of_another_calibration_are_refused(known: Study[Results], tmp_path: Path) -> None:
    assert known.results.jobs
    path = tmp_path / "calibration" / "requests.parquet"
    pd.read_parquet(path).iloc[:-1].to_parquet(path)
    with pytest.raises(TickdiskError, match=r"hdd, read_random_4k_qd32: .* 4000 requests after the ramp.* 3999; run `tickdisk"):
        calibrated(tmp_path)
    path.unlink()
    with pytest.raises(TickdiskError, match="is missing"):
        calibrated(tmp_path)
