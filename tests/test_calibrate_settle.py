"""Floors, found on a bench that adds to every latency what is known: nothing else of a machine."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from tickdisk import calibrate, device, host
from tickdisk.calibrate import Job
from tickdisk.calibrate.bench import Measured
from tickdisk.calibrate.fio import Requests

_QUIET = host.Load(1, 0, 0, 0, 0, 0)
_REQUESTS = 20_000
_LATENCY_NS = 400_000
_STEADY = {f"{op}_latency_ns": _LATENCY_NS for op in ("read", "write", "flush")}
_DRAWN = {"quantiles": [[0, 300_000], [0.5, _LATENCY_NS], [1, 500_000]]}
_TWO_KINDS = {"quantiles": [[0, 100_000], [0.49, 110_000], [0.51, 690_000], [1, 700_000]]}
_CACHE = {"bytes": 1 << 26, "latency_ns": 50_000, "destage_bytes_per_s": 500_000_000}


class _Machine:
    """Answers as the model does, and `added(depth, floor)` later than the floor takes back."""

    def __init__(self, added: Callable[[int, int], int]) -> None:
        self._added = added
        self.looks: list[tuple[int, int, device.DeviceModel]] = []

    def set(self, model: device.DeviceModel, *, floor_ns: int, deep_floors: list[tuple[int, int]] | tuple[()] = ()) -> None:
        self.model, self.floors = model, {1: floor_ns, **dict(deep_floors)}

    def run(self, job: Job) -> Measured:
        floor_ns = self.floors[max(depth for depth in self.floors if depth <= job.queue_depth)]
        self.looks.append((job.queue_depth, floor_ns, self.model))
        ops = np.arange(_REQUESTS) % 2
        arrivals_ns, completions_ns = device.simulate_closed(self.model, job.queue_depth, ops, 0, 4096)
        latency_ns = completions_ns - arrivals_ns + self._added(job.queue_depth, floor_ns) - floor_ns
        requests = Requests(np.full(_REQUESTS, 10_000), latency_ns, ops == 1, np.full(_REQUESTS, 4096))
        return Measured(job, requests, {}, 0, _QUIET, 0, False)


def _settled(machine: _Machine, parts: dict[str, Any], depths: tuple[int, ...], most_iops: float) -> calibrate.Settled:
    model = device.DeviceModel.model_validate({"name": "one", **_STEADY, **parts})
    return calibrate.settle(cast("calibrate.Bench", machine), model, 1, depths, most_iops=most_iops)


def test_a_floor_is_what_is_added() -> None:
    machine = _Machine(lambda depth, _: 10_000 + 1000 * depth)
    found = _settled(machine, {}, (1, 2, 8, 16), 75e3)
    assert found.floor_ns == 11_000
    assert found.deep_floors == [(2, 11_000), (8, 18_000), (16, 26_000)], "1 us more or less is near"
    assert machine.floors == {1: 11_000, **dict(found.deep_floors)}, "they stay in force"


@pytest.mark.parametrize("taken_back", [0, 0.1])
def test_a_floor_that_takes_nothing_back_is_not_taken(taken_back: float) -> None:
    # With 8 in flight what is sent earlier is completed no earlier, or hardly: the machine is busy.
    machine = _Machine(lambda depth, floor_ns: 10_000 if depth == 1 else 70_000 + round((1 - taken_back) * floor_ns))
    found = _settled(machine, {}, (8,), 75e3)
    assert len({floor_ns for depth, floor_ns, _ in machine.looks if depth == 8}) > 1
    assert found.deep_floors == [(8, 10_000)]


@pytest.mark.parametrize(
    ("parts", "drawn_at"),
    [
        ({"read_latency_ns": _DRAWN, "write_latency_ns": _DRAWN}, {12}),
        ({}, set()),
        ({"read_latency_ns": _DRAWN, "cache": _CACHE}, {12}),
        ({"read_latency_ns": _TWO_KINDS}, set()),  # hardly a request takes as long as the median
    ],
)
def test_where_many_requests_compete_the_device_varies_as_it_does(parts: dict[str, Any], drawn_at: set[int]) -> None:
    machine = _Machine(lambda depth, _: 10_000 + 1000 * depth)
    found = _settled(machine, parts, (2, 12), 75e3)  # some 5,000 and 30,000 requests a second
    assert {depth for depth, _, model in machine.looks if not isinstance(model.read_latency_ns, int)} == drawn_at
    assert dict(found.deep_floors)[12] == pytest.approx(22_000, abs=5_000)
    assert isinstance(machine.model.read_latency_ns, int)
    limited = _Machine(lambda *_: 10_000)
    _settled(limited, {"bandwidth_bytes_per_s": 2_000_000_000}, (12,), 75e3)
    assert {model.bandwidth_bytes_per_s for _, _, model in limited.looks} == {2_000_000_000}, "what does not vary stays as it is"


def test_no_more_is_asked_of_the_machine_than_it_serves() -> None:
    depths = (2, 16, 32, 64)  # 5,000 to 160,000 requests a second
    asked = [dict(_settled(_Machine(lambda *_: 1000), {}, depths, most).deep_floors) for most in (75e3, 150e3)]
    assert [list(each) for each in asked] == [[2, 16], [2, 16, 32]]


def test_every_look_for_a_floor_is_made_as_the_jobs_are_that_it_is_for() -> None:
    machine, around = _Machine(lambda depth, _: 10_000 + 1000 * depth), []

    def twice(run: Callable[[], Measured]) -> Measured:
        run()
        around.append(run())
        return around[-1]

    model = device.DeviceModel.model_validate({"name": "one", **_STEADY})
    found = calibrate.settle(cast("calibrate.Bench", machine), model, 1, (8,), around=twice)
    assert len(machine.looks) == 2 * len(around) > 2
    assert found.last is around[found.looks - 1]
