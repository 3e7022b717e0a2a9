"""`tickdisk ...`: what an operator types, and what the workflow's rules call."""

import signal
import sys
from types import FrameType

from tickdisk.cli.app import app
from tickdisk.errors import TickdiskError

_FAILED = 2
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _end(number: int, _: FrameType | None) -> None:
    """A signal becomes an exception, so that every `with` on the way out cleans up; a second one must not cut that short."""
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main() -> None:
    """Runs the command line; a TickdiskError becomes one line on standard error and exit code 2."""
    for number in _ENDING:
        signal.signal(number, _end)
    try:
        app()
    except TickdiskError as error:
        print(f"tickdisk: {error}", file=sys.stderr)
        sys.exit(_FAILED)


__all__ = ["app", "main"]
