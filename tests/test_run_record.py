"""Clock agreement and validity of a life, on records made by hand."""

from typing import Any

import pandas as pd
import pytest

from tickdisk.config import load_config
from tickdisk.run.record import clock_disagreement_ns, reasons_not_valid

MS = 1_000_000


def disagreement(issued: int, before: int, read: int, after: int, completed: int) -> int | None:
    actions = pd.DataFrame(
        [{"action": "marker", "outcome": "completed", "due_ns": 0, "issued_ns": issued, "completed_ns": completed}]
    )
    markers = pd.DataFrame([{"name": "read0", "before_ns": before, "after_ns": after}])
    return clock_disagreement_ns(actions, markers, pd.DataFrame([{"op": "read", "arrival_ns": read}]))


def test_causal_order_is_agreement() -> None:
    assert disagreement(0, 10, 20, 30, 40) == 0


@pytest.mark.parametrize(
    ("times", "by"),
    [((10, 4, 20, 30, 40), 6), ((0, 10, 33, 30, 40), 3), ((0, 10, 8, 30, 40), 2), ((0, 10, 20, 30, 21), 9)],
    ids=["probe before players", "device after probe", "device before probe", "players before probe"],
)
def test_what_sticks_out_is_disagreement(times: tuple[int, int, int, int, int], by: int) -> None:
    assert disagreement(*times) == by


def test_a_marker_that_was_not_answered_is_no_agreement() -> None:
    actions = pd.DataFrame([{"action": "marker", "outcome": "timed_out", "due_ns": 0, "issued_ns": 0, "completed_ns": None}])
    markers = pd.DataFrame([{"name": "read0", "before_ns": 1, "after_ns": 2}])
    assert clock_disagreement_ns(actions, markers, pd.DataFrame([{"op": "read", "arrival_ns": 1}])) is None


GOOD: dict[str, Any] = {
    "ticks": {"ticks": 1000, "missing": 0, "blocks_generated": 0, "complete": True, "rejected": 0, "backwards": 0},
    "client": {
        "saturated": False,
        "interrupted": False,
        "schedule_lag": {"p99_ms": 1.0, "max_ms": 2.0},
        "actions": {"join": {"offered": 10, "failed": 0}, "ping": {"offered": 990, "failed": 10}},
    },
    "latest_switch_ns": 0,
    "server_problems": [],
    "clock_disagreement_ns": 0,
    "requests": 10,
    "captures": [{"arm": "hdd", "requests": 5}],
    "device": {"log_overflow": 0, "arrivals_lack": ""},
    "calibrated_lack": "",
}


def test_a_good_life_is_valid() -> None:
    assert reasons_not_valid(load_config().limits, GOOD) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"client": GOOD["client"] | {"saturated": True}}, "client saturated: 1.0 ms"),
        ({"client": GOOD["client"] | {"interrupted": True}}, "were interrupted"),
        ({"client": GOOD["client"] | {"actions": {"join": {"offered": 500, "failed": 1}}}}, "of 500 actions failed: 1 join"),
        ({"client": GOOD["client"] | {"actions": {"ping": {"offered": 500, "failed": 6}}}}, "of 500 actions failed: 6 ping"),
        ({"ticks": GOOD["ticks"] | {"ticks": 900, "missing": 100}}, "100 of 1000 ticks missing"),
        ({"ticks": GOOD["ticks"] | {"blocks_generated": 7}}, "7 map blocks were generated"),
        ({"ticks": GOOD["ticks"] | {"complete": False}}, "the tick probe's file is damaged"),
        ({"latest_switch_ns": 300 * MS}, "switched 300 ms late"),
        ({"server_problems": ["ERROR[Main]: broken"]}, "the server reported 1 errors"),
        ({"clock_disagreement_ns": 2 * MS}, "disagree by 2.00 ms"),
        ({"clock_disagreement_ns": None}, "a marker was not seen"),
        ({"requests": 0}, "the device saw no request"),
        ({"captures": [{"requests": 5}, {"requests": 0}]}, "the capture saw no request, and the device did"),
        ({"device": {"log_overflow": 3, "arrivals_lack": ""}}, "lost 3 requests"),
        (
            {"device": {"log_overflow": 0, "arrivals_lack": "no BPF"}},
            r"the kernel said otherwise when requests arrive (no BPF)",
        ),
        ({"calibrated_lack": "no BPF"}, r"now it says so"),
    ],
)
def test_what_spoils_a_life_is_named(change: dict[str, Any], reason: str) -> None:
    found = reasons_not_valid(load_config().limits, GOOD | change)
    assert len(found) == 1
    assert reason in found[0]
