"""`tickdisk ...`: what an operator types, and what the workflow's rules call."""

import errno
import signal
import sys
from types import FrameType

from tickdisk.cli.app import app
from tickdisk.errors import TickdiskError

_FAILED = 2
_OF_THE_MACHINE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EROFS: "give a place that can be written",
    errno.EACCES: "run as somebody who may, or give another place",
}
"""Errors of the system that are no fault of the program, and what to do."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _end(number: int, _: FrameType | None) -> None:
    """A signal becomes an exception, so that every `with` on the way out cleans up; a second one must not cut that short."""
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main() -> None:
    """Runs the command line; a TickdiskError, a full disk or a forbidden file becomes one line of errors and exit code 2."""
    for number in _ENDING:
        signal.signal(number, _end)
    try:
        app()
    except TickdiskError as error:
        print(f"tickdisk: {error}", file=sys.stderr)
        sys.exit(_FAILED)
    except OSError as error:
        advice = _OF_THE_MACHINE.get(error.errno or 0)
        if advice is None:
            raise
        print(f"tickdisk: {error.filename or 'a file'}: {error.strerror}; {advice}", file=sys.stderr)
        sys.exit(_FAILED)


__all__ = ["app", "main"]
