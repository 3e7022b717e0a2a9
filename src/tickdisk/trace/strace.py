"""Runs strace: attaches it to running processes, or starts a command under it."""

import os
import re
import select
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError
from tickdisk.trace.calls import CALLS, NOT_FOLLOWED
from tickdisk.trace.output import Ending, Output

NAMING_CALLS = ("prctl", "execve", "execveat", "clone", "clone3", "fork", "vfork", "link", "linkat")
"""Calls that are captured because they name threads or files, or begin new threads and programs."""
POSITIONED = ("pread64", "pwrite64")
"""The calls that the tool `strace_positioned` captures."""
_ATTACH_S = 30.0
_WRITE_S = 60.0
_LAST_S = 2.0
_POLL_S = 0.01
_APPENDING = re.compile(rb'"((?:[^"\\]|\\.)*)", [^"()]*O_APPEND')
COMMAND_OPTIONS = ("-DDD", "--seccomp-bpf", "-q", "--")
"""Options of strace for a command. strace becomes the command's grandchild, and a filter in the kernel spares other calls."""
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|.)")
_ESCAPES = dict(zip(b"tnvfr", b"\t\n\v\f\r", strict=True))
"""Bytes that strace writes as a backslash and a letter, by the letter. It writes others as octal numbers."""
_ATTACHED = re.compile(r"Process (\d+) attached")


def version() -> str:
    """Returns strace's version, e.g. `6.1`."""
    return process.run(["strace", "-V"], timeout_s=10).splitlines()[0].rsplit(" ", 1)[-1]


def words(tool: str, raw: Path) -> list[str | Path]:
    """Returns strace's command line for the tool `strace` or `strace_positioned`, with its output in `raw`."""
    if shutil.which("strace") is None:
        raise TickdiskError("strace is not installed; `tickdisk doctor` says what to install")
    names = POSITIONED if tool == "strace_positioned" else (*CALLS, *NOT_FOLLOWED, *NAMING_CALLS)
    trace = ",".join(f"?{name}" for name in names)
    stamps = ("--absolute-timestamps=format:unix,precision:ns", "--syscall-times=ns")
    return ["strace", "-f", *stamps, "-s", "16", "-e", "signal=none", "-e", f"trace={trace}", "-o", raw]


@dataclass(frozen=True)
class StraceEnding(Ending):
    """The end of strace."""

    sizes: Mapping[str, int]
    """The sizes in bytes, by path, of the files that were opened with O_APPEND. The offsets of appends are found from them."""


class Strace:
    """A running strace. It runs under setsid (or with its option -DDD, which does the same), so that Ctrl-C at a terminal does
    not reach it. This process then ends it by `stop`.
    """

    def __init__(
        self,
        words: Sequence[str | Path],
        pids: Sequence[int],
        output: Output,
        logs: Path,
        cores: Sequence[int] | None,
        *,
        started: bool,
    ) -> None:
        """Attaches to `pids`, or, if `started`, takes over the strace under which the command `pids[0]` was started."""
        if not pids:
            raise TickdiskError("strace has no process that it could attach to; start the process first")
        self._output, self._pids = output, pids
        self._cwds = [Path(f"/proc/{pid}/cwd").readlink() for pid in pids]
        self._child = None if started else self._attach(words, logs, cores)
        self.pid = _tracer_of(pids[0]) if self._child is None else self._child.pid
        if self.pid == 0:
            raise TickdiskError("strace could not trace the command; run as root, and without another tracer")
        self._tracer = os.pidfd_open(self.pid)
        if cores is not None:
            os.sched_setaffinity(self.pid, cores)

    def stop(self, gives_up: Callable[[], bool] | None = None) -> StraceEnding:  # noqa: ARG002 - it never waits long
        """Detaches strace. Processes that a started command has left running are killed.

        Otherwise they would go on with strace's filter, under which every captured call fails once strace has ended.
        """
        ended_ns = time.monotonic_ns()
        if self._child is not None and not self._ended(0):
            signal.pidfd_send_signal(self._tracer, signal.SIGINT)
        elif not self._ended(_LAST_S):
            for pid in _traced_by(self.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if not self._ended(_WRITE_S):
            raise TickdiskError(f"strace did not end within {_WRITE_S:g} s; is a traced process stuck in the kernel?")
        if self._child is not None:
            self._child.wait(_LAST_S)
        return StraceEnding(ended_ns, version(), _sizes(self._output.whole().read_bytes(), self._cwds))

    def kill(self) -> None:
        """Kills strace, if it has not ended already. The object cannot be used any more."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._tracer, signal.SIGKILL)
        self._ended(_LAST_S)
        os.close(self._tracer)

    def _attach(self, words: Sequence[str | Path], logs: Path, cores: Sequence[int] | None) -> process.Child:
        attach = [word for pid in self._pids for word in ("-p", str(pid))]
        child = process.Child("strace", ["setsid", *words, *attach], logs, cores=cores)
        deadline = time.monotonic() + _ATTACH_S
        while not set(self._pids) <= set(map(int, _ATTACHED.findall(child.log_path.read_text("utf-8", "replace")))):
            if child.poll() is not None or time.monotonic() > deadline:
                child.stop(5, signal.SIGKILL)
                raise TickdiskError(f"strace cannot attach: {child.tail(1)}; run as root, and without another tracer")
            time.sleep(_POLL_S)
        return child

    def _ended(self, timeout_s: float) -> bool:
        return bool(select.select([self._tracer], [], [], timeout_s)[0])


def _sizes(output: bytes, cwds: Sequence[Path]) -> dict[str, int]:
    """Returns the present size of each file that was opened with O_APPEND, by path. Relative paths are below one of `cwds`."""
    sizes = {}
    for name in set(_APPENDING.findall(output)):
        for cwd in cwds:
            path = Path(os.path.normpath(cwd / os.fsdecode(_unescaped(name))))
            if path.is_file():
                sizes[str(path)] = path.stat().st_size
    return sizes


def _unescaped(text: bytes) -> bytes:
    """Returns the bytes of a name that strace wrote."""

    def byte(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        return bytes([int(escape, 8)]) if escape[0] in b"01234567" else bytes([_ESCAPES.get(escape[0], escape[0])])

    return _ESCAPED.sub(byte, text)


def _tracer_of(pid: int) -> int:
    """Returns the number of the process that traces `pid`, or 0 if none does."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("TracerPid:"))
    return 0


def _traced_by(tracer: int) -> list[int]:
    return [pid for path in Path("/proc").glob("[0-9]*") if _tracer_of(pid := int(path.name)) == tracer]
