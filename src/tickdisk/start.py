"""Starts the command line: signals and closed pipes are looked after before anything else is imported."""

import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _end(number: int, _: FrameType | None) -> NoReturn:
    """A signal becomes an exception, so that every `with` on the way out cleans up; a second one must not cut that short."""
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


class _Output:
    """A stream whose reader may go away: what is written after that is thrown away, and the command does its work to the end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            self._nobody_reads()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._nobody_reads()

    def _nobody_reads(self) -> None:
        """Sends the stream nowhere, and with it the text that is still in the buffer."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def main() -> None:
    """Runs the command line."""
    for number in _ENDING:
        signal.signal(number, _end)
    sys.stdout = _Output(sys.stdout)
    from tickdisk.cli import main as command  # noqa: PLC0415 - it takes a second, in which Ctrl-C may come

    command()
