"""The soak finds nothing on a sound device in a few seconds, and finds what is wrong."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from records_of import DEVICE

from benchmarks import soak
from benchmarks.log_check import LogCheck
from tickdisk.device.log import RECORD
from tickdisk.foundation.errors import TickdiskError

GOOD = DEVICE.model_copy(update={"requests": {"read": 5}, "max_inflight": 128})


def checked(tmp_path: Path, records: "np.ndarray[tuple[int], np.dtype[np.void]]", rest: bytes = b"") -> tuple[int, list[str]]:
    with LogCheck(tmp_path / "log") as log:
        (tmp_path / "log").write_bytes(records.tobytes() + rest)
        wrong = log.finish()
    return log.records, wrong


def sound(count: int) -> "np.ndarray[tuple[int], np.dtype[np.void]]":
    records = np.zeros(count, dtype=RECORD)
    records["seq"] = np.random.default_rng(1).permutation(count)
    records["nominal_ns"], records["replied_ns"] = 7, 8
    return records


def test_a_log_in_which_every_request_is_once_is_sound(tmp_path: Path) -> None:
    assert checked(tmp_path, sound(100_000)) == (100_000, [])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seq", 3, "records of"),  # one twice, one missing
        ("seq", 1_000_000, "1000 records of 1000001 requests"),
        ("replied_ns", 6, "1 requests answered too early"),
        ("op", 4, "1 unknown"),
    ],
)
def test_a_log_that_is_not_sound_is_told(key: str, value: int, message: str, tmp_path: Path) -> None:
    records = sound(1000)
    records[key][np.flatnonzero(records["seq"] == 500)] = value
    _, [problem] = checked(tmp_path, records)
    assert message in problem


def test_half_a_record_is_told(tmp_path: Path) -> None:
    _, [problem] = checked(tmp_path, sound(10), rest=b"half")
    assert "4 bytes over" in problem


def test_growing_memory_and_lost_requests_are_wrong() -> None:
    steady, growing = (
        soak.Watch([10 << 20] * 100, GOOD),
        soak.Watch([(10 << 20) + i * (1 << 17) for i in range(100)], GOOD),
    )
    assert soak.wrong(steady) == []
    assert "resident memory grew by" in soak.wrong(growing)[0]
    assert "never answered" in soak.wrong(soak.Watch([1], GOOD.model_copy(update={"inflight": 3})))[0]
    assert "1 requests failed" in soak.wrong(soak.Watch([1], GOOD.model_copy(update={"requests_failed": 1})))[0]
    assert soak.wrong(soak.Watch())


def test_a_device_on_which_nothing_goes_on_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "SILENCE_S", 0.1)
    disk, watch = SimpleNamespace(emulator_status=lambda: GOOD, daemon_pid=os.getpid()), soak.Watch()
    watch.look(disk)  # type: ignore[arg-type]
    time.sleep(0.2)
    with pytest.raises(TickdiskError, match="it hangs"):
        watch.look(disk)  # type: ignore[arg-type]


@pytest.mark.live
def test_a_sound_device_passes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", "--minutes=0.05"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.splitlines()[-1].startswith("soak: passed: "), done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.live
def test_an_emulator_that_dies_fails_it() -> None:
    with subprocess.Popen([sys.executable, "-m", "benchmarks.soak", "--minutes=1"], stdout=subprocess.PIPE, text=True) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        deadline = time.monotonic() + 60
        commands: dict[str, str] = {}
        while not any("--rw=randrw" in command for command in commands.values()) and time.monotonic() < deadline:
            time.sleep(0.1)
            with suppress(OSError):  # one that has just ended
                commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children.read_text().split()}
        [emulator] = [int(pid) for pid, command in commands.items() if "daemon.py" in command]
        os.kill(emulator, signal.SIGKILL)
        output, _ = running.communicate(timeout=60)
    assert output.splitlines()[-1].startswith("soak: FAILED: ")
    assert running.returncode == 1
