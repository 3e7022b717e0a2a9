"""The replay notebook's study on made-up replays whose lateness is known: facts, verdicts, figures."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tickdisk import replay
from tickdisk.files import write_json
from tickdisk.report.replay import ReplayStudy

THREADS, N = 5, 6000
MS = 1_000_000


def made_up(lag_ns: np.ndarray, service_ns: int) -> pd.DataFrame:
    """Requests of five threads, 5 ms apart in each; every lateness is the issuer's."""
    rng = np.random.default_rng(3)
    due_ns = np.arange(N) * MS
    frame = pd.DataFrame({"seq": range(N), "thread": np.arange(N) % THREADS, "due_ns": due_ns + 10**12})
    frame = frame.assign(thread_name="t", call="pread64", file="map", offset=0, length=4096, result=4096, expected=4096)
    frame["op"] = rng.choice(["read", "write"], N)
    frame["captured_ns"] = rng.integers(1000, 9000, N)
    frame["issued_ns"] = frame["due_ns"] + lag_ns
    frame["completed_ns"] = frame["issued_ns"] + service_ns
    lag, lost = replay.lateness(frame["thread"], frame["due_ns"], frame["issued_ns"], frame["completed_ns"])
    return frame.assign(lag_ns=lag, lost_ns=lost)


def result(
    folder: Path, runs: dict[tuple[str, str, int], pd.DataFrame], *, refused: dict[str, int], threads: int = THREADS
) -> str:
    described: list[dict[str, Any]] = []
    for (tool, device, latency_ns), timings in runs.items():
        name = f"{tool}_{device}"
        replay.write_timings(folder / f"{name}.parquet", timings)
        latencies = dict.fromkeys(("read_latency_ns", "write_latency_ns", "flush_latency_ns"), latency_ns)
        own = {"name": name, "tool": tool, "device": {"name": device, **latencies}, "table": f"{name}.parquet"}
        load = {"pressure_cpu_share": 0.1}
        own |= {"backend": "fuse", "file_system": "ext4"}
        described.append({**own, "left_out": {}, "is_real_time": True, "load": load, **replay.summarise(timings)})
    streams = [{"thread": thread, "thread_name": "t", "requests": N // threads} for thread in range(threads)]
    counts = {"captured": N + sum(refused.values()), "replayed": N, "refused": refused, "seconds": 6, "streams": streams}
    write_json(folder / "replay.json", {**counts, "runs": described})
    return str(folder / "replay.json")


def noise(mean_ns: float) -> np.ndarray:
    return np.random.default_rng(5).exponential(mean_ns, N).astype(np.int64)


def verdicts(study: ReplayStudy) -> dict[str, str]:
    return {claim.id.removeprefix("replay."): claim.verdict for claim in study.claims}


def test_known_lateness_gives_known_verdicts(tmp_path: Path) -> None:
    drifting = noise(20_000) + np.linspace(0, 3 * MS, N).astype(np.int64)
    runs = {
        (replay.OURS, "nvme_ssd", 50_000): made_up(noise(20_000), 60_000),
        (replay.FIO, "nvme_ssd", 50_000): made_up(drifting, 60_000),
        (replay.OURS, "hdd", 6 * MS): made_up(np.maximum(noise(20_000), 0) + 7 * MS * (np.arange(N) % 7 == 0), 6 * MS),
    }
    study = ReplayStudy(result(tmp_path, runs, refused={"through a memory map": 3}), output=str(tmp_path / "out"))
    assert verdicts(study) == {
        "nothing_lost": "equivalent",
        "lag": "equivalent",
        "no_drift_ours": "equivalent",
        "no_drift_fio": "different",
        "time_lost_to_the_device": "different",
    }
    # exponential with mean 20 us: p99 = 20 us * ln 100; the drift is 0.9 of 3 ms from the first to the last tenth
    assert study.facts["replay.tickdisk_nvme_ssd.lag_p99"].value == pytest.approx(0.020 * np.log(100), rel=0.1)
    assert study.facts["replay.fio.drift"].value == pytest.approx(2.7, rel=0.02)
    assert study.facts["replay.refused"].value == 3
    assert [study.facts[f"replay.{part}"].word for part in ("backend", "file_system")] == ["fuse", "ext4"]
    assert set(study.summary()["on"]) == {"ext4 on fuse"}
    for figure in (study.lateness, study.lag_over_time, study.time_lost, study.service):
        assert "<svg" in figure().data
    assert list(study.summary().index) == ["tickdisk_nvme_ssd", "fio_nvme_ssd", "tickdisk_hdd"]
    assert study.refused()["requests"].tolist() == [3]
    assert "4 figures" in study.save()


def test_a_late_issuer_is_found_out(tmp_path: Path) -> None:
    late = noise(20_000) + np.linspace(0, 3 * MS, N).astype(np.int64)
    runs = {(replay.OURS, "nvme_ssd", 50_000): made_up(late, 60_000), (replay.OURS, "hdd", 6 * MS): made_up(late, 60_000)}
    study = ReplayStudy(result(tmp_path, runs, refused={}), output=None)
    found = verdicts(study)
    assert (found["lag"], found["no_drift_ours"], found["time_lost_to_the_device"]) == ("different", "different", "equivalent")


def test_what_was_not_all_replayed_is_found_out(tmp_path: Path) -> None:
    runs = {(replay.OURS, "nvme_ssd", 50_000): made_up(noise(20_000), 60_000).iloc[1:]}
    study = ReplayStudy(result(tmp_path, runs, refused={}, threads=3), output=None)
    assert verdicts(study)["nothing_lost"] == "different"
    assert verdicts(study)["lag"] == "not valid", "fewer than four streams"
