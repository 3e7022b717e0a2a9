"""A mounted device of every kind: its log is the simulation of its arrivals, and what is measured is what the log says."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tickdisk import device
from tickdisk.device import DeviceModel

pytestmark = pytest.mark.live
SIZE = 64 << 20
ALONE = 40
"""Requests of one thread alone, before those of six."""
PROMPT_NS = 1_000_000
"""The promptest tenth is answered within this after the model says so; the floor is 0 here. Others may wait for a core: the six
who ask keep every one of a small machine busy, and the loop device's worker waits too (half of a fast device's 1.1 ms late)."""
DRAWN = {"median_ns": 300_000, "p99_ns": 2_000_000}
KINDS: dict[str, dict[str, Any]] = {
    "constant": {},
    "operations apart": {"read_latency_ns": 200_000, "write_latency_ns": 1_500_000, "flush_latency_ns": 700_000},
    "channels and bandwidth": {"channels": 2, "bandwidth_bytes_per_s": 200_000_000},
    "lognormal": {"read_latency_ns": DRAWN, "write_latency_ns": DRAWN, "flush_latency_ns": DRAWN},
    "quantiles": {"read_latency_ns": {"quantiles": [[0, 100_000], [0.9, 400_000], [1, 5_000_000]]}, "seed": 3},
    "by inflight": {"read_latency_ns": {"inflight": [1, 4], "quantiles": [[0, 100_000, 200_000], [1, 400_000, 3_000_000]]}},
    "load": {"load": [[1, 1], [4, 2], [8, 8]]},
    "credits": {"credits": [{"per_s": 2000, "capacity": 50, "request_bytes": 8192}, {"per_s": 50_000_000, "capacity": 1 << 20}]},
    "seek": {
        "channels": 1,
        "bandwidth_bytes_per_s": 150_000_000,
        "seek": {"least_ns": 100_000, "most_ns": 900_000, "span_bytes": SIZE, "revolution_ns": 833_333},
    },
    "collections": {"stalls": {"every_bytes": 1 << 20, "length_ns": DRAWN}},
    "pauses": {"stalls": {"period_ns": 20_000_000, "at_random": True, "length_ns": 2_000_000}},
    "cache": {"cache": {"bytes": 1 << 18, "latency_ns": 50_000, "destage_bytes_per_s": 40_000_000}},
    "ordered stall": {},
}


DEVICES = {
    name: model
    for name, model in device.load_devices(Path(__file__).parent.parent / "data/devices.yaml").items()
    if not model.tier
}
NAMES = [*KINDS, *DEVICES]


def kind(name: str) -> DeviceModel:
    if name in DEVICES:
        return DEVICES[name]
    constant = {f"{op}_latency_ns": 400_000 for op in ("read", "write", "flush")}
    return DeviceModel(name=name.replace(" ", "-"), **{**constant, **KINDS[name]})


def work(disk: device.MountedDevice, seed: int, requests: int) -> None:
    """Reads, writes and flushes at random places, one after another."""
    rng, descriptor = np.random.default_rng(seed), os.open(disk.block_device, os.O_RDWR | os.O_DIRECT)
    try:
        buffer = np.zeros(1 << 17, dtype=np.uint8)
        start = -buffer.ctypes.data % 4096
        for _ in range(requests):
            length = int(rng.choice([4096, 16_384, 65_536]))
            view, offset = memoryview(buffer)[start : start + length], int(rng.integers(SIZE - length) >> 12) << 12
            match rng.integers(5):
                case 0 | 1:
                    os.preadv(descriptor, [view], offset)
                case 2 | 3:
                    os.pwritev(descriptor, [view], offset)
                case _:
                    os.fsync(descriptor)
    finally:
        os.close(descriptor)


def together(disk: device.MountedDevice, threads: int, requests: int) -> None:
    workers = [threading.Thread(target=work, args=(disk, seed, requests)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, dict[str, device.DeviceSetting], list[tuple[int, int]]]:
    """The log of one device that was every kind, what was in force when, and the stalls that were ordered."""
    log, settings = tmp_path_factory.mktemp("kinds") / "device.log", {}
    rest = kind("constant").unlimited()
    with device.up(rest, size_bytes=SIZE, file_system=None, floor_ns=0, log_path=Path(log)) as disk:
        for name in NAMES:
            settings[name] = disk.set(kind(name), floor_ns=0)
            if name == "ordered stall":
                disk.stall(30_000_000)
            work(disk, 99, ALONE)
            together(disk, 6, 40)
            disk.set(rest, floor_ns=0)
        stalls = disk.status().stalls
    return device.read_log(log).to_pandas(), settings, [(begin, end) for begin, end in stalls]


def test_several_are_in_flight_where_the_device_is_slower_than_who_asks(runs: tuple[Any, ...]) -> None:
    log, settings, _ = runs
    most = {name: log.loc[log["setting"] == setting.number, "inflight"].max() for name, setting in settings.items()}
    latency_ns = {name: kind(name).latency_ns[0] for name in most}
    assert all(most[name] > 1 for name in most if latency_ns[name] >= 500_000), most
    assert sum(count > 1 for count in most.values()) > len(most) / 2, most


@pytest.mark.parametrize("name", NAMES)
def test_the_log_is_the_simulation_of_its_arrivals(runs: tuple[Any, ...], name: str) -> None:
    log, settings, stalls = runs
    seen = log[log["setting"] == settings[name].number]
    assert len(seen) >= 240  # flushes of several threads can become one
    assert set(seen["op"]) >= {"read", "write", "flush"}
    ops = pd.Categorical(seen["op"], categories=device.OPS).codes
    own = stalls if name == "ordered stall" else []
    found = device.simulate(kind(name), seen["arrival_ns"], ops, seen["offset"], seen["length"], stalls=own)
    assert (found - seen["nominal_ns"]).tolist() == [0] * len(seen)
    plain = device.simulate(kind("constant"), seen["arrival_ns"], ops, seen["offset"], seen["length"])
    assert (plain != found).any() == (name != "constant"), "the part that the kind is named after must have done something"


@pytest.mark.parametrize("name", NAMES)
def test_the_device_answers_when_the_model_says(runs: tuple[Any, ...], name: str) -> None:
    log, settings, _ = runs
    seen = log[log["setting"] == settings[name].number]
    late_ns = seen["replied_ns"] - seen["nominal_ns"]
    assert late_ns.min() >= 0
    assert late_ns.iloc[:ALONE].quantile(0.1) < PROMPT_NS
    assert late_ns.iloc[ALONE:].quantile(0.1) < PROMPT_NS


def test_who_reads_waits_as_long_as_the_model_says(tmp_path: Path) -> None:
    model = kind("quantiles")
    log = tmp_path / "device.log"
    took_ns = []
    with device.up(model.unlimited(), size_bytes=SIZE, file_system=None, floor_ns=0, log_path=log) as disk:
        setting = disk.set(model, floor_ns=0)
        descriptor = os.open(disk.block_device, os.O_RDONLY | os.O_DIRECT)
        buffer = np.zeros(8192, dtype=np.uint8)
        view = memoryview(buffer)[-buffer.ctypes.data % 4096 :][:4096]
        for page in range(200):
            start_ns = time.monotonic_ns()
            os.preadv(descriptor, [view], page * 4096)
            took_ns.append(time.monotonic_ns() - start_ns)
        os.close(descriptor)
    log_table = device.read_log(log).to_pandas()
    seen = log_table[(log_table["setting"] == setting.number) & (log_table["op"] == "read")]
    service_ns = (seen["nominal_ns"] - seen["arrival_ns"]).to_numpy()
    assert len(service_ns) == 200
    over_ns = np.array(took_ns) - service_ns
    assert over_ns.min() >= 0
    assert np.quantile(over_ns, 0.1) < PROMPT_NS
    assert np.quantile(service_ns, 0.5) == pytest.approx(100_000 + 300_000 * 0.5 / 0.9, rel=0.2)
