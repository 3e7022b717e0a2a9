"""Figures, tolerances, look-ups and acceptance, against brute force and the emulator's own model."""

import heapq
import itertools
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from records_of import HOST

from tickdisk import TickdiskError
from tickdisk.calibrate import (
    Calibration,
    Job,
    acceptance,
    burn_ns,
    copy_calibration,
    floor_ns,
    interpolate_floor,
    load_calibration,
    percentile_ns,
)
from tickdisk.calibrate.bench import Bench, needs_batch_thread
from tickdisk.calibrate.nominal import Nominal, nominal, served_per_s
from tickdisk.calibrate.summary import within
from tickdisk.device import DeviceModel, MountedDevice, QuantilesByInflight, simulate
from tickdisk.foundation import host
from tickdisk.foundation.cores import Cores
from tickdisk.foundation.files import write_json

MODELS = [
    (100_000, 550_000_000, None),
    (1_000_000, 4_000_000_000, None),
    (6_000_000, 150_000_000, None),
    (50_000, None, 8),
    (1_000_000, None, 2),
    (0, 19_200_000_000, None),
]


def _model(latency_ns: int, bandwidth: int | None = None, channels: int | None = None, name: str = "disk") -> DeviceModel:
    return DeviceModel(
        name=name,
        read_latency_ns=latency_ns,
        write_latency_ns=latency_ns,
        flush_latency_ns=latency_ns,
        bandwidth_bytes_per_s=bandwidth,
        channels=channels,
    )


@pytest.mark.parametrize("share", [0.5, 0.99, 0.999])
@pytest.mark.parametrize("n", [19, 20, 999, 1000, 9999, 10_000, 12_345])
def test_percentile_against_counting(n: int, share: float) -> None:
    latencies = np.random.default_rng(n).integers(1, 500, n)
    found = percentile_ns(latencies, share)
    if round(n * (1 - share), 6) < 10:
        assert found is None
    else:
        # brute force: the smallest value that a share of them does not exceed
        assert found == min(
            value for value in set(latencies.tolist()) if np.count_nonzero(latencies <= value) >= share * n - 1e-6
        )


