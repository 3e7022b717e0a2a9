"""ext4 on a device whose power is cut while programs save: after each cut it mounts, and whatever fsync had promised is there.

TICKDISK_CUTS says how often (5; a release is checked with 100). `pytest -rP` shows the campaign's sum.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cut_writer import read_records

from tickdisk import device, process
from tickdisk.device import DeviceModel, MountedDevice, mounts
from tickdisk.device import record as records
from tickdisk.errors import TickdiskError

pytestmark = pytest.mark.live
CUTS = int(os.environ.get("TICKDISK_CUTS", "5"))
LIMIT_S = 30
SHARES = (0.0, 0.3, 0.0, 0.8, 1.0)
MODEL = DeviceModel(
    name="cut",
    read_latency_ns=20_000,
    write_latency_ns={"median_ns": 100_000, "p99_ns": 2_000_000},
    flush_latency_ns={"median_ns": 400_000, "p99_ns": 5_000_000},
)


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody else's `recover` sees these devices."""
    with tempfile.TemporaryDirectory(prefix="state-") as folder:
        monkeypatch.setattr(records, "STATE", Path(folder))
        yield


@dataclass
class Sum:
    """What a campaign did."""

    cuts: int = 0
    acknowledged: int = 0
    lost: int = 0
    torn_states: int = 0
    mount_failures: int = 0
    requests_failed: int = 0
    pages_dropped: int = 0
    pages_kept: int = 0


def promised(acknowledged: Path) -> dict[tuple[str, str], int]:
    """Of each file the last number that was acknowledged."""
    last: dict[tuple[str, str], int] = defaultdict(int)
    for line in acknowledged.read_text().splitlines():
        kind, name, number = line.split()
        last[kind, name] = max(last[kind, name], int(number))
    return last


def hold_against(folder: Path, last: dict[tuple[str, str], int], total: Sum) -> None:
    for (kind, name), number in last.items():
        path = folder / name
        numbers, _ = read_records(path.read_bytes()) if path.exists() else ([], 0)
        if kind == "log":
            assert numbers == list(range(1, len(numbers) + 1))
            total.lost += max(0, number - len(numbers))
        else:
            total.torn_states += len(numbers) != 1
            total.lost += not numbers or numbers[0] < number


def check_file_system(disk: MountedDevice) -> None:
    """Lets e2fsck judge; it finds nothing to correct (exit code 0)."""
    assert mounts.unmount(disk.mount_point, LIMIT_S, lazily=False)
    process.run(["e2fsck", "-fn", disk.block_device])
    mounts.mount(str(disk.block_device), disk.mount_point, "ext4")


def test_no_cut_loses_what_fsync_promised(tmp_path: Path) -> None:
    draw, total, acknowledged = random.Random(CUTS), Sum(), tmp_path / "acknowledged"
    with device.up(MODEL, size_bytes=512 << 20, floor_ns=0, volatile=True) as disk:
        for number in range(CUTS):
            before = len(acknowledged.read_text().splitlines()) if acknowledged.exists() else 0
            command = [sys.executable, Path(__file__).with_name("cut_writer.py"), disk.mount_point, str(number), acknowledged]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as writer:
                deadline = time.monotonic() + LIMIT_S
                while (not acknowledged.exists() or len(acknowledged.read_text().splitlines()) == before) and time.monotonic() < deadline:
                    time.sleep(0.005)
                time.sleep(draw.uniform(0, 0.4))
                assert writer.poll() is None, "it writes until the power is cut"
                try:
                    lost = disk.cut(SHARES[number % len(SHARES)], seed=number)
                except TickdiskError as error:
                    total.mount_failures += 1
                    pytest.fail(f"cut {number}: {error}; {total}")
                assert writer.wait(LIMIT_S) == 0
            total.cuts += 1
            total.requests_failed += lost.requests_failed
            total.pages_dropped += lost.pages_dropped
            total.pages_kept += lost.pages_kept
            hold_against(disk.mount_point, promised(acknowledged), total)
            check_file_system(disk)
            assert (total.lost, total.torn_states) == (0, 0), f"cut {number}: {total}"
        total.acknowledged = sum(promised(acknowledged).values())
    print(total)
    assert total.acknowledged > 0
    assert total.pages_dropped > 0
