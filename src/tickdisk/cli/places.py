"""Checks of the paths that commands are given: files of the project, which are found from any folder, and new folders."""

import os
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

PROJECT = Path(__file__).resolve().parents[3]
_FSTAB, _MOUNTS = Path("/etc/fstab"), Path("/proc/self/mounts")
DEVICES = Path("data/devices.yaml")


def in_project(path: Path) -> Path:
    """Returns `path` itself if it exists or is absolute, and otherwise the same path below the project's folder."""
    return path if path.is_absolute() or path.exists() else PROJECT / path


def check_new_folder(folder: Path) -> None:
    """Raises TickdiskError if a new folder would not be made on the disk that the user means.

    The folder's parent must exist. If /etc/fstab lists a mount point at or above the folder, it must be mounted, because
    otherwise the folder would be made on another disk.
    """
    place = folder.absolute()
    above = Path(os.path.normpath(place)).parent
    if not place.exists() and not above.is_dir():
        raise TickdiskError(f"{above} does not exist, so {folder} is not made; mount the disk that you mean, or make the folder")
    mounted = {word[1] for word in _words(_MOUNTS)}
    meant = {word[1] for word in _words(_FSTAB) if word[1].startswith("/")}
    for part in (place, *place.parents):
        if str(part) in meant - mounted:
            raise TickdiskError(f"{part} is in /etc/fstab but not mounted, so {folder} is not made; mount it first")


def _words(table: Path) -> list[list[str]]:
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    rows = [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [[word.replace("\\040", " ") for word in words] for words in rows if len(words) > 1]
