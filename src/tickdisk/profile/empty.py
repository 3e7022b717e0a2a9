"""Checks that a block device may be written to, which is so only if nothing is recognised on it and nothing uses it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import run


@contextmanager
def claimed(path: Path, *, write: bool) -> Iterator[None]:
    """Claims a block device until the end of the `with` block, so that nobody else can mount it or use it exclusively.

    Raises TickdiskError if the device may not be written to. If `write` is False, nothing is checked or claimed.
    """
    if not write:
        yield
        return
    number = path.stat().st_rdev
    device = f"{os.major(number)}:{os.minor(number)}"
    block = Path("/sys/dev/block") / device
    _refuse_if(path, (block / "ro").read_text(encoding="ascii").strip() != "0", "is read-only")
    points = [fields[4] for fields in _mount_lines() if fields[2] == device]
    _refuse_if(path, bool(points), f"is mounted at {', '.join(points)}")
    _refuse_if(path, number in _swaps(), "is swap")
    holders = sorted(holder.name for holder in (block / "holders").iterdir())
    _refuse_if(path, bool(holders), f"is part of {', '.join(holders)}")
    partitions = sorted(entry.parent.name for entry in block.glob("*/partition"))
    _refuse_if(path, bool(partitions), f"has partitions: {', '.join(partitions)}")
    try:
        # The kernel allows one user with O_EXCL at a time, and a mount counts as such a user, also in other mount namespaces.
        descriptor = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise TickdiskError(f"{path} cannot be opened for writing ({error.strerror}); free it, or leave out --write") from error
    try:
        lines = run(["wipefs", "--no-act", "--noheadings", "--output", "TYPE,OFFSET", path]).split("\n")
        signatures = [" at ".join(line.split()) for line in lines if line.strip()]
        _refuse_if(path, bool(signatures), f"is not empty, but has {', '.join(signatures)}")
        yield
    finally:
        os.close(descriptor)


def _refuse_if(path: Path, is_so: bool, why: str) -> None:
    if is_so:
        raise TickdiskError(
            f"{path} {why}: --write would destroy what is on it; give an empty block device, or leave out --write"
        )


def _mount_lines() -> list[list[str]]:
    return [line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]


def _swaps() -> set[int]:
    lines = Path("/proc/swaps").read_text(encoding="utf-8").splitlines()[1:]
    areas = [Path(line.split()[0]) for line in lines if line.strip()]
    return {area.stat().st_rdev for area in areas if area.is_block_device()}
