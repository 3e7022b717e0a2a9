"""Places that commands are given: files of the project from wherever one stands, and folders that are to be made."""

import os
from pathlib import Path

from tickdisk.errors import TickdiskError

PROJECT = Path(__file__).resolve().parents[3]
_FSTAB, _MOUNTS = Path("/etc/fstab"), Path("/proc/self/mounts")
DEVICES = Path("data/devices.yaml")


def in_project(path: Path) -> Path:
    """Returns a path as it was given, or that of the project if there is nothing below the current folder.

    Examples
    --------
    >>> in_project(DEVICES).name
    'devices.yaml'

    """
    return path if path.is_absolute() or path.exists() else PROJECT / path


def check_new_folder(folder: Path) -> None:
    """Raises TickdiskError if the folder could not be made where it was meant: nothing is made above it then.

    Its parent must be there. A place of /etc/fstab at or above it must be mounted, or the folder would be made on another disk.
    """
    place = folder.absolute()
    above = Path(os.path.normpath(place)).parent
    if not place.exists() and not above.is_dir():
        raise TickdiskError(f"{above} does not exist, so {folder} is not made; mount the disk that you mean, or make the folder")
    mounted = {word[1] for word in _words(_MOUNTS)}
    meant = {word[1] for word in _words(_FSTAB) if word[1].startswith("/")}
    for part in (place, *place.parents):
        if str(part) in meant - mounted:
            raise TickdiskError(f"{part} is not mounted, as /etc/fstab means it to be, so {folder} is not made; mount it first")


def _words(table: Path) -> list[list[str]]:
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [[word.replace("\\040", " ") for word in words] for words in found if len(words) > 1]
