"""Whether a profile behaves elsewhere as its disk does: `python -m tickdisk.profile.bench [PATH ...]`.

Profiles what is at each PATH, emulates the profile with the floors that a calibration finds for it, and measures that at the
depths that were held out; then the disk once more, because no emulation can be closer to it than it is to itself. What drifts is
so measured before and after, and the emulation held to all rounds of both; where the disk has moved further than is allowed
nothing is told. Without a PATH it makes two disks: an emulated network volume, whose latencies are known, and a loop device on a
file of this machine's own disk.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from tickdisk import device, memory
from tickdisk.calibrate import LIMITS, Job, bench, settle, settle_tails
from tickdisk.profile.evidence import screen
from tickdisk.profile.fit import P50_LIMIT, P99_LIMIT
from tickdisk.profile.measure import BLOCK_BYTES, FIT_DEPTHS, HELD_OUT_DEPTHS, ROUNDS, Measurements, measure
from tickdisk.profile.profile import profile
from tickdisk.profile.target import source

_SIZE_BYTES = 256 << 20
_TEST_FILE_BYTES = 4 * _SIZE_BYTES
_CEILING_DEPTH = 32
_KNOWN, _DEVICES = "network_volume", Path("data/devices.yaml")


def main() -> int:
    """Prints the tables; returns 1 when a depth is further off than promised, or nothing can be told of one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", type=Path, nargs="*", help="Disks; none: two that are made for it.")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), help="Where the profiles go.")
    parser.add_argument("--seconds", type=float, default=12)
    arguments = parser.parse_args()
    far = 0
    for path in arguments.paths:
        far += _compare(path, arguments.folder / "profile.yaml", arguments.seconds)
    if not arguments.paths:
        for name, target in (("known", _known_disk), ("own", _own_disk)):
            with target() as (path, what):
                print(f"{path}: {what}")
                far += _compare(path, arguments.folder / f"{name}.yaml", arguments.seconds)
    return bool(far)


@contextmanager
def _known_disk() -> Iterator[tuple[Path, str]]:
    model = device.named(_KNOWN, _DEVICES)
    with device.up(model, size_bytes=_TEST_FILE_BYTES, file_system=None) as disk:
        yield disk.block_device, f"{model.description}, emulated"


@contextmanager
def _own_disk() -> Iterator[tuple[Path, str]]:
    """A loop device on a file of noise that goes with us, as the device goes when nobody has it open."""
    with tempfile.TemporaryFile(dir=".") as file:
        for _ in range(_TEST_FILE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
        with closing(device.Loop(Path(f"/proc/self/fd/{file.fileno()}"), "tickdisk-profile")) as loop:
            yield loop.path, "a loop device on a file of this machine's disk"


def _compare(path: Path, output: Path, seconds: float) -> int:
    """Prints the tables of one disk; returns how many percentiles are not seen to be as close as promised."""
    profiled = profile(path, output, write=False, seconds=seconds, size_bytes=_TEST_FILE_BYTES)
    print(screen(profiled.model))
    emulated, ceiling_per_s = _emulated(device.load_device(output), seconds)
    again = _held_out(path, seconds, _TEST_FILE_BYTES)
    disk = f"{'disk us':>10}{'again us':>10}{'moved':>8}{'both us':>10}"
    print(f"{'depth':>6}{'':>5}{disk}{'elsewhere us':>14}{'off':>8}{'of ceiling':>12}")
    far = untold = 0
    for depth in HELD_OUT_DEPTHS:
        before, other, after = (
            next(sample for sample in each.samples if (sample.op, sample.queue_depth) == ("read", depth))
            for each in (profiled.measured, emulated, again)
        )
        both = replace(before, rounds=(*before.rounds, *after.rounds))
        for share, limit in ((0.5, P50_LIMIT), (0.99, P99_LIMIT)):
            first, later, wanted, found = (float(one.quantiles(share)[0]) / 1000 for one in (before, after, both, other))
            moved, off = abs(later / first - 1) > limit, abs(found / wanted - 1) > limit
            untold, far = untold + moved, far + (off and not moved)
            verdict = "not told, the disk moved" if moved else "FURTHER OFF" if off else "holds"
            print(
                f"{depth:6}{f'p{share * 100:g}':>5}{first:10.1f}{later:10.1f}{later / first - 1:8.1%}{wanted:10.1f}"
                f"{found:14.1f}{found / wanted - 1:8.1%}{both.requests_per_s / ceiling_per_s:12.0%}  {verdict}"
            )
    print(f"ceiling: {ceiling_per_s:,.0f} requests/s that wait for nothing; above half of it they wait for the emulator's cores")
    limits = f"{P50_LIMIT:.0%} at p50 or {P99_LIMIT:.0%} at p99"
    print(f"{far} of {2 * len(HELD_OUT_DEPTHS)} further off elsewhere than {limits}; of {untold} nothing is told")
    return far + untold


def _emulated(model: device.DeviceModel, seconds: float) -> tuple[Measurements, float]:
    """What is measured on an emulated device, and how many requests a second one without delay serves here."""
    with memory.folder() as folder, bench(device.NO_DELAY, size_bytes=_SIZE_BYTES, folder=folder, limits=LIMITS) as table:
        ceiling_per_s = table.run(Job("read", "random", BLOCK_BYTES, _CEILING_DEPTH, seconds / ROUNDS)).requests.requests_per_s
        assert ceiling_per_s is not None, "fio makes requests or fails"
        settled = settle(table, model, seconds, (*FIT_DEPTHS, *HELD_OUT_DEPTHS), most_iops=ceiling_per_s)
        floors = ", ".join(f"{floor_ns / 1000:.1f}" for floor_ns in (settled.floor_ns, *dict(settled.deep_floors).values()))
        print(f"floors elsewhere, us: {floors}, with {', '.join(map(str, (1, *dict(settled.deep_floors))))} in flight")
        tails = settle_tails(table, model, seconds, (*FIT_DEPTHS, *HELD_OUT_DEPTHS), settled, most_iops=ceiling_per_s)
        table.set(model, floor_ns=settled.floor_ns, deep_floors=settled.deep_floors, tails=tails)
        return _held_out(table.disk.block_device, seconds, 0), ceiling_per_s


def _held_out(path: Path, seconds: float, size_bytes: int) -> Measurements:
    with source(path, write=False, size_bytes=size_bytes) as found, memory.folder() as folder:
        return measure(found.target, write=False, seconds=seconds, folder=folder, depths=HELD_OUT_DEPTHS)


if __name__ == "__main__":
    sys.exit(main())
