"""The program `tickdisk`. People type some of its commands, and the rules of the Snakefile call the others.

A command checks its arguments, calls the room that does the work, and prints the result or writes it to files.
"""

import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tickdisk.cli.app import app
from tickdisk.foundation.errors import TickdiskError, sentence_of

_FAILED = 2
_NOTHING_FREE = 1 << 20
"""A disk with less free space than this, in bytes, counts as full."""


def main() -> None:
    """Runs the command of the program `tickdisk` that the arguments of the process name.

    A TickdiskError, and whatever else `sentence_of` has a sentence for, such as a full disk or a folder in the place of a file,
    becomes one line on standard error and exit code 2.
    """
    # Names on the command line may have bytes that are not UTF-8, and a screen shows them as they are.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="surrogateescape")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # what cannot be written is said below, and not when Python ends
    except (TickdiskError, OSError, MemoryError) as error:
        sentence = sentence_of(error, None if getattr(error, "filename", None) else _full_place() or "a file")
        if sentence is None:
            raise
        print(f"tickdisk: {sentence}", file=sys.stderr)
        sys.exit(_FAILED)


def _full_place() -> str | None:
    """Returns the first place without free space, among the command line's, the current folder and the temporary folder."""
    for word in (*sys.argv[1:], ".", tempfile.gettempdir()):
        with suppress(OSError):  # not every word is a path
            place = next(parent for parent in (Path(word), *Path(word).absolute().parents) if parent.exists())
            if shutil.disk_usage(place).free < _NOTHING_FREE:
                return str(place)
    return None


__all__ = ["app", "main"]
