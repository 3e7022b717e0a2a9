"""A program that saves until its disk fails: appends records to some files and replaces others, and says what is saved.

    python cut_writer.py FOLDER SEED ACKNOWLEDGED

A line in ACKNOWLEDGED, which is on another disk, is written after fsync returned, at the CLOCK_MONOTONIC time in ns at its end:
`log NAME NUMBER TIME` (records up to this number are in the log) or `state NAME NUMBER TIME` (the file holds this number or a
later one). It goes on where the folder says that it stopped, and ends with the first error in each of its threads.
"""

import os
import random
import struct
import sys
import threading
import time
import zlib
from pathlib import Path

MAGIC = 0x7469636B
_HEAD = struct.Struct("<IQI")
LOGS, STATES, NOISES = 4, 3, 1


def record(number: int, payload: bytes) -> bytes:
    """Returns a record: magic, number, length, payload, and a checksum over all of it."""
    head = _HEAD.pack(MAGIC, number, len(payload)) + payload
    return head + struct.pack("<I", zlib.crc32(head))


def read_records(content: bytes) -> tuple[list[int], int]:
    """Returns the numbers of the whole records from the beginning on, and where the last of them ends."""
    numbers, end = [], 0
    while end + _HEAD.size <= len(content):
        magic, number, length = _HEAD.unpack_from(content, end)
        stop = end + _HEAD.size + length
        if (
            magic != MAGIC
            or stop + 4 > len(content)
            or zlib.crc32(content[end:stop]) != int.from_bytes(content[stop : stop + 4], "little")
        ):
            break
        numbers.append(number)
        end = stop + 4
    return numbers, end


def main() -> None:  # noqa: C901 - what it does, side by side
    folder, seed, acknowledged = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    lines = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    # All paths start from here: after the cut there is another file system under the folder's name.
    this_folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def create(name: str, flags: int) -> int:
        return os.open(name, os.O_RDWR | os.O_CREAT | flags, 0o600, dir_fd=this_folder)

    def append(name: str, draw: random.Random) -> None:
        path = folder / name
        numbers, end = read_records(path.read_bytes()) if path.exists() else ([], 0)
        number = len(numbers)
        file = create(name, 0)
        os.ftruncate(file, end)
        os.lseek(file, end, os.SEEK_SET)
        os.fsync(this_folder)
        while True:
            for _ in range(draw.choice([1, 1, 2, 5])):
                number += 1
                os.write(file, record(number, draw.randbytes(draw.randrange(3000))))
            (os.fsync if draw.random() < 0.5 else os.fdatasync)(file)
            os.write(lines, f"log {name} {number} {time.monotonic_ns()}\n".encode())

    def replace(name: str, draw: random.Random) -> None:
        path = folder / name
        number = read_records(path.read_bytes())[0][0] if path.exists() else 0
        while True:
            number += 1
            file = create(f"{name}.new", os.O_TRUNC)
            os.write(file, record(number, draw.randbytes(draw.randrange(20_000))))
            os.fsync(file)
            os.close(file)
            os.rename(f"{name}.new", name, src_dir_fd=this_folder, dst_dir_fd=this_folder)
            os.fsync(this_folder)
            os.write(lines, f"state {name} {number} {time.monotonic_ns()}\n".encode())

    def disturb(name: str, draw: random.Random) -> None:
        while True:
            some = f"{name}-{draw.randrange(50)}"
            file = create(some, os.O_TRUNC)
            os.write(file, draw.randbytes(draw.randrange(50_000)))
            os.close(file)
            if draw.random() < 0.5:
                os.unlink(some, dir_fd=this_folder)
            time.sleep(0.002)

    def until_it_fails(what, name: str) -> None:  # type: ignore[no-untyped-def]
        try:
            what(name, random.Random(f"{seed} {name}"))  # noqa: S311
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)

    kinds = ((append, "log", LOGS), (replace, "state", STATES), (disturb, "noise", NOISES))
    threads = [
        threading.Thread(target=until_it_fails, args=(what, f"{kind}{number}"))
        for what, kind, count in kinds
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
