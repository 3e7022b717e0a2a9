"""A profile of a device that is known: loaded elsewhere it behaves as the first one did, at depths that were not fitted."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tickdisk import device
from tickdisk.device import DeviceModel
from tickdisk.profile import HELD_OUT_DEPTHS, Measurements, measure, profile, simulated_ns, source

pytestmark = pytest.mark.live

SIZE = 64 << 20
DISK = DeviceModel(
    name="known",
    read_latency_ns={"median_ns": 2_000_000, "sigma": 0.4},
    write_latency_ns={"median_ns": 1_000_000, "sigma": 0.2},
    flush_latency_ns=2_000_000,
    channels=8,
    bandwidth_bytes_per_s=1_000_000_000,
)
P50_LIMIT, P99_LIMIT = 0.12, 0.6
"""The suite's machine is busy; `make bench-profile` tries what is promised."""
ATTEMPTS = 3


@pytest.fixture(autouse=True)
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tickdisk.profile.measure"], "ROUNDS", 1)


def off(measured: Measurements, first: Measurements) -> np.ndarray:
    """How far medians and 99th percentiles of reads at the depths that were held out are off."""
    tables = [
        {one.queue_depth: np.quantile(one.latency_ns, [0.5, 0.99]) for one in each.samples if one.op == "read"}
        for each in (measured, first)
    ]
    return np.max([np.abs(tables[0][depth] / tables[1][depth] - 1) for depth in HELD_OUT_DEPTHS], axis=0)


def test_a_profile_behaves_elsewhere_as_its_device(tmp_path: Path) -> None:
    output = tmp_path / "My Disk.yaml"
    with device.up(DISK, size_bytes=SIZE, file_system=None) as target:
        profiled = profile(target.block_device, output, write=True, seconds=0.6, size_bytes=0, say=lambda _: None)
        made = target.status()["requests"]
    assert min(made["write"], made["flush"]) >= 100
    model = device.load_device(output)
    assert model == profiled.model
    assert model.name == "my_disk"
    assert {line.op for line in model.fit} == {"read", "write", "write_flush"}
    assert model.channels is not None
    assert 6 <= model.channels <= 10
    assert model.latency_ns[:3] == pytest.approx((2_000_000, 1_000_000, 2_000_000), rel=0.2)
    with (
        device.up(model, size_bytes=SIZE, file_system=None) as elsewhere,
        source(elsewhere.block_device, write=False, size_bytes=0) as found,
    ):
        for attempt in range(ATTEMPTS):  # a wrong model is off each time, a busy machine is not
            again = measure(found.target, write=False, seconds=1, folder=tmp_path, depths=HELD_OUT_DEPTHS, say=lambda _: None)
            p50, p99 = off(again, profiled.measured)
            if (p50 < P50_LIMIT and p99 < P99_LIMIT) or attempt == ATTEMPTS - 1:
                break
        assert elsewhere.status()["requests"]["write"] == 0
    assert p50 < P50_LIMIT
    assert p99 < P99_LIMIT
    wrong = model.model_copy(update={"channels": 4 * model.channels})
    deepest = next(one for one in profiled.measured.samples if (one.op, one.queue_depth) == ("read", 32))
    assert np.median(simulated_ns(wrong, "read", 32)) < 0.5 * np.median(deepest.latency_ns), "the channels decide"
