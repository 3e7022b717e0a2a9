"""Floors, found on a bench that adds to every latency what is known: nothing else of a machine."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tickdisk import calibrate, device
from tickdisk.calibrate import Job
from tickdisk.calibrate.bench import Measured
from tickdisk.calibrate.fio import Requests
from tickdisk.foundation import host

_QUIET = host.MachineLoad(1, 0, 0, 0, 0, 0)
_REQUESTS = 20_000
_LATENCY_NS = 400_000
_STEADY = {f"{op}_latency_ns": _LATENCY_NS for op in ("read", "write", "flush")}


class _Machine:
    """Answers as the model does, and as much later as `added` says of the floor, less the floor."""

    def __init__(self, added: Callable[[int], int]) -> None:
        self._added = added
        self.floors_ns: list[int] = []

    def set(self, model: device.DeviceModel, *, floor_ns: int) -> None:
        self.model = model
        self.floors_ns.append(floor_ns)

    def run(self, job: Job) -> Measured:
        assert job.queue_depth == 1
        floor_ns = self.floors_ns[-1]
        ops = np.arange(_REQUESTS) % 2
        arrivals_ns, completions_ns = device.simulate_closed(self.model, 1, ops, 0, 4096)
        latency_ns = completions_ns - arrivals_ns + self._added(floor_ns) - floor_ns
        requests = Requests(np.full(_REQUESTS, 10_000), latency_ns, ops == 1, np.full(_REQUESTS, 4096))
        return Measured(job, requests, {}, 0, _QUIET, 0, False)


def _settled(machine: _Machine, parts: dict[str, Any] | None = None) -> calibrate.Settled:
    model = device.DeviceModel.model_validate({"name": "one", **_STEADY, **(parts or {})})
    return calibrate.settle(cast("calibrate.Bench", machine), model, 1)


def test_a_floor_is_what_is_added() -> None:
    machine = _Machine(lambda _: 11_000)
    found = _settled(machine)
    assert (found.floor_ns, found.looks) == (11_000, 2)
    assert machine.floors_ns == [0, 11_000], "it stays in force"


def test_a_machine_that_is_as_fast_as_the_device_needs_no_floor() -> None:
    assert [_settled(_Machine(lambda _, added_ns=added_ns: added_ns)).floor_ns for added_ns in (0, 900)] == [0, 900]


def test_a_floor_is_corrected_at_most_three_times() -> None:
    # Three quarters of the time by which replies are sent earlier are lost again.
    machine = _Machine(lambda floor_ns: 20_000 + 3 * floor_ns // 4)
    found = _settled(machine)
    assert (found.looks, machine.floors_ns) == (4, [0, 20_000, 35_000, 46_250])
    assert found.floor_ns == 46_250


def test_a_floor_is_no_longer_than_the_latency() -> None:
    found = _settled(_Machine(lambda _: 900_000))
    assert (found.floor_ns, found.looks) == (_LATENCY_NS, 2)


def test_a_device_that_varies_is_held_at_its_median() -> None:
    drawn = {"quantiles": [[0, 300_000], [0.5, _LATENCY_NS], [1, 500_000]]}
    machine = _Machine(lambda _: 10_000)
    assert _settled(machine, {"read_latency_ns": drawn, "write_latency_ns": drawn}).floor_ns == 10_000
    assert machine.model.read_latency_ns == _LATENCY_NS
