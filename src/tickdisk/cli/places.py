"""Checks of the paths that commands are given: files of the project, found from any folder, and new files and folders."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError

PROJECT = Path(__file__).resolve().parents[3]
_FSTAB, _MOUNTS = Path("/etc/fstab"), Path("/proc/self/mounts")
DEVICES = Path("data/devices.yaml")
FORECASTS = Path("data/forecasts.tsv")
EXPLAINED = Path("workflow/paper/explained.html.j2")
"""Template of a page that explains ticks."""
_RESULTS = Path("results")
PLAN_PATH = _RESULTS / "plan.json"
_BLOCK_BYTES = 4096


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


def check_output(output: Path, *, force: bool | None = None, inputs: Iterable[Path] = ()) -> None:
    """Raises TickdiskError if a file cannot be written at `output`, or if a file is there that is not to be replaced.

    `force` replaces a file, unless it is among the `inputs` or in one of their folders. If a command has no such option (None),
    it replaces only what lies in the folder results, where everything is generated.
    """
    is_result = _is_result(output)
    if not is_result:
        check_new_folder(output)
    if os.path.lexists(output):
        if not output.is_file():
            raise TickdiskError(f"{output} is there and is not a file; name another file")
        if any(each.exists() and (output.samefile(each) or each.resolve() in output.resolve().parents) for each in inputs):
            raise TickdiskError(f"{output} is what this command reads, so it is not replaced; name another file")
        if not force and not is_result:
            advice = "remove it, or name another file" if force is None else "name another file, or replace it with --force"
            raise TickdiskError(f"{output} exists already; {advice}")
    _check_writable(output, output.absolute().parent)


def check_output_folder(folder: Path) -> None:
    """Raises TickdiskError if files cannot be written into a folder, or if it has files already.

    The folder results, in which everything is generated, may have files.
    """
    if not _is_result(folder):
        check_new_folder(folder)
        if folder.is_dir() and any(folder.iterdir()):
            raise TickdiskError(f"{folder} is not empty; name a new folder")
    _check_writable(folder, folder.absolute())


def _is_result(path: Path) -> bool:
    results = os.path.realpath(_RESULTS)
    return os.path.commonpath((results, os.path.realpath(path))) == results


def _check_writable(path: Path, folder: Path) -> None:
    """Writes a block into a folder, or into the nearest above it that exists, so that a full disk is found before any work."""
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(bytes(_BLOCK_BYTES))
            file.flush()
    except OSError as error:
        raise TickdiskError(f"{path} cannot be written in {there}: {error.strerror}; name another place") from error


def _words(table: Path) -> list[list[str]]:
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    rows = [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [[word.replace("\\040", " ") for word in words] for words in rows if len(words) > 1]
