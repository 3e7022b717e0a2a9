"""Injected stalls: what was planned against what the device and the probe saw."""

import pandas as pd

from tickdisk.experiment import Injection
from tickdisk.run.inject import injections_table

S = 1_000_000_000
NO_MARKERS = pd.DataFrame({"name": [], "before_ns": [], "after_ns": []})


def test_stalls_belong_to_the_plan_that_armed_them() -> None:
    planned = [Injection("device_stall", 1.0, 500), Injection("cpu_stall", 2.0, 500), Injection("device_stall", 3.0, 500)]
    markers = pd.DataFrame({"name": ["read0", "burn"], "before_ns": [0, 102 * S], "after_ns": [1, 103 * S]})
    found = injections_table(planned, 100 * S, [[101 * S + 5, 102 * S], [103 * S, 104 * S]], markers)
    assert found.to_dict("records") == [
        {"kind": "device_stall", "due_ns": 101 * S, "start_ns": 101 * S + 5, "end_ns": 102 * S},
        {"kind": "cpu_stall", "due_ns": 102 * S, "start_ns": 102 * S, "end_ns": 103 * S},
        {"kind": "device_stall", "due_ns": 103 * S, "start_ns": 103 * S, "end_ns": 104 * S},
    ]


def test_a_stall_that_no_request_met_did_not_take_place() -> None:
    planned = [Injection("device_stall", 1.0, 500), Injection("device_stall", 3.0, 500)]
    found = injections_table(planned, 0, [[4 * S, 5 * S]], NO_MARKERS)
    assert found["due_ns"].tolist() == [3 * S]


def test_what_nobody_planned_is_not_an_injection() -> None:
    assert injections_table([Injection("device_stall", 1.0, 500)], 0, [[S // 2, S]], NO_MARKERS).empty
