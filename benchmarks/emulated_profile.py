"""A test of whether an emulated profile behaves as its disk does: `python -m benchmarks.emulated_profile [PATH ...]`.

The program profiles the disk at each PATH, emulates the profile, and measures the emulated device at the depths that were held
out. The disk is taken from the rounds of the profile itself, because a disk that drifts would differ from itself a minute later.
Without a PATH, the program makes two disks: an emulated network volume with known latencies, and a loop device on a file of this
machine's own disk.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap

from tickdisk import device
from tickdisk.calibrate import SHARE_OF_CEILING, Bench, Job, bench, settle
from tickdisk.foundation import memory
from tickdisk.profile import HELD_OUT_DEPTHS, Measurements, Sample, measure, profile, screen, source
from tickdisk.profile.fit import P50_LIMIT, P99_LIMIT
from tickdisk.profile.measure import BEYOND, BLOCK_BYTES, LIMITS_OF_ROUNDS, ROUNDS

_SIZE_BYTES = 256 << 20
_TEST_FILE_BYTES = 4 * _SIZE_BYTES
_CEILING_DEPTH = 32
_KNOWN_S, _SETTLE_S, _RESAMPLES = 12.0, 12.0, 2000
_KNOWN, _DEVICES = "network_volume", Path("data/devices.yaml")


def main() -> int:
    """Prints how far emulated profiles are from their disks, and returns 1 if a percentile is further off than is promised."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", type=Path, nargs="*", help="Disks to profile. Without any, two disks are made.")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), help="Folder of the profiles.")
    parser.add_argument("--seconds", type=float, default=36, help="Time of each job. On a disk that is emulated, it is 12 s.")
    arguments = parser.parse_args()
    far = 0
    for path in arguments.paths:
        far += _compare(path, arguments.folder / "profile.yaml", arguments.seconds)
    if not arguments.paths:
        for name, target, seconds in (("known", _known_disk, _KNOWN_S), ("own", _own_disk, arguments.seconds)):
            with target() as (path, what):
                print(f"{path}: {what}")
                far += _compare(path, arguments.folder / f"{name}.yaml", seconds)
    return bool(far)


@contextmanager
def _known_disk() -> Iterator[tuple[Path, str]]:
    """Yields an emulated network volume, made so slow that its requests do not wait for this machine, and its description."""
    model = device.named(_KNOWN, _DEVICES)
    with (
        memory.folder() as folder,
        _bench(folder) as table,
    ):
        most_iops = SHARE_OF_CEILING * _ceiling_per_s(table)
    times = max(1.0, max(HELD_OUT_DEPTHS) * 1e9 / most_iops / model.latency_ns[0])
    with device.up(stretched(model, times), size_bytes=_TEST_FILE_BYTES, file_system=None) as disk:
        yield disk.block_device, f"{model.description}, emulated, {times:.2f} times as slow, as this machine serves it"


def stretched(model: device.DeviceModel, times: float) -> device.DeviceModel:
    """Returns a device whose tables of read and write latencies are multiplied by `times`. Its other parameters are unchanged."""
    tables = {}
    for name in ("read_latency_ns", "write_latency_ns"):
        table = getattr(model, name)
        assert isinstance(table, device.Quantiles), f"{model.name} has a table"
        tables[name] = device.Quantiles(quantiles=tuple((share, round(ns * times)) for share, ns in table.quantiles))
    return model.model_copy(update=tables)


