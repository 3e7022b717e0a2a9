"""Long latencies, taken back on a bench that adds to some requests what is known: nothing else of a machine."""

from typing import Any, cast

import numpy as np
import pytest

from tickdisk import calibrate, device, host
from tickdisk.calibrate import Job
from tickdisk.calibrate.bench import Measured
from tickdisk.calibrate.fio import Requests

_QUIET = host.Load(1, 0, 0, 0, 0, 0)
_REQUESTS = 40_000
_DRAWN = {"quantiles": [[0, 300_000], [0.5, 400_000], [0.97, 500_000], [0.99, 600_000], [0.999, 2_000_000], [1, 6_000_000]]}
_SETTLED = calibrate.Settled(15_000, [(2, 12_000)], 1, cast("Measured", None))


class _Machine:
    """Answers as the model does, less what is taken back from long ones; every so many-th request takes longer."""

    def __init__(self, every: int, longer_ns: int) -> None:
        self._every, self._longer_ns = every, longer_ns
        self.looks: list[tuple[int, device.DeviceModel]] = []
        self.floors: set[tuple[int, int]] = set()
        self._seed = 0

    def set(
        self, model: device.DeviceModel, *, floor_ns: int, deep_floors: list[tuple[int, int]], tails: list[device.Tail]
    ) -> None:
        self.model, self.tails = model, dict(tails)
        self.floors |= {(1, floor_ns), *deep_floors}

    def run(self, job: Job) -> Measured:
        self.looks.append((job.queue_depth, self.model))
        self._seed += 1
        ops = np.arange(_REQUESTS) % 2
        drawn = self.model.model_copy(update={"seed": self._seed})
        arrivals_ns, completions_ns = device.simulate_closed(drawn, job.queue_depth, ops, 0, 4096)
        latency_ns = completions_ns - arrivals_ns
        at_ns, taken_ns = np.array(self.tails[job.queue_depth]).T
        latency_ns = latency_ns - np.interp(latency_ns, at_ns, taken_ns).astype(np.int64)
        late = np.random.default_rng(self._seed).random(_REQUESTS) < 1 / self._every
        latency_ns += np.where(late, self._longer_ns, 0)
        requests = Requests(np.full(_REQUESTS, 10_000), latency_ns, ops == 1, np.full(_REQUESTS, 4096))
        return Measured(job, requests, {}, 0, _QUIET, 0, False)


def _model(**parts: Any) -> device.DeviceModel:
    latencies = {f"{op}_latency_ns": _DRAWN for op in ("read", "write")} | {"flush_latency_ns": 0}
    return device.DeviceModel.model_validate({"name": "one", **latencies, **parts})


def _settled(machine: _Machine, model: device.DeviceModel, depths: tuple[int, ...], most: float = 1e9) -> list[device.Tail]:
    return calibrate.settle_tails(cast("calibrate.Bench", machine), model, 1, depths, _SETTLED, most)


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_with_what_the_machine_adds_latencies_are_distributed_as_they_should_be(depth: int) -> None:
    machine, model = _Machine(100, 700_000), _model()
    (tail,) = _settled(machine, model, (depth,))
    assert tail[0] == depth
    assert len(machine.looks) > 1
    assert machine.floors == {(1, 15_000), (2, 12_000)}, "the floors are in force meanwhile"

    def quantiles(tails: list[device.Tail]) -> Any:
        machine.set(model, floor_ns=0, deep_floors=[], tails=tails)
        return np.quantile(machine.run(Job("read_write", "random", 4096, depth, 1.0)).requests.latency_ns, [0.5, 0.95, 0.99])

    wanted = [400_000, 496_000, 600_000]
    without, found = quantiles([(depth, [(0, 0)])]), quantiles([tail])
    assert without[2] > 1.5 * wanted[2], "one in a hundred is added to the one that is drawn"
    assert found == pytest.approx(wanted, rel=0.04)


def test_a_machine_that_adds_nothing_takes_nothing_back() -> None:
    (tail,) = _settled(_Machine(1 << 40, 0), _model(), (4,))
    at_ns, taken_ns = np.array(tail[1]).T
    assert (np.diff(at_ns) > 0).all()
    assert np.interp([400_000, 496_000, 500_000], at_ns, taken_ns) == pytest.approx([0, 0, 0], abs=10_000)
    assert np.interp(600_000, at_ns, taken_ns) < 60_000


def test_never_more_than_is_above_the_median() -> None:
    (tail,) = _settled(_Machine(2, 5_000_000), _model(), (4,))
    assert all(0 <= taken_ns <= at_ns - 400_000 + 5_000 for at_ns, taken_ns in tail[1])
    assert tail[1][-1][1] > 5_000_000, "none of the longest is drawn where the machine adds as many"


@pytest.mark.parametrize(
    ("parts", "depths", "most", "looked_at"),
    [
        ({}, (8, 2, 2, 1), 1e9, [1, 2, 8]),
        ({}, (2, 8, 32), 10_000, [2]),  # some 5,000, 20,000 and 80,000 requests a second
        ({"read_latency_ns": 100_000, "write_latency_ns": 100_000}, (1, 8), 1e9, []),  # it never varies
        ({"channels": 2}, (8,), 1e9, [8]),  # six wait
        ({f"{op}_latency_ns": {"quantiles": [[0, 9_000_000], [1, 20_000_000]]} for op in ("read", "write")}, (1, 32), 1e9, [32]),
        ({"stalls": {"every_bytes": 1 << 20, "length_ns": 50_000_000}}, (1,), 1e9, [1]),
    ],
)
def test_it_looks_where_something_can_be_taken_back(
    parts: dict[str, Any], depths: tuple[int, ...], most: float, looked_at: list[int]
) -> None:
    machine = _Machine(100, 700_000)
    found = _settled(machine, _model(**parts), depths, most)
    assert [depth for depth, _ in found] == looked_at == sorted({depth for depth, _ in machine.looks})
    assert all(model.stalls is None for _, model in machine.looks)
