"""Calls of `tickdisk` in forks of a process that has imported everything, because an import takes a second.

`python forked_calls.py` is that process. It reads from standard input a line for each call.
"""

import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, NoReturn, Self

import tickdisk
from tickdisk import start

BEGAN = 99
"""The exit code of a call that was about to start a program. It had passed all checks, and is ended there."""
_MOST_S = 20
_FILE_BYTES, _MORE_MEMORY_BYTES = 1 << 20, 3 << 30
"""The largest file that a call may write, and the memory that it may ask for beyond that of the imported modules."""


class Ended(NamedTuple):
    """The end of a call."""

    code: int
    """The exit code, or minus the number of the signal that ended it. SIGALRM ends it after 20 s."""
    said: str
    """Standard output and standard error."""


class ForkedCalls:
    """Runs `tickdisk` in any folder, as a process of its own would do it, until it wants to start another program."""

    def __init__(self, state: Path) -> None:
        """`state` is the folder in which the calls look for devices, so that they see none of this machine."""
        environment = {**os.environ, "TICKDISK_STATE": str(state)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._server = subprocess.Popen([sys.executable, __file__], env=environment, text=True, **pipes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.communicate()

    def run(self, folder: Path, words: Sequence[str], *, closed: Sequence[int] = ()) -> Ended:
        """Returns the end of `tickdisk WORDS...` in a folder. The descriptors `closed` are closed, as `>&-` does it."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps([str(folder), [*words], [*closed]]), file=self._server.stdin, flush=True)
        return Ended(*json.loads(self._server.stdout.readline()))


def _import_everything() -> None:
    for module in pkgutil.iter_modules(tickdisk.__path__, "tickdisk."):
        importlib.import_module(module.name)
    importlib.import_module("typer.rich_utils")
    gc.collect()
    gc.freeze()  # a fork copies the pages that a collection of garbage touches


class _Began(SystemExit):
    """Ends a call that starts a program."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise _Began(BEGAN)


def _call(folder: str, words: Sequence[str], closed: Sequence[int]) -> tuple[int, str]:
    """Calls `tickdisk` in a fork, and returns its exit code and its output."""
    with tempfile.TemporaryFile("w+", errors="surrogateescape") as output:
        child = os.fork()
        if child == 0:
            _become(folder, words, closed, output.fileno())
            os._exit(_end_of(start.main))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return code, output.read().encode("utf-8", "replace").decode()


def _become(folder: str, words: Sequence[str], closed: Sequence[int], output: int) -> None:
    """Makes of this process what a shell and the start of Python make of a call."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in enumerate((nothing, output, output)):
        os.dup2(source, number)
    streams = ("stdin", "stdout", "stderr")
    for number in closed:
        os.close(number)
        setattr(sys, streams[number], None)
    os.chdir(folder)
    signal.alarm(_MOST_S)
    mapped = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    for limit, most in ((resource.RLIMIT_DATA, mapped + _MORE_MEMORY_BYTES), (resource.RLIMIT_FSIZE, _FILE_BYTES)):
        resource.setrlimit(limit, (most, most))
    subprocess.Popen.__init__ = _refuse  # type: ignore[method-assign]
    sys.argv = ["tickdisk", *words]


def _end_of(main: Callable[[], None]) -> int:
    """Runs a program and returns its exit code, as Python does it, but without taking down all modules, which takes long."""
    code = 0
    try:
        main()
        sys.stdout.flush()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001 - Python prints every exception
        traceback.print_exc()
        code = 1
    return code


if __name__ == "__main__":
    _import_everything()
    for line in sys.stdin:
        print(json.dumps(_call(*json.loads(line))), flush=True)
