"""The replay notebook's study on made-up replays whose lateness is known: facts, verdicts, figures."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from records_of import HOST, QUIET, plan_in

from tickdisk import replay, stats
from tickdisk.device import DeviceModel
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json, write_json
from tickdisk.studies import Study
from tickdisk.studies import replay as replay_study
from tickdisk.studies.replay import Results
from tickdisk.studies.replay.compute import bound_verdict

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
    lag, lost = replay.lateness(replay.ready_ns(frame["thread"], frame["completed_ns"]), frame["due_ns"], frame["issued_ns"])
    return frame.assign(lag_ns=lag, lost_ns=lost)


def result(
    folder: Path, runs: dict[tuple[str, str, int], pd.DataFrame], *, refused: dict[str, int], threads: int = THREADS
) -> str:
    described: list[replay.Run] = []
    for (tool, device, latency_ns), timings in runs.items():
        name = f"{tool}_{device}"
        table.write("replay", folder / f"{name}.parquet", timings)
        described.append(
            replay.Run(
                **dict(replay.summarise(timings)),
                name=name,
                tool=tool,
                backend="fuse",
                file_system="ext4",
                device=DeviceModel(
                    name=device, read_latency_ns=latency_ns, write_latency_ns=latency_ns, flush_latency_ns=latency_ns
                ),
                floor_ns=0,
                table=f"{name}.parquet",
                left_out={},
                is_real_time=True,
                is_memory_locked=True,
                device_requests={},
                load=QUIET,
            )
        )
    made = replay.Replays(
        captured=N + sum(refused.values()),
        replayed=N,
        refused=refused,
        seconds=6,
        streams=tuple(replay.Stream(thread=thread, thread_name="t", requests=N // threads) for thread in range(threads)),
        ops={},
        host=HOST,
        runs=tuple(described),
    )
    replay.write_replays(folder, made)
    return str(folder / "replay.json")


def noise(mean_ns: float) -> np.ndarray:
    return np.random.default_rng(5).exponential(mean_ns, N).astype(np.int64)


def verdicts(study: Study[Results]) -> dict[str, str]:
    return {claim.id.removeprefix("replay."): claim.verdict for claim in study.statement.claims}


def causes(study: Study[Results]) -> dict[str, tuple[stats.Cause, ...]]:
    return {claim.id.removeprefix("replay."): claim.causes for claim in study.statement.claims}


def evidence(study: Study[Results], claim: str) -> str:
    return next(each.evidence for each in study.statement.claims if each.id == f"replay.{claim}")


def known(folder: Path) -> Study[Results]:
    """A fast and a slow device, replayed on time, and a fio that drifts."""
    drifting = noise(20_000) + np.linspace(0, 3 * MS, N).astype(np.int64)
    runs = {
        (replay.TICKDISK, "nvme_ssd", 50_000): made_up(noise(20_000), 60_000),
        (replay.FIO, "nvme_ssd", 50_000): made_up(drifting, 60_000),
        (replay.TICKDISK, "hdd", 6 * MS): made_up(np.maximum(noise(20_000), 0) + 7 * MS * (np.arange(N) % 7 == 0), 6 * MS),
    }
    return replay_study(plan_in(folder), replay=result(folder, runs, refused={"through a memory map": 3}), seed=42)


def test_known_lateness_gives_known_verdicts(tmp_path: Path) -> None:
    study = known(tmp_path)
    assert verdicts(study) == {
        "nothing_lost": "kept",
        "lag": "kept",
        "no_drift_ours": "kept",
        "no_drift_fio": "missed",
        "time_lost_to_the_device": "different",
    }
    said = study.statement
    # exponential with mean 20 us: p99 = 20 us * ln 100; the drift is 0.9 of 3 ms from the first to the last tenth
    assert said["tickdisk_nvme_ssd.lag_p99"].value == pytest.approx(0.020 * np.log(100), rel=0.1)
    assert said["fio.drift"].value == pytest.approx(2.7, rel=0.02)
    # every seventh request is issued 7 ms later there, the others no later
    assert said["device.delay"].value == pytest.approx(1, rel=0.01)
    assert said["refused"].value == 3
    assert [said[part].word for part in ("backend", "file_system")] == ["fuse", "ext4"]
    assert evidence(study, "nothing_lost") == (
        "6,003 requests were captured; 6,000 were replayed on nvme_ssd, none of them with another result; "
        "6,000 were replayed on hdd, none of them with another result; "
        "the number of refused requests is 3 (3 through a memory map)"
    )
    assert set(study.table("summary")["on"]) == {"ext4 on fuse"}
    assert list(study.table("summary").index) == ["tickdisk_nvme_ssd", "fio_nvme_ssd", "tickdisk_hdd"]
    assert study.table("refused")["requests"].tolist() == [3]
    assert {claim.kind for claim in said.claims if claim.id != "replay.time_lost_to_the_device"} == {"bound"}


def test_what_is_drawn_changes_no_fact(tmp_path: Path) -> None:
    study = known(tmp_path)
    study.save(str(tmp_path / "first"))
    for name in reversed(study.figures):
        assert "<svg" in study.figure(name).data
    known(tmp_path).save(str(tmp_path / "again"))
    for file in ("facts.json", "claims.json", "figures.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_a_late_issuer_is_found_out(tmp_path: Path) -> None:
    late = noise(20_000) + np.linspace(0, 3 * MS, N).astype(np.int64)
    runs = {(replay.TICKDISK, "nvme_ssd", 50_000): made_up(late, 60_000), (replay.TICKDISK, "hdd", 6 * MS): made_up(late, 60_000)}
    study = replay_study(plan_in(tmp_path), replay=result(tmp_path, runs, refused={}), seed=42)
    found = verdicts(study)
    assert (found["lag"], found["no_drift_ours"], found["time_lost_to_the_device"]) == ("missed", "missed", "equivalent")
    assert evidence(study, "nothing_lost").endswith("; none was refused")


def test_what_was_not_all_replayed_is_found_out(tmp_path: Path) -> None:
    runs = {(replay.TICKDISK, "nvme_ssd", 50_000): made_up(noise(20_000), 60_000).iloc[1:]}
    study = replay_study(plan_in(tmp_path), replay=result(tmp_path, runs, refused={}, threads=3), seed=42)
    assert verdicts(study)["nothing_lost"] == "missed"
    assert verdicts(study)["lag"] == "not valid", "fewer than four streams"
    assert verdicts(study)["time_lost_to_the_device"] == "not valid", "there is one device only"
    assert causes(study)["lag"] == (stats.TooFew(n=3, needed=4, counted="streams"),)
    assert causes(study)["time_lost_to_the_device"] == (stats.NotMeasured(what="the delay by another device"),)


def test_few_requests_decide_nothing(tmp_path: Path) -> None:
    few = made_up(noise(20_000), 60_000).iloc[:250]
    runs = {(replay.TICKDISK, "nvme_ssd", 50_000): few, (replay.TICKDISK, "hdd", 6 * MS): few}
    study = replay_study(plan_in(tmp_path), replay=result(tmp_path, runs, refused={}), seed=42)
    found = verdicts(study)
    assert (found["lag"], found["no_drift_ours"]) == ("inconclusive", "not valid")
    assert evidence(study, "lag").endswith("too few requests for an interval")
    assert study.statement["ours.drift"].text == "not estimable"
    assert causes(study)["lag"] == (stats.NoInterval(n=250, counted="requests"),)
    assert causes(study)["no_drift_ours"] == (stats.TooFew(n=250, needed=300, counted="requests"),)


def test_where_nothing_was_captured_nothing_is_said(tmp_path: Path) -> None:
    path = result(tmp_path, {(replay.TICKDISK, "nvme_ssd", 50_000): made_up(noise(20_000), 60_000)}, refused={})
    write_json(Path(path), {**read_json(Path(path)), "captured": 0, "replayed": 0})
    study = replay_study(plan_in(tmp_path), replay=path, seed=42)
    assert verdicts(study)["nothing_lost"] == "not valid"
    assert causes(study)["nothing_lost"] == (stats.NothingCaptured(),)
    assert evidence(study, "nothing_lost") == "nothing was captured"


def test_without_a_replay_of_ours_there_is_no_study(tmp_path: Path) -> None:
    runs = {(replay.FIO, "nvme_ssd", 50_000): made_up(noise(20_000), 60_000)}
    with pytest.raises(TickdiskError, match="holds no replay by tickdisk"):
        replay_study(plan_in(tmp_path), replay=result(tmp_path, runs, refused={}), seed=42)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 1, "kept"),
        (1.1, 2, "missed"),
        (0.9, 1.1, "inconclusive"),
        (None, None, "inconclusive"),
        (0.1, np.nan, "inconclusive"),
    ],
)
def test_a_bound_is_kept_below_its_limit(low: float | None, high: float | None, verdict: str) -> None:
    assert bound_verdict(low, high, 1) == verdict
