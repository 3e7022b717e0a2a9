"""The emulated device against its model: what holds and what does not is told apart, on paper and on a real device."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from conftest import for_release
from records_of import HOST

from tickdisk import calibrate, device
from tickdisk.calibrate.chains import CHAINS, Chain
from tickdisk.calibrate.fidelity import _point, _PointRun, _Run
from tickdisk.calibrate.settle import Settled
from tickdisk.calibrate.summary import percentile_of_runs_ns
from tickdisk.foundation import host
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_json
from tickdisk.studies.calibration import verdict_of_points

POINT: dict[str, Any] = {
    "chain": "tickdisk",
    "device": "disk",
    "latency_ns": 1_000_000,
    "op": "read",
    "queue_depth": 4,
    "runs": 1,
    "n": 1000,
    "p50_ns": 1_000_000,
    "p99_ns": 1_000_000,
    "p99_runs_ns": [1_000_000],
    "p999_ns": None,
    "nominal_p50_ns": 1_000_000,
    "nominal_p99_ns": 1_000_000,
    "nominal_p999_ns": None,
    "iops": 4000,
    "nominal_iops": 4000,
    "floor_ns": 20_000,
    "steal_share": 0,
    "pressure_cpu_share": 0,
    "pressure_memory_share": 0,
    "repeats": 0,
    "too_loaded": False,
}


PIPE = calibrate.Pipe(
    chain="tickdisk",
    op="read",
    nominal_bytes_per_s=1e9,
    bytes_per_s=0.9e9,
    n=1,
    steal_share=0,
    pressure_cpu_share=0,
    pressure_memory_share=0,
    too_loaded=False,
)


def _fidelity(*points: dict[str, Any]) -> calibrate.Fidelity:
    bare = POINT | {"device": "no_delay", "latency_ns": 0, "p50_ns": 20_000, "nominal_p50_ns": 0, "iops": 100_000}
    return calibrate.Fidelity.model_validate(
        {
            "schema_version": 7,
            "machine": HOST,
            "fio": "fio-3",
            "seconds_per_point": 1,
            "limits": {},
            "points": [bare, *(POINT | point for point in points)],
            "pipes": [],
            "others": {},
        }
    )


@pytest.mark.parametrize(
    ("changed", "p50", "p99"),
    [
        ({"p50_ns": 1_030_000}, True, True),
        ({"p50_ns": 1_030_001}, False, True),
        ({"p50_ns": 969_999}, False, True),
        ({"p99_ns": 1_150_000}, True, True),
        ({"p99_ns": 1_150_001}, True, False),
        ({"p99_ns": None}, True, None),
        ({"nominal_p50_ns": 50_000, "p50_ns": 55_000}, True, True),
        ({"nominal_p50_ns": 50_000, "p50_ns": 55_001}, False, True),
        ({"nominal_p99_ns": 50_000, "p99_ns": 150_000}, True, True),
        ({"nominal_p99_ns": 50_000, "p99_ns": 150_001}, True, False),
    ],
)
def test_a_point_holds_within_its_limits(changed: dict[str, Any], p50: bool, p99: bool | None) -> None:
    point = calibrate.Point.model_validate(POINT | changed)
    assert (point.p50_holds, point.p99_holds) == (p50, p99)


def test_a_device_is_held_to_its_model_below_half_the_ceiling_and_above_the_floor() -> None:
    changes = [{}, {"nominal_iops": 49_999}, {"nominal_iops": 50_000}, {"nominal_p50_ns": 20_000}, {"chain": "nbdkit"}]
    found = _fidelity(*changes)
    assert found.ceiling_iops == 100_000
    assert found.least_latency_ns == 20_000
    assert [found.counts(point) for point in found.points[1:]] == [True, True, False, False, False]
    said = list(calibrate.describe(_fidelity({"p50_ns": 2_000_000}, {"p99_ns": 2_000_000})))
    assert [line for line in said if "p50 DOES NOT HOLD" in line] == [said[2]]
    assert [line for line in said if "p99 DOES NOT HOLD" in line] == [said[3]]
    assert said[-1] == "p50 holds at 1 of 2 points, p99 at 1 of 2"
    said = list(calibrate.describe(_fidelity({"p99_runs_ns": [980_000, None, 1_020_000]})))
    assert said[2].endswith("holds, p99 of its runs -20.0 to +20.0")
    tail = {"p999_ns": 1_500_000, "nominal_p999_ns": 1_200_000}
    said = list(calibrate.describe(_fidelity(tail)))
    assert "1,500.0   +300.0" in said[2]
    pipes = [PIPE, PIPE.model_copy(update={"chain": "nbdkit"})]
    said = list(calibrate.describe(_fidelity().model_copy(update={"pipes": pipes})))
    assert said[2:4] == ["tickdisk, 1 MiB read: 900 MB/s, -10.00%, DOES NOT HOLD", "nbdkit, 1 MiB read: 900 MB/s, -10.00%"]


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        (
            [{}, {"nominal_iops": 50_000, "p50_ns": 2_000_000}, {"chain": "nbdkit", "p50_ns": 2_000_000}],
            True,
        ),
        ([{}, {"p99_ns": None, "p99_runs_ns": [None]}, {"p99_ns": None, "p99_runs_ns": [None]}], True),
        ([{}, {"p50_ns": 2_000_000}], False),
        ([{}, {"p99_ns": 2_000_000}], False),
        ([{"chain": "nbdkit"}], False),
    ],
)
def test_a_device_holds_where_it_is_held_to_its_model(changes: list[dict[str, Any]], holds: bool) -> None:
    found = _fidelity(*changes)
    assert found.holds == holds
    slow, other = ([PIPE.model_copy(update={"chain": chain})] for chain in ("tickdisk", "nbdkit"))
    assert not found.model_copy(update={"pipes": slow}).holds
    assert found.model_copy(update={"pipes": other}).holds == holds, "another chain's is not held to the model"


def test_a_point_lasts_longer_where_that_tells_p99() -> None:
    points = [(4, 6_000_000, 1), (4, 6_000_000, 2), (2, 6_000_000, 1), (4, 0, 1)]
    assert [calibrate.fidelity.point_seconds(*point) for point in points] == [6.6, 4, 2, 4]


def test_a_point_is_the_median_of_its_runs() -> None:
    quiet, worse, disturbed, short = (np.full(count, ns) for count, ns in ((1000, 100), (1000, 200), (1000, 9000), (10, 300)))
    assert percentile_of_runs_ns([disturbed, quiet, worse], 0.99) == 200
    assert percentile_of_runs_ns([disturbed, quiet], 0.99) == 4550
    assert percentile_of_runs_ns([quiet, worse, short], 0.99) == 200, "where one does not tell it that of all requests"
    assert percentile_of_runs_ns([quiet, np.full(30, 300)], 0.99) == 300
    assert percentile_of_runs_ns([short, short], 0.99) is None


def _run(count: int, ns: int, *, is_disturbed: bool) -> _PointRun:
    """A run of which one request in twenty takes 2 ms more if the machine is disturbed."""
    latency_ns = np.full(count, ns)
    latency_ns[: count // 20 if is_disturbed else 0] += 2_000_000
    requests = calibrate.Requests(np.arange(count) + 1000, latency_ns, np.zeros(count, bool), np.full(count, 4096))
    job = calibrate.Job("read", "random", 4096, 1, 1)
    load = host.MachineLoad(1, 0.05 if is_disturbed else 0, 0, 0, 0, 0)
    measured = calibrate.Measured(job, requests, {}, 0, load, 1, too_loaded=False)
    model = device.NO_DELAY.model_copy(update={"name": "slow", "read_latency_ns": ns})
    return _PointRun(model, ns // 100, 1, measured)


def test_one_run_that_was_disturbed_does_not_decide_a_point() -> None:
    made = ((1_000_000, False), (1_020_000, True), (1_010_000, False))
    point = _point("tickdisk", [(_run(2000, ns, is_disturbed=each), np.full(2000, ns)) for ns, each in made], 0.1)
    assert (point.runs, point.n, point.repeats, point.steal_share) == (3, 6000, 3, 0.05)
    assert (point.p50_ns, point.nominal_p50_ns, point.floor_ns) == (1_010_000, 1_010_000, 10_100)
    assert (point.p99_ns, point.p99_runs_ns, point.p99_holds) == (1_010_000, (1_000_000, 3_020_000, 1_010_000), True)
    # 500 requests do not tell p99, 1500 do: then one run decides it.
    runs = [(_run(500, 1_000_000, is_disturbed=each), np.full(500, 1_000_000)) for each in (False, True, False)]
    point = _point("tickdisk", runs, 0.1)
    assert (point.p99_ns, point.p99_runs_ns, point.p99_holds) == (3_000_000, (None, None, None), False)


def test_a_point_is_what_its_runs_and_the_device_s_log_say() -> None:
    model = device.NO_DELAY.model_copy(update={"name": "disk", "read_latency_ns": 100_000})
    numbers, last = iter((1, 2)), _run(2000, 100_000, is_disturbed=False).measured
    table: Any = SimpleNamespace(set=lambda *_, **__: SimpleNamespace(number=next(numbers)), run=lambda _: last)
    run = _Run(table, seconds=1, runs=2)
    for _ in range(2):
        run.point(model, Settled(10_000, 1, last), "read", 1)
    rows = [
        {"setting": each + 1, "op": "read", "length": 4096, "arrival_ns": at, "nominal_ns": at + 100_000 + 2 * each}
        for each in range(2)
        for at in range(0, 2_000_000_000, 1_000_000)
    ]
    (point,) = run.points(pd.DataFrame(rows))
    assert (point.runs, point.repeats, point.floor_ns, point.nominal_p50_ns) == (2, 2, 10_000, 100_001)


def test_other_chains_are_measured_as_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = _run(2000, 1_000_000, is_disturbed=False).measured
    chain = SimpleNamespace(name="nbdkit", up=lambda *_: contextlib.nullcontext(None))
    monkeypatch.setattr(calibrate.fidelity, "run_unloaded", lambda *_, **__: measured)
    points = calibrate.fidelity._cross_check(cast("Chain", chain), tmp_path, 1, {}, repeats=1)
    assert [(point.runs, point.repeats, point.p50_holds) for point in points] == [(1, 1, True)] * 2


@pytest.mark.parametrize(("loaded", "expected"), [([False], (False, 0)), ([True, False], (False, 1)), ([True] * 3, (True, 2))])
def test_a_run_is_repeated_while_the_machine_is_too_loaded(loaded: list[bool], expected: tuple[bool, int]) -> None:
    left = [SimpleNamespace(too_loaded=each) for each in loaded]
    made, repeats = calibrate.repeat_while_too_loaded(lambda: left.pop(0), 2)
    assert ((made.too_loaded, repeats), left) == (expected, [])


def test_a_file_of_another_version_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "fidelity.json"
    write_json(path, _fidelity({}).model_dump(mode="json") | {"schema_version": 6})
    with pytest.raises(
        TickdiskError, match=r"fidelity.json: schema_version = 6 is not acceptable: Input should be 7; remove the file"
    ):
        calibrate.load_fidelity(path)


@pytest.mark.parametrize(
    ("holds", "told", "verdict"),
    [
        ([], 0, "not valid"),
        ([True] * 4, 4, "kept"),
        ([True] * 2, 4, "kept"),
        ([True], 4, "not valid"),
        ([False], 4, "missed"),
    ],
)
def test_few_points_that_hold_do_not_speak_for_all(holds: list[bool], told: int, verdict: str) -> None:
    assert verdict_of_points(holds, told) == verdict


@pytest.mark.live
@for_release  # a run at scale smoke measures the same points
def test_what_the_model_said_is_told_of_the_same_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate.fidelity, "PIPES_BYTES_PER_S", (150e6,))
    ops = {
        f"{op}_latency_ns": {"quantiles": [[0, 2_000_000], [0.5, 2_000_000], [0.500001, 4_000_000], [1, 4_000_000]]}
        for op in ("read", "write")
    }
    model = device.DeviceModel.model_validate({"name": "two", **ops, "flush_latency_ns": 0, "channels": 4})
    out = tmp_path / "fidelity.json"
    found = calibrate.measure_fidelity([model], seconds=0.4, runs=2, depths=(1, 8), out_path=out, limits={})
    assert calibrate.load_fidelity(out) == found
    shallow, deep = (point for point in found.points if point.device == "two" and point.op == "read")
    # One at a time half of the requests take 2 ms and half 4 ms; with 8 in flight on 4 channels each waits for one before.
    assert shallow.nominal_p99_ns is None, "some 130 requests do not tell it"
    assert {(point.runs, len(point.p99_runs_ns)) for point in found.points if point.chain == "tickdisk"} == {(2, 2)}
    assert shallow.n == pytest.approx(0.4 * 1000 / 3, rel=0.3), "of both runs"
    assert shallow.nominal_iops == pytest.approx(1000 / 3, rel=0.2)
    assert deep.nominal_iops == pytest.approx(4000 / 3, rel=0.2)
    assert deep.nominal_p50_ns == pytest.approx(6_000_000, rel=0.1)
    assert deep.p50_ns >= 5_000_000
    assert found.least_latency_ns < 1_000_000
    assert [pipe.nominal_bytes_per_s for pipe in found.own_pipes] == [150e6] * 2
    assert all(0.5 < pipe.bytes_per_s / 150e6 < 1.02 for pipe in found.own_pipes)
    there = {point.chain for point in found.points} - {"tickdisk"}
    assert {pipe.chain for pipe in found.pipes} - {"tickdisk"} == there


@pytest.mark.live
@pytest.mark.parametrize("name", CHAINS)
def test_another_chain_delays_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    if (lack := CHAINS[name].lacks()) is not None:
        pytest.skip(lack)
    ops = {f"{op}_latency_ns": 5_000_000 for op in ("read", "write", "flush")}
    model = device.DeviceModel.model_validate({"name": "slow", **ops})
    mounts = Path("/proc/mounts").read_text(encoding="utf-8")
    with CHAINS[name].up(model, tmp_path / name, 256 << 20) as target:
        job = calibrate.Job("read", "random", 4096, 1, requests=20)
        requests = calibrate.run_job(job, target, tmp_path)
        assert int(np.median(requests.latency_ns)) >= 5_000_000
    narrow = device.DeviceModel.model_validate({"name": "narrow", "bandwidth_bytes_per_s": 20_000_000, **dict.fromkeys(ops, 0)})
    with CHAINS[name].up(narrow, tmp_path / f"{name}-narrow", 256 << 20) as target:
        wide = calibrate.run_job(calibrate.Job("read", "sequential", 1 << 20, 4, 3), target, tmp_path)
    assert 15e6 < (wide.requests_per_s or 0) * (1 << 20) < 25e6, "its bandwidth is kept"
    assert Path("/proc/mounts").read_text(encoding="utf-8") == mounts
