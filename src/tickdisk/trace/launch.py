"""Start a command that waits, stopped, until somebody is ready to watch it."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tickdisk.errors import TickdiskError

# It dies with us, and goes on only when told to; the descriptors, folder and number are then the command's.
_DIES = ("setpriv", "--pdeathsig", "KILL")
_STOPS = ("sh", "-c", 'kill -STOP $$; exec "$@"', "sh")
_GRACE_S = 10.0


@dataclass(frozen=True)
class Command:
    """A program to capture from its first instruction. `output` takes its standard output, which is ours otherwise."""

    words: Sequence[str | Path]
    output: Path | None = None
    cwd: Path | None = None
    cores: Sequence[int] | None = None


class Launched:
    """A command, started by the words of a `tracer` or by none: stopped until `proceed`, ended with the context."""

    def __init__(self, command: Command, tracer: Sequence[str | Path]) -> None:
        words = [str(word) for word in command.words]
        if shutil.which(words[0], path=None) is None and not (command.cwd or Path()).joinpath(words[0]).is_file():
            raise TickdiskError(f"{words[0]} is no program; give its path, or install it")
        output = command.output.open("wb") if command.output is not None else None
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                [*_DIES, *map(str, tracer), *_STOPS, *words], stdout=output, cwd=command.cwd
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
        """Lets the command begin."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, timeout_s: float) -> int | None:
        """Returns the exit code (128 + its number after a signal), None if the command still runs after `timeout_s`."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        return code if code >= 0 else 128 - code

    def end(self) -> int:
        """Ends the command by SIGTERM, or SIGKILL if that does not help, and returns its exit code."""
        self._process.terminate()
        code = self.wait(_GRACE_S)
        if code is None:
            self._process.kill()
            code = self.wait(_GRACE_S)
        return 128 + signal.SIGKILL if code is None else code
