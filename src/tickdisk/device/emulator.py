"""The start of the emulator's process, either as a child that dies with this process or as a process that survives it."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tickdisk.device.control import answers
from tickdisk.device.record import DeviceRecord
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child, ProcessIdentity

_START_S = 20.0
_NAME = "emulator"


def start_emulator(
    record: DeviceRecord, log_path: Path | None, logs: Path, cores: Sequence[int] | None, *, detached: bool
) -> Child | None:
    """Starts the emulator, which is the process that serves the record's device, and waits until it answers.

    `log_path` is the file for the log of requests, or None for none. The folder `logs` gets the emulator's own output, and
    `cores` are those on which it may run. It returns the child process, or None if `detached`. A detached emulator survives this
    process and may run on every core. If it does not come up within 20 s, TickdiskError contains the last line of its output.
    """
    arguments: dict[str, object] = {
        "mount-point": record.fuse_mount,
        "source": record.mark,
        "size-bytes": record.size_bytes,
        "socket": record.socket,
    }
    arguments |= {} if log_path is None else {"log": log_path}
    arguments |= {} if record.backing is None else {"folder": record.backing}
    options = [f"--{key}={value}" for key, value in arguments.items()]
    options += ["--volatile"] if record.volatile else []
    command = [sys.executable, "-P", str(Path(__file__).with_name("daemon.py")), *options]
    child = None if detached else Child(_NAME, command, logs, cores=cores)
    process = child or _leave_behind(command, logs)
    record.daemon = ProcessIdentity.of(process.pid)
    record.save()
    deadline = time.monotonic() + _START_S
    while not answers(record.socket):
        if process.poll() is not None or time.monotonic() > deadline:
            words = (logs / f"{_NAME}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            message = words[-1] if words else "it said nothing"
            raise TickdiskError(f"the emulator does not start: {message}; `tickdisk doctor` says what this machine lacks")
        time.sleep(0.01)
    return child


def _leave_behind(command: list[str], logs: Path) -> "subprocess.Popen[bytes]":
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / f"{_NAME}.log").open("wb") as output:
        return subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
