"""The promises of `cut_writer.py`, and whether a device keeps them."""

from collections.abc import Iterable
from pathlib import Path

from cut_writer import read_records

from tickdisk.device import MountedDevice, mounts
from tickdisk.foundation import process

LIMIT_S = 30
Numbers = dict[tuple[str, str], int]
"""The last number that was promised, by log and state."""


def read_promises(lines: Iterable[str], from_ns: int, to_ns: int) -> tuple[int, Numbers]:
    """Returns how many promises were made in a time, and what they promise."""
    count, last = 0, Numbers()
    for line in lines:
        kind, name, number, at_ns = line.split()
        if from_ns < int(at_ns) <= to_ns:
            count += 1
            last[kind, name] = max(last.get((kind, name), 0), int(number))
    return count, last


def missing(folder: Path, last: Numbers) -> int:
    """Returns how many of the promised records and states are not there; what is there is whole and in order."""
    count = 0
    for (kind, name), number in last.items():
        path = folder / name
        numbers, _ = read_records(path.read_bytes()) if path.exists() else ([], 0)
        if kind == "log":
            assert numbers == list(range(1, len(numbers) + 1))
            count += max(0, number - len(numbers))
        else:
            assert len(numbers) == 1, f"{name} is torn"
            count += numbers[0] < number
    return count


def check_file_system(disk: MountedDevice) -> None:
    """Lets e2fsck judge; it finds nothing to correct (exit code 0)."""
    assert mounts.unmount(disk.mount_point, LIMIT_S, lazily=False)
    process.run(["e2fsck", "-fn", disk.block_device])
    mounts.mount(str(disk.block_device), disk.mount_point, "ext4")
