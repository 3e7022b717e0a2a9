"""A program that changes the files of a folder in every way that a replay makes again. It begins with `before(folder)`."""

import ctypes
import os
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
KEEP_SIZE, PUNCH_HOLE, COLLAPSE, ZERO, INSERT = 1, 2, 8, 0x10, 0x20
NOREPLACE, EXCHANGE = 1, 2
BLOCK = 65_536
HERE, FOLLOW = -100, 0x400


def before(folder: Path) -> None:
    """Makes what is there before the program begins."""
    (folder / "regions/old").mkdir(parents=True)
    (folder / "regions/old/r.1.mca").write_bytes(bytes(3 * BLOCK))
    (folder / "regions/old/r.2.mca").write_bytes(bytes(700))
    (folder / "level.dat").write_bytes(bytes(4321))


def _allocate(file: int, mode: int, offset: int, length: int) -> None:
    LIBC.fallocate(file, mode, ctypes.c_long(offset), ctypes.c_long(length))


def _rename(old: str, new: str, flags: int) -> None:
    LIBC.renameat2(HERE, old.encode(), HERE, new.encode(), flags)


def _read(name: str) -> int:
    file = os.open(name, os.O_RDONLY)
    os.pread(file, 1 << 20, 0)
    return file


def change() -> None:
    """Changes the files of the working folder."""
    source = _read("regions/old/r.1.mca")
    Path("backup").mkdir()
    target = os.open("backup/r.1.mca", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.copy_file_range(source, target, 100_000)
    os.sendfile(target, source, 10, 30_000)
    os.write(target, b"tail" * 100)
    os.copy_file_range(source, target, 500, 1000, 200_000)
    _allocate(target, KEEP_SIZE, 0, 8 * BLOCK)
    _allocate(target, 0, 3 * BLOCK, BLOCK + 17)
    _allocate(target, PUNCH_HOLE | KEEP_SIZE, 0, BLOCK)
    _allocate(target, ZERO, 4 * BLOCK, BLOCK)
    _allocate(target, COLLAPSE, 0, BLOCK)
    _allocate(target, INSERT, BLOCK, 2 * BLOCK)
    os.close(target)
    os.truncate("regions/old/r.2.mca", 333)
    os.close(_read("level.dat"))
    os.link("level.dat", "level.dat_old")
    unnamed = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
    os.write(unnamed, bytes(777))
    LIBC.linkat(HERE, f"/proc/self/fd/{unnamed}".encode(), HERE, b"level.dat_new", FOLLOW)
    os.write(unnamed, bytes(23))
    _rename("level.dat_new", "level.dat_old", NOREPLACE)
    _rename("level.dat_new", "level.dat", EXCHANGE)
    Path("level.dat_new").unlink()
    Path("newest").symlink_to("backup/r.1.mca")
    Path("regions/old").rename("regions/new")
    os.close(source)
    late = os.open("regions/new/r.3.mca", os.O_WRONLY | os.O_CREAT)
    os.write(late, bytes(99))
    os.ftruncate(late, 64)
    Path("gone").mkdir()
    os.mkdir("kept", dir_fd=os.open(".", os.O_RDONLY))
    Path("gone").rmdir()
    Path("backup").rename("kept/backup")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    change()
    os.access("end", os.F_OK)
