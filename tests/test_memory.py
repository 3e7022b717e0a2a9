"""Folders in memory belong to a living owner; one that is left over is removed, and never one that is just being made."""

import fcntl
import shutil
from pathlib import Path

import pytest

from tickdisk import memory


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "MEMORY", tmp_path)
    return tmp_path


def test_a_folder_is_there_until_the_end_and_a_left_one_goes(own_memory: Path) -> None:
    left = own_memory / "tickdisk-left"
    left.mkdir()
    (left / ".lock").touch()
    with memory.folder() as first:
        assert not left.exists()
        with memory.folder() as second:
            assert first.is_dir()
            assert second.is_dir()
    assert not list(own_memory.iterdir())


def test_a_folder_that_another_start_takes_for_a_left_one_is_made_again(
    own_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = fcntl.flock, list[Path]()

    def slow(descriptor: int, how: int) -> None:
        if not removed:
            removed.append(Path(f"/proc/self/fd/{descriptor}").readlink().parent)
            shutil.rmtree(removed[0])
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with memory.folder() as folder:
        assert folder.is_dir()
        assert folder != removed[0]
    assert not list(own_memory.iterdir())
