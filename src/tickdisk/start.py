"""The entry point of the command `tickdisk`, which prepares for signals and closed pipes and then imports the command line.

SIGINT, SIGTERM and SIGHUP become an exception, so that every `with` block cleans up. If the reader of the output goes away, such
as `head`, the rest of the output is dropped and the command still does its work to the end.
"""

import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _end(number: int, _: FrameType | None) -> NoReturn:
    """Turns a signal into an exception, so that every `with` block cleans up. Further signals are ignored during the clean-up."""
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


class _Output:
    """An output stream that outlives its reader. Text that is written after the reader has gone is dropped."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            self._redirect_to_null()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._redirect_to_null()

    def _redirect_to_null(self) -> None:
        """Redirects the stream, and with it the text that is still in the buffer, to /dev/null."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def main() -> None:
    """Runs the command `tickdisk` with the arguments that its user gave. The installed program calls this function."""
    for number in _ENDING:
        signal.signal(number, _end)
    sys.stdout = _Output(sys.stdout)
    from tickdisk.cli import main as command  # noqa: PLC0415 - the import takes a second, in which the user may press Ctrl-C

    command()
