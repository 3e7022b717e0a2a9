"""How a disk is measured: which jobs are asked for; fio is one that answers as a slow disk does."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tickdisk.calibrate import Job, Target
from tickdisk.calibrate.fio import Requests
from tickdisk.foundation import host
from tickdisk.profile.measure import ROUNDS, _longer, measure, rounds

_QUIET_SHARE = 0.005
"""Of steal: below what counts as too much."""


class _Disk:
    """Serves `iops` requests a second, one at a time; the first of a full queue waits for itself alone."""

    def __init__(self, iops: float) -> None:
        self._each_ns, self.jobs, self.targets, self.asked_bytes = round(1e9 / iops), list[Job](), list[Target](), 0

    def run(self, job: Job, target: Target, *_: object, **__: object) -> Requests:
        self.jobs.append(job)
        self.targets.append(target)
        assert job.seconds is not None
        completed_ns = np.arange(1, int(job.seconds * 1e9 / self._each_ns)) * self._each_ns
        latency_ns = np.minimum(completed_ns, job.queue_depth * self._each_ns)
        count = len(latency_ns)
        self.asked_bytes += count * job.block_bytes
        return Requests(completed_ns // 1_000_000, latency_ns, np.zeros(count, bool), np.full(count, job.block_bytes))


@pytest.mark.parametrize(("iops", "longer"), [(80.0, {96}), (100_000.0, set())])
def test_a_slow_queue_turns_over_before_it_counts(
    iops: float, longer: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = _Disk(iops)
    monkeypatch.setitem(measure.__globals__, "run_job", disk.run)
    found = measure(Target(tmp_path, 0, 1 << 30), write=False, seconds=12, folder=tmp_path, depths=(1, 96), say=lambda _: None)
    shallow, deep = found.samples
    assert {int(ns) for ns in shallow.latency_ns} == {round(1e9 / iops)}
    assert {int(ns) for ns in deep.latency_ns} == {96 * round(1e9 / iops)}, "not while the queue fills up"
    assert deep.requests_per_s == pytest.approx(iops, rel=0.01)
    asked = [job for job in disk.jobs if job.queue_depth == 96]
    assert len({job.seconds for job in asked}) == 1 + len(longer)  # a run may be repeated, as this machine is loaded in fact
    assert len(asked) >= ROUNDS + len(longer)
    places = [job.seed for job in disk.jobs if job.pattern == "random"]
    assert len(set(places)) == len(places), "each has places of its own"
    assert found.asked_bytes == disk.asked_bytes


@pytest.mark.parametrize(("iops", "begins"), [(100.0, 9), (500.0, 2), (5000.0, 1)])
def test_what_is_read_in_sequence_is_not_what_a_cache_knows(
    iops: float, begins: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, size_bytes = _Disk(iops), (2 << 30) + 5
    monkeypatch.setitem(measure.__globals__, "run_job", disk.run)
    target = Target(tmp_path, 1 << 20, size_bytes)
    measure(target, write=False, seconds=12, folder=tmp_path, depths=(1,), say=lambda _: None)
    piped = [target for job, target in zip(disk.jobs, disk.targets, strict=True) if job.pattern == "sequential"]
    assert len({target.offset for target in piped}) == begins
    assert {target.offset + target.size_bytes for target in piped} == {(1 << 20) + size_bytes}
    made = round(iops * (disk.jobs[-1].seconds or 0)) - 1 << 20
    assert all(target.size_bytes >= made for target in piped) or begins == 1


def test_more_seconds_are_more_rounds_not_longer_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [rounds(seconds) for seconds in (0.3, 12, 24, 48)] == [ROUNDS, ROUNDS, 2 * ROUNDS, 4 * ROUNDS]
    disk = _Disk(1000)
    monkeypatch.setitem(measure.__globals__, "run_job", disk.run)
    lengths = []
    for seconds in (12, 24):
        (found,) = measure(
            Target(tmp_path, 0, 1), write=False, seconds=seconds, folder=tmp_path, depths=(1,), say=lambda _: None
        ).samples
        assert len(found.rounds) == rounds(seconds)
        lengths.append(next(job.seconds for job in disk.jobs[::-1] if job.queue_depth == 1))
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize(
    ("stolen", "repeats", "too_loaded", "most"),
    [
        (0, 0, False, _QUIET_SHARE),
        (2, 2, False, _QUIET_SHARE),
        (4, 3, True, 0.04),  # the third of the first round is kept, the second of the next is quiet
        (100, 2 * ROUNDS, True, (3 * ROUNDS + 1) / 100),
    ],
)
def test_a_round_that_was_stolen_is_made_again_at_most_twice(
    stolen: int, repeats: int, too_loaded: bool, most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter([(number + 2) / 100 for number in range(stolen)] + [_QUIET_SHARE] * 100)
    disk = _Disk(1000)

    class Meter:
        def read(self) -> host.MachineLoad:
            return host.MachineLoad(1, next(shares) if disk.jobs[-1].pattern == "random" else 0.5, 0, 0, 0, 0)

    monkeypatch.setitem(measure.__globals__, "run_job", disk.run)
    monkeypatch.setattr(host, "LoadMeter", Meter)
    (found,) = measure(Target(tmp_path, 0, 1), write=False, seconds=12, folder=tmp_path, depths=(1,), say=lambda _: None).samples
    assert len(found.rounds) == ROUNDS
    assert (found.repeats, found.too_loaded) == (repeats, too_loaded)
    assert max(load.steal_share for load in found.loads) == most


def test_a_job_is_measured_for_as_long_as_its_sample_needs() -> None:
    def run(requests: int, turns: float) -> Any:
        return SimpleNamespace(latency_ns=np.zeros(requests, dtype=np.int64), turns=turns)

    assert _longer(run(1000, 1000), 9) <= 1
    assert _longer(run(9, 12), 9) == pytest.approx(150 / 81), "a slow disk, whose rounds have 9 requests each"
    assert _longer(run(300, 3), 9) == 4, "a deep queue, in which each place was taken three times"
    assert _longer(run(0, 0), 9) == pytest.approx(150 / 9)
