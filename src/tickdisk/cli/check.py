"""The command `tickdisk check`, which says whether the disk makes a running game server late."""

import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickdisk.cli.places import DEVICES, EXPLAINED, FORECASTS, check_output, in_project
from tickdisk.foundation.errors import TickdiskError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tickdisk import check as room

_SEED = 0
_PAGE_LINES = 1000
_COLUMNS = 78
"""Length of the line of the display."""
_SHOWN_S = 0.2
"""Time in s after which the line is written anew."""
_NO_SERVER = "no game server was found on this machine; start it, or name its process by --pid"


def check(
    *,
    pid: Annotated[
        int | None,
        typer.Option(help="Number of the server's process. By default, the game server of this machine.", min=1, max=1 << 22),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Length of the check.", min=2, max=3600)] = 60,
    thread: Annotated[
        str | None, typer.Option(help="Name of the thread that ticks. By default, it is found by its name or by its loop.")
    ] = None,
    period: Annotated[
        float | None,
        typer.Option(help="Time in ms from one tick to the next, if the server is told another one.", min=12, max=1000),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="HTML page to write, with the same words and with figures.")] = None,
    as_influx: Annotated[
        bool, typer.Option("--influx", help="Print lines of InfluxDB's protocol for Telegraf instead of the screen.")
    ] = False,
    anonymise: Annotated[bool, typer.Option("--anonymise", help="Give folders and files other names in the result.")] = False,
    json: Annotated[Path | None, typer.Option(help="JSON file to write, with the whole verdict.")] = None,
) -> None:
    """Says whether a running game server is late, and whether it is the disk.

    It finds the server by itself, captures it for a minute, and ends with one screen: the answer, the time that was lost and why,
    the files behind it, and what to try first. A part of the minute is left alone, so that the server itself tells what the check
    costs it. It changes nothing, and leaves nothing behind. It needs root and bpftrace, and says what it can still tell without.
    """
    for output in (json, report):
        if output is not None:
            check_output(output)
    from tickdisk import check as room

    found = found_server(pid)
    found = found if period is None else found.with_period(period)
    print(f"{found.title}{', port ' if found.ports else ''}{' and '.join(found.ports)}: {found.command[:100]}", file=sys.stderr)
    seen: room.Look | None = None
    with _display() as show:
        if reason := room.obstacle():
            lack = f"the reasons of lag, because bpftrace cannot capture: {reason}"
            verdict = room.counted(found, seconds, show, lack, thread)
        else:
            verdict, seen = capture_of(found, seconds, show, thread=thread, anonymise=anonymise)
    for line in room.influx(verdict, time.time_ns()) if as_influx else room.screen(verdict):
        print(line)
    if report is not None:
        from tickdisk import studies

        blames = [] if seen is None else room.explained(found, seen, thread)
        when = time.strftime("%Y-%m-%d %H:%M")
        heading = f"Is it the disk? {verdict.server}, {when}"
        studies.write_explained(heading, room.screen(verdict, _PAGE_LINES), blames, in_project(EXPLAINED), report)
    if json is not None:
        from tickdisk.foundation.record import write

        write(json, verdict)


def capture_of(
    found: "room.FoundServer", seconds: float, show: "room.Show", *, thread: str | None = None, anonymise: bool = False
) -> "tuple[room.Verdict, room.Look]":
    """Captures a server, and returns the verdict on it and what was seen."""
    from tickdisk import check as room
    from tickdisk import device
    from tickdisk.foundation import memory
    from tickdisk.stats.draws import named_generator

    with memory.guarded_folder() as logs:
        seen = room.look(found, seconds, logs, show, thread)
    classes = {model.name: model for model in device.load_devices(in_project(DEVICES)).values() if model.sizing_class}
    seen = room.anonymised(seen) if anonymise else seen
    error = room.known_error(in_project(FORECASTS), "" if found.kind is None else found.kind.name)
    return room.judge(found, seen, named_generator(_SEED, "check"), thread, classes, error), seen


def found_server(pid: int | None) -> "room.FoundServer":
    """Returns the server to check. TickdiskError lists the servers if there is not one."""
    from tickdisk import check as room

    if pid is not None:
        return room.server_of(pid)
    servers = room.find_servers()
    if not servers:
        raise TickdiskError(_NO_SERVER)
    if len(servers) > 1:
        listed = ", ".join(f"{each.title}{' on ' if each.ports else ''}{' and '.join(each.ports)}" for each in servers)
        raise TickdiskError(f"{len(servers)} game servers run on this machine: {listed}; name one by --pid")
    return servers[0]


@contextmanager
def _display() -> "Iterator[room.Show]":
    """Yields a function that shows the state of a check in one line of the terminal, which is empty again at the end."""
    from tickdisk import check as room

    is_terminal = sys.stderr.isatty()
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    words = {
        room.Phase.FREE: "left alone, for comparison",
        room.Phase.CAPTURED: "captured",
        room.Phase.BETWEEN: "the capture begins or ends",
        room.Phase.COUNTED: "the counters are read",
    }

    told, shown_s = 0, 0.0

    def show(now: "room.Now") -> None:
        nonlocal told, shown_s
        if pressed:
            raise KeyboardInterrupt
        if not is_terminal or time.monotonic() - shown_s < _SHOWN_S:
            return
        shown_s = time.monotonic()
        line = f"{now.seconds:3.0f} of {now.of_seconds:.0f} s, {words[now.phase]}; {now.server_cores:.2f} cores"
        if now.rests is not None:
            line += f"; busy {now.rests.busy_share:.0%}, late {len(now.rests.late_ms):,} times"
            for ms in now.rests.late_ms[told:]:
                told += 1
                moment = f"{time.strftime('%H:%M:%S')}  the thread that ticks did not rest for {ms:.0f} ms"
                print(f"\r{moment:{_COLUMNS}}", file=sys.stderr)
        print(f"\r{line:{_COLUMNS}}", end="", file=sys.stderr, flush=True)

    if not is_terminal:
        print("this takes a minute or as long as --seconds says; Ctrl-C ends it early", file=sys.stderr)
    yield show
    if is_terminal:
        print(f"\r{'':{_COLUMNS}}\r", end="", file=sys.stderr, flush=True)
