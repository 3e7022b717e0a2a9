"""Starts a command that stays stopped before its first instruction until a tool is attached."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError

# A shell stops itself and, when it is continued, becomes the command, with the same process number, descriptors and folder. The
# kernel kills it if this process dies.
_STOPS = ("sh", "-c", 'kill -STOP $$; exec "$@"', "sh")
_GRACE_S = 10.0


@dataclass(frozen=True)
class Command:
    """A program that is to be started and captured from its first instruction."""

    words: Sequence[str | Path]
    """The program and its arguments."""
    output: Path | None = None
    """File for the program's standard output. If None, the output goes to this process's standard output."""
    cwd: Path | None = None
    """Working folder of the program. If None, it is this process's."""
    cores: Sequence[int] | None = None
    """Cores that the program may run on. If None, they are those of this process."""


class Launched:
    """A started command that stays stopped until `proceed`, so that a tool can be attached. Leaving the context kills it."""

    def __init__(self, command: Command, tracer: Sequence[str | Path]) -> None:
        """Starts the command as the last arguments of the command line `tracer`, or by itself if `tracer` is empty."""
        words = [str(word) for word in command.words]
        if shutil.which(words[0], path=None) is None and not (command.cwd or Path()).joinpath(words[0]).is_file():
            raise TickdiskError(f"{words[0]} is no program; give its path, or install it")
        output = command.output.open("wb") if command.output is not None else None
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                [*map(str, tracer), *_STOPS, *words],
                stdout=output,
                cwd=command.cwd,
                preexec_fn=process.die_with_parent,  # noqa: PLW1509 - the kernel must know before the program runs
            )
        finally:
            if output is not None:
                output.close()
        self.pid = self._process.pid
        state = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state is None or state.si_code != os.CLD_STOPPED:
            raise TickdiskError(f"{' '.join(words[:3])} could not be started under the tracer; its message is above")
        if command.cores is not None:
            os.sched_setaffinity(self.pid, command.cores)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def proceed(self) -> None:
        """Lets the stopped command begin to run."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, timeout_s: float) -> int | None:
        """Returns the exit code, which is 128 plus the number of a signal that ended the command, or None after `timeout_s`."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return code if code >= 0 else 128 - code

    def ask(self) -> None:
        """Asks the command to end by SIGTERM."""
        self._process.terminate()

    def end(self) -> int:
        """Ends the command by SIGTERM, or by SIGKILL if it still runs after some seconds, and returns its exit code."""
        self.ask()
        code = self.wait(_GRACE_S)
        if code is None:
            self._process.kill()
            code = self.wait(_GRACE_S)
        return 128 + signal.SIGKILL if code is None else code
