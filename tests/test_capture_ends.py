"""A capture ends and is kept: after a time, when its memory is full, and where /dev/shm is small from the beginning."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BIN, for_release, with_own_mounts

from tickdisk import trace
from tickdisk.cli import capture as command
from tickdisk.foundation import memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.trace import record

WRITER = """
import os, time
file = os.open("written", os.O_WRONLY | os.O_CREAT)
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    os.pwrite(file, b"x" * 100, 0)
    os.close(os.open("written", os.O_RDONLY))
    time.sleep({pause_s})
"""


def captures(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that captures programs, for which it needs root and some seconds."""
    return pytest.mark.slow(pytest.mark.skipif(os.geteuid() != 0, reason="captures need root")(test))


needs_bpftrace = pytest.mark.skipif(trace.unavailable() is not None, reason=f"bpftrace: {trace.unavailable()}")
TOOLS = [pytest.param("bpftrace", marks=needs_bpftrace), pytest.param("strace", marks=for_release)]
EITHER = ["strace", pytest.param("bpftrace", marks=[needs_bpftrace, for_release])]


def writer(seconds: float, pause_s: float = 0.002) -> list[str]:
    return [sys.executable, "-c", WRITER.format(seconds=seconds, pause_s=pause_s)]


def call(folder: Path, *words: str | Path, small: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Calls `tickdisk capture`, with a /dev/shm of the given size that nobody else sees."""
    full = [str(BIN / "tickdisk"), "capture", *map(str, words)]
    if small is not None:
        script = f'mount -t tmpfs -o size={small} tmpfs /dev/shm; exec "$@"'
        full = [*with_own_mounts(), "sh", "-ec", script, "sh", *full]
    return subprocess.run(full, cwd=folder, capture_output=True, text=True, check=False, timeout=100)


def captured(folder: Path) -> dict[str, int]:
    return dict(json.loads((folder / "capture.json").read_text()))


def test_the_last_line_has_room_where_nothing_more_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, elsewhere = tmp_path / "capture.txt", tmp_path / "logs"
    raw.write_bytes(b"line 1\nline 2")
    usual = Path.open

    def refuse(path: Path, mode: str = "r", **options: str | None) -> object:
        if mode == "ab" and path == raw:
            raise OSError(28, "No space left on device")
        return usual(path, mode, **options)

    monkeypatch.setattr(Path, "open", refuse)
    assert record._with_facts(raw, b"\n# {}", elsewhere) == elsewhere / "capture.txt"
    assert (elsewhere / "capture.txt").read_bytes() == b"line 1\nline 2\n# {}"


def test_a_folder_to_spill_to_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command._place(tmp_path, tmp_path) == memory.MEMORY
    with pytest.raises(TickdiskError, match="is no folder"):
        command._place(tmp_path, tmp_path / "none")
    monkeypatch.setattr(command, "free_bytes", lambda: 1_000_000)
    assert command._place(tmp_path, tmp_path) == tmp_path
    assert command._place(tmp_path, None) == tmp_path
    assert "has only 1 MB free, so the events are written to" in capsys.readouterr().err


def test_output_that_is_moved_leaves_the_memory_and_stays_whole(tmp_path: Path) -> None:
    parts = [bytes([number]) * 100_000 for number in range(5)]
    with memory.folder() as fast:
        output = trace.Output(fast / "capture.txt")
        assert (output.size_bytes, output.whole()) == (0, output.path)
        with output.path.open("wb", buffering=0) as tool:
            for number, part in enumerate(parts):
                tool.write(part)
                assert output.size_bytes == 100_000 * (1 if number % 2 == 0 else 2)
                if number % 2:
                    output.spill(tmp_path)
                    assert output.size_bytes == 0
                    assert output.path.stat().st_blocks * 512 <= 4096
        assert output.whole() == tmp_path / "capture.txt"
    assert (tmp_path / "capture.txt").read_bytes() == b"".join(parts)


@pytest.mark.parametrize(("free", "has_room"), [(100 << 20, True), (33 << 20, False)])
def test_a_full_memory_ends_a_capture_if_there_is_no_room_to_spill_to(
    free: int, has_room: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = trace.Output(tmp_path / "capture.txt")
    output.path.write_bytes(bytes(2 << 20))
    monkeypatch.setattr(command, "free_bytes", lambda _: free)
    slow = tmp_path / "slow"
    slow.mkdir()
    assert command._Limits(1, 3 << 20).has_room(output, tmp_path)
    assert not command._Limits(1, 1 << 20).has_room(output, tmp_path)
    assert command._Limits(1, 1 << 20, slow).has_room(output, tmp_path) == has_room
    assert output.size_bytes == (0 if has_room else 2 << 20)


@captures
@pytest.mark.parametrize("tool", TOOLS)
def test_a_capture_ends_after_its_time(tool: str, tmp_path: Path) -> None:
    began = time.monotonic()
    done = call(tmp_path, "-o", "c", "--tool", tool, "--seconds", "2", "--", *writer(60))
    assert time.monotonic() - began < 40
    assert "the program is asked to end" in done.stdout
    assert done.returncode == 128 + signal.SIGTERM
    about = captured(tmp_path / "c")
    assert 1.5e9 < about["ended_ns"] - about["started_ns"] < 10e9


@captures
def test_a_process_goes_on_after_the_time_of_its_capture(tmp_path: Path) -> None:
    with subprocess.Popen(writer(60), cwd=tmp_path) as process:
        done = call(tmp_path, "-o", "c", "--seconds", "1", "--pid", str(process.pid))
        assert process.poll() is None
        process.kill()
    assert done.returncode == 0, done.stderr
    assert captured(tmp_path / "c")["requests"] > 0


@captures
@pytest.mark.parametrize("tool", TOOLS)
def test_a_capture_with_little_memory_ends_and_is_kept(tool: str, tmp_path: Path) -> None:
    done = call(tmp_path, "-o", "c", "--tool", tool, "--memory", "1M", "--", *writer(3, 0))
    assert "there is no more room for events after" in done.stderr
    about = captured(tmp_path / "c")
    assert about["requests"] > 100
    if tool == "bpftrace":
        assert done.returncode == 0, "the program goes on"
        assert "the capture ended before the program; it is whole for its first" in done.stdout
        assert about["ended_ns"] - about["started_ns"] < 4e9
    assert [path for path in tmp_path.iterdir() if path.name.startswith((".", "tickdisk"))] == []


@captures
@pytest.mark.parametrize("tool", EITHER)
@pytest.mark.parametrize("small", ["2m", pytest.param("300m", marks=for_release)])
def test_a_capture_with_a_folder_to_spill_to_is_whole(small: str, tool: str, tmp_path: Path) -> None:
    done = call(tmp_path, "-o", "c", "--tool", tool, "--memory", "0", "--spill", ".", "--", *writer(0.5), small=small)
    assert done.stderr == ""
    assert "ended before the program" not in done.stdout
    assert captured(tmp_path / "c")["requests"] > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "written"]


@captures
@pytest.mark.parametrize("tool", EITHER)
def test_a_small_memory_is_said_at_once_and_nothing_is_lost(tool: str, tmp_path: Path) -> None:
    began = time.monotonic()
    done = call(tmp_path, "-o", "c", "--tool", tool, "--", *writer(0.5), small="2m")
    assert time.monotonic() - began < 60
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("/dev/shm has only 2 MB free, so the events are written to")
    assert captured(tmp_path / "c")["requests"] > 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "written"]


@captures
@pytest.mark.parametrize("tool", EITHER)
def test_memory_that_others_fill_ends_the_capture_and_keeps_it(tool: str, tmp_path: Path) -> None:
    filler = "sleep 1; dd if=/dev/zero of=/dev/shm/filler bs=1M 2>/dev/null; exec sleep 1"
    began = time.monotonic()
    done = call(tmp_path, "-o", "c", "--tool", tool, "--", "sh", "-c", f'{filler} & exec "$@"', "sh", *writer(4, 0), small="200m")
    assert time.monotonic() - began < 60
    assert "there is no more room for events after" in done.stderr
    assert (tmp_path / "c").exists(), done.stderr
    assert captured(tmp_path / "c")["requests"] > 0
    assert not list(tmp_path.glob(".c*"))


@captures
def test_ctrl_c_ends_a_capture_whose_memory_is_full(tmp_path: Path) -> None:
    words = [BIN / "tickdisk", "capture", "-o", "c", "--memory", "1M", "--", *writer(300, 0)]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        assert any("there is no more room" in line for line in process.stderr)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(40) != 0
    assert captured(tmp_path / "c")["requests"] > 100
