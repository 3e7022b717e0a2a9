"""Long latencies, taken back on a bench that adds to some requests what is known: nothing else of a machine."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from tickdisk import calibrate, device, host
from tickdisk.calibrate import Job
from tickdisk.calibrate.bench import Measured
from tickdisk.calibrate.fio import Requests
from tickdisk.calibrate.tail import Search, Thinned

_QUIET = host.Load(1, 0, 0, 0, 0, 0)
_REQUESTS = 10_000
_DRAWN = {
    "quantiles": [
        [0, 300_000],
        [0.5, 400_000],
        [0.96, 500_000],
        [0.985, 600_000],
        [0.994, 1_100_000],
        [0.999, 2_500_000],
        [1, 6_000_000],
    ]
}
_CROWDED = {"inflight": [1, 16], "quantiles": [[0, 50_000, 700_000], [1, 60_000, 900_000]]}
"""Alone it would take ten times the bandwidth that sixteen take."""
_SETTLED = calibrate.Settled(15_000, [(2, 12_000)], 1, cast("Measured", None))


class _Machine:
    """Answers as the model does, less what is taken back from long ones, later by what the floor lacks, and some us more or less.

    Some requests take longer.
    """

    def __init__(self, share: float, longer_ns: int, *, requests: int = _REQUESTS, too_loaded: bool = False) -> None:
        self._share, self._longer_ns, self._requests, self._too_loaded = share, longer_ns, requests, too_loaded
        self.looks: list[tuple[int, device.DeviceModel]] = []
        self.floors: list[dict[int, int]] = []
        self.late_ns = [(1, 15_000), (2, 12_000)]
        self.seed = 0

    def set(
        self, model: device.DeviceModel, *, floor_ns: int, deep_floors: list[tuple[int, int]], tails: list[device.Tail]
    ) -> None:
        self.model, self.tails = model, {(op, depth): points for op, depth, points in tails}
        self._floors = [(1, floor_ns), *deep_floors]
        self.floors.append(dict(self._floors))

    def run(self, job: Job) -> Measured:
        self.looks.append((job.queue_depth, self.model))
        self.seed += 1
        kinds, count, random = ("read", "write"), self._requests, np.random.default_rng(self.seed)
        ops = {"read": np.zeros(count, int), "write": np.ones(count, int)}.get(job.op, np.arange(count) % 2)
        drawn = self.model.model_copy(update={"seed": self.seed})
        arrivals_ns, completions_ns = device.simulate_closed(drawn, job.queue_depth, ops, 0, 4096)
        latency_ns = completions_ns - arrivals_ns
        for number, op in enumerate(kinds):
            at_ns, taken_ns = np.array(self.tails.get((op, job.queue_depth), []) or [(0, 0)]).T
            latency_ns = latency_ns - np.where(ops == number, np.interp(latency_ns, at_ns, taken_ns).astype(np.int64), 0)
        late_ns, floor_ns = (round(np.interp(job.queue_depth, *np.transpose(each))) for each in (self.late_ns, self._floors))
        latency_ns += late_ns - floor_ns
        latency_ns += random.normal(0, 1000, count).astype(np.int64)
        latency_ns += np.where(random.random(count) < self._share, self._longer_ns, 0)
        requests = Requests(np.full(count, 10_000), latency_ns, ops == 1, np.full(count, 4096))
        return Measured(job, requests, {}, 0, _QUIET, 0, self._too_loaded)


def _model(**parts: Any) -> device.DeviceModel:
    latencies = {f"{op}_latency_ns": _DRAWN for op in ("read", "write")} | {"flush_latency_ns": 0}
    return device.DeviceModel.model_validate({"name": "one", **latencies, **parts})


def _settled(machine: _Machine, model: device.DeviceModel, depths: tuple[int, ...], most: float = 1e9) -> list[device.Tail]:
    return list(calibrate.settle_tails(cast("calibrate.Bench", machine), model, depths, _SETTLED, most).tails)


def _quantiles(model: device.DeviceModel, depth: int, tails: list[device.Tail], share: float, longer_ns: int) -> Any:
    machine = _Machine(share, longer_ns, requests=200_000)
    machine.set(model, floor_ns=_SETTLED.floor_ns, deep_floors=_SETTLED.deep_floors, tails=tails)
    latency_ns = machine.run(Job("read_write", "random", 4096, depth, 1.0)).requests.latency_ns
    return np.quantile(latency_ns, [0.5, 0.95, 0.99, 0.999])


@pytest.mark.parametrize("depth", [1, 2, 8])
@pytest.mark.parametrize("seed", range(3))
def test_with_what_the_machine_adds_latencies_are_distributed_as_they_should_be(depth: int, seed: int) -> None:
    machine, model = _Machine(0.005, 700_000), _model()
    machine.seed = 100 * seed
    tails = _settled(machine, model, (depth,))
    assert [tail[:2] for tail in tails] == [("read", depth), ("write", depth)]
    assert machine.floors[0] == {1: 15_000, 2: 12_000}, "the floors are in force meanwhile"
    wanted = _quantiles(model, depth, [], 0, 0)
    without, found = (_quantiles(model, depth, each, 0.005, 700_000) for each in ([], tails))
    assert without[2] > 1.15 * wanted[2], "what is added comes to what is drawn"
    assert abs(found[2] / wanted[2] - 1) < 0.6 * abs(without[2] / wanted[2] - 1)
    assert found[:2] == pytest.approx(wanted[:2], rel=0.02)
    assert found[3] == pytest.approx(wanted[3], rel=0.25), "what the machine does not make is still drawn"


@pytest.mark.parametrize(
    "quantiles",
    [
        [[0, 1_000_000], [0.99, 1_000_000], [0.9901, 10_000_000], [1, 10_000_000]],  # one in a hundred is slow
        [[0, 2_000_000], [0.7, 2_000_000], [0.701, 20_000_000], [1, 20_000_000]],
        [[0, 99_000], [0.9, 101_000], [0.901, 1_000_000], [1, 1_100_000]],
        _DRAWN["quantiles"],
    ],
)
def test_a_machine_that_adds_some_us_takes_nothing_back(quantiles: list[list[float]]) -> None:
    model = _model(**{f"{op}_latency_ns": {"quantiles": quantiles} for op in ("read", "write")})
    tails = _settled(_Machine(0, 0, requests=50_000), model, (4,))
    shares = [0.5, 0.9, 0.95, 0.98, 0.995]
    plain, found = (np.quantile(_latencies(model, each), shares) for each in ([], tails))
    assert found == pytest.approx(plain, rel=0.06)


def _latencies(model: device.DeviceModel, tails: list[device.Tail]) -> Any:
    machine = _Machine(0, 0, requests=200_000)
    machine.set(model, floor_ns=_SETTLED.floor_ns, deep_floors=_SETTLED.deep_floors, tails=tails)
    return machine.run(Job("read_write", "random", 4096, 4, 1.0)).requests.latency_ns


_RARE = {"quantiles": [[0, 350_000], [0.99, 400_000], [0.9901, 10_000_000], [1, 12_000_000]]}
"""One in a hundred takes far longer, and nothing is between."""


@pytest.mark.parametrize("rare", [_RARE["quantiles"], [[0, 1_000_000], [0.99, 1_000_000], [0.9901, 10_000_000], [1, 10_000_000]]])
def test_where_all_are_drawn_nothing_is_taken_whatever_is_between(rare: list[list[float]]) -> None:
    latency_ns = _latencies(_model(**{f"{op}_latency_ns": {"quantiles": rare} for op in ("read", "write")}), []).astype(np.int64)
    points = _search(latency_ns).points
    assert all(taken_ns == 0 for _, taken_ns in points)
    assert len(points) > 5


def _search(latency_ns: Any) -> Search:
    return Search(Thinned.of(latency_ns), "read", ("read",), 4, 1.5, is_told=True)


def test_a_mode_that_the_machine_does_not_make_stays() -> None:
    model = _model(read_latency_ns=_RARE, write_latency_ns=_RARE)
    tails = _settled(_Machine(0.01, 5_000_000, requests=50_000), model, (2,))  # as many, but between the two
    plain, found = (_quantiles(model, 2, each, 0, 0) for each in ([], tails))
    machine = _Machine(0, 0, requests=200_000)
    machine.set(model, floor_ns=_SETTLED.floor_ns, deep_floors=_SETTLED.deep_floors, tails=tails)
    latency_ns = machine.run(Job("read_write", "random", 4096, 2, 1.0)).requests.latency_ns
    assert (latency_ns > 9_000_000).mean() == pytest.approx(0.01, rel=0.25)
    assert found[0] == pytest.approx(plain[0], rel=0.01)


@pytest.mark.parametrize("looks", [0, 1])
def test_of_hardly_any_looks_nothing_is_made(looks: int) -> None:
    latency_ns = _latencies(_model(), []).astype(np.int64)
    search = _search(latency_ns)
    for _ in range(looks):
        search.learn(latency_ns + 500_000 * (np.arange(len(latency_ns)) % 100 == 0))
    search.end()
    assert search.points == []


def test_where_later_looks_are_no_nearer_nothing_is_taken_back() -> None:
    latency_ns = _latencies(_model(), []).astype(np.int64)
    search = _search(latency_ns)
    for share in (300, *[50] * 8):
        search.learn(latency_ns + 500_000 * (np.arange(len(latency_ns)) % share == 0))
    assert any(taken_ns > 0 for _, taken_ns in search.points)
    search.end()
    assert search.points == []


def test_bursts_that_a_minority_of_the_looks_saw_take_nothing_back() -> None:
    model = _model()
    machine, search = _Machine(0.004, 700_000, requests=50_000), _search(_latencies(model, []).astype(np.int64))
    for number in range(9):
        bursts = 0.05 if number in (1, 4, 5) else 0
        machine.set(model, floor_ns=_SETTLED.floor_ns, deep_floors=_SETTLED.deep_floors, tails=[("read", 4, search.points)])
        latency_ns = machine.run(Job("read", "random", 4096, 4, 1.0)).requests.latency_ns
        search.learn(latency_ns + 2_000_000 * (np.random.default_rng(number).random(len(latency_ns)) < bursts))
    search.end()
    plain = _quantiles(model, 4, [], 0, 0)
    found = _quantiles(model, 4, [(op, 4, search.points) for op in ("read", "write")], 0.004, 700_000)
    assert found[:3] == pytest.approx(plain[:3], rel=0.04)


def test_depths_are_looked_at_in_turn() -> None:
    machine = _Machine(0.02, 700_000)
    _settled(machine, _model(), (2, 8))
    assert [depth for depth, _ in machine.looks][:6] == [2, 8, 8, 2, 2, 8]


def test_floors_are_mended_where_they_were_found_in_another_minute() -> None:
    machine, found = _Machine(0.005, 700_000), replace(_SETTLED, deep_floors=[(2, 12_000), (8, 57_000), (32, 20_000)])
    machine.late_ns = [(1, 15_000), (2, 12_000), (8, 26_000), (32, 50_000)]
    settled = calibrate.settle_tails(cast("calibrate.Bench", machine), _model(), (1, 2, 8), found)
    assert (settled.floor_ns, [depth for depth, _ in settled.deep_floors]) == (15_000, [2, 8, 32])
    assert [floor_ns for _, floor_ns in settled.deep_floors] == pytest.approx([12_000, 26_000, 20_000], abs=1_500)
    assert [machine.floors[at][8] for at in (0, -1)] == pytest.approx([57_000, 26_000], abs=3_000), "in force meanwhile"


def test_never_more_than_is_above_the_median() -> None:
    (_, _, points), _ = _settled(_Machine(0.5, 5_000_000), _model(), (4,))
    assert all(0 <= taken_ns <= at_ns - 400_000 for at_ns, taken_ns in points)
    assert points[-1][1] > 4_000_000, "none of the longest is drawn where the machine adds as many"


def test_a_machine_that_was_too_loaded_tells_nothing() -> None:
    assert _settled(_Machine(0.1, 700_000, too_loaded=True), _model(), (4,)) == [("read", 4, []), ("write", 4, [])]


@pytest.mark.parametrize(
    ("parts", "depths", "most", "looked_at"),
    [
        ({}, (8, 2, 2, 1), 1e9, {1, 2, 8}),
        ({}, (2, 8, 32), 10_000, {2}),  # some 5,000, 20,000 and 80,000 requests a second
        ({"read_latency_ns": 100_000, "write_latency_ns": 100_000}, (1, 8), 1e9, set()),  # it never varies
        ({"channels": 8}, (2, 4, 6), 1e9, {2, 4}),  # six would wait, if they were early
        ({"bandwidth_bytes_per_s": 100_000_000}, (2, 4, 8), 1e9, {2, 4}),  # eight take 80 MB/s
        ({f"{op}_latency_ns": _CROWDED for op in ("read", "write")} | {"bandwidth_bytes_per_s": 300_000_000}, (16,), 1e9, {16}),
        ({f"{op}_latency_ns": {"quantiles": [[0, 9_000_000], [1, 20_000_000]]} for op in ("read", "write")}, (1, 32), 1e9, {32}),
        ({"stalls": {"every_bytes": 1 << 20, "length_ns": 50_000_000}}, (1,), 1e9, {1}),
    ],
)
def test_it_looks_where_something_can_be_taken_back(
    parts: dict[str, Any], depths: tuple[int, ...], most: float, looked_at: set[int]
) -> None:
    machine = _Machine(0.02, 700_000)
    found = _settled(machine, _model(**parts), depths, most)
    assert {depth for depth, _ in machine.looks} == looked_at
    assert {depth for op, depth, points in found if op == "read" and points} <= looked_at
    assert all(model.stalls is None for _, model in machine.looks)
    varies = parts.get("read_latency_ns") != 100_000
    assert [depth for op, depth, _ in found if op == "read"] == (sorted(set(depths)) if varies else []), "nothing is said for all"


def test_where_only_reads_vary_writes_stay_as_they_are() -> None:
    machine, model = _Machine(0.02, 700_000), _model(write_latency_ns=450_000)
    tails = _settled(machine, model, (2, 8))
    assert [tail[:2] for tail in tails] == [("read", 2), ("read", 8)]
    cached = _model(read_latency_ns=100_000, cache={"bytes": 1 << 26, "latency_ns": _DRAWN, "destage_bytes_per_s": 500_000_000})
    assert [tail[:2] for tail in _settled(machine, cached, (2,))] == [("write", 2)]
