"""Takes a snapshot of a process from /proc: its threads, its open files, its folder and its mapped files at one time."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import state_of

_DELETED = " (deleted)"


def snapshot(pid: int) -> dict[str, Any]:
    """Returns which threads, open files and mapped files a process has now, as values that JSON can hold.

    The reader of a capture needs this to name the files that the process had open when the capture began. The keys are pid, at_ns
    (the time of the snapshot), started (clock ticks since boot), root, cwd, threads, files and maps. `threads` has the name of
    each thread. `files` has [path, flags, position, size] for each descriptor. `maps` has [start, end, offset, device as
    major:minor, inode, path] for each mapped file. Sockets, pipes and the like have no path and are left out.
    """
    proc, state = Path(f"/proc/{pid}"), state_of(pid)
    try:
        return {
            "pid": pid,
            "started": 0 if state is None else state.started,  # a process that is gone has no root either
            "root": str((proc / "root").readlink()),
            "cwd": str((proc / "cwd").readlink()),
            "threads": dict(_threads(proc)),
            "files": dict(_files(proc)),
            "maps": _maps(proc),
            "at_ns": time.monotonic_ns(),
        }
    except (FileNotFoundError, ProcessLookupError) as error:
        raise TickdiskError(f"process {pid} does not run (any more); start it first") from error
    except PermissionError as error:
        raise TickdiskError(f"process {pid} may not be inspected by this user; run as root") from error


def _threads(proc: Path) -> list[tuple[str, str]]:
    names = []
    for task in (proc / "task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            names.append((task.name, (task / "comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")))
    return names


def _files(proc: Path) -> list[tuple[str, list[Any]]]:
    files = []
    for link in (proc / "fd").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            path = str(link.readlink())
            if path.startswith("/"):
                lines = (proc / "fdinfo" / link.name).read_text().splitlines()
                info = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
                size = link.stat().st_size
                files.append((link.name, [path.removesuffix(_DELETED), int(info["flags"], 8), int(info["pos"]), size]))
    return files


def _maps(proc: Path) -> list[list[Any]]:
    maps = []
    for line in (proc / "maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        span, _, offset, device, inode, *path = line.split(maxsplit=5)
        if path and path[0].startswith("/"):
            start, end = (int(address, 16) for address in span.split("-"))
            major, minor = (int(part, 16) for part in device.split(":"))
            maps.append([start, end, int(offset, 16), f"{major}:{minor}", int(inode), path[0].removesuffix(_DELETED)])
    return maps
