"""The command `tickdisk replay`, which makes captured requests again on another device."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tickdisk.cli.places import DEVICES, check_new_folder, in_project
from tickdisk.errors import TickdiskError
from tickdisk.numbers import number


def replay(
    capture: Annotated[
        Path,
        typer.Argument(
            help="requests.parquet, the folder of a capture or of a server life, or a trace in a format that `convert` reads."
        ),
    ],
    target: Annotated[Path | None, typer.Argument(help="New or empty folder on the device under test.")] = None,
    *,
    simulate: Annotated[
        str | None,
        typer.Option(
            help="Device on which the replay is computed instead of made on a target: a name in --devices, e.g. hdd, or a file "
            "with one device, e.g. ./mydisk.yaml."
        ),
    ] = None,
    devices: Annotated[Path, typer.Option(help="File that describes the devices.")] = DEVICES,
    files: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the files as they were when the capture began. By default, files with made-up content are used."
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(help="Folder of the captured program that TARGET stands for. By default, the one that belongs to FILES."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Length of the part to replay, in seconds from the first request on.", min=0.001)
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Parquet file for the times of every request.")] = None,
    for_fio: Annotated[
        Path | None,
        typer.Option(help="New folder for fio's trace and job file. The files are made in TARGET, and nothing is replayed."),
    ] = None,
) -> None:
    """Makes captured requests again at their times, and says how late they were issued and how long the device took.

    It needs a capture and a folder on the device under test, or --simulate with a device for which a model computes the times. A
    summary is printed, and the times of all requests are written with --output.
    """
    from tickdisk import device
    from tickdisk import replay as room

    if target is not None:
        check_new_folder(target)
    planned = room.plan(room.load_capture(capture), root=root, files=files, seconds=seconds)
    if for_fio is not None:
        if target is None or simulate is not None or output is not None:
            raise TickdiskError(
                "--for-fio writes what fio replays; give the TARGET folder of its files, no --simulate, no --output"
            )
        if for_fio.exists() and any(for_fio.iterdir()):
            raise TickdiskError(f"{for_fio} is not empty; give a new folder for fio's files")
        check_new_folder(for_fio)
        planned, renamed = room.rename_blanks(planned)
        streams, left_out = room.write_for_fio(planned, target.resolve(), for_fio.resolve())
        room.prepare(planned, target, files=files, sizes=room.files_for_fio(planned))
        given = sum(map(len, streams.values()))
        job = shlex.quote(str(for_fio / "replay.fio"))
        print(f"{given} requests of {len(streams)} streams in {for_fio}, files in {target}; run fio {job}")
        for name, fresh in list(renamed.items())[-1:]:
            print(f"  renamed   {len(renamed)} files and folders, as fio's format has no blanks in names: {name} is {fresh}")
        for reason, count in {**planned.refused, **left_out}.items():
            print(f"  left out  {count} {reason}")
        return
    if simulate is not None and target is None:
        replayed = room.issue_simulated(planned, device.named(simulate, in_project(devices)))
    elif target is not None and simulate is None:
        room.prepare(planned, target, files=files)
        least_s = planned.requests["due_ns"].max() / 1e9
        print(f"{len(planned.requests)} requests take at least {number(least_s)} s; --seconds replays a part", file=sys.stderr)
        replayed = room.issue(planned, target)
    else:
        raise TickdiskError(
            "a replay runs either on a target folder or on a simulated device; give TARGET or --simulate, and not both"
        )
    if output is not None:
        room.write_timings(output, replayed.timings)
    print(_screen(planned, replayed, room.summarise(replayed.timings)))


def _screen(planned: Any, replayed: Any, summary: Mapping[str, Any]) -> str:
    """Returns one screen of text: the requests that were replayed or refused, their cost here and in the capture, and the lag."""
    from tickdisk import replay as room

    streams = ", ".join(f"{row.thread_name} {row.requests}" for row in planned.streams.itertuples())
    lost, behind_s = summary["lost_ns"], summary["behind_ns"] / 1e9
    lines = [
        f"streams     {summary['streams']}: {streams}",
        f"requests    {planned.captured} captured = {summary['requests']} replayed + {sum(planned.refused.values())} refused",
        *(f"  refused   {count} {reason}" for reason, count in planned.refused.items()),
        *room.cost_screen(room.costs(replayed.timings)),
        f"lag         of the replay itself: {_spread(summary['lag_ns'])}",
        f"  first tenth {_spread(summary['lag_first_tenth_ns'])}",
        f"  last tenth  {_spread(summary['lag_last_tenth_ns'])}",
        f"delay       behind earlier requests of the same thread: {_spread(lost)}",
        f"  waited    {summary['delayed']} requests; threads were behind {behind_s:.3f} s",
        f"results     {_results(summary['differing'])}",
        f"took        {summary['seconds']:.1f} s, {_kind(replayed)}",
    ]
    return "\n".join(lines)


def _kind(replayed: Any) -> str:
    if replayed.is_simulated:
        return "simulated: computed by the model, without a device"
    return f"memory {'locked' if replayed.is_memory_locked else 'not locked'}"


def _spread(values: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {'not estimable' if ns is None else f'{number(ns / 1e6)} ms'}" for name, ns in values.items())


def _results(differing: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in differing.items() if count) or "all as captured"
