# ruff: noqa: INP001, S603
"""`make paper`: runs the workflow in a process group of its own and leaves no process of it behind, however it ends.

Every process of the workflow inherits a mark in its environment. When the workflow ends, and before a new one begins (the last
one may have been killed), processes that carry this project's mark are ended. Standard library only.
"""

import contextlib
import ctypes
import fcntl
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
MARK = "TICKDISK_WORKFLOW"
LOOK_S = 0.5
PATIENCE_S = 90.0  # a live run takes its device away first, each step with a limit of its own
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def marked(mark: str) -> list[int]:
    """Returns the processes that carry the mark, without those that have ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:  # it ended meanwhile, or is somebody else's
                continue
            if mark.encode() in environment.split(b"\0") and state not in "ZX":
                found.append(int(entry.name))
    return found


def sweep(mark: str, patience_s: float = PATIENCE_S) -> int:
    """Ends every process that carries the mark, those that do not end in time by SIGKILL; returns how many there were."""
    seen: set[int] = set()
    left: set[int] = set()
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 5.0)):
        told: set[int] = set()
        end = time.monotonic() + wait_s
        for look in itertools.count():
            left = set(marked(mark))
            for pid in left - told:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            told |= left
            # One look is not enough: a process that is just executing a program has no environment for a moment.
            if (not left and look > 0) or time.monotonic() > end:
                break
            time.sleep(0.1)
        seen |= told
        if not left:
            break
    if left:
        print(
            f"make paper: processes {sorted(left)} do not end (waiting for a device?); `tickdisk device down` frees them",
            file=sys.stderr,
        )
    return len(seen)


def interrupted_make() -> bool:
    """Returns whether make, which runs this program, was ended by a signal to itself alone.

    It tells nobody of SIGINT, SIGQUIT and SIGHUP. It waits in the handler of the signal, which is blocked there, until its
    children have ended.
    """
    pid = os.getppid()
    while pid > 1:
        try:
            status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        except OSError:
            return False
        if status["Name"].strip() in ("make", "gmake"):
            return any(int(status["SigBlk"], 16) >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP))
        pid = int(status["PPid"])
    return False


def command(scale: str, blocks: str, study: str, disk: str, name: str) -> list[str]:
    """Returns the workflow's command line. Only `study` runs, and on the folder `disk` of the disk `name`, if they are given."""
    asked = (("scale", scale), ("blocks", blocks), ("study", study), ("disk", disk), ("disk_name", name))
    overrides = [f"{name}={value}" for name, value in asked if value]
    launched = ["sh", str(ROOT / "envs/launcher"), "snakemake"]
    return [*launched, "--cores", "all", *(["--config", *overrides] if overrides else [])]


def studies() -> list[str]:
    """Returns the names of all studies, which are those of the notebooks."""
    return sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


def supervise(words: list[str], mark: str) -> int:
    """Runs the workflow, passes signals on to its process group, ends what it leaves; returns its exit code."""
    name, _, value = mark.partition("=")
    path = f"{ROOT / '.venv/bin'}:{os.environ.get('PATH', os.defpath)}"

    def begin() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored from here on down when make was started in the background
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # its jobs end when they see that it is gone

    workflow = subprocess.Popen(
        words,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, name: value, "PATH": path},
        preexec_fn=begin,  # noqa: PLW1509 - this process has one thread
    )

    told: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        told.append(number)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(workflow.pid, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    code = None
    while code is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = workflow.wait(timeout=LOOK_S)
        if code is None and interrupted_make() and not told:
            pass_on(signal.SIGINT, None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sweep(mark)
    return code if code >= 0 else 128 - code


def give_back() -> None:
    """Gives what root wrote to the person who called sudo."""
    user, group = int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"])
    for top in ("results", ".snakemake"):
        for folder, _, names in os.walk(ROOT / top):
            for path in (folder, *(os.path.join(folder, name) for name in names)):  # noqa: PTH118
                os.chown(path, user, group, follow_symlinks=False)


def main(scale: str, blocks: str, study: str, disk: str = "", name: str = "") -> int:
    """Runs the workflow; returns its exit code, 1 when it cannot start."""
    if study and study not in studies():
        print(f"make paper: there is no study {study}; take one of {', '.join(studies())}", file=sys.stderr)
        return 1
    if os.geteuid() != 0:
        sudo = shutil.which("sudo")
        if sudo is None:
            print("make paper: mounting emulated devices needs root: run it as root, or install sudo", file=sys.stderr)
            return 1
        asked = [scale, blocks, study, disk, name, "give-back"]
        os.execv(sudo, [sudo, "--preserve-env=CI,SCALE", sys.executable, __file__, *asked])  # noqa: S606
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)  # when make is killed, so is what it started
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build/.paper-lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            print(f"make paper: already running here, process {lock.read().strip()}; wait for it or end it", file=sys.stderr)
            return 1
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        mark = f"{MARK}={ROOT}"
        if ended := sweep(mark):
            print(f"make paper: ended {ended} processes that an earlier run had left", flush=True)
        start = time.monotonic()
        code = supervise(command(scale, blocks, study, disk, name), mark)
        if "give-back" in sys.argv[6:]:
            give_back()
        minutes = (time.monotonic() - start) / 60
        outcome = f"failed ({code})" if code else "results/index.html, results/paper.pdf and results/companion.pdf are whole"
        print(f"make paper: {outcome}, {minutes:.1f} min")
        return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:6]))
