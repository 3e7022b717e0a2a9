"""Judges what a check has seen: whether ticks were late, why, behind which files, and what would help."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from tickdisk import blame as blames_room
from tickdisk import device
from tickdisk.blame import READS, SAVES, SLOW, Blame
from tickdisk.check.explain import explained_of
from tickdisk.check.find import FoundServer
from tickdisk.check.forecast import forecasts
from tickdisk.check.held import Held
from tickdisk.check.look import Look
from tickdisk.check.others import others_of
from tickdisk.check.price import Phase, price_of
from tickdisk.check.record import (
    Advice,
    CheckedTicks,
    CheckedWait,
    ForecastError,
    HeldFile,
    Instrument,
    LateTime,
    Moment,
    Needed,
    OtherProgram,
    Verdict,
)
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TickCause, TimeKind

_MOST_WAITS, _MOST_MOMENTS, _MOST_FILES = 4, 3, 100
_FEWEST_TICKS = 100
_IN_TIME = 0.99
"""Share of the ticks that storage made late and that are in time on a disk as fast as the needed one."""
_CAUSES = {cause.value: cause for cause in TickCause}
_SYNC = "sync"
_LEAST_CORES = 0.2
"""Processor time of the other threads of a server, in cores, from which they can be in the way."""
_MUCH = 0.2
"""Part of the late time from which a cause is worth a piece of advice."""


def judge(
    found: FoundServer,
    seen: Look,
    rng: np.random.Generator,
    thread: str | None = None,
    classes: Mapping[str, device.DeviceModel] | None = None,
    error: ForecastError | None = None,
) -> Verdict:
    """Makes the verdict on a server from its captures.

    `classes` are the classes of disks for which ticks are forecast, and `error` is the one that forecasts are known to have.

    The explained thread is `thread`, or the one that ticks in a server of its kind, or the busiest one with a loop. Raises
    TickdiskError if no wait of the process was captured, or of the thread that was named.
    """
    blames, left_out = explained_of(seen.captures, found, thread)
    if not blames:
        reasons = "; ".join(seen.cut) or "check it again while players are on it"
        raise TickdiskError(f"{found.title} did nothing while it was captured; {reasons}")
    ticks = pd.concat([each.ticks.assign(window=number) for number, each in enumerate(blames)], ignore_index=True)
    told = [each.evidence.ticks is not None for each in blames]
    checked = _ticks(ticks, blames, are_told=all(told))
    causes = _causes(ticks) if checked.are_told else ()
    waits = _waits(blames)
    needed = _needed(ticks, blames) if causes else None
    held = _held(seen.held, ticks) if causes else ()
    blocks = [requests for disk, requests in seen.blocks if disk == seen.disk]
    traced = pd.concat([each.requests for each in blocks]) if blocks else None
    captured_s = sum(capture.captured_ns[1] - capture.captured_ns[0] for capture in seen.captures) / 1e9
    others, server_cores = others_of(seen.others, captured_s), _server_cores(seen)
    lacks = Counter[str]()
    for capture in seen.captures:
        lacks.update(capture.lacks)
    if lost := sum(each.lost for each in blocks):
        lacks[f"beginnings and ends of requests of {seen.disk}, from which classes of disks are forecast"] = lost
    rows = forecasts(ticks, blames, traced, classes or {}) if checked.are_told else ()
    return Verdict(
        server=found.title,
        kind="" if found.kind is None else found.kind.name,
        pid=found.pid,
        instrument=Instrument.CAPTURE,
        lacks=(*seen.cut, *left_out, *(f"{count:,} {kind}" for kind, count in sorted(lacks.items()))),
        seconds=captured_s,
        thread=blames[0].thread_name,
        ticks=checked,
        late_ms=sum(late.late_ms for late in causes),
        storage_late_ms=float(ticks.loc[ticks["slow"], "late_storage_ns"].sum()) / 1e6 if causes else 0.0,
        causes=causes,
        waits=waits,
        moments=_moments(ticks, blames, seen.realtime_offset_ns) if checked.are_told else (),
        needed=needed,
        disk=None if traced is None else str(seen.disk),
        forecasts=rows,
        forecast_error=error if rows else None,
        held=held,
        server_cores=server_cores,
        others=others,
        price=price_of(seen.intervals, rng),
        advice=_advice(checked, causes, waits, needed, held, is_own=_is_own(ticks, server_cores, others)),
    )


def explained(found: FoundServer, seen: Look, thread: str | None = None) -> list[Blame]:
    """Returns the captures on which `judge` bases its verdict, explained."""
    return explained_of(seen.captures, found, thread)[0]


def _ticks(ticks: pd.DataFrame, explained: Sequence[Blame], *, are_told: bool) -> CheckedTicks:
    gap_ms, busy_ms = ticks["gap_ns"] / 1e6, (ticks["gap_ns"] - ticks["sleep_ns"]) / 1e6
    budget_ns = explained[0].budget_ns if are_told else None
    return CheckedTicks(
        are_told=are_told,
        count=len(ticks),
        budget_ms=None if budget_ns is None else budget_ns / 1e6,
        late=int(ticks["slow"].sum()) if are_told else 0,
        per_s=1000 / float(gap_ms.mean()) if are_told else None,
        busy_ms=float(busy_ms.mean()),
        busy_share=float(busy_ms.sum() / gap_ms.sum()),
        longest_ms=float(gap_ms.max()),
    )


def _causes(ticks: pd.DataFrame) -> tuple[LateTime, ...]:
    """Returns the causes of the time by which ticks were too late, the biggest first. Ticks that only varied do not count."""
    slow = ticks[ticks["slow"]]
    total_ns = int(slow["late_ns"].sum())
    found = [
        LateTime(
            cause=_CAUSES[str(name)],
            ticks=len(own),
            late_ms=float(own["late_ns"].sum()) / 1e6,
            share=own["late_ns"].sum() / total_ns,
        )
        for name, own in slow.groupby("cause")
    ]
    return tuple(sorted(found, key=lambda late: -late.late_ms))


def _waits(explained: Sequence[Blame]) -> tuple[CheckedWait, ...]:
    """Returns the waits for storage in slow ticks, or in all windows if there are no ticks, by folder, call and thread."""
    parts = []
    for at, each in enumerate(explained):
        io = each.links[each.links["kind"] == TimeKind.IO]
        if each.evidence.ticks is not None:
            io = io[io["tick"].isin(each.ticks.loc[each.ticks["slow"], "tick"])]
        parts.append(io.assign(window=at))
    io = pd.concat(parts)
    rows: list[CheckedWait] = []
    folders = io["file"].map(lambda file: str(Path(file).parent) if file else "")
    for names, own in io.assign(folder=folders).groupby(["folder", "call", "op", "thread_name"]):
        folder, call, op, thread = map(str, cast("tuple[str, str, str, str]", names))
        ms = own["ns"] / 1e6
        rows.append(
            CheckedWait(
                folder=folder,
                files=tuple(sorted({Path(file).name for file in own["file"] if file}))[:_MOST_FILES],
                call=call,
                op=op,
                thread=thread,
                holds_lock=bool((own["depth"] > 0).any()),
                count=_requests(own),
                total_ms=float(ms.sum()),
                longest_ms=float(ms.max()),
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.total_ms)[:_MOST_WAITS])


def _moments(ticks: pd.DataFrame, explained: Sequence[Blame], offset_ns: int) -> tuple[Moment, ...]:
    worst = ticks[ticks["slow"]].nlargest(_MOST_MOMENTS, "late_ns")
    return tuple(
        Moment(
            unix_s=(int(row["start_ns"]) + offset_ns) / 1e9,
            gap_ms=row["gap_ns"] / 1e6,
            cause=_CAUSES[row["cause"]],
            sentence=blames_room.explain(explained[int(row["window"])], int(row["tick"])),
        )
        for row in worst.to_dict("records")
    )


def _held(held: Sequence[Held], ticks: pd.DataFrame) -> tuple[HeldFile, ...]:
    """Returns the files whose locks others held during late ticks whose cause is not storage, the most late time first."""
    slow = ticks[ticks["slow"] & (ticks["cause"].isin([TickCause.SLEEP, TickCause.LOCK]))]
    rows: list[HeldFile] = []
    for file, pid, program in dict.fromkeys((each.file, each.pid, each.program) for each in held):
        times = pd.DataFrame(
            [(each.begin_ns, each.end_ns + 1) for each in held if (each.file, each.pid) == (file, pid)],
            columns=["start_ns", "end_ns"],
        )
        met = slow[blames_room.overlapping(slow, times)]
        if len(met):
            late_ms = float(met["late_ns"].sum()) / 1e6
            rows.append(HeldFile(file=file, pid=pid, program=program, ticks=len(met), late_ms=late_ms))
    return tuple(sorted(rows, key=lambda row: -row.late_ms))


def _needed(ticks: pd.DataFrame, explained: Sequence[Blame]) -> Needed | None:
    """Returns how much of today's waiting for storage a disk could leave, so that storage makes no tick late any more.

    It is None if storage made no tick late. Ticks that would be late without any wait for storage do not count.
    """
    slow: Any = ticks[ticks["slow"] & (ticks["cause"] == TickCause.STORAGE)]
    if slow.empty:
        return None
    left_ns = SLOW * float(explained[0].budget_ns or 0) - (slow["gap_ns"] - slow["sleep_ns"] - slow["storage_ns"])
    share = (left_ns / slow["storage_ns"])[left_ns > 0]
    io = pd.concat([each.links[each.links["kind"] == TimeKind.IO].assign(window=at) for at, each in enumerate(explained)])
    return Needed(
        factor=float(share.quantile(1 - _IN_TIME, interpolation="lower")) if len(share) else 0.0,
        sync_ms=_mean_ms(io[io["op"] == _SYNC]),
        read_ms=_mean_ms(io[io["op"].isin(READS)]),
    )


def _server_cores(seen: Look) -> float | None:
    captured = [each for each in seen.intervals if each.phase is Phase.CAPTURED]
    return sum(each.server_s for each in captured) / sum(each.seconds for each in captured) if captured else None


def _is_own(ticks: pd.DataFrame, server_cores: float | None, others: Sequence[OtherProgram]) -> bool:
    """Returns whether the threads of the server that do not tick computed more than all other programs that are listed."""
    ticking_cores = float(ticks["running_ns"].sum() / ticks["gap_ns"].sum())
    return server_cores is not None and server_cores - ticking_cores > max(_LEAST_CORES, sum(other.cores for other in others))


def _requests(io: pd.DataFrame) -> int:
    """Returns how many requests some waits belong to. A request can wait several times, and a wait may have no request."""
    known = io[io["request"].notna()]
    return len(known.groupby(["window", "request"])) + int(io["request"].isna().sum())


def _mean_ms(io: pd.DataFrame) -> float | None:
    return float(io["ns"].sum()) / 1e6 / _requests(io) if len(io) else None


def _advice(
    ticks: CheckedTicks,
    causes: Sequence[LateTime],
    waits: Sequence[CheckedWait],
    needed: Needed | None,
    held: Sequence[HeldFile],
    *,
    is_own: bool,
) -> tuple[Advice, ...]:
    """Returns the one or two things to try first. `is_own` says that the server's own threads took the cores that it needed."""
    if ticks.are_told and not causes:
        return (Advice.NOTHING,) if ticks.count >= _FEWEST_TICKS else (Advice.LONGER,)
    advice: list[Advice] = []
    for late in causes:
        if late.share < _MUCH:
            continue
        match late.cause:
            case TickCause.STORAGE:
                read_ms = sum(wait.total_ms for wait in waits if wait.op in READS)
                saved_ms = sum(wait.total_ms for wait in waits if wait.op in SAVES)
                if saved_ms >= read_ms:
                    advice += [Advice.FASTER_FLUSHES] if needed is not None and needed.factor > 0 else []
                    advice.append(Advice.SAVE_APART)
                else:
                    advice += [Advice.MORE_MEMORY, Advice.FASTER_READS]
            case TickCause.CPU:
                advice.append(Advice.COMPUTING)
            case TickCause.RUN_QUEUE:
                advice.append(Advice.OWN_THREADS if is_own else Advice.CORES)
            case TickCause.PAUSE:
                advice.append(Advice.GARBAGE)
            case TickCause.LOCK | TickCause.SLEEP as cause:
                is_held = bool(held) and held[0].late_ms >= _MUCH * late.late_ms
                advice.append(Advice.HELD_FILE if is_held else Advice.LOCKS if cause is TickCause.LOCK else Advice.OTHERS)
    return tuple(dict.fromkeys(advice))[:2]
