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
        self.model, self.tails = model, {(op, depth): points for op, depth, points in tails}
        self.floors |= {(1, floor_ns), *deep_floors}

    def run(self, job: Job) -> Measured:
        self.looks.append((job.queue_depth, self.model))
        self._seed += 1
        kinds = ("read", "write")
        ops = {"read": np.zeros, "write": np.ones}.get(job.op, lambda count, _: np.arange(count) % 2)(_REQUESTS, int)
        drawn = self.model.model_copy(update={"seed": self._seed})
        arrivals_ns, completions_ns = device.simulate_closed(drawn, job.queue_depth, ops, 0, 4096)
        latency_ns = completions_ns - arrivals_ns
        for number, op in enumerate(kinds):
            at_ns, taken_ns = np.array(self.tails.get((op, job.queue_depth), [(0, 0)])).T
            taken_ns = np.interp(latency_ns, at_ns, taken_ns, right=0).astype(np.int64)
            latency_ns = latency_ns - np.where(ops == number, taken_ns, 0)
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
    tails = _settled(machine, model, (depth,))
    assert [tail[:2] for tail in tails] == [("read", depth), ("write", depth)]
    assert len(machine.looks) > 1
    assert machine.floors == {(1, 15_000), (2, 12_000)}, "the floors are in force meanwhile"

    def quantiles(tails: list[device.Tail]) -> Any:
        machine.set(model, floor_ns=0, deep_floors=[], tails=tails)
        return np.quantile(machine.run(Job("read_write", "random", 4096, depth, 1.0)).requests.latency_ns, [0.5, 0.95, 0.99])

    wanted = [400_000, 496_000, 600_000]
    without, found = quantiles([]), quantiles(tails)
    assert without[2] > 1.5 * wanted[2], "one in a hundred is added to the one that is drawn"
    assert found == pytest.approx(wanted, rel=0.04)


def test_a_machine_that_adds_nothing_takes_nothing_back() -> None:
    (_, _, points), _ = _settled(_Machine(1 << 40, 0), _model(), (4,))
    at_ns, taken_ns = np.array(points).T
    assert (np.diff(at_ns) > 0).all()
    assert np.interp([400_000, 496_000, 500_000], at_ns, taken_ns) == pytest.approx([0, 0, 0], abs=10_000)
    assert np.interp(600_000, at_ns, taken_ns) < 60_000


def test_never_more_than_is_above_the_median() -> None:
    (_, _, points), _ = _settled(_Machine(2, 5_000_000), _model(), (4,))
    assert all(0 <= taken_ns <= at_ns - 400_000 + 5_000 for at_ns, taken_ns in points)
    assert points[-1][1] > 5_000_000, "none of the longest is drawn where the machine adds as many"


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
    assert [depth for op, depth, _ in found if op == "read"] == looked_at == sorted({depth for depth, _ in machine.looks})
    assert all(model.stalls is None for _, model in machine.looks)


def test_where_only_reads_vary_writes_stay_as_they_are() -> None:
    machine, model = _Machine(100, 700_000), _model(write_latency_ns=450_000)
    tails = _settled(machine, model, (2, 8))
    assert [tail[:2] for tail in tails] == [("read", 2), ("read", 8)]
    cached = _model(read_latency_ns=100_000, cache={"bytes": 1 << 26, "latency_ns": _DRAWN, "destage_bytes_per_s": 500_000_000})
    assert [tail[:2] for tail in _settled(machine, cached, (2,))] == [("write", 2)]
