"""Starts other programs, makes sure that none of them outlives the work that it was started for, and looks at any process."""

import ctypes
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_EXIT_S = 5.0
_STAT = (slice(1, 2), slice(11, 13), slice(13, 15), slice(19, 20))
"""Places in /proc/PID/stat, after the name of the program, of the parent, the CPU time of the process and of its ended children
(user and system time each), and the time of the start."""
_CHECKOUT = Path(__file__).parents[3]
OWNER_VARIABLE = "TICKDISK_OWNER_PID"
"""Name of the environment variable that holds the pid of the workflow, which owns all processes that it starts."""


def built(name: str) -> Path:
    """Returns a program that the set-up built, in the folder `build` here or in the checkout.

    Raises TickdiskError if it was not built.
    """
    program = Path("build") / name
    binary = next((path for folder in (Path(), _CHECKOUT) if (path := folder / program).is_file()), None)
    if binary is None:
        raise TickdiskError(f"{program} does not exist; run `make setup`, which builds it or says why it cannot")
    return binary.absolute()


@dataclass(frozen=True)
class ProcessState:
    """A process as the kernel describes it in /proc/PID/stat, see proc(5). All times are in clock ticks."""

    pid: int
    state: str
    """State as a letter, such as R for a process that runs."""
    parent: int
    started: int
    """Time of the start since boot. No later process with the same pid has the same."""
    used: int
    """CPU time of the process itself, with all its threads."""
    waited: int
    """CPU time of children that have ended and that the process has waited for."""

    @property
    def has_ended(self) -> bool:
        """Whether it is a zombie, which only waits for its parent to notice its end."""
        return self.state in "ZX"


def state_of(pid: int) -> ProcessState | None:
    """Returns the state of a process, or None if there is no process with this pid."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = line.rsplit(b")", 1)[1].decode("ascii").split()  # The name of the program before it need not be UTF-8.
    state, (parent, used, waited, started) = fields[0], (sum(map(int, fields[at])) for at in _STAT)
    return ProcessState(pid, state, parent, started, used, waited)


class ProcessIdentity(record.Record):
    """A process, identified by its pid and by its start time.

    The start time tells it from a later process with the same pid, so that a record never leads to the end of a wrong process.
    """

    pid: int
    started: int
    """Start time in clock ticks since boot, as /proc/PID/stat has it."""

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Returns the identity of a running process, or None if there is no process with this pid or it is a zombie."""
        process = state_of(pid)
        return None if process is None or process.has_ended else cls(pid=pid, started=process.started)

    @classmethod
    def this_process(cls) -> Self:
        """Returns the identity of the calling process. Raises TickdiskError if /proc does not show it."""
        own = cls.of(os.getpid())
        if own is None:
            raise TickdiskError("/proc does not show this process; mount proc")
        return own

    def alive(self) -> bool:
        """Returns whether this very process is still running, and not only another one with its pid."""
        return ProcessIdentity.of(self.pid) == self


def boot_id() -> str:
    """Returns the kernel's identity of this boot. A record with another one is of a device that is gone since that boot ended."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def pid_namespace() -> int:
    """Returns the inode of this process's pid namespace. A pid in a record has a meaning only in the record's namespace."""
    return Path("/proc/self/ns/pid").stat().st_ino


def die_with_parent() -> None:
    """Asks the kernel to kill the calling process when the thread that started it ends. It is meant for `preexec_fn` of Popen."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class ChildRecord(record.Record):
    """The content of the file that each process leaves in a folder of logs."""

    name: str
    """The name of the process."""
    command: tuple[str, ...]
    """The command with its arguments."""
    pid: int
    """The number that the kernel gave to the process."""
    started_ns: int
    """The time at which the process started."""
    ended_ns: int | None
    """The time at which the process had ended. It is null while the process runs."""
    exit_code: int | None
    """The exit code; a negative one is the number of a signal. It is null while the process runs."""


