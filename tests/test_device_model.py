"""The device model and the file that describes devices."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk import device
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError

ROOT = Path(__file__).parent.parent
THESIS = {  # PokeSto's table of emulated devices, latency in us and bandwidth in bytes/s
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
    latencies = {f"{op}_latency_ns": latency_ns for op in device.OPS}
    model = DeviceModel(name="test", **latencies, channels=channels, bandwidth_bytes_per_s=bandwidth)
    return device.simulate(model, arrivals_ns, 0, 0, length)


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


def test_the_tiers_are_the_thesis_s() -> None:
    devices = device.load_devices(ROOT / "data/devices.yaml")
    tiers = {name: model for name, model in devices.items() if model.tier}
    assert {name: (model.latency_ns[0] / 1000, model.bandwidth_bytes_per_s) for name, model in tiers.items()} == THESIS
    for name, model in tiers.items():
        latencies = dict.fromkeys(("read_latency_ns", "write_latency_ns", "flush_latency_ns"), round(THESIS[name][0] * 1000))
        assert model.as_dict() == DeviceModel(name=name, **latencies, bandwidth_bytes_per_s=model.bandwidth_bytes_per_s).as_dict()


def throughput_per_s(model: DeviceModel, op: int, length: int, count: int, stride: int = 0) -> float:
    """Requests a second when all are there from the start."""
    done = device.simulate(model, np.zeros(count, dtype=np.int64), op, np.arange(count) * stride, length)
    return count / done.max() * 1e9


def test_the_others_do_what_is_published_of_them() -> None:
    devices = device.load_devices(ROOT / "data/devices.yaml")
    assert all(model.source and model.description and model.name == name for name, model in devices.items())
    read_iops = {
        "nvme_consumer": 600_000,
        "nvme_datacenter": 490_000,
        "sata_ssd_collecting": 72_000,
        "gp3": 3000,
        "io2_10000": 10_000,
    }
    for name, iops in read_iops.items():
        assert throughput_per_s(devices[name], 0, 4096, 100_000) == pytest.approx(iops, rel=0.06), name
    count = 200_000
    for name, iops in {"nvme_datacenter": 38_000, "sata_ssd_collecting": 33_000}.items():
        for depth in (32, 128):
            _, done = device.simulate_closed(devices[name], depth, np.ones(count), np.zeros(count), np.full(count, 4096))
            assert count / done.max() * 1e9 == pytest.approx(iops, rel=0.03), (name, depth)
    bytes_per_s = {
        "nvme_consumer": 3.5e9,
        "sata_ssd_collecting": 5e8,
        "gp3": 125 << 20,
        "hdd_7200rpm": 138e6,
        "gp2_100gib": 128 << 20,
    }
    for name, bandwidth in bytes_per_s.items():
        found = throughput_per_s(devices[name], 0, 1 << 20, 3000, stride=1 << 20) * (1 << 20)
        assert found == pytest.approx(bandwidth, rel=0.02), name
    burst = throughput_per_s(devices["gp2_100gib"], 1, 4096, 5_000_000)
    assert burst == pytest.approx(3000, rel=1e-3)
    assert throughput_per_s(devices["st1_1tib"], 0, 1 << 20, 500_000) == pytest.approx(250, rel=1e-3)
    alone = np.arange(100_000) * 10**9
    io2_ns = device.simulate(devices["io2_10000"], alone, 0, 0, 16_384) - alone
    assert io2_ns.mean() < 500_000
    assert np.mean(io2_ns > 800_000) == pytest.approx(0.01, rel=0.2)
    places = np.random.default_rng(1).integers(0, 2 * 10**12 >> 12, 100_000) << 12
    disk_ns = device.simulate(devices["hdd_7200rpm"], alone, 0, places, 4096) - alone
    assert disk_ns.mean() == pytest.approx(8.5e6 + 8.333e6 / 2, rel=0.02)


def test_an_unknown_device_lists_the_known_ones() -> None:
    with pytest.raises(TickdiskError, match="unknown device floppy; known are memory, storage_class_memory, nvme_ssd"):
        device.find_device(device.load_devices(ROOT / "data/devices.yaml"), "floppy")


ALL_ZERO = {"read_latency_ns": 0, "write_latency_ns": 0, "flush_latency_ns": 0}
GOOD = "read_latency_ns: 1, write_latency_ns: 1, flush_latency_ns: 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"a: {{{GOOD.replace('read_latency_ns: 1', 'read_latency_ns: -1')}}}",
            "device a: read_latency_ns = -1 is not acceptable",
        ),
        (f"a: {{{GOOD}, latencyns: 1}}", "device a: unknown key latencyns; the keys are name"),
        ("a: {read_latency_ns: 1, flush_latency_ns: 1}", "device a: key write_latency_ns is missing; the keys"),
        (f"a: {{{GOOD}, bandwidth_bytes_per_s: 0}}", "bandwidth_bytes_per_s = 0"),
        (f"a: {{{GOOD}, channels: fast}}", "channels = 'fast'"),
        (f"a: {{{GOOD}, channels: 1.5}}", "channels = 1.5"),
        (f"a: {{{GOOD}, seed: -1}}", "seed = -1"),
        (
            f"a: {{{GOOD}, discard_latency_ns: {{median_ns: 5}}}}",
            "key discard_latency_ns.sigma is missing; the keys are median_ns, sigma",
        ),
        (f"a: {{{GOOD}, discard_latency_ns: {{median_ns: -5, sigma: 1}}}}", "discard_latency_ns.median_ns = -5"),
        (
            f"a: {{{GOOD}, discard_latency_ns: {{median_ns: 5, p99_ns: 4}}}}",
            "key discard_latency_ns: it needs median_ns, and beside",
        ),
        (f"a: {{{GOOD}, discard_latency_ns: {{median_ns: 5, sigma: 1, p99_ns: 9}}}}", "either sigma or p99_ns"),
        (f"a: {{{GOOD}, discard_latency_ns: {{quantiles: [[0, 5], [1, 4]]}}}}", "key discard_latency_ns: the latencies must"),
        (f"a: {{{GOOD}, discard_latency_ns: {{quantiles: [[0, 5]]}}}}", "key discard_latency_ns: it needs the shares 0 and 1"),
        (
            f"a: {{{GOOD}, discard_latency_ns: {{quantiles: [[0.1, 5], [1, 6]]}}}}",
            "key discard_latency_ns: the shares have to rise from 0 to 1",
        ),
        (f"a: {{{GOOD}, discard_latency_ns: {{quantiles: [[0, -5], [1, 6]]}}}}", "must not be negative"),
        (f"a: {{{GOOD}, discard_latency_ns: {{inflight: [], quantiles: []}}}}", "inflight needs numbers that rise"),
        (f"a: {{{GOOD}, discard_latency_ns: {{inflight: [4, 1], quantiles: []}}}}", "inflight needs numbers that rise"),
        (f"a: {{{GOOD}, discard_latency_ns: {{inflight: [1, 4], quantiles: [[0, 1], [1, 2]]}}}}", "a latency for each number in"),
        (f"a: {{{GOOD}, discard_latency_ns: {{inflight: [1], quantiles: []}}}}", "it needs the shares 0 and 1"),
        (f"a: {{{GOOD}, discard_latency_ns: {{inflight: [1, 4], quantiles: [[0, 1, 5], [1, 2, 4]]}}}}", "must not fall"),
        (
            f"a: {{{GOOD}, discard_latency_ns: {{inflight: [0], quantiles: [[0, 1], [1, 2]]}}}}",
            "discard_latency_ns.inflight.0 = 0 is not .*; the keys are inflight, quantiles",
        ),
        (f"a: {{{GOOD}, stalls: {{period_ns: 5, length_ns: {{inflight: [1], quantiles: []}}}}}}", "key stalls.length_ns: .*"),
        (f"a: {{{GOOD}, load: [[1, 1], [1, 2]]}}", r"device a: load has to begin with \[1, 1\]"),
        (f"a: {{{GOOD}, load: [[1, 1], [2, 0.5]]}}", "factors must not fall"),
        (f"a: {{{GOOD}, load: [[1, .nan]]}}", "load.0.1 = nan is not .*finite"),
        (
            f"a: {{{GOOD}, credits: [{{per_s: 0, capacity: 1}}]}}",
            "credits.0.per_s = 0 .*; the keys are per_s, capacity, request_bytes",
        ),
        (f"a: {{{GOOD}, seek: {{least_ms: 1}}}}", "key seek.least_ns is missing.*; the keys are least_ns, most_ns, span_bytes"),
        (
            f"a: {{{GOOD}, seek: {{least_ns: 1, most_ns: 2, span_bytes: 1, revolution_ns: 1}}}}",
            "device a: a device with seek needs channels: 1",
        ),
        (f"a: {{{GOOD}, seek: {{least_ns: 3, most_ns: 2, span_bytes: 1, revolution_ns: 1}}}}", "key seek: most_ns must not"),
        (f"a: {{{GOOD}, stalls: {{length_ns: 5}}}}", "key stalls: it needs every_bytes or period_ns"),
        (
            f"a: {{{GOOD}, stalls: {{period_ns: 5, length_ns: {{median_ns: 1, sigm: 2}}}}}}",
            "stalls.length_ns.sigma is missing.*; the keys are median",
        ),
        (
            f"a: {{{GOOD}, cache: {{bytes: 5, latency_ns: -1, destage_bytes_per_s: 1}}}}",
            "cache.latency_ns = -1 .*; the keys are bytes",
        ),
        (
            f"a: {{{GOOD}, cache: {{bytes: 5, latency_ns: 1, destage_bytes_per_s: 1, x: 1}}}}",
            "unknown key cache.x; the keys are bytes",
        ),
        (f"a: {{{GOOD}, name: b}}", "device a, key name: unknown key; the name stands above"),
        (f"a: {{{GOOD}, 1: 2}}", "device a, key 1: unknown key"),
        (f"a: {{{GOOD}, ~: 2}}", "device a, key None: unknown key"),
        ("a: {{x: 1}: 2}", "line 1: not YAML .*unhashable"),
        ("a: !!map foo", "line 1: not YAML .*mapping"),
        (f"a: {{{GOOD}}}\nb: {{{GOOD}}}\na: {{{GOOD}}}", 'line 3: not YAML .found duplicate key "a".'),
        (f"a: {{{GOOD}, seed: 1, seed: 2}}", 'line 1: not YAML .found duplicate key "seed".'),
        ("a: \x01", "not YAML in UTF-8"),
        ("a: {b: [}", "line 1: not YAML"),
        ("a:", "device a has no keys"),
        ("- a", "no devices"),
    ],
)
def test_a_wrong_description_names_file_device_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text(text)
    with pytest.raises(TickdiskError, match=message) as raised:
        device.load_devices(path)
    assert str(path) in str(raised.value)


READINGS = {
    "0100000": "32768 in YAML 1.1 and 100000 in YAML 1.2",
    "090": "'090' in YAML 1.1 and 90 in YAML 1.2",
    "0o100": "'0o100' in YAML 1.1 and 64 in YAML 1.2",
    "1:30": "90 in YAML 1.1 and '1:30' in YAML 1.2",
    "6e6": "'6e6' in YAML 1.1 and 6000000.0 in YAML 1.2",
}


@pytest.mark.parametrize("written", [*READINGS, "1_000", "0x1f", "+7"])
def test_a_number_is_the_one_that_is_written_or_is_refused(tmp_path: Path, written: str) -> None:
    """YAML 1.1 has octal numbers, and numbers to the base of 60; what a file says must not be another number (case 93)."""
    taken = {"1_000": 1000, "0x1f": 31, "+7": 7}
    path = tmp_path / "mine.yaml"
    path.write_text(f"mine:\n  read_latency_ns: {written}\n  write_latency_ns: 1\n  flush_latency_ns: 1\n")
    if written in taken:
        assert device.load_device(path).read_latency_ns == taken[written]
    else:
        with pytest.raises(TickdiskError, match=rf"mine\.yaml, line 2: {re.escape(written)} is {READINGS[written]}; write "):
            device.load_device(path)


@pytest.mark.parametrize("name", ["no", "on", "Yes", "y", "0o17", "1:30"])
def test_a_name_is_the_word_that_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"{name}:\n  read_latency_ns: 1\n  write_latency_ns: 1\n  flush_latency_ns: 1\n")
    if name in ("0o17", "1:30"):
        with pytest.raises(TickdiskError, match=rf"line 1: {name} is .*put a word in quotes"):
            device.load_device(path)
    else:
        assert device.load_device(path).name == name


@pytest.mark.parametrize("name", ["17", "1.5", "0x11"])
def test_a_name_is_no_number(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"{name}:\n  read_latency_ns: 1\n  write_latency_ns: 1\n  flush_latency_ns: 1\n")
    with pytest.raises(TickdiskError, match=r"the name of a device is a word, not .*; write it in quotes"):
        device.load_device(path)


def test_what_is_no_text_is_no_description(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="cannot be read: Is a directory"):
        device.load_devices(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("größe: 1".encode("latin-1"))
    with pytest.raises(TickdiskError, match=r"latin\.yaml: not YAML in UTF-8"):
        device.load_devices(tmp_path / "latin.yaml")


@pytest.mark.parametrize("name", ["My-Disk", "disk-2", "2disk", "nvme+"])
def test_the_name_of_a_tier_can_be_part_of_a_fact_s_name(name: str) -> None:
    values = {"read_latency_ns": 1, "write_latency_ns": 1, "flush_latency_ns": 1}
    assert DeviceModel(name=name, **values).name == name
    with pytest.raises(ValueError, match="the name of a tier or of a sizing class has small letters"):
        DeviceModel(name=name, tier=True, **values)


def test_latencies_that_differ_have_names_that_differ() -> None:
    device = DeviceModel(name="disk", read_latency_ns=1, write_latency_ns=1, flush_latency_ns=1)
    names = [device.with_latency(ns).name for ns in (1_000_000, 1_500, 1_234_567_000, 1_234_567_001, 3_600_000_000_000)]
    assert names == ["disk_1000us", "disk_1.5us", "disk_1234567us", "disk_1234567.001us", "disk_3600000000us"]


def test_variants_of_a_device() -> None:
    model = DeviceModel(name="a", read_latency_ns=1, write_latency_ns=2, flush_latency_ns=3, bandwidth_bytes_per_s=10**9)
    assert model.service_ns(4096) == 4096
    assert model.with_latency(5000).service_ns(4096) == 5000
    slow = model.with_latency(6_000_000)
    assert (slow.name, slow.latency_ns, slow.bandwidth_bytes_per_s) == ("a_6000us", (6_000_000,) * 3 + (0,), 10**9)
    apart = model.with_latencies(1000, 2_500, 6_000_000)
    assert (apart.name, apart.latency_ns) == ("a_read_1us_write_2.5us_flush_6000us", (1000, 2_500, 6_000_000, 0))
    assert model.with_burn(5).as_dict() == {**model.as_dict(), "burn_ns": 5}
    assert model.unlimited().service_ns(1 << 20) == 0
    assert model.steady() == model


def test_variants_of_a_device_that_varies() -> None:
    disk = device.load_devices(ROOT / "data/devices.yaml")["hdd_7200rpm"]
    assert disk.latency_ns == (5_166_666, 100_000, 0, 0)
    assert (
        disk.steady().as_dict()
        == DeviceModel(
            name="hdd_7200rpm",
            read_latency_ns=5_166_666,
            write_latency_ns=100_000,
            flush_latency_ns=0,
            channels=1,
            bandwidth_bytes_per_s=138_000_000,
        ).as_dict()
    )
    alone_ns, places = np.arange(100) * 10**9, np.arange(100) * 10**10
    assert set(device.simulate(disk.with_latency(7_000), alone_ns, 0, places, 512) - alone_ns) == {7_000}, "no arm has to move"
    assert disk.with_latency(7_000).cache == device.Cache(bytes=64 << 20, latency_ns=7_000, destage_bytes_per_s=138_000_000)
    assert disk.unlimited().parameters() == DeviceModel(name="x", **ALL_ZERO).parameters()
    assert DeviceModel(**disk.as_dict()).as_dict() == disk.as_dict()
    quantiles = device.Quantiles(quantiles=((0, 10), (0.4, 20), (0.6, 40), (1, 50)))
    assert DeviceModel(name="x", **{**ALL_ZERO, "read_latency_ns": quantiles}).service_ns(1) == 30


def test_a_table_by_requests_in_flight_has_the_idle_median() -> None:
    table = device.QuantilesByInflight(inflight=(1, 8), quantiles=((0, 10, 20), (0.4, 20, 30), (0.6, 40, 50), (1, 50, 90)))
    model = DeviceModel(name="x", **{**ALL_ZERO, "read_latency_ns": table})
    assert model.service_ns(1) == 30
    assert model.steady().read_latency_ns == 30
    assert DeviceModel(**model.as_dict()) == model


def test_a_file_with_one_device_is_a_device(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"mine: {{{GOOD}}}\n")
    assert device.is_file(str(path))
    assert device.load_device(path).name == "mine"
    path.write_text(f"mine: {{{GOOD}}}\nyours: {{{GOOD}}}\n")
    with pytest.raises(TickdiskError, match="has 2 devices, mine, yours; name a file that has only one"):
        device.load_device(path)
    assert not device.is_file("nvme_ssd")


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
