"""Child processes that die with us and leave their command, output and exit code as artefacts."""

import ctypes
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tickdisk.errors import TickdiskError
from tickdisk.files import write_json

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
OWNER_VARIABLE = "TICKDISK_OWNER_PID"


def die_with_parent() -> None:
    """Lets the kernel kill the calling process when the thread that started it ends; for `preexec_fn`."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Child:
    """A running child process; `logs/NAME.json` records command, pid, times and exit code, `logs/NAME.log` its output.

    The kernel kills it when the thread that started it ends (PR_SET_PDEATHSIG): start children from the main thread.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        logs: Path,
        *,
        environment: Mapping[str, str] | None = None,
        cores: Sequence[int] | None = None,
        policy: int = os.SCHED_OTHER,
        cwd: Path | None = None,
    ) -> None:
        """Starts it: on some `cores` only, and scheduled by `policy`, where that is allowed."""
        self.name, self.command, self._logs = name, [str(word) for word in command], logs
        logs.mkdir(parents=True, exist_ok=True)
        self.log_path = logs / f"{name}.log"
        self.started_ns = time.monotonic_ns()

        def prepare() -> None:
            die_with_parent()
            if cores is not None:
                os.sched_setaffinity(0, cores)
            if policy != os.SCHED_OTHER:
                with suppress(PermissionError):
                    os.sched_setscheduler(0, policy, os.sched_param(os.sched_get_priority_min(policy)))

        with self.log_path.open("wb") as log:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - commands are built by this package, never by a shell
                    self.command,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    cwd=cwd,
                    env=dict(environment) if environment is not None else None,
                    preexec_fn=prepare,  # noqa: PLW1509 - the kernel must know before the program runs
                )
            except FileNotFoundError as error:
                raise TickdiskError(f"{self.command[0]} is not installed; `tickdisk doctor` says what to install") from error
        self.pid = self._process.pid
        self._record(None)

    def poll(self) -> int | None:
        """Returns the exit code, or None while the child runs."""
        return self._process.poll()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the child if it still runs."""
        if self.poll() is None:
            self._process.send_signal(number)

    def wait(self, timeout_s: float) -> int | None:
        """Returns the exit code, or None if the child still runs after `timeout_s`."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._record(code)
        return code

    def stop(self, timeout_s: float, number: signal.Signals = signal.SIGTERM) -> int | None:
        """Signals the child, waits, kills it after `timeout_s`; returns its exit code, None if even SIGKILL did not end it."""
        self.send(number)
        code = self.wait(timeout_s)
        if code is None:
            self.send(signal.SIGKILL)
            code = self.wait(10)
        return code

    def tail(self, lines: int = 8) -> str:
        """Returns the last lines of the child's output, for messages."""
        return "\n".join(self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def _record(self, code: int | None) -> None:
        write_json(
            self._logs / f"{self.name}.json",
            {
                "name": self.name,
                "command": self.command,
                "pid": self.pid,
                "started_ns": self.started_ns,
                "ended_ns": None if code is None else time.monotonic_ns(),
                "exit_code": code,
            },
        )


def run(command: Sequence[str | Path], *, timeout_s: float = 60, what: str | None = None) -> str:
    """Runs a short command and returns its standard output; TickdiskError with its last line of error otherwise."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)  # noqa: S603
    except FileNotFoundError as error:
        raise TickdiskError(f"{words[0]} is not installed; `tickdisk doctor` says what to install") from error
    except subprocess.TimeoutExpired as error:
        raise TickdiskError(f"{what or ' '.join(words)} did not finish within {timeout_s:g} s") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise TickdiskError(f"{what or ' '.join(words)} failed with exit code {done.returncode}: {last}")
    return done.stdout


def follow_owner() -> None:
    """Sends this process SIGTERM when the process named in TICKDISK_OWNER_PID dies, even by kill -9.

    Snakemake starts a shell between itself and us, so the parent's death alone would not tell us that the workflow is gone.
    """
    owner = os.environ.get(OWNER_VARIABLE)
    if owner is None:
        return
    try:
        descriptor = os.pidfd_open(int(owner))
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)
        return

    def watch() -> None:
        select.select([descriptor], [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="owner", daemon=True).start()