class Child:
    """A process that this one has started and that runs beside it, such as a game server or the emulator.

    The file `logs/NAME.json` records its command, pid, times and exit code, and `logs/NAME.log` has its output. The kernel kills
    the child when the thread that started it ends (PR_SET_PDEATHSIG), so children have to be started from the main thread. As a
    context manager, a child is ended at the end of the block.
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
        groups: Sequence[Path] = (),
    ) -> None:
        """Starts the child. Raises TickdiskError if the program is not installed.

        No shell interprets `command`. With `environment`, `cores` or `cwd` None, the child has those of this process. It is
        in the cgroups with the folders `groups` from its first instruction on. The scheduling `policy` comes with its lowest
        priority, and is left as it is if the user may not change it.
        """
        self.name, self.command, self._logs = name, [str(word) for word in command], logs
        logs.mkdir(parents=True, exist_ok=True)
        self.log_path = logs / f"{name}.log"
        self.started_ns = time.monotonic_ns()

        def prepare() -> None:
            die_with_parent()
            for group in groups:
                (group / "cgroup.procs").write_text("0")
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
        self._is_end_recorded = False
        self._record(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.poll() is None:
            self.stop(_EXIT_S)

    def poll(self) -> int | None:
        """Returns the exit code, or None if the child is still running. After a signal it is minus the signal's number."""
        return self._noted(self._process.poll())

    def send(self, number: signal.Signals) -> None:
        """Sends the signal `number` to the child if it is still running."""
        if self.poll() is None:
            self._process.send_signal(number)

    def wait(self, timeout_s: float) -> int | None:
        """Waits for the child to end. Returns its exit code, or None if it is still running after `timeout_s` seconds."""
        try:
            return self._noted(self._process.wait(timeout_s))
        except subprocess.TimeoutExpired:
            return None

    def stop(self, timeout_s: float, number: signal.Signals = signal.SIGTERM) -> int | None:
        """Ends the child by a signal, and kills it if it has not ended after `timeout_s`.

        Returns its exit code, or None if it is still running 10 s after SIGKILL.
        """
        self.send(number)
        code = self.wait(timeout_s)
        if code is None:
            self.send(signal.SIGKILL)
            code = self.wait(10)
        return code

    def tail(self, lines: int = 8) -> str:
        """Returns the last lines, at most `lines`, of the child's output so far."""
        return "\n".join(self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def _noted(self, code: int | None) -> int | None:
        """Returns the exit code. When it is known for the first time, the end of the child is recorded."""
        if code is not None and not self._is_end_recorded:
            self._is_end_recorded = True
            self._record(code)
        return code

    def _record(self, code: int | None) -> None:
        child = ChildRecord(
            name=self.name,
            command=tuple(self.command),
            pid=self.pid,
            started_ns=self.started_ns,
            ended_ns=None if code is None else time.monotonic_ns(),
            exit_code=code,
        )
        record.write(self._logs / f"{self.name}.json", child)


def run(command: Sequence[str | Path], *, timeout_s: float = 60, what: str | None = None) -> str:
    """Runs a short command without a shell, waits for its end, and returns its standard output.

    Bytes that are not UTF-8 are replaced. Raises TickdiskError if the program is not installed, does not end within `timeout_s`,
    or fails. Messages name the command by `what`, or by its words if `what` is None, and quote the last line of its standard
    error or of its output.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(  # noqa: S603 - commands are built by this package
            words, capture_output=True, encoding="utf-8", errors="replace", timeout=timeout_s, check=False
        )
    except FileNotFoundError as error:
        raise TickdiskError(f"{words[0]} is not installed; `tickdisk doctor` says what to install") from error
    except subprocess.TimeoutExpired as error:
        raise TickdiskError(f"{what or ' '.join(words)} did not finish within {timeout_s:g} s") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise TickdiskError(f"{what or ' '.join(words)} failed with exit code {done.returncode}: {last}")
    return done.stdout


def follow_owner() -> None:
    """Arranges that this process gets SIGTERM when the workflow that started it dies, even by SIGKILL.

    The environment variable TICKDISK_OWNER_PID has the pid of the workflow. Without it, nothing is done. Snakemake starts a shell
    between itself and this process, so the death of the parent does not show that the workflow is gone.
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
