"""Makes the files that a plan begins with: copies, or real, allocated data."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tickdisk.errors import TickdiskError
from tickdisk.replay.plan import Plan

_PIECE = 1 << 20


def prepare(plan: Plan, target: Path, *, files: Path | None = None, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
    """Makes the beginning of a plan in `target`, a new or empty folder; returns the bytes of each file.

    What the trace finds there is copied from `files`, if that has it, and made up to its size with noise; `sizes` replace those
    of the plan. Files are flushed and out of the page cache then; the file system's own data stays in memory until a re-mount.
    TickdiskError when the target is not empty, or full.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise TickdiskError(f"{target} is not empty; give a new folder on the device under test")
    sizes = plan.beginning.sizes if sizes is None else sizes
    paths = set(plan.requests["file"]) - plan.beginning.missing - plan.folders
    copied = {path for path in paths if files is not None and (files / path).is_file()}
    noise, made = os.urandom(_PIECE), {}
    try:
        for folder in plan.folders:
            (target / folder).mkdir(parents=True, exist_ok=True)
        for path in sorted(copied | sizes.keys()):
            if files is not None and path in copied:
                shutil.copyfile(files / path, target / path)
            made[path] = _fill(target / path, sizes.get(path, 0), noise)
    except OSError as error:
        raise TickdiskError(f"cannot make the initial files in {target} ({error.strerror}); make the device larger") from error
    return made


def _fill(path: Path, size: int, noise: bytes) -> int:
    """Returns the file's size: it is written up to `size` where it is shorter."""
    with path.open("ab") as file:
        while (missing := size - file.tell()) > 0:
            file.write(noise[: min(missing, _PIECE)])
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.tell()
