"""A slow disk that Tickdisk does not emulate, as `python -m benchmarks.slow_disk FOLDER`, for the study of a real disk.

nbdkit delays and limits the requests to a disk in memory, nbdfuse makes a file of it, and a loop device and ext4 lie on that. The
delays are drawn at random and written to a file on the disk that neither profiling nor a server life reads. The disk is mounted
at the folder until the script is ended by Ctrl-C or SIGTERM. It needs root, and the Debian packages nbdkit and libnbd-bin.
"""

import argparse
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tickdisk.calibrate.nbd import MARK, nbd_chain
from tickdisk.device import MKFS, DeviceModel
from tickdisk.device.loop import is_ours
from tickdisk.device.mounts import mount, mounts, unmount
from tickdisk.foundation import process, temporary
from tickdisk.foundation.errors import TickdiskError
from tickdisk.profile import DiskTruth, write_truth

READ_MS, WRITE_MS = (2, 6), (2, 6)
"""Ranges of the delays, in whole ms, because nbdkit 1.32 takes no others."""
BANDWIDTH_MIB_PER_S = (60, 120)
SIZE_BYTES = 2 << 30
_UNMOUNT_S = 60.0
_LOOP = "/dev/loop"


def drawn(seed: int | None) -> DiskTruth:
    """Returns the delays of a disk, drawn with a seed, or with one of the kernel's if it is None."""
    rng = random.Random(seed)  # noqa: S311 - nobody has to be kept from guessing them
    return DiskTruth(
        read_ms=rng.randint(*READ_MS),
        write_ms=rng.randint(*WRITE_MS),
        bandwidth_bytes_per_s=rng.randint(*BANDWIDTH_MIB_PER_S) << 20,
    )


@contextmanager
def slow_disk(folder: Path, truth: DiskTruth, size_bytes: int = SIZE_BYTES) -> Iterator[Path]:
    """Mounts a slow disk at a folder, which is made if it is missing, and yields the folder. Afterwards the disk is gone.

    Files that were in the folder are hidden meanwhile. A disk that a killed script has left at the folder is removed first.
    Raises TickdiskError if something else is mounted there, or if a program is missing.
    """
    _remove_left(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model = DeviceModel(
        name="slow_disk",
        read_latency_ns=round(truth.read_ms * 1e6),
        write_latency_ns=round(truth.write_ms * 1e6),
        flush_latency_ns=0,
        bandwidth_bytes_per_s=truth.bandwidth_bytes_per_s,
    )
    with temporary.folder() as place, nbd_chain(model, place / "nbd", size_bytes) as target:
        process.run([*MKFS["ext4"], target.path], timeout_s=_UNMOUNT_S)
        mount(str(target.path), folder, "ext4")
        try:
            write_truth(folder, truth)
            yield folder
        finally:
            if not unmount(folder, _UNMOUNT_S, lazily=True):
                print(f"{folder} is still in use; end the programs that use it", file=sys.stderr)


def _remove_left(folder: Path) -> None:
    """Removes the slow disk of a script that was killed. Its requests fail, because nbdkit died with the script."""
    for mounted in [each for each in mounts() if each.mount_point == folder]:
        number = mounted.source.removeprefix(_LOOP)
        if not (number.isdecimal() and is_ours(int(number), MARK)):
            raise TickdiskError(f"{mounted.source} is mounted at {folder}; give a folder at which nothing is mounted")
        unmount(folder, 0, lazily=True)


def main() -> int:
    """Mounts a slow disk, prints its folder when it can be used, and takes it away on Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_disk", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="Folder at which the disk is mounted.")
    parser.add_argument(
        "--seed", type=int, help="Seed of the delays, so that a disk can be made again. By default, none is known."
    )
    asked = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        with slow_disk(Path(os.path.abspath(asked.folder)), drawn(asked.seed)) as folder:  # noqa: PTH100 - links stay as they are
            print(folder, flush=True)
            ended.wait()
    except TickdiskError as error:
        print(f"slow_disk: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
