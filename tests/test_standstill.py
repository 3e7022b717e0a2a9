"""Standstills: a process that is stopped for a while sees it, and what they make late is counted by hand."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tickdisk.standstill import Standstills, both

STOPPED_S = 0.15
LOOK = """
import json, sys
from tickdisk._native import standstills
print(flush=True)
print(json.dumps(standstills([int(sys.argv[1])], 600_000_000, 20_000)[0]))
"""


@pytest.fixture
def other_core() -> Iterator[int]:
    """A core that this test does not run on: whoever looks takes it before all ordinary threads."""
    cores = os.sched_getaffinity(0)
    if len(cores) == 1:
        pytest.skip("there is one core")
    os.sched_setaffinity(0, cores - {max(cores)})
    yield max(cores)
    os.sched_setaffinity(0, cores)


def test_a_process_that_is_stopped_stands_still(other_core: int) -> None:
    with subprocess.Popen([sys.executable, "-c", LOOK, str(other_core)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(process.pid, signal.SIGCONT)
        gaps_s = [gap_ns / 1e9 for gap_ns in json.loads(process.stdout.readline())]
    assert process.returncode == 0
    assert STOPPED_S * 0.8 < max(gaps_s) < STOPPED_S + 0.3
    assert min(gaps_s) > 20e-6


@pytest.mark.parametrize(
    ("gaps_ns", "allowed_ns", "latency_ns", "share"),
    [
        ([], 50_000, 100_000, 0.0),
        ([50_000], 50_000, 100_000, 0.0),
        ([60_000], 50_000, 100_000, 30_000 / 1e9),
        ([60_000, 90_000, 30_000], 50_000, 100_000, 90_000 / 1e9),
        ([7_000_000], 50_000, 100_000, 100_000 / 1e9),
        ([7_000_000], 600_000, 6_000_000, 6_000_000 / 1e9),
    ],
)
def test_what_a_standstill_makes_late(gaps_ns: list[int], allowed_ns: int, latency_ns: int, share: float) -> None:
    seen = Standstills(1.0, gaps_ns, 2)
    assert seen.late_share(allowed_ns, latency_ns) == pytest.approx(share)
    assert both(seen, Standstills(3.0, gaps_ns, 2)).late_share(allowed_ns, latency_ns) == pytest.approx(share / 2)


def test_what_was_taken_is_a_share_of_the_time_of_all_cores() -> None:
    assert Standstills(2.0, [30_000, 10_000_000], 4).taken_share == pytest.approx(10_030_000 / 8_000_000_000)
    assert Standstills(2.0, [], 4).taken_share == 0
