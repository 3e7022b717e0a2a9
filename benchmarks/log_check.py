"""A check of a device's log while it is written. The log goes through a pipe, so that it may have any length."""

import fcntl
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from tickdisk.device.log import OPS, RECORD

_PIPE_BYTES = 1 << 20


class LogCheck:
    """A check that a device's log has one record for each request, and that no request was answered too early.

    The `path` is a pipe that the `with` block makes, and is given to the device as its `log_path`. The block reads the log while
    it is written, and `records` is the number of records so far. The device must have no floor, which makes replies early.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = 0
        self._seq_sum, self._last_seq, self._early, self._unknown, self._rest = 0, -1, 0, 0, b""

    def __enter__(self) -> Self:
        os.mkfifo(self.path)
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # A pipe that is open for writing has no end of file. This descriptor keeps it open before the emulator has opened it and
        # after the emulator has closed it.
        self._writer = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        os.set_blocking(self._reader, True)
        fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._thread = threading.Thread(target=self._read, name="log", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._writer >= 0:
            self.finish()
        os.close(self._reader)

    def finish(self) -> list[str]:
        """Reads the rest of the log after the device was taken down, and returns the faults of the whole log in words."""
        os.close(self._writer)
        self._writer = -1
        self._thread.join()
        expected = self._last_seq + 1
        wrong = []
        if self.records != expected or self._seq_sum != expected * (expected - 1) // 2:
            wrong.append(f"the log has {self.records} records of {expected} requests")
        if self._early or self._unknown or self._rest:
            wrong.append(
                f"{self._early} requests answered too early, {self._unknown} unknown, {len(self._rest)} bytes over in the log"
            )
        return wrong

    def _read(self) -> None:
        while data := os.read(self._reader, _PIPE_BYTES):
            data = self._rest + data
            whole = len(data) - len(data) % RECORD.itemsize
            self._rest = data[whole:]
            self._count(np.frombuffer(data[:whole], dtype=RECORD))

    def _count(self, records: "np.ndarray[tuple[int], np.dtype[np.void]]") -> None:
        if len(records) == 0:
            return
        self.records += len(records)
        self._seq_sum += int(records["seq"].sum())
        self._last_seq = max(self._last_seq, int(records["seq"].max()))
        self._early += int((records["replied_ns"] < records["nominal_ns"]).sum())
        self._unknown += int((records["op"] >= len(OPS)).sum())
