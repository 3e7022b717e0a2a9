"""The command `tickdisk capture`."""

import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tickdisk.cli.places import check_output_folder
from tickdisk.cli.sizes import bytes_of
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.memory import LEAST_BYTES, MEMORY, MORE_MEMORY, free_bytes
from tickdisk.foundation.paths import on_disk
from tickdisk.foundation.process import state_of
from tickdisk.foundation.storing import counted

if TYPE_CHECKING:
    from tickdisk import trace

_POLL_S = 0.1
_END_LIMIT_S = 2.0
"""Time that the captured command has to end by itself after Ctrl-C, which a terminal sends to it as well."""
_FILES_SHOWN = 12
_RESERVE_BYTES = 32 << 20
"""Room that is left for what the tool writes at its end."""
_FULL = (
    "there is no more room for events after {seconds:.0f} s, so the capture ends here and is kept; give more --memory, or a "
    "folder with more room by --spill"
)


def capture(
    command: Annotated[
        list[str] | None, typer.Argument(help="Program to start and capture, with its arguments, after --.")
    ] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the capture, which must not exist yet.")],
    pid: Annotated[
        int | None,
        typer.Option(
            min=1, max=1 << 22, help="Number of a running process to capture instead, until it ends or you press Ctrl-C."
        ),
    ] = None,
    tool: Annotated[
        Literal["auto", "bpftrace", "strace"],
        typer.Option(help="Tool that captures. With auto it is bpftrace where that works, and strace elsewhere."),
    ] = "auto",
    seconds: Annotated[
        float | None,
        typer.Option(help="Time after which the capture ends. A program that it started is asked to end.", min=0.1, max=1e8),
    ] = None,
    most_memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="Most memory for what is captured, e.g. 512M. By default, all of /dev/shm. When it is full, the capture ends, "
            "unless there is a folder to --spill to.",
        ),
    ] = None,
    spill: Annotated[
        Path | None,
        typer.Option(
            help="Folder to which what is captured is moved whenever the memory of --memory is full, until the capture ends. It "
            "should be on another disk."
        ),
    ] = None,
) -> None:
    """Captures the requests of a process to files and, with bpftrace, what its threads wait for.

    It writes tables into a new folder, which `tickdisk replay` and `tickdisk blame` read, and prints a summary. Ctrl-C ends the
    capture and keeps it, and so does memory that is full. The exit code is that of the captured program, or 0 for a process that
    ran already.
    """
    if (command is None) == (pid is None):
        raise TickdiskError("there is nothing to capture; give either a command after -- or a process by --pid")
    if output.exists():
        raise TickdiskError(f"{output} exists already; remove it or name another folder")
    check_output_folder(output)
    most_bytes = math.inf if most_memory is None else bytes_of(most_memory, "--memory")
    limits = _Limits(math.inf if seconds is None else seconds, most_bytes)
    for left in output.absolute().parent.glob(f".{output.name}.*.partial"):
        shutil.rmtree(left, ignore_errors=True)
    partial = output.absolute().with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        code = _capture(command, pid, _usable_tool(tool), partial, limits, spill)
        partial.rename(output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    raise typer.Exit(code)


def _usable_tool(tool: str) -> "trace.Tool":
    from tickdisk import trace

    if tool == "strace":
        return "strace"
    reason = trace.unavailable()
    if reason is not None and tool == "auto":
        print(f"strace captures, because bpftrace cannot: {reason}")
        return "strace"
    return "bpftrace"


def _capture(
    command: list[str] | None, pid: int | None, tool: "trace.Tool", folder: Path, limits: "_Limits", spill: Path | None
) -> int:
    """Captures into `folder`, prints a summary, and returns the exit code of the command, or 0 for a process that ran already."""
    import pandas as pd

    from tickdisk import server, trace
    from tickdisk.foundation import clock, host, table, temporary
    from tickdisk.manifest import Capture, write_capture

    target: trace.Target = trace.Command(command) if command is not None else (pid or 0)
    place = _place(folder.parent, spill)
    with temporary.folder(place) as fast, temporary.folder(spill or place) as slow, clock.Sampler() as clocks:
        if spill is not None:
            limits = replace(limits, spill=slow) if place != spill else replace(limits, size_bytes=math.inf)
        with trace.start(tool, target=target, folder=fast, logs=folder / "logs", asked_ns=_began_ns()) as recording:
            code = _watch(recording, pid, limits, fast)
            asked_ns = time.monotonic_ns()
            raw = recording.stop(_at_ctrl_c())
        samples = pd.concat([clocks.table(), pd.DataFrame([clock.sample()])])
        captured = trace.parse(raw, samples, classify=server.classify)
        raw.keep(folder / "raw")
        if raw.path.parent not in (fast, slow):  # there was no room for its last line
            raw.path.unlink()
    table.write("requests", folder / "requests.parquet", captured.requests, captured.lacks)
    table.write("clocks", folder / "clocks.parquet", samples)
    if captured.waits is not None:
        table.write("waits", folder / "waits.parquet", captured.waits)
    words = None if command is None else tuple(command)
    lacks = dict(captured.lacks)
    about = Capture(**dict(captured.summary), command=words, pid=pid, exit_code=code, lacks=lacks, host=host.facts())
    write_capture(folder, about)
    if captured.summary.ended_ns < asked_ns:
        print(f"the capture ended before the program; it is whole for its first {_seconds(captured):.2f} s")
    for line in [*_verdict(folder, captured), *_screen(captured)]:
        print(line)
    return code or 0


@dataclass(frozen=True)
class _Limits:
    """The limits at which a capture ends by itself."""

    seconds: float
    size_bytes: float
    """Most bytes of what the tool writes that may be in memory."""
    spill: Path | None = None
    """The folder to which they are moved then."""

    def has_room(self, output: "trace.Output", folder: Path) -> bool:
        """Returns whether the tool can write on in `folder`, from which its output is moved if there is a place for it."""
        if output.size_bytes < self.size_bytes and free_bytes(folder) >= _RESERVE_BYTES:
            return True
        if self.spill is None or free_bytes(self.spill) < output.size_bytes + _RESERVE_BYTES:
            return False
        output.spill(self.spill)
        return True


def _place(beside: Path, spill: Path | None) -> Path:
    """Returns the folder for what the tool writes: memory if that has room, or else `spill` or the one `beside` the output."""
    if spill is not None and not spill.is_dir():
        raise TickdiskError(f"{spill} is no folder; make it on a disk with room, or leave --spill out")
    free = free_bytes()
    if free >= LEAST_BYTES:
        return MEMORY
    if spill is not None:
        return spill
    print(
        f"{MEMORY} has only {free / 1e6:.0f} MB free, so the events are written to {beside} meanwhile, which loads its disk; "
        f"name another by --spill ({MORE_MEMORY})",
        file=sys.stderr,
    )
    return beside


def _watch(recording: "trace.Recording", pid: int | None, limits: _Limits, folder: Path) -> int | None:
    """Waits until the captured program ends, SIGINT arrives and the process is one that ran already, or a limit is reached.

    After SIGINT a command has `_END_LIMIT_S` to end by itself, and is then asked to end by SIGTERM. It has all the time that it
    needs, for example to save a world. A second SIGINT ends it. Returns the exit code of a command, or None for a process that
    ran already.
    """
    interrupted: list[float] = []
    signal.signal(signal.SIGINT, lambda *_: interrupted.append(time.monotonic()))
    if pid is not None:
        print(f"process {pid} is captured from now on, until it ends or you press Ctrl-C", flush=True)
    began_s, is_asked, is_halted = time.monotonic(), False, False
    while True:
        ran_s = time.monotonic() - began_s
        is_over = ran_s > limits.seconds
        if not is_halted and not limits.has_room(recording.output, folder):
            print(_FULL.format(seconds=ran_s), file=sys.stderr, flush=True)
            is_halted = True
            if recording.command is None or recording.tool == "bpftrace":
                recording.halt(lambda: bool(interrupted))
            else:
                is_over = True  # a command that strace started cannot go on without it
        if recording.command is None:
            if is_halted or is_over or interrupted or (process := state_of(pid or 0)) is None or process.has_ended:
                return None
            time.sleep(_POLL_S)
            continue
        code = recording.command.wait(_POLL_S)
        if code is not None:
            return code
        if len(interrupted) > 1:
            return recording.command.end()
        if not is_asked and (is_over or (interrupted and time.monotonic() > interrupted[0] + _END_LIMIT_S)):
            recording.command.ask()
            is_asked = True
            print("the program is asked to end, and the capture goes on until it does; Ctrl-C ends it by force", flush=True)


def _began_ns() -> int:
    """Returns the time at which this process began, from which its user waits for the capture."""
    state = state_of(os.getpid())
    assert state is not None
    age_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - state.started * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return time.monotonic_ns() - age_ns


def _at_ctrl_c() -> Callable[[], bool]:
    """Returns a function that says whether SIGINT has arrived since this call."""
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    return lambda: bool(pressed)


def _seconds(captured: "trace.ParsedCapture") -> float:
    """Returns the length of a capture in s."""
    return (captured.summary.ended_ns - captured.summary.started_ns) / 1e9


def _verdict(folder: Path, captured: "trace.ParsedCapture") -> list[str]:
    """Returns the line that says whether the captured program was late, if the capture tells that."""
    from tickdisk import blame

    if captured.waits is None or captured.waits.empty:
        return []
    with suppress(TickdiskError):  # The program did not wait in a whole second.
        return [blame.verdict([blame.attribute(evidence) for evidence in blame.load_evidence(folder)])]
    return []


def _screen(captured: "trace.ParsedCapture") -> list[str]:
    summary, requests = captured.summary, captured.requests
    lost = f"{summary.lost_events} events lost, {summary.rejected} lines not understood"
    lines = [f"not in the capture: {count:,} {kind}" for kind, count in captured.lacks.items()]
    lines += [f"{len(requests)} requests in {_seconds(captured):.2f} s, {summary.tool} {summary.version}, {lost}"]
    lines += [f"{'op':10}{'requests':>10}{'errors':>8}{'bytes':>14}{'total ms':>11}{'longest ms':>12}"]
    for op, rows in sorted(requests.groupby("op"), key=lambda group: -group[1]["latency_ns"].sum()):
        size = rows["result"].sum() if op in ("read", "write") else 0
        times = f"{rows['latency_ns'].sum() / 1e6:11.1f}{rows['latency_ns'].max() / 1e6:12.2f}"
        lines.append(f"{op:10}{len(rows):10}{(rows['errno'] > 0).sum():8}{size:14}{times}")
    if asked := counted(requests["storing"]):
        lines.append("stored: " + ", ".join(f"{count} requests with {word}" for word, count in asked.items()))
    lines.append(f"{'requests':>10}{'total ms':>11}  file")
    files = requests.groupby("file")["latency_ns"].agg(["size", "sum"]).sort_values("sum", ascending=False)
    shown = zip(files.index, files["size"], files["sum"] / 1e6, strict=True)
    lines += [f"{count:10}{ms:11.1f}  {on_disk(file)}" for file, count, ms in islice(shown, _FILES_SHOWN)]
    if len(files) > _FILES_SHOWN:
        lines.append(f"{'':23}and {len(files) - _FILES_SHOWN} more files")
    if captured.waits is not None:
        spent = captured.waits.assign(ns=captured.waits["end_ns"] - captured.waits["start_ns"]).groupby("kind")["ns"].sum()
        lines.append("threads waited, in ms: " + ", ".join(f"{kind} {ns / 1e6:.1f}" for kind, ns in spent.items()))
    return lines