@contextmanager
def _own_disk() -> Iterator[tuple[Path, str]]:
    """Yields a loop device on a file of random bytes, which are both gone when this process ends, and its description."""
    with tempfile.TemporaryFile(dir=".") as file:
        for _ in range(_TEST_FILE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
        with closing(device.LoopDevice(Path(f"/proc/self/fd/{file.fileno()}"), "tickdisk-profile")) as loop:
            yield loop.path, "a loop device on a file of this machine's disk"


def _compare(path: Path, output: Path, seconds: float) -> int:
    """Prints the tables of one disk and returns the number of percentiles that are not as close as promised."""
    profiled = profile(path, output, write=False, seconds=seconds, size_bytes=_TEST_FILE_BYTES)
    print(screen(profiled.model))
    emulated, ceiling_per_s = _emulated(device.load_device(output), seconds)
    print(f"{'depth':>6}{'':>5}{'disk us':>10}{'emulated us':>14}{'off':>8}{'95 % of rounds':>20}{'of ceiling':>12}")
    far = 0
    for depth in HELD_OUT_DEPTHS:
        disk, other = (
            next(sample for sample in each.samples if (sample.op, sample.queue_depth) == ("read", depth))
            for each in (profiled.measured, emulated)
        )
        for share, limit in ((0.5, P50_LIMIT), (0.99, P99_LIMIT)):
            wanted, found = (float(one.quantiles(share)[0]) / 1000 for one in (disk, other))
            interval = _interval(disk, other, share)
            is_far = abs(found / wanted - 1) > limit
            far += is_far
            between = "-" if interval is None else f"{interval[0]:.1%} to {interval[1]:.1%}"
            told = "" if _decides(interval, limit) else ", but the rounds do not decide it"
            print(
                f"{depth:6}{f'p{share * 100:g}':>5}{wanted:10.1f}{found:14.1f}{found / wanted - 1:8.1%}{between:>20}"
                f"{disk.requests_per_s / ceiling_per_s:12.0%}  {'FURTHER OFF' if is_far else 'holds'}{told}"
            )
    print(f"ceiling: {ceiling_per_s:,.0f} requests/s without delay; above half of it, requests wait for the emulator's cores")
    print(f"{far} of {2 * len(HELD_OUT_DEPTHS)} values are further off than {P50_LIMIT:.0%} at p50 or {P99_LIMIT:.0%} at p99")
    return far


def _decides(interval: tuple[float, float] | None, limit: float) -> bool:
    """Returns whether the whole interval is within the limit, or the whole interval is beyond the limit on one side."""
    return interval is not None and (max(-interval[0], interval[1]) <= limit or interval[0] > limit or interval[1] < -limit)


def _interval(disk: Sample, other: Sample, share: float) -> tuple[float, float] | None:
    """Returns a 95 % confidence interval of the relative difference between two samples in the quantile `share`.

    It comes from a bootstrap over rounds, and is None if a round has too few requests for the quantile.
    """
    if min(len(latency_ns) for latency_ns in (*disk.rounds, *other.rounds)) * (1 - share) < BEYOND:
        return None
    of_rounds = [[np.quantile(latency_ns, share) for latency_ns in sample.rounds] for sample in (other, disk)]

    def off(other_ns: npt.NDArray[np.float64], disk_ns: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
        return np.asarray(np.median(other_ns, axis=axis) / np.median(disk_ns, axis=axis) - 1)

    found = bootstrap(of_rounds, off, n_resamples=_RESAMPLES, method="percentile", rng=0).confidence_interval
    return float(found.low), float(found.high)


def _emulated(model: device.DeviceModel, seconds: float) -> tuple[Measurements, float]:
    """Returns measurements of an emulated device, and the requests per second of a device without delay on this machine."""
    with (
        memory.folder() as folder,
        _bench(folder) as table,
    ):
        ceiling_per_s = _ceiling_per_s(table)
        settled = settle(table, model, _SETTLE_S)
        print(f"floor of the emulated device: {settled.floor_ns / 1000:.1f} us")
        table.set(model, floor_ns=settled.floor_ns)
        with source(table.disk.block_device, write=False, size_bytes=0) as found:
            again = measure(found.target, write=False, seconds=seconds, folder=folder, depths=HELD_OUT_DEPTHS)
    return again, ceiling_per_s


def _bench(folder: Path) -> AbstractContextManager[Bench]:
    """Returns a bench on which fio is a real-time thread at any rate of requests, as it is when a disk is profiled."""
    return bench(device.NO_DELAY, size_bytes=_SIZE_BYTES, folder=folder, limits=LIMITS_OF_ROUNDS, interrupts=True)


def _ceiling_per_s(table: Bench) -> float:
    """Returns the requests per second of the device on `table`, on which a model without delay must be in force."""
    without_delay = table.run(Job("read", "random", BLOCK_BYTES, _CEILING_DEPTH, _SETTLE_S / ROUNDS))
    assert without_delay.requests.requests_per_s is not None, "fio makes requests or fails"
    return without_delay.requests.requests_per_s


if __name__ == "__main__":
    sys.exit(main())
