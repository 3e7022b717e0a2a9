"""Cleans up after this process when it ends, also after kill -9, by a small process of the shell that waits for that."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WAITS = "cat >/dev/null\n"


@contextmanager
def guarded(script: str, *arguments: str | Path) -> Iterator[None]:
    """Runs a script of the shell when the block ends, or when this process does, however it ends.

    The script gets the arguments as $1, $2 and so on. It has to bear that there is nothing left to do. Leaving the block waits
    for it.
    """
    # The guard's standard input ends when this process does.
    with subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", _WAITS + script, "tickdisk-guard", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as guard:
        try:
            yield
        finally:
            if guard.stdin is not None:
                guard.stdin.close()
            guard.wait()
