"""The command `tickdisk replay`, which makes captured requests again on another device."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tickdisk.cli.places import DEVICES, check_new_folder, check_output, in_project
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number

if TYPE_CHECKING:
    from tickdisk.replay import Differing, Spread, Summary

_Capture = Annotated[
    Path,
    typer.Argument(
        help="requests.parquet, the folder of a capture or of a server life, or a trace in a format that `convert` reads."
    ),
]
_Target = Annotated[Path | None, typer.Argument(help="New or empty folder on the device under test.")]
_Simulate = Annotated[
    str | None,
    typer.Option(
        help="Device on which the replay is computed instead of made on a target: a name in --devices, e.g. hdd, or a file "
        "with one device, e.g. ./mydisk.yaml."
    ),
]
_Files = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the files as they were when the capture began. By default, files with made-up content are used."
    ),
]
_Root = Annotated[
    str | None,
    typer.Option(help="Folder of the captured program that TARGET stands for. By default, the one that belongs to FILES."),
]
_Seconds = Annotated[
    float | None, typer.Option(help="Length of the part to replay, in seconds from the first request on.", min=0.001, max=1e9)
]
_Order = Annotated[
    Literal["thread", "ended", "strict"],
    typer.Option(
        help="What a request waits for: the one before it in its thread; also the one that had ended last when it began; or "
        "also all syncs that had ended, and the calls that had opened, closed, emptied, renamed or removed its file."
    ),
]
_Pace = Annotated[
    Literal["captured", "closed", "at-once"],
    typer.Option(
        help="When a request is made that has nothing more to wait for: at its captured time; as long after those that it "
        "waited for as in the capture; or at once."
    ),
]
_Speed = Annotated[
    float,
    typer.Option(help="Number by which captured times, or the pauses of the closed pace, are divided.", min=1e-6, max=1e6),
]
_MostMinutes = Annotated[
    float, typer.Option(help="A replay on TARGET that takes longer than these minutes is not begun.", min=0.001, max=1e6)
]
_ForFio = Annotated[
    Path | None,
    typer.Option(help="New folder for fio's trace and job file. The files are made in TARGET, and nothing is replayed."),
]


def replay(
    capture: _Capture,
    target: _Target = None,
    *,
    simulate: _Simulate = None,
    devices: Annotated[Path, typer.Option(help="File that describes the devices.")] = DEVICES,
    files: _Files = None,
    root: _Root = None,
    seconds: _Seconds = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Parquet file for the times of every request.")] = None,
    order: _Order = "thread",
    pace: _Pace = "captured",
    speed: _Speed = 1.0,
    most_minutes: _MostMinutes = 60.0,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --output if it exists.")] = False,
    for_fio: _ForFio = None,
) -> None:
    """Makes captured requests again, and says how late they were issued and how long the device took.

    It needs a capture and a folder on the device under test, or --simulate with a device for which a model computes the times. A
    summary is printed, and the times of all requests are written with --output. By default, the requests are made at their
    captured times. With --pace closed, a faster disk ends sooner and a slower one later, as the program itself would.
    """
    from tickdisk import device
    from tickdisk import replay as room

    if target is not None:
        check_new_folder(target)
    if output is not None:
        if output.suffix != ".parquet":
            raise TickdiskError(f"{output} does not end in .parquet; the times of the requests are written as such a table")
        check_output(output, force=force, inputs=[capture, *([files] if files is not None else [])])
    schedule = room.Schedule(order, pace, speed)
    planned = room.plan(*room.load_capture(capture, say=print), root=root, files=files, seconds=seconds)
    _say_unknown(planned, schedule)
    if for_fio is not None:
        if target is None or simulate is not None or output is not None or schedule != room.Schedule():
            raise TickdiskError(
                "--for-fio writes what fio replays; give the TARGET folder of its files, and no --simulate, --output, --order, "
                "--pace or --speed"
            )
        _write_for_fio(planned, target, for_fio, files)
    elif simulate is not None and target is None:
        model = device.named(simulate, in_project(devices))
        _report(planned, room.issue_simulated(planned, model, schedule=schedule), schedule, output)
    elif target is not None and simulate is None:
        _check_time(planned, room.turns_of(planned, schedule).least_s(), most_minutes)
        prepared = room.prepare(planned, target, files=files)
        replayed = room.issue(planned, target, schedule=schedule)
        verified = room.verify(planned, target, prepared)
        _report(planned, replayed, schedule, output)
        print(f"files       {verified.sentence()}")
    else:
        raise TickdiskError(
            "a replay runs either on a target folder or on a simulated device; give TARGET or --simulate, and not both"
        )


def _report(planned: Any, replayed: Any, schedule: Any, output: Path | None) -> None:
    """Writes the times of all requests to `output`, if that is given, and prints the summary."""
    from tickdisk import replay as room
    from tickdisk.foundation import table

    if output is not None:
        table.write("replay", output, replayed.timings)
    print(_screen(planned, replayed, room.summarise(replayed.timings), schedule))


def _write_for_fio(planned: Any, target: Path, for_fio: Path, files: Path | None) -> None:
    """Makes the files of a replay in `target`, and writes the traces and the job of fio into the new folder `for_fio`."""
    from tickdisk import replay as room

    if for_fio.exists() and any(for_fio.iterdir()):
        raise TickdiskError(f"{for_fio} is not empty; give a new folder for fio's files")
    check_new_folder(for_fio)
    planned, renamed = room.rename_blanks(planned)
    streams, left_out = room.write_for_fio(planned, target.resolve(), for_fio.resolve())
    room.prepare(planned, target, files=files, sizes=room.files_for_fio(planned))
    requests = sum(map(len, streams.values()))
    print(f"not made    {room.missing(planned, {int(seq) for stream in streams.values() for seq in stream['seq']})}")
    job = shlex.quote(str(for_fio / "replay.fio"))
    print(f"{requests} requests of {len(streams)} streams in {for_fio}, files in {target}; run fio {job}")
    for sentence in [*room.said_of_fio(streams), *_stored(planned.requests)]:
        print(f"  stored    {sentence}")
    for name, fresh in list(renamed.items())[-1:]:
        print(f"  renamed   {len(renamed)} files and folders, as fio's format has no blanks in names: {name} is {fresh}")
    for reason, count in {**planned.refused, **left_out}.items():
        print(f"  left out  {count} {reason}")


def _say_unknown(planned: Any, schedule: Any) -> None:
    unknown = int(planned.requests["captured_ns"].isna().sum())
    if unknown and (schedule.order != "thread" or schedule.pace == "closed"):
        print(
            f"{unknown} of {len(planned.requests)} requests have no latency in the trace; it counts as 0, and only their own "
            "threads wait for them",
            file=sys.stderr,
        )


def _check_time(planned: Any, least_s: float, most_minutes: float) -> None:
    """Says how long a replay takes and how much space it needs. Raises TickdiskError if it takes too long."""
    from tickdisk import replay as room

    count = number(len(planned.requests))
    if least_s > most_minutes * 60:
        raise TickdiskError(
            f"{count} requests take at least {number(least_s / 60)} minutes, and the limit is {number(most_minutes)}; replay a "
            "part with --seconds, be faster with --speed, or give more --most-minutes"
        )
    space = room.space_needed(planned, planned.beginning.sizes)
    time = f"take at least {number(least_s)} s" if least_s > 0 else "are made as soon as the disk allows"
    print(f"{count} requests {time}, and need up to {number(space / 1e6)} MB; --seconds replays a part", file=sys.stderr)


def _screen(planned: Any, replayed: Any, summary: "Summary", schedule: Any) -> str:
    """Returns one screen of text, the verdict first, then the requests, their cost here and in the capture, and the lag."""
    from tickdisk import replay as room

    streams = ", ".join(f"{row.thread_name} {row.requests}" for row in planned.streams.itertuples())
    delays = [
        f"delay       behind earlier requests that each waits for: {_spread(summary.lost_ns)}",
        f"  waited    {summary.delayed} requests; threads were behind {summary.behind_ns / 1e9:.3f} s",
    ]
    costs = room.costs(replayed.timings)
    lines = [
        room.cost_verdict(costs),
        f"not made    {room.missing(planned)}",
        f"streams     {summary.streams}: {streams}",
        f"requests    {planned.captured} captured = {summary.requests} replayed + {sum(planned.refused.values())} refused",
        *(f"  refused   {count} {reason}" for reason, count in planned.refused.items()),
        *(f"stored      {sentence}" for sentence in _stored(planned.requests)),
        *room.cost_screen(costs),
        f"lag         of the replay itself: {_spread(summary.lag_ns)}",
        f"  first tenth {_spread(summary.lag_first_tenth_ns)}",
        f"  last tenth  {_spread(summary.lag_last_tenth_ns)}",
        *([] if schedule.is_closed else delays),
        f"results     {'taken from the capture' if replayed.is_simulated else _results(summary.differing)}",
        f"took        {_took(planned, summary.seconds)}, {_kind(replayed)}",
    ]
    return "\n".join(lines)


def _stored(requests: Any) -> list[str]:
    """Returns sentences about how reads and writes ask to be stored, where that is not the page cache or is not known."""
    from tickdisk.foundation.storing import counted

    asked = ", ".join(f"{count} with {word}" for word, count in counted(requests["storing"]).items())
    unknown = int((requests["storing"].isna() & (requests["op"] == "write")).sum())
    return [
        *([f"{asked}"] if asked else []),
        *([f"the trace does not say of {unknown} writes whether they wait for the device; here they do not"] if unknown else []),
    ]


def _took(planned: Any, seconds: float) -> str:
    """Returns the length of the replay beside that of the same requests in the capture."""
    ends_ns = planned.requests["due_ns"] + planned.requests["captured_ns"].fillna(0)
    return f"{number(seconds)} s here, {number(int(ends_ns.max()) / 1e9)} s in the capture"


def _kind(replayed: Any) -> str:
    if replayed.is_simulated:
        return "simulated: computed by the model, without a device"
    return f"memory {'locked' if replayed.is_memory_locked else 'not locked'}"


def _spread(values: "Spread") -> str:
    return ", ".join(f"{name} {'not estimable' if ns is None else f'{number(ns / 1e6)} ms'}" for name, ns in values)


def _results(differing: "Differing") -> str:
    return ", ".join(f"{count} {kind}" for kind, count in differing if count) or "all as captured"
