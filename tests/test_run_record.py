"""The recorder of processor time, the clause of ticks in time, and the traffic of a server that ended."""

import itertools
import os
import sys
import threading
import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from tickdisk.foundation import clock, host
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run import traffic
from tickdisk.run.contract import _budget_clause
from tickdisk.run.record import CpuRecorder


@pytest.mark.parametrize(
    ("recorder", "rows", "row"),
    [
        (CpuRecorder(), "_rows", (1, "server", 2)),
        (clock.Sampler(), "_samples", {"monotonic_ns": 1}),
    ],
)
def test_a_table_can_be_taken_while_samples_are_added(recorder: Any, rows: str, row: object) -> None:
    setattr(recorder, rows, [row] * 100)
    is_done = threading.Event()

    def add() -> None:
        while not is_done.wait(1e-5):
            getattr(recorder, rows).append(row)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    adder = threading.Thread(target=add)
    adder.start()
    try:
        lengths = [len(recorder.table()) for _ in range(300)]
    finally:
        is_done.set()
        adder.join()
        sys.setswitchinterval(before)
    assert lengths == sorted(lengths)


def test_rows_of_two_threads_are_in_order_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_cpu_ns(pid: int) -> int:
        time.sleep(0.001)
        return pid

    monkeypatch.setattr(host, "cpu_ns", slow_cpu_ns)
    recorder = CpuRecorder()
    names = [f"process {number}" for number in range(8)]
    followers = [threading.Thread(target=recorder.follow, args=(name, 1)) for name in names]
    for follower in followers:
        follower.start()
    for follower in followers:
        follower.join()
    table = recorder.table()
    assert table["monotonic_ns"].is_monotonic_increasing
    # Each sample has one row of every process that is followed, in the order in which they were added.
    assert len(table) >= len(names)
    starts = [*np.flatnonzero(table["process"] == table["process"].iloc[0]), len(table)]
    order = list(dict.fromkeys(table["process"]))
    for start, end in itertools.pairwise(starts):
        assert table["process"].iloc[start:end].tolist() == order[: end - start]


@pytest.mark.parametrize(
    ("gaps_ms", "kept", "detail"),
    [
        ([90, 90, 400], True, "the mean gap is 1.000 budgets without late ones"),
        ([70, 70], False, "the mean gap is 0.778 budgets without late ones"),
        ([400, 400], False, "none of 2 gaps is in time"),
        ([], False, "none of 0 gaps is in time"),
    ],
)
def test_ticks_that_are_all_late_or_missing_do_not_keep_their_budget(gaps_ms: list[int], kept: bool, detail: str) -> None:
    clause = _budget_clause(np.array(gaps_ms, dtype=np.int64) * 1_000_000, 90_000_000)
    assert (clause.kept, clause.detail) == (kept, detail)


@pytest.mark.parametrize("pid", [os.getpid(), 2**22 + 1], ids=["a zombie", "gone"])
def test_a_server_that_ended_has_no_traffic(pid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "_loopback", lambda: (0, 0))
    ended = Mock(pid=pid, alive=lambda: False, last_words=lambda: "out of memory")
    with pytest.raises(TickdiskError, match="the server ended while its traffic was measured: out of memory"):
        traffic._counted(ended, 1, 0.01)
    running = Mock(pid=os.getpid(), alive=lambda: True)
    assert traffic._counted(running, 1, 0.01).server_share >= 0
