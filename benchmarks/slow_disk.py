"""A slow disk that Tickdisk does not emulate, as `python -m benchmarks.slow_disk FOLDER`, for the study of a real disk.

nbdkit delays and limits the requests to a disk in memory, nbdfuse makes a file of it, and a loop device and ext4 lie on that. The
delays are drawn at random and written to a file on the disk that neither profiling nor a server life reads. The disk is mounted
at the folder until the script is ended by Ctrl-C or SIGTERM. It needs root, and the Debian packages nbdkit and libnbd-bin.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tickdisk.calibrate.nbd import nbd_chain
from tickdisk.device import MKFS, DeviceModel
from tickdisk.device.mounts import mount, mounts, unmount
from tickdisk.foundation import process, temporary
from tickdisk.foundation.errors import TickdiskError
from tickdisk.profile import DiskTruth, write_truth

READ_MS, WRITE_MS = (2, 6), (2, 6)
"""Ranges of the delays, in whole ms, because nbdkit 1.32 takes no others."""
BANDWIDTH_MIB_PER_S = (60, 120)
SIZE_BYTES = 2 << 30
_UNMOUNT_S = 60.0


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

    Files that were in the folder are hidden meanwhile. The disk also goes if this process is killed. Raises TickdiskError if
    something is mounted there already, or if a program is missing.
    """
    if any(mounted.mount_point == folder for mounted in mounts()):
        raise TickdiskError(f"something is mounted at {folder}; give a folder at which nothing is mounted")
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
        with _unmounted_after_death(folder):
            mount(str(target.path), folder, "ext4")
            try:
                write_truth(folder, truth)
                yield folder
            finally:
                if not unmount(folder, _UNMOUNT_S, lazily=True):
                    print(f"{folder} is still in use; end the programs that use it", file=sys.stderr)


@contextmanager
def _unmounted_after_death(folder: Path) -> Iterator[None]:
    """Unmounts a folder when this process dies in the block, also by SIGKILL, because a shell waits for the end of its pipe."""
    command = ["sh", "-c", 'cat >/dev/null; umount --lazy "$1" 2>/dev/null', "sh", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as waiting:  # noqa: S603 - our own words
        try:
            yield
        finally:
            waiting.kill()


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
