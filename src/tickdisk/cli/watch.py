"""The command `tickdisk watch`, which keeps an eye on a running game server for hours."""

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickdisk.cli.check import capture_of, found_server
from tickdisk.cli.places import check_output_folder
from tickdisk.foundation.errors import TickdiskError

if TYPE_CHECKING:
    from tickdisk import check as room

_CHECK_S = 30.0
_DAY_S = 86_400.0
_MINUTES, _MOST_BYTES = "minutes.jsonl", 15_000_000
"""Name of the file that has a line for each minute, and its greatest size, which is enough for a month."""
_MOST_CHECKS = 200
"""Greatest number of verdicts that are kept. The oldest ones are removed."""


def watch(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for what is seen, which must not exist yet.")],
    pid: Annotated[
        int | None,
        typer.Option(help="Number of the server's process. By default, the game server of this machine.", min=1, max=1 << 22),
    ] = None,
    hours: Annotated[float, typer.Option(help="Length of the watch.", min=0.001, max=10_000)] = 24,
    checks_per_day: Annotated[int, typer.Option(help="Most checks in 24 hours.", min=0, max=1000)] = 10,
) -> None:
    """Watches a running game server for hours, and checks it for thirty seconds when its ticks get late.

    It reads the kernel's counters fifty times a second, and writes a line for each minute. When the thread that ticks
    did not rest for too long three times in a minute, the server is checked, and the verdict is kept beside the minutes. Ctrl-C
    ends the watch.
    """
    check_output_folder(output)
    from tickdisk import check as room
    from tickdisk.foundation.record import write

    found = found_server(pid)
    output.mkdir(parents=True, exist_ok=True)
    reason = room.obstacle()
    if reason is not None:
        print(f"late ticks are counted and not checked, because bpftrace cannot capture: {reason}")
    print(f"{found.title} is watched for {hours:g} hours; the minutes are in {output / _MINUTES}, and Ctrl-C ends it", flush=True)
    if not found.has_tick_thread:
        print(f"late ticks of {found.title} are not seen, because no thread of it ticks; use `tickdisk check`")
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))

    def show(_: "room.Now") -> None:
        if pressed:
            raise KeyboardInterrupt

    began: list[float] = []
    late = 0
    for minute in room.minutes(found, hours * 3600, lambda: bool(pressed)):
        late += minute.late
        _keep(output / _MINUTES, minute)
        began = [at for at in began if at > time.monotonic() - _DAY_S]
        if minute.late < room.LEAST_LATE or reason is not None or len(began) >= checks_per_day or pressed:
            continue
        began.append(time.monotonic())
        try:
            verdict, _ = capture_of(found, _CHECK_S, show)
        except TickdiskError as error:  # The server has ended, or somebody else captures it.
            print(f"{time.strftime('%H:%M:%S')}  no check: {error}", flush=True)
            continue
        write(output / f"check-{time.strftime('%Y-%m-%dT%H-%M-%S')}.json", verdict)
        for old in sorted(output.glob("check-*.json"))[:-_MOST_CHECKS]:
            old.unlink()
        print(f"{time.strftime('%H:%M:%S')}  {room.screen(verdict)[0]}", flush=True)
    checks = len(list(output.glob("check-*.json")))
    counted = "1 check is" if checks == 1 else f"{checks} checks are"
    print(f"the thread that ticks did not rest for too long {late:,} times; {counted} kept")


def _keep(place: Path, minute: "room.Minute") -> None:
    """Adds a line to the file of minutes, whose older half is dropped when it is too long."""
    with place.open("a") as file:
        file.write(minute.model_dump_json() + "\n")
    if place.stat().st_size > _MOST_BYTES:
        lines = place.read_text().splitlines(keepends=True)
        partial = place.with_suffix(".partial")
        partial.write_text("".join(lines[len(lines) // 2 :]))
        partial.rename(place)
