"""The preparation of a replay, which makes the files that must exist before the first request, with allocated data."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.paths import on_disk
from tickdisk.replay.plan import ReplayPlan

_PIECE = 1 << 20


def prepare(
    plan: ReplayPlan, target: Path, *, files: Path | None = None, sizes: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Makes the files that must exist before the first request of a plan, and returns the size in bytes of each, by path.

    A file is copied from the folder `files` if it exists there, and is extended with random bytes to its size in `sizes` or, if
    that is None, in the plan. At the end the files are flushed and out of the page cache. The metadata of the file system stays
    in memory until the file system is mounted again. Raises TickdiskError if `target` is not empty, or its device has not as much
    space as the files need.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise TickdiskError(f"{target} is not empty; give a new folder on the device under test")
    sizes = plan.beginning.sizes if sizes is None else sizes
    needed, free = space_needed(plan, sizes), shutil.disk_usage(target).free
    if needed > free:
        raise TickdiskError(
            f"the replay needs {needed:,} bytes in {target}, which has {free:,} free; make the device larger, or replay a part "
            "of the capture with --seconds"
        )
    paths = {*plan.requests["file"], *plan.beginning.sizes} - plan.beginning.missing - plan.folders
    copied = {path for path in paths if files is not None and (files / on_disk(path)).is_file()}
    noise, made = os.urandom(_PIECE), {}
    try:
        for folder in plan.beginning.folders:
            (target / on_disk(folder)).mkdir(parents=True, exist_ok=True)
        for path in sorted(copied | sizes.keys()):
            if files is not None and path in copied:
                shutil.copyfile(files / on_disk(path), target / on_disk(path))
            made[path] = _fill(target / on_disk(path), sizes.get(path, 0), noise)
    except OSError as error:
        raise TickdiskError(f"the initial files in {target} cannot be made ({error.strerror}); make the device larger") from error
    return made


def space_needed(plan: ReplayPlan, sizes: Mapping[str, int]) -> int:
    """Returns the bytes that files of these `sizes` and a plan's writes need at most. Files that are removed count, too."""
    allocates = plan.requests["op"] == "fallocate"
    moved = plan.requests["expected"].where(~allocates, plan.requests["length"])
    writes = plan.requests[(allocates | (plan.requests["op"] == "write")) & (plan.requests["expected"] >= 0) & (moved > 0)]
    ends = (
        writes.assign(end=writes["offset"] + moved, moved=moved).groupby("file").agg(end=("end", "max"), moved=("moved", "sum"))
    )
    before = np.array([sizes.get(str(name), 0) for name in ends.index], np.int64)
    grown = np.minimum(ends["moved"].to_numpy(np.int64), np.maximum(0, ends["end"].to_numpy(np.int64) - before))
    return sum(sizes.values()) + int(grown.sum())


def _fill(path: Path, size: int, noise: bytes) -> int:
    """Appends random bytes to a file that is shorter than `size`, flushes it, and returns its size."""
    with path.open("ab") as file:
        while (missing := size - file.tell()) > 0:
            file.write(noise[: min(missing, _PIECE)])
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.tell()
