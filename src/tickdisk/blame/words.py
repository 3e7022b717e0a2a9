"""Puts blame into sentences for the operator of a server."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from tickdisk.blame.attribute import CAUSES, SLOW, Blame
from tickdisk.blame.check import check_injections
from tickdisk.blame.links import JOURNAL
from tickdisk.blame.shares import overlapping
from tickdisk.blame.threads import threads
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import interval, percent
from tickdisk.foundation.storing import BUFFERED
from tickdisk.foundation.waiting import TickCause, TimeKind

CAUSE_WORDS = {cause.value: cause.words for cause in TickCause}
_DOES = {"read": "read", "fault": "read", "mmap": "read", "write": "wrote", "sync": "synced", "truncate": "truncated"}
_IS_DOING = {TimeKind.RUNNING: "was computing", TimeKind.RUN_QUEUE: "waited for a core", TimeKind.UNKNOWN: "was not captured"}
_DATA_WORDS = {"terrain": "terrain", "player": "player data", "npc": "NPCs"}
_DOMINANT_SHARE = 0.8
"""If the longest of several waits has at least this share of their time, the sentence mentions only the longest."""
_WORTH_SAYING = 0.2
"""If a part of a tick other than its cause has more than this share of the gap, the sentence also mentions it."""
_MOST_LISTED = 4
"""Greatest number of threads, or of parts of the late time, that the screen lists."""


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.0f} ms" if ns >= 10e6 else f"{ns / 1e6:,.1f} ms"  # noqa: PLR2004 - two digits are enough


def explain(blame: Blame, tick: int) -> str:
    """Returns a sentence, without a full stop, about the time of one tick: its cause and, for storage, the file and the disk."""
    row = blame.ticks.set_index("tick").loc[tick].to_dict()
    took = f"tick {tick} took {_ms(row['gap_ns'])}" if blame.evidence.ticks is not None else f"second {tick}"
    parts = {
        TickCause.STORAGE: row["storage_ns"],
        TickCause.LOCK: row["lock_ns"] - row["lock_storage_ns"],
        TickCause.PAUSE: row["pause_ns"],
        TickCause.CPU: row["running_ns"],
        TickCause.RUN_QUEUE: row["run_queue_ns"],
    }
    match row["cause"]:
        case TickCause.STORAGE:
            main = _storage(blame, tick, int(row["storage_ns"]))
        case TickCause.LOCK:
            main = _lock(blame, tick)
        case TickCause.PAUSE:
            main = f"{_ms(row['pause_ns'])} of it in pauses of the runtime ({_pauses(blame, row)})"
        case TickCause.CPU | TickCause.RUN_QUEUE as cause:
            main = f"{_ms(parts[cause])} of it {CAUSE_WORDS[cause]}"
        case TickCause.SLEEP | "":
            main = f"{_ms(row['sleep_ns'])} of it asleep"
        case unknown:
            raise TickdiskError(f"tick {tick} has the unknown cause {unknown}; take one of {', '.join(CAUSES)}")
    more = [
        f"{CAUSE_WORDS[name]} {_ms(ns)}"
        for name, ns in parts.items()
        if name != row["cause"] and ns > _WORTH_SAYING * row["gap_ns"]
    ]
    return "; ".join([f"{took}, {main}", *more])


def _storage(blame: Blame, tick: int, storage_ns: int) -> str:
    links = blame.links[blame.links["tick"] == tick]
    io = links[links["kind"] == TimeKind.IO]
    group = io.groupby(["depth", "thread_name", "op", "call", "file", "storing"], sort=False)["ns"]
    most = io[group.transform("sum") == group.sum().max()]
    longest, total_ns = most.loc[most["ns"].idxmax()], int(most["ns"].sum())
    file = f"{_file(longest)}{_reason(longest)}"
    waits = f"{_ms(total_ns)} of it "
    if longest["depth"] == 0:
        waits += f"in {longest['call'] or 'I/O'} of {file}"
    else:
        held = _holders(blame.links, longest)
        waits += f"waiting for a lock held by {held} while it {_DOES.get(longest['op'], 'waited for I/O on')} {file}"
    disk = "" if pd.isna(longest["device_ns"]) else f"the disk took {_ms(longest['device_ns'])}"
    if longest["device_op"] == "flush" or longest["device_file"] == JOURNAL:
        disk += f" for a {longest['device_op']}" + (f" of the file system's {JOURNAL}" if longest["device_file"] else "")
    at = "" if pd.isna(longest["offset"]) else f" at {longest['offset']:,}"
    if longest["ns"] >= _DOMINANT_SHARE * total_ns:
        waits += at + (f" ({disk})" if disk else "")
    else:
        waits += f" ({len(most)} waits, the longest{at} {_ms(longest['ns'])}{', ' + disk if disk else ''})"
    return waits + (f", storage {_ms(storage_ns)} in all" if total_ns < _DOMINANT_SHARE * storage_ns else "")


def explain_wait(action: Any) -> str:
    """Returns words for the longest wait for storage within a row of `blame_actions`, or an empty text if there was none."""
    if not action["wait_ns"]:
        return ""
    at = "" if pd.isna(action["offset"]) else f" at {action['offset']:,}"
    disk = "" if pd.isna(action["device_ns"]) else f"; the disk took {_ms(action['device_ns'])} for a {action['device_op']}"
    call = f"{action['call'] or 'I/O'} of {_file(action)}{_reason(action)}"
    return f"{_ms(action['wait_ns'])} of {action['thread_name']} in {call}{at}{disk}"


def _file(asked: Any) -> str:
    """Returns the name of the requested file, with its type of data if that is known."""
    name = Path(asked["file"]).name or "a file that was not captured"
    data = _DATA_WORDS.get(asked["data"])
    return f"{data} in {name}" if data else name


def _reason(asked: Any) -> str:
    """Returns why a read or a write waits for the device where others do not, in words that follow the name of its file."""
    words = asked["storing"].split("|") if isinstance(asked["storing"], str) and asked["storing"] else [BUFFERED]
    if words == [BUFFERED]:
        return ""
    of_file, of_call = ([word for word in words if word.startswith(kind)] for kind in ("O_", "RWF_"))
    opened = f"the file is opened with {' and '.join(of_file)}" if of_file else ""
    called = f"the call has {' and '.join(of_call)}" if of_call else ""
    return f" (the {asked['op']} waits for the device because {' and '.join(filter(None, (opened, called)))})"


def _holders(links: pd.DataFrame, link: Any) -> str:
    """Returns words for the holders of locks, from the one that the tick waited for to the one of the link."""
    names = [str(link["thread_name"])]
    while (holder := cast("Any", links.loc[link["parent"]]))["depth"] > 0:
        link = holder
        names.insert(0, str(link["thread_name"]))
    return ", itself waiting for one held by ".join(names)


def _lock(blame: Blame, tick: int) -> str:
    links = blame.links[(blame.links["tick"] == tick) & blame.links["kind"].isin(tuple(_IS_DOING)) & (blame.links["depth"] > 0)]
    group = links.groupby(["thread_name", "kind"])["ns"].sum()
    (name, kind), total_ns = group.index[int(group.to_numpy().argmax())], group.max()
    return f"{_ms(total_ns)} of it waiting for a lock held by {name or 'an unknown thread'}, which {_IS_DOING[kind]}"


def _pauses(blame: Blame, tick: Any) -> str:
    """Returns the names of the pauses that a tick met, the longest first."""
    pauses = cast("pd.DataFrame", blame.evidence.pauses)
    met = pauses[(pauses["begin_ns"] < tick["start_ns"] + tick["gap_ns"]) & (pauses["end_ns"] > tick["start_ns"])]
    longest = met.assign(ns=met["end_ns"] - met["begin_ns"]).groupby("name")["ns"].sum().nlargest(_MOST_LISTED)
    return ", ".join(map(str, longest.index))


def screen(
    blames: Sequence[Blame],
    table: pd.DataFrame,
    actions: Sequence[pd.DataFrame],
    *,
    alpha: float,
    top: int,
    reasons: Sequence[str],
) -> Iterator[str]:
    """Yields the lines of the screen of `tickdisk blame`: shares, the `top` worst ticks, slow actions and injected stalls.

    `table` is what `shares` returns for `blames` and `alpha`, and `actions` has what `blame_actions` returns for each server life
    that has actions. `reasons` say why server lives are not valid, and each gets a line at the top.
    """
    yield verdict(blames)
    for reason in reasons:
        yield f"NOT VALID: {reason}"
    for blame in blames:
        yield from (f"not in the capture {blame.evidence.name}: {count:,} {kind}" for kind, count in blame.evidence.lacks.items())
    first = blames[0]
    ticked = first.evidence.ticks is not None
    late = "late" if first.budget_ns is not None else "busy"
    spans = sum(int(blame.ticks["gap_ns"].sum()) for blame in blames) / 1e9
    lost = sum(blame.evidence.lost_events for blame in blames)
    counted = f"{table['ticks'].iloc[0]:,} {'ticks' if ticked else 'seconds'}"
    lives = f"{len(blames)} {'life' if len(blames) == 1 else 'lives'}"
    yield f"{first.thread_name}: {counted}, {spans:,.0f} s captured in {lives}; {lost} events lost"
    if ticked and not first.evidence.tells_ticks:
        period = _ms(first.budget_ns or 0)
        yield f"the program tells no ticks: these are the turns of the thread's loop, which it begins every {period}"
    yield from _of_threads(first)
    share = table.set_index(["of", "by", "name"])
    for of, words in (("late", "late time"), ("busy", "time in which it was not asleep")):
        if of == "busy" or late == "late":
            row = cast("Any", share).loc[of, "all", "storage"]
            share_words = f"{percent(row['share'])} {interval(100 * row['low'], 100 * row['high'])}"
            yield f"storage explains {share_words} of the {words}" if row["share"] >= 0 else f"there was no {words}"
    if table["note"].iloc[0]:
        yield f"  ({percent(1 - alpha)} interval over {'ticks' if ticked else 'seconds'}, {table['note'].iloc[0]})"
    for by, words in (("cause", "all causes"), ("routine", "routines"), ("data", "data"), ("file", "files")):
        part = table[(table["of"] == late) & (table["by"] == by) & (table["share"] > 0)]
        part = _by_folder(part) if by == "file" and len(part) > _MOST_LISTED else part
        ordered = part.sort_values("share", ascending=False).head(_MOST_LISTED if by != "cause" else len(CAUSES))
        named = [
            (CAUSE_WORDS.get(name, Path(name).name if by == "file" else name), value)
            for name, value in zip(ordered["name"], ordered["share"], strict=True)
        ]
        if named:
            yield f"  {words}: {', '.join(f'{name} {percent(value)}' for name, value in named)}"
    yield f"the worst {'ticks' if ticked else 'seconds'}:"
    worst = pd.concat([blame.ticks.assign(life=number) for number, blame in enumerate(blames)]).nlargest(top, "late_ns")
    for number, tick in worst[["life", "tick"]].itertuples(index=False):
        yield f"  {_clock(blames[number], tick)}{explain(blames[number], tick)}"
    yield from _of_actions(actions)
    yield from _of_injections(blames)


def _clock(blame: Blame, tick: int) -> str:
    """Returns the time of the clock at which a tick began, with two blanks, or nothing if the evidence does not know it."""
    offset_ns = blame.evidence.realtime_offset_ns
    if offset_ns is None:
        return ""
    start_ns = int(blame.ticks.loc[blame.ticks["tick"] == tick, "start_ns"].iloc[0])
    return f"{time.strftime('%H:%M:%S', time.localtime((start_ns + offset_ns) / 1e9))}  "


def _by_folder(files: pd.DataFrame) -> pd.DataFrame:
    """Returns the shares of folders. A folder is named with the number of its files, unless it has one."""
    folders = files.assign(folder=files["name"].map(lambda name: str(Path(name).parent)))
    rows = [
        (own["name"].iloc[0] if len(own) == 1 else f"{len(own)} files in {Path(str(folder)).name}", own["share"].sum())
        for folder, own in folders.groupby("folder")
    ]
    return pd.DataFrame(rows, columns=["name", "share"])


def verdict(blames: Sequence[Blame]) -> str:
    """Returns one line: whether ticks were late, how many and by how much, and the biggest cause."""
    thread = blames[0].thread_name
    parts = [(blame.ticks, blame.evidence.injections) for blame in blames]
    ticks = pd.concat([own if made is None else own[~overlapping(own, made)] for own, made in parts])
    if blames[0].budget_ns is None:
        return f"NO TICKS FOUND: the thread {thread} runs no loop, so seconds are explained"
    slow = ticks[ticks["slow"]]
    if slow.empty:
        return f"NO LAG: none of {len(ticks):,} ticks of {thread} took over {SLOW} times its budget"
    lost_ns = slow.groupby("cause")["late_ns"].sum()
    cause, storage_ns = CAUSE_WORDS[str(lost_ns.idxmax())], int(slow["late_storage_ns"].sum())
    lost = f"LAG: {len(slow):,} of {len(ticks):,} ticks of {thread} were late and lost {_ms(lost_ns.sum())}"
    named = f"the biggest cause is {cause} ({_ms(lost_ns.max())})"
    left = sum(len(own) for own, _ in parts) - len(ticks)
    named += f" ({left:,} ticks with injected stalls do not count)" if left else ""
    return f"{lost}; {named}, and without any wait for storage {_ms(storage_ns)} would be gone"


def _of_threads(blame: Blame) -> Iterator[str]:
    """Yields lines about the threads, with the explained one first, so that the reader sees the others that can be explained."""
    known = threads(blame.evidence)
    ordered = pd.concat([known[known["name"] == blame.thread_name], known[known["name"] != blame.thread_name]]).head(_MOST_LISTED)
    some = "1 thread:" if len(known) == 1 else f"{len(known)} threads, the explained one first; --thread NAME explains another:"
    yield some
    for row in ordered.to_dict("records"):
        seen_ns = max(1, int(row["seen_ns"]))
        loop = "" if pd.isna(row["period_ns"]) else f"loops every {row['period_ns'] / 1e6:,.0f} ms, "
        kinds = (TimeKind.RUNNING, TimeKind.IO, TimeKind.LOCK, TimeKind.RUN_QUEUE)
        spent = ", ".join(f"{kind.words} {percent(row[f'{kind}_ns'] / seen_ns)}" for kind in kinds)
        yield f"  {row['name']}: {loop}{spent}"


def _of_actions(actions: Sequence[pd.DataFrame]) -> Iterator[str]:
    table = pd.concat(actions) if actions else pd.DataFrame(columns=["slow"])
    slow = table[table["slow"].astype(bool)]
    if slow.empty:
        return
    yield f"slow actions (over twice the median of their kind, and over the budget of a tick): {len(slow)} of {len(table)}"
    for action, of_kind in slow.groupby("action"):
        worst = of_kind.iloc[int(of_kind["latency_ns"].to_numpy().argmax())]
        share = of_kind["storage_ns"].sum() / of_kind["latency_ns"].sum()
        yield (
            f"  {action}: {len(of_kind)}, during {percent(share)} of their time the server waited for storage; the slowest took "
            f"{_ms(worst['latency_ns'])}, {_ms(worst['storage_ns'])} of it with storage, in tick {worst['tick']}"
        )
        if kept := explain_wait(worst):
            yield f"    the longest wait in it: {kept}"


def _of_injections(blames: Sequence[Blame]) -> Iterator[str]:
    checked = [check_injections(blame) for blame in blames if blame.evidence.injections is not None]
    if not checked:
        return
    table = pd.concat(checked)
    device, cpu = (table[table["kind"] == kind] for kind in ("device_stall", "cpu_stall"))
    named, blamed = int(device["named"].sum()), int(cpu["blamed"].sum())
    device_words = f"of {len(device)} injected device stalls, {named} are named with request and file"
    yield f"{device_words}; of {len(cpu)} injected stalls of the processor, {blamed} are blamed on storage"
