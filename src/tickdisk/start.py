"""The entry point of the command `tickdisk`, which prepares for signals and closed pipes and then imports the command line.

SIGINT, SIGTERM and SIGHUP become an exception, so that every `with` block cleans up. If the reader of the output goes away, such
as `head`, or there is no output at all, as after `>&-`, the rest of the output is dropped and the command still does its work to
the end.
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
    """An output stream that outlives its reader. Text that is written after the reader has gone is dropped.

    If text cannot be written for another reason, such as a full disk, an OSError names the stream.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Redirects the stream, and with it the text that is still in the buffer, to /dev/null."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from error


def _open_closed_streams() -> None:
    """Opens /dev/null in the place of each standard stream that is closed. Another file would otherwise take its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the kernel gives the lowest free number
            setattr(sys, name, open(number, mode, closefd=False, encoding="utf-8"))  # noqa: SIM115 - it stays open


def main() -> None:
    """Runs the command `tickdisk` with the arguments that its user gave. The installed program calls this function."""
    for number in _ENDING:
        signal.signal(number, _end)
    _open_closed_streams()
    sys.stdout = _Output(sys.stdout)
    from tickdisk.cli import main as command  # noqa: PLC0415 - the import takes a second, in which the user may press Ctrl-C

    command()
