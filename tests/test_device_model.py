"""The device model and the file that describes devices."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk import _native, device
from tickdisk.device import DeviceModel
from tickdisk.errors import TickdiskError

ROOT = Path(__file__).parent.parent
THESIS = {  # shared/spec: the thesis's table of emulated devices, latency in us and bandwidth in bytes/s
    "memory": (0, 19.2e9),
    "storage_class_memory": (7, 10e9),
    "nvme_ssd": (50, 5e9),
    "sata_ssd": (100, 550e6),
    "cloud_volume": (1000, 4e9),
    "hdd": (6000, 150e6),
}


def simulate(
    arrivals_ns: np.ndarray, latency_ns: int, channels: int | None = None, bandwidth: int | None = None, length: int = 4096
) -> np.ndarray:
    count = len(arrivals_ns)
    done = _native.simulate([latency_ns] * 4, bandwidth, channels, arrivals_ns.tolist(), [0] * count, [length] * count)
    return np.array(done)


arrivals = st.lists(st.integers(0, 2000), min_size=1, max_size=80).map(lambda gaps: np.cumsum(np.array(gaps, dtype=np.int64)))


@given(arrivals, st.integers(0, 5000), st.integers(1, 6))
def test_channels_follow_the_recursion_of_a_queue_with_constant_service(
    arrivals_ns: np.ndarray, latency_ns: int, channels: int
) -> None:
    # First come first served with constant service: request i takes the channel that request i - c leaves.
    expected: list[int] = []
    for i, at in enumerate(arrivals_ns):
        expected.append(max(at, expected[i - channels] if i >= channels else 0) + latency_ns)
    assert simulate(arrivals_ns, latency_ns, channels).tolist() == expected


@given(arrivals, st.integers(0, 5000), st.integers(1, 10**7))
def test_the_shared_pipe_follows_its_closed_form(arrivals_ns: np.ndarray, latency_ns: int, length: int) -> None:
    # Lindley: the pipe is free of request i at max over j <= i of arrival j plus the transfers of j..i.
    transfer = np.full(len(arrivals_ns), length)  # at 1 GB/s a byte takes a nanosecond
    before = np.cumsum(transfer) - transfer
    piped = np.maximum.accumulate(arrivals_ns - before) + before + transfer
    expected = np.maximum(arrivals_ns + latency_ns, piped)
    assert simulate(arrivals_ns, latency_ns, bandwidth=10**9, length=length).tolist() == expected.tolist()


def test_the_mean_wait_is_that_of_an_m_d_1_queue() -> None:
    rng, service_ns, load = np.random.default_rng(7), 1000, 0.7
    arrivals_ns = np.cumsum(rng.exponential(service_ns / load, 200_000)).astype(np.int64)
    wait = simulate(arrivals_ns, service_ns, channels=1) - arrivals_ns - service_ns
    assert math.isclose(wait.mean(), service_ns * load / (2 * (1 - load)), rel_tol=0.05)  # Pollaczek and Khinchine


def test_the_tiers_are_the_thesis_s() -> None:
    devices = device.load_devices(ROOT / "data/devices.yaml")
    found = {name: (model.read_latency_ns / 1000, model.bandwidth_bytes_per_s) for name, model in devices.items()}
    assert found == THESIS
    assert all(model.source and model.description and model.name == name for name, model in devices.items())
    assert all(model.read_latency_ns == model.write_latency_ns == model.flush_latency_ns for model in devices.values())


def test_an_unknown_device_lists_the_known_ones() -> None:
    with pytest.raises(TickdiskError, match="unknown device floppy; known are memory, storage_class_memory, nvme_ssd"):
        device.find_device(device.load_devices(ROOT / "data/devices.yaml"), "floppy")


GOOD = "read_latency_ns: 1, write_latency_ns: 1, flush_latency_ns: 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a: {{{GOOD.replace('read_latency_ns: 1', 'read_latency_ns: -1')}}}", "device a, key read_latency_ns: .*not -1"),
        (f"a: {{{GOOD}, latencyns: 1}}", "device a, key latencyns: unknown key; the keys are name"),
        ("a: {read_latency_ns: 1, flush_latency_ns: 1}", "device a, key write_latency_ns: missing"),
        (f"a: {{{GOOD}, bandwidth_bytes_per_s: 0}}", "key bandwidth_bytes_per_s"),
        (f"a: {{{GOOD}, channels: fast}}", "key channels: .*not 'fast'"),
        ("a: {b: [}", "line 1: not YAML"),
        ("a:", "device a: no keys"),
        ("- a", "no devices"),
    ],
)
def test_a_wrong_description_names_file_device_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text(text)
    with pytest.raises(TickdiskError, match=message) as raised:
        device.load_devices(path)
    assert str(path) in str(raised.value)


def test_variants_of_a_device() -> None:
    model = DeviceModel(name="a", read_latency_ns=1, write_latency_ns=2, flush_latency_ns=3, bandwidth_bytes_per_s=10**9)
    assert model.service_ns(4096) == 4096
    assert model.with_latency(5000).service_ns(4096) == 5000
    slow = model.with_latency(6_000_000)
    assert (slow.name, slow.latency_ns, slow.bandwidth_bytes_per_s) == ("a_6000us", (6_000_000,) * 3 + (0,), 10**9)
    assert model.with_burn(5).as_dict() == {**model.as_dict(), "burn_ns": 5}
    assert model.unlimited().service_ns(1 << 20) == 0


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "device.log"
    with pytest.raises(TickdiskError, match="does not exist"):
        device.read_log(path)
    path.write_bytes(bytes(65))
    with pytest.raises(TickdiskError, match="no whole number of records"):
        device.read_log(path)
    path.write_bytes(b"\xff" * 64)
    with pytest.raises(TickdiskError, match="not a device log"):
        device.read_log(path)
    path.write_bytes(b"")
    assert device.read_log(path).num_rows == 0
