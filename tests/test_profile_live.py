"""A profile of a device that is known: loaded elsewhere it behaves as the first one did, at depths that were not fitted."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tickdisk import device
from tickdisk.device import DeviceModel
from tickdisk.profile import HELD_OUT_DEPTHS, measure, profile, simulated_ns, source

pytestmark = pytest.mark.live

SIZE = 64 << 20
DISK = DeviceModel(
    name="known",
    read_latency_ns={"median_ns": 1_000_000, "sigma": 0.4},
    write_latency_ns={"median_ns": 2_000_000, "sigma": 0.2},
    flush_latency_ns=5_000_000,
    channels=8,
    bandwidth_bytes_per_s=1_000_000_000,
)
P50_LIMIT, P99_LIMIT = 0.12, 0.35  # the suite's machine is busy; what is promised is tried by hand, see CONTRIBUTING.md


@pytest.fixture(autouse=True)
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tickdisk.profile.measure"], "ROUNDS", 1)


def test_a_profile_behaves_elsewhere_as_its_device(tmp_path: Path) -> None:
    output = tmp_path / "My Disk.yaml"
    with device.up(DISK, size_bytes=SIZE, file_system=None) as target:
        profiled = profile(target.block_device, output, write=False, seconds=1, size_bytes=0, say=lambda _: None)
        assert target.status()["requests"]["write"] == 0
    model = device.load_device(output)
    assert model == profiled.model
    assert model.name == "my_disk"
    assert "taken to be as reads" in model.description
    assert model.channels is not None
    assert 6 <= model.channels <= 10
    assert model.latency_ns[0] == pytest.approx(1_000_000, rel=0.1)
    first = {sample.queue_depth: sample.latency_ns for sample in profiled.measured.samples}
    with (
        device.up(model, size_bytes=SIZE, file_system=None) as elsewhere,
        source(elsewhere.block_device, write=False, size_bytes=0) as found,
    ):
        again = measure(found.target, write=False, seconds=1, folder=tmp_path, depths=HELD_OUT_DEPTHS, say=lambda _: None)
    for sample in again.samples:
        wanted = np.quantile(first[sample.queue_depth], [0.5, 0.99])
        p50, p99 = np.abs(np.quantile(sample.latency_ns, [0.5, 0.99]) / wanted - 1)
        assert p50 < P50_LIMIT, sample.queue_depth
        assert p99 < P99_LIMIT, sample.queue_depth
    wrong = device.load_device(output).model_copy(update={"channels": 4 * model.channels})
    assert np.median(simulated_ns(wrong, "read", 32)) < 0.5 * np.median(first[32]), "the channels decide, so this could fail"


def test_writes_and_flushes_are_measured_on_demand(tmp_path: Path) -> None:
    output = tmp_path / "both.yaml"
    with device.up(DISK, size_bytes=SIZE, file_system=None) as target:
        profiled = profile(target.block_device, output, write=True, seconds=0.4, size_bytes=0, say=lambda _: None)
        made = target.status()["requests"]
    assert min(made["write"], made["flush"]) > 50
    read_ns, write_ns, flush_ns, _ = profiled.model.latency_ns
    assert read_ns == pytest.approx(1_000_000, rel=0.1)
    assert write_ns == pytest.approx(2_000_000, rel=0.1)
    assert flush_ns == pytest.approx(5_000_000, rel=0.15)
    assert {line.op for line in profiled.model.fit} == {"read", "write", "write_flush"}
