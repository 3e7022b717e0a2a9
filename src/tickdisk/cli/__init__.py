"""The program `tickdisk`. People type some of its commands, and the rules of the Snakefile call the others.

A command checks its arguments, calls the room that does the work, and prints the result or writes it to files.
"""

import errno
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tickdisk.cli.app import app
from tickdisk.foundation.errors import TickdiskError

_FAILED = 2
_OF_THE_MACHINE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EROFS: "give a place that can be written",
    errno.EACCES: "run as somebody who may, or give another place",
}
"""Errors of the operating system that are no fault of the program, each with what the user can do about it."""
_NOTHING_FREE = 1 << 20
"""A disk with less free space than this, in bytes, counts as full."""


def main() -> None:
    """Runs the command of the program `tickdisk` that the arguments of the process name.

    A TickdiskError, a full disk or a file without permission becomes one line on standard error and exit code 2.
    """
    # Names on the command line may have bytes that are not UTF-8, and a screen shows them as they are.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        app()
    except TickdiskError as error:
        print(f"tickdisk: {error}", file=sys.stderr)
        sys.exit(_FAILED)
    except OSError as error:
        # An error of pyarrow has no number, only the text.
        number = errno.ENOSPC if error.errno is None and os.strerror(errno.ENOSPC) in str(error) else error.errno
        advice = _OF_THE_MACHINE.get(number or 0)
        if number is None or advice is None:
            raise
        print(
            f"tickdisk: {error.filename or _full_place() or 'a file'}: {error.strerror or os.strerror(number)}; {advice}",
            file=sys.stderr,
        )
        sys.exit(_FAILED)


def _full_place() -> str | None:
    """Returns the first place without free space, among the command line's, the current folder and the temporary folder."""
    for word in (*sys.argv[1:], ".", tempfile.gettempdir()):
        place = next((parent for parent in (Path(word), *Path(word).absolute().parents) if parent.exists()), None)
        if place is not None and shutil.disk_usage(place).free < _NOTHING_FREE:
            return str(place)
    return None


__all__ = ["app", "main"]