@pytest.mark.parametrize(("latency_ns", "bandwidth", "channels"), MODELS)
@pytest.mark.parametrize(
    "job", [Job("read", "random", 4096, 1, 1), Job("write", "random", 4096, 32, 1), Job("read", "sequential", 1 << 20, 16, 1)]
)
def test_nominal_against_a_closed_loop_on_the_emulators_model(
    latency_ns: int, bandwidth: int | None, channels: int | None, job: Job
) -> None:
    model, n = _model(latency_ns, bandwidth, channels), 480  # 320 of them are whole rounds of any depth
    expected = nominal(model, job)
    # `queue_depth` clients that each submit again when answered; the emulator's model says when, request by request
    ready, arrivals, completions = [0] * job.queue_depth, list[int](), list[int]()
    for _ in range(n):
        arrivals.append(heapq.heappop(ready))
        completions = simulate(model, arrivals, 0, 0, job.block_bytes).tolist()
        heapq.heappush(ready, completions[-1])
    steady = sorted(completions)[n // 3 :]
    assert expected.iops == pytest.approx(2 * n / 3 / (steady[-1] - sorted(completions)[n // 3 - 1]) * 1e9, rel=0.03)
    assert expected.bandwidth_bytes_per_s == pytest.approx(expected.iops * job.block_bytes)
    if job.queue_depth == 1:
        assert expected.p50_ns == pytest.approx(np.median(np.subtract(completions, arrivals)), abs=1)


@pytest.mark.parametrize(
    ("latency_ns", "channels", "depth", "expected"),
    [
        (100_000, None, 4, False),  # 40,000 a second
        (100_000, None, 8, True),  # 80,000
        (100_000, 4, 8, False),  # no more than four at a time
        (0, None, 2, True),
        (0, None, 1, False),  # one alone meets no other
    ],
)
def test_fio_waits_its_turn_where_many_requests_are_asked_for(
    latency_ns: int, channels: int | None, depth: int, expected: bool
) -> None:
    model = _model(latency_ns, channels=channels)
    job, pipe = Job("read", "random", 4096, depth, 1), Job("write", "sequential", 1 << 20, 16, 1)
    assert needs_batch_thread(model, job) is expected
    assert not needs_batch_thread(model, pipe)
    if channels is None and latency_ns:
        assert served_per_s(model, job) == pytest.approx(depth / latency_ns * 1e9)


def test_fio_waits_its_turn_for_what_is_served_not_for_what_an_idle_device_would() -> None:
    table = {"inflight": [1, 32], "quantiles": [[0, 100_000, 1_200_000], [1, 100_000, 1_200_000]]}
    crowded = _model(100_000).model_copy(update={"read_latency_ns": QuantilesByInflight.model_validate(table)})
    job = Job("read", "random", 4096, 32, 1)
    assert served_per_s(crowded, job) == pytest.approx(32 / 1_200_000 * 1e9, rel=0.02)
    assert not needs_batch_thread(crowded, job)
    assert needs_batch_thread(crowded, Job("write", "random", 4096, 32, 1))
    mixed = Job("read_write", "random", 4096, 32, 1)
    assert 27_000 < (served_per_s(crowded, mixed) or 0) < 55_000, "half of them are slow"


def cores_of(server: tuple[int, ...], others: tuple[int, ...]) -> Cores:
    return Cores(server=server, clients=others, emulator=others)


@pytest.mark.parametrize(
    ("cores", "always", "expected"),
    [
        (cores_of((0,), (1,)), False, [True, False]),
        (cores_of((0,), (1,)), True, [True, True]),  # as for a profile
        (cores_of((0,), (0,)), False, [True, True]),  # the emulator's own
        (cores_of((0, 1), (2, 3)), False, [True, True]),
    ],
)
def test_on_which_cores_fio_interrupts(
    cores: Cores, always: bool, expected: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(host, "split_cores", lambda: cores)
    monkeypatch.setattr(sys.modules[Bench.__module__], "run_unloaded", lambda *_, interrupts, **__: seen.append(interrupts))
    disk = cast("MountedDevice", SimpleNamespace(mount_point=tmp_path, block_device=None, tells_extents=False))
    table = Bench(disk, _model(100_000), tmp_path, {}, interrupts=always)
    for depth in (1, 32):
        table.run(Job("read", "random", 4096, depth, 1))
    assert seen == expected


def test_no_limit_no_nominal() -> None:
    assert nominal(_model(0), Job("read", "random", 4096, 16, 1)) == Nominal(None, None, None, None)
    assert nominal(_model(100), Job("pwrite_fsync", "random", 4096, 1, 1)).compared is None


@pytest.mark.parametrize(
    ("compared", "target", "realised", "holds"),
    [
        ("p50_ns", 100_000, 105_000, True),
        ("p50_ns", 100_000, 94_999, False),
        ("p50_ns", 6_000_000, 6_180_000, True),
        ("p50_ns", 6_000_000, 6_180_001, False),
        ("iops", 32_000, 25_600, True),
        ("iops", 32_000, 25_599, False),
        ("bandwidth_bytes_per_s", 150e6, 154.4e6, True),
        ("bandwidth_bytes_per_s", 150e6, 145.4e6, False),
    ],
)
def test_tolerances(compared: Any, target: float, realised: float, holds: bool) -> None:
    expected = Nominal(**{"p50_ns": None, "iops": None, "bandwidth_bytes_per_s": None, compared: target}, compared=compared)
    ratio, inside = within(expected, realised, 1_000_000)
    assert ratio == pytest.approx(realised / target)
    assert inside is holds


def test_slow_devices_must_reach_90_percent() -> None:
    expected = Nominal(None, 5333.0, None, "iops")
    assert within(expected, 0.89 * 5333, 6_000_000)[1] is False
    assert within(expected, 0.91 * 5333, 6_000_000)[1] is True


def _job(compared: str | None, queue_depth: int = 1, **values: Any) -> dict[str, Any]:
    return {
        "job": "j",
        "op": "read",
        "pattern": "random",
        "block_bytes": 4096,
        "queue_depth": queue_depth,
        "n": 100,
        "n_counted": 110,
        "n_device": {"read": 110},
        "p50_ns": 1,
        "p99_ns": None,
        "p999_ns": None,
        "iops": 1.0,
        "bandwidth_bytes_per_s": 1.0,
        "nominal_p50_ns": None,
        "nominal_iops": None,
        "nominal_bandwidth_bytes_per_s": None,
        "compared": compared,
        "ratio": None,
        "within_tolerance": None,
        "steal_share": 0.0,
        "pressure_cpu_share": 0.0,
        "pressure_io_share": 0.0,
        "pressure_memory_share": 0.0,
        "repeats": 0,
        "too_loaded": False,
        **values,
    }


def _calibration(*devices: tuple[DeviceModel, int, float, list[dict[str, Any]]]) -> Calibration:
    return Calibration.model_validate(
        {
            "schema_version": 4,
            "machine": HOST,
            "backend": "fuse",
            "file_system": "ext4",
            "fio": "fio-3.33",
            "seconds_per_job": 0.5,
            "ramp_s": 0.05,
            "started_unix_s": 1.0,
            "wall_s": 60.0,
            "limits": {"steal_share": 0.1},
            "requests": "calibration/requests.parquet",
            "devices": [
                {
                    "name": model.name,
                    "model": model,
                    "latency_ns": model.service_ns(4096),
                    "floor_ns": floor,
                    "floor_looks": 1,
                    "p50_ns": 1,
                    "cpu_ns_per_request": cpu_ns,
                    "floor_limited": False,
                    "reasons": (),
                    "jobs": jobs,
                }
                for model, floor, cpu_ns, jobs in devices
            ],
        }
    )


FAST, SLOW = _model(100_000, name="fast"), _model(10_000_000, name="slow")
TWO = _calibration((_model(0, name="memory"), 0, 9_000.0, []), (FAST, 20_000, 30_000.0, []), (SLOW, 100_000, 42_000.0, []))


def test_floors() -> None:
    assert TWO.floors_ns == {"memory": 0, "fast": 20_000, "slow": 100_000}
    assert floor_ns(TWO, FAST) == 20_000
    assert floor_ns(TWO, FAST.with_burn(5_000)) == 20_000
    assert floor_ns(TWO, FAST.with_latency(1_000_000)) == 60_000  # half way in the logarithm
    assert floor_ns(TWO, FAST.model_copy(update={"seed": 7})) == 20_000, "which latencies are drawn does not matter"
    for changed in ({"channels": 2}, {"bandwidth_bytes_per_s": 10**6}, {"write_latency_ns": 200_000}):
        assert floor_ns(TWO, FAST.model_copy(update=changed)) == 20_000, "of a device that was changed since"
    for slow in itertools.product((100_000, 10_000_000), repeat=3):
        found = floor_ns(TWO, FAST.with_latencies(*slow).model_copy(update={"name": "apart"}))
        assert found == (20_000 if min(slow) == 100_000 else 100_000), "the floor of the fastest operation"
    assert interpolate_floor(TWO, 50_000_000) == 100_000
    assert interpolate_floor(TWO, 7_000) == 7_000
    with pytest.raises(TickdiskError, match="no device with a latency above its floor"):
        interpolate_floor(_calibration((FAST, 100_000, 1.0, [])), 1)


def test_burn() -> None:
    assert burn_ns(TWO, own="fast", other="slow") == 12_000
    assert burn_ns(TWO, own="slow", other="fast") == 0
    with pytest.raises(TickdiskError, match="no device hdd, only memory, fast, slow"):
        burn_ns(TWO, own="fast", other="hdd")


def test_acceptance_can_fail() -> None:
    good = [_job("p50_ns", nominal_p50_ns=100_000, p50_ns=104_900), _job("p50_ns", nominal_p50_ns=100_000, p50_ns=94_000)]
    deep = [
        _job("iops", 32, ratio=0.85),
        _job("iops", 16, ratio=0.1),
        _job("bandwidth_bytes_per_s", 16, ratio=0.96, nominal_bandwidth_bytes_per_s=150e6),
        _job("bandwidth_bytes_per_s", 16, ratio=None, nominal_bandwidth_bytes_per_s=150e6),
        _job("bandwidth_bytes_per_s", 16, ratio=0.5, nominal_bandwidth_bytes_per_s=5e9),
    ]
    lines = acceptance(
        _calibration((_model(50_000, name="nvme"), 20_000, 1.0, good), (FAST, 20_000, 1.0, good), (SLOW, 1, 1.0, deep))
    )
    assert [(line["value"], line["holds"]) for line in lines] == [
        (4.9, True),
        (6.0, False),
        (0.85, False),
        (pytest.approx(0.04), False),
        (None, False),
    ]
    assert [line["limit"] for line in lines] == [5.0, 5.0, 0.9, 0.03, 0.03]


def test_file_is_read_back_and_wrong_keys_are_named(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    write_json(path, TWO.model_dump(mode="json"))
    assert load_calibration(path) == TWO
    write_json(path, {**TWO.model_dump(mode="json"), "wall_s": -1})
    with pytest.raises(TickdiskError, match=r"calibration.json: wall_s = -1 is not acceptable: .*greater than 0"):
        load_calibration(path)
    with pytest.raises(TickdiskError, match="does not exist"):
        load_calibration(tmp_path / "none.json")


def test_a_copy_has_latencies_of_its_own(tmp_path: Path) -> None:
    of_node, copy = tmp_path / "calibrations/n1.json", tmp_path / "calibration.json"
    write_json(of_node, {**TWO.model_dump(mode="json"), "requests": "n1/requests.parquet"})
    with pytest.raises(TickdiskError, match=r"n1/requests\.parquet is missing; remove "):
        copy_calibration(of_node, copy)
    assert not copy.exists()
    (tmp_path / "calibrations/n1").mkdir()
    (tmp_path / "calibrations/n1/requests.parquet").write_bytes(b"latencies")
    copy_calibration(of_node, copy)
    copied = load_calibration(copy)
    assert (tmp_path / copied.requests).read_bytes() == b"latencies"
    assert copied == load_calibration(of_node).model_copy(update={"requests": "calibration/requests.parquet"})
