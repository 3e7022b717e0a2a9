"""Jobs in quiet moments: what is waited for, what is made again, and what counts, told by looks that are made up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tickdisk import calibrate, host
from tickdisk.calibrate import quiet
from tickdisk.standstill import Standstills


def _measured(too_loaded: bool = False) -> calibrate.Measured:
    requests = calibrate.Requests(np.arange(9), np.arange(9), np.zeros(9, bool), np.full(9, 4096))
    job, load = calibrate.Job("read", "random", 4096, 1, 1), host.Load(1, 0, 0, 0, 0, 0)
    return calibrate.Measured(job, requests, {}, 0, load, 0, too_loaded)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What looks see from now on, in shares that are taken, the next first."""
    shares: list[float] = []
    monkeypatch.setattr(quiet, "look", lambda: Standstills(1.0, [round(shares.pop(0) * 1e9)], 1))
    return shares


@pytest.mark.parametrize(
    ("shares", "waits", "taken_share"),
    [
        ([0.01, 0.02], True, 0.015),
        ([0.03, 0.01, 0.02], True, 0.015),
        ([0.03] * 7, True, 0.03),  # none came
        ([0.03, 0.01], False, 0.02),
    ],
)
def test_a_job_begins_in_a_quiet_moment_if_one_comes(
    shares: Sequence[float], waits: bool, taken_share: float, seen: list[float]
) -> None:
    seen += shares
    assert quiet.watch(_measured, waits=waits).seen.taken_share == pytest.approx(taken_share)
    assert seen == []


@pytest.mark.parametrize(
    ("shares", "repeats", "runs", "counts"),
    [
        ([0.01, 0.3], 0, 1, 1),
        ([0.01, 0.01], 2, 1, 1),
        ([0, 0.3, 0, 0.01], 2, 2, 2),
        ([0, 0.3, 0, 0.2, 0, 0.4], 2, 3, 2),
    ],
)
def test_of_a_few_looks_the_calmest_counts(
    shares: Sequence[float], repeats: int, runs: int, counts: int, seen: list[float]
) -> None:
    seen += shares
    made = [_measured() for _ in range(runs)]
    left = list(made)
    assert quiet.calmest(lambda: left.pop(0), repeats).measured is made[counts - 1]
    assert (seen, left) == ([], [])


def test_what_ran_on_a_loaded_machine_is_not_preferred(seen: list[float]) -> None:
    seen += [0, 0, 0, 0.2]
    made: list[Any] = [_measured(too_loaded=True), _measured()]
    left = list(made)
    assert quiet.calmest(lambda: left.pop(0), 1).measured is made[1]


def test_a_job_is_made_between_two_looks_and_who_waits_rests_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    shares, order = iter([0.3, 0.2, 0.0, 0.1]), []

    def look() -> Standstills:
        order.append("look")
        return Standstills(1.0, [round(next(shares) * 1e9)], 1)

    monkeypatch.setattr(quiet, "look", look)
    monkeypatch.setattr(quiet.time, "sleep", lambda _: order.append("rest"))

    def run() -> calibrate.Measured:
        order.append("job")
        return _measured()

    quiet.watch(run, waits=True)
    assert order == ["look", "rest", "look", "rest", "look", "job", "look"]
    order.clear()
    shares = iter([0.3, 0.1])
    assert quiet.calmest(run, 0, waits=False).seen.taken_share == pytest.approx(0.2)
    assert order == ["look", "job", "look"]


@pytest.mark.parametrize(
    ("server", "others", "cores"),
    [((0,), (1,), [0, 1]), ((0,), (0,), [0]), ((0, 1, 2, 3), (4, 5, 6, 7), [0, 4, 5]), ((9, 10), (2, 3), [2, 3, 9])],
)
def test_a_look_is_at_the_cores_of_a_request(
    server: tuple[int, ...], others: tuple[int, ...], cores: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Sequence[int]] = []

    def look(seconds: float, cores: Sequence[int]) -> Standstills:
        looked_at.append(cores)
        return Standstills(seconds, [], len(cores))

    monkeypatch.setattr(quiet.standstill, "look", look)
    monkeypatch.setattr(quiet.host, "split_cores", lambda: host.Cores(server, others))
    assert quiet.look().cores == len(cores)
    assert looked_at == [cores]
