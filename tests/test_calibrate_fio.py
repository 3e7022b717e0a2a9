"""The fio wrapper: a recorded log, its bad lines, fio's own count, and a run on a plain file."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tickdisk import TickdiskError
from tickdisk.calibrate import fio
from tickdisk.calibrate.fio import Job, JobFigures, Target, parse_answer, parse_log, run_job

RECORDED = """\
0, 103033, 0, 4096, 0
0, 15373, 1, 4096, 0
1, 20871, 0, 4096, 0
3, 18432, 0, 4096, 0
3, 9999, 1, 4096, 0
"""
"""Five lines of a log of fio 3.33 (randrw, libaio, write_lat_log, disable_clat, disable_slat)."""


def _log(folder: Path, text: str) -> Path:
    path = folder / "job_lat.1.log"
    path.write_text(text, encoding="utf-8")
    return path


def test_recorded_log(tmp_path: Path) -> None:
    requests = parse_log(_log(tmp_path, RECORDED))
    assert requests.latency_ns.tolist() == [103033, 15373, 20871, 18432, 9999]
    assert requests.completed_ms.tolist() == [0, 0, 1, 3, 3]
    assert requests.is_write.tolist() == [False, True, False, False, True]
    assert requests.requests_per_s == pytest.approx(5 / 0.003)
    assert requests.after(1).latency_ns.tolist() == [20871, 18432, 9999]
    assert requests.after(4).requests_per_s is None


@pytest.mark.parametrize(("interrupts", "policy"), [(True, os.SCHED_FIFO), (False, os.SCHED_BATCH)])
def test_fio_is_scheduled_as_it_is_to_interrupt(
    interrupts: bool, policy: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def child(*_: object, policy: int, **__: object) -> None:
        seen.append(policy)
        raise TickdiskError("seen")

    monkeypatch.setattr(fio, "Child", child)
    with pytest.raises(TickdiskError, match="seen"):
        run_job(Job("read", "random", 4096, 8, 1), Target(tmp_path / "file", 0, 4096), tmp_path, interrupts=interrupts)
    assert seen == [policy]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RECORDED + "4, 17\n5, x, 0, 4096, 0\n", "2 of 7 lines are not requests .*the first is line 6"),
        (RECORDED.replace("3, 18432, 0", "3, 18432, 2"), "1 of 5 lines are not requests .*the first is line 4"),
        (RECORDED.replace("3, 18432", "3, "), "1 of 5 lines are not requests"),
        (RECORDED + "2, 1, 0, 4096, 0\n", "run backwards"),
        ("", "logged no request"),
    ],
)
def test_bad_logs_are_refused_with_their_count(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TickdiskError, match=said):
        parse_log(_log(tmp_path, text))


def test_answer(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    job = {"jobname": "x", "error": 0, "read": {"total_ios": 3}, "write": {"total_ios": 2}, "usr_cpu": 12.5, "sys_cpu": 50.0}
    path.write_text(json.dumps({"jobs": [job]}))
    assert parse_answer(path) == JobFigures({"read": 3, "write": 2}, 0.625)
    path.write_text(json.dumps({"jobs": [{**job, "error": 28}]}))
    with pytest.raises(TickdiskError, match="error 28"):
        parse_answer(path)
    path.write_text(json.dumps({"jobs": [job, job]}))
    with pytest.raises(TickdiskError, match="one fio job"):
        parse_answer(path)


def _target(folder: Path, size_bytes: int = 1 << 20) -> Target:
    path = folder / "data"
    path.write_bytes(os.urandom(size_bytes))
    return Target(path, 0, size_bytes)


def test_requests_asked_for_are_requests_logged(tmp_path: Path) -> None:
    job = Job("pwrite_fsync", "random", 4096, 1, requests=23)
    requests = run_job(job, _target(tmp_path), tmp_path / "fio")
    assert len(requests) == 23
    assert requests.is_write.all()
    assert bool((requests.latency_ns > 0).all())
    assert 0 <= requests.cpu_share <= 1  # fio counts processor time in whole milliseconds, and the job takes less than three
    assert requests.after(0).cpu_share == requests.cpu_share
    # the artefacts of the process
    record = json.loads((tmp_path / "fio" / f"fio_{job.name}.json").read_text())
    assert (record["exit_code"], record["command"][0]) == (0, "fio")
    # fio's own mean, from its own accumulator, is an oracle for the log
    (answer,) = json.loads((tmp_path / "fio" / f"{job.name}.answer.json").read_text())["jobs"]
    assert np.mean(requests.latency_ns) == pytest.approx(answer["write"]["lat_ns"]["mean"], rel=1e-6)


def test_lost_lines_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tickdisk.calibrate.fio.parse_answer", lambda _: JobFigures({"read": 0, "write": 24}, 0.5))
    with pytest.raises(TickdiskError, match=r"its log holds .*23.* and its answer says .*24"):
        run_job(Job("pwrite_fsync", "random", 4096, 1, requests=23), _target(tmp_path), tmp_path / "fio")


def test_fio_fails_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="exit code 1: fio: file creation disallowed"):
        run_job(Job("pwrite_fsync", "random", 4096, 1, requests=1), Target(tmp_path / "none", 0, 4096), tmp_path / "fio")


def test_the_systems_error_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="No space left on device"):
        run_job(Job("pwrite_fsync", "random", 4096, 1, requests=1), Target(Path("/dev/full"), 0, 4096), tmp_path / "fio")


def test_fio_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(TickdiskError, match="fio is not installed"):
        run_job(Job("read", "random", 4096, 1, requests=1), _target(tmp_path), tmp_path / "fio")
