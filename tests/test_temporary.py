"""Temporary folders belong to a living owner; one that is left over is removed, and never one that is just being made."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tickdisk.foundation import temporary


def test_a_folder_is_there_until_the_end_and_a_left_one_goes(tmp_path: Path) -> None:
    left = tmp_path / "tickdisk-left"
    left.mkdir()
    (left / ".lock").touch()
    with temporary.folder(tmp_path) as first:
        assert not left.exists()
        with temporary.folder(tmp_path) as second:
            assert first.is_dir()
            assert second.is_dir()
    assert not list(tmp_path.iterdir())


def test_the_folder_of_a_killed_process_goes_at_the_next_start(tmp_path: Path) -> None:
    program = "import sys, time; from pathlib import Path; from tickdisk.foundation import temporary\n"
    program += "with temporary.folder(Path(sys.argv[1])) as own: (own / 'world').touch(); print(own, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        left = Path(owner.stdout.readline().strip())
        with temporary.folder(tmp_path):
            assert (left / "world").exists()
        os.kill(owner.pid, signal.SIGKILL)
    assert left.is_dir()
    with temporary.folder(tmp_path):
        assert not left.exists()


def test_the_folder_of_another_user_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "tickdisk-left"
    left.mkdir()
    (left / ".lock").touch()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with temporary.folder(tmp_path):
        assert left.exists()


def test_a_folder_that_another_start_takes_for_a_left_one_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, removed = fcntl.flock, list[Path]()

    def slow(descriptor: int, how: int) -> None:
        if not removed:
            removed.append(Path(f"/proc/self/fd/{descriptor}").readlink().parent)
            shutil.rmtree(removed[0])
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with temporary.folder(tmp_path) as folder:
        assert folder.is_dir()
        assert folder != removed[0]
    assert not list(tmp_path.iterdir())
