"""ext4 on a device whose power is cut while programs save: after each cut it mounts, and whatever fsync had promised is there.

TICKDISK_CUTS says how often (5; a release is checked with 100). `pytest -rP` shows the campaign's sum.
"""

import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from cut_promises import Numbers, check_file_system, missing, read_promises

from tickdisk import device
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]
CUTS = int(os.environ.get("TICKDISK_CUTS", "5"))
ENOUGH_CUTS = 20
"""So many drop something, though now and then one does not."""
LIMIT_S = 30
SHARES = (0.0, 0.3, 0.0, 0.8, 1.0)
MODEL = DeviceModel(
    name="cut",
    read_latency_ns=20_000,
    write_latency_ns={"median_ns": 200_000, "p99_ns": 2_000_000},
    flush_latency_ns={"median_ns": 1_000_000, "p99_ns": 5_000_000},
)


@dataclass
class Sum:
    """What a campaign did."""

    cuts: int = 0
    promises: int = 0
    """Calls of fsync that had succeeded."""
    promises_without_power: int = 0
    lost_without_power: int = 0
    """Of those; it says something of the kernel, not of the device."""
    records: int = 0
    """What they had promised, each record and state once."""
    lost: int = 0
    mount_failures: int = 0
    requests_failed: int = 0
    pages_dropped: int = 0
    pages_kept: int = 0


def test_no_cut_loses_what_fsync_promised(tmp_path: Path) -> None:
    draw, total, acknowledged = random.Random(CUTS), Sum(), tmp_path / "acknowledged"  # noqa: S311
    last = Numbers()
    with device.up(MODEL, size_bytes=512 << 20, floor_ns=0, volatile=True) as disk:
        for number in range(CUTS):
            acknowledged.write_bytes(b"")
            command = [sys.executable, Path(__file__).with_name("cut_writer.py"), disk.mount_point, str(number), acknowledged]
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as writer:
                try:
                    deadline = time.monotonic() + LIMIT_S
                    while acknowledged.stat().st_size == 0 and time.monotonic() < deadline:
                        time.sleep(0.005)
                    time.sleep(draw.uniform(0, 0.4))
                    assert writer.poll() is None, "it writes until the power is cut"
                    try:
                        cut = disk.cut(SHARES[number % len(SHARES)], seed=number)
                    except TickdiskError as error:
                        total.mount_failures += 1
                        pytest.fail(f"cut {number}: {error}; {total}")
                    assert writer.wait(LIMIT_S) == 0
                finally:
                    writer.kill()
            lines = acknowledged.read_text().splitlines()
            count, now = read_promises(lines, 0, cut.cut_ns)
            # A machine without power promises nothing; here the kernel goes on for some milliseconds.
            late_count, late = read_promises(lines, cut.cut_ns, 1 << 63)
            last |= now
            total.cuts += 1
            total.promises += count
            total.promises_without_power += late_count
            total.requests_failed += cut.requests_failed
            total.pages_dropped += cut.pages_dropped
            total.pages_kept += cut.pages_kept
            total.lost += missing(disk.mount_point, last)
            total.lost_without_power += missing(disk.mount_point, late)
            check_file_system(disk)
            assert total.lost == 0, f"cut {number}: {total}"
    total.records = sum(last.values())
    print(total)
    assert total.promises > 0
    assert total.pages_dropped > 0 or CUTS < ENOUGH_CUTS, "cuts that drop nothing prove nothing"
