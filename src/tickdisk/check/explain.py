"""Explains the ticks of the captures of a check, with those that a capture saw only in part."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tickdisk import blame as blames_room
from tickdisk.blame import SLOW, Blame, CaptureEvidence
from tickdisk.check.find import FoundServer
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TimeKind


def explained_of(captures: Sequence[CaptureEvidence], found: FoundServer, thread: str | None) -> tuple[list[Blame], list[str]]:
    """Returns the captures with the same thread explained, and words for those that are left out.

    If some captures have ticks, the others are left out. The budget of a tick is that of the server's kind, or a shorter one.
    """
    whole = [capture for capture in captures if len(capture.waits)]
    kind = found.kind
    if thread is None and kind is not None:
        names = sorted({name for capture in whole for name in capture.waits["thread_name"].unique()})
        thread = next((name for own in kind.tick_threads for name in names if name.startswith(own)), None)
    known_ns = None if kind is None else round(kind.tick_ms * 1e6)
    finds_loop = found.has_tick_thread or thread is not None
    explained: list[Blame] = []
    for capture in whole:
        pacer = None if kind is None else kind.pacer(found.pid, _busiest_first(capture.waits))
        try:
            own = blames_room.attribute(
                capture,
                thread=thread if capture.ticks is None else None,
                period_ns=known_ns,
                pacer=pacer,
                finds_loop=finds_loop,
            )
        except TickdiskError:
            if len(whole) == 1:
                raise
            continue
        if capture.ticks is None:
            thread = own.thread_name
        explained.append(own)
    if any(own.evidence.ticks is not None for own in explained):
        explained = [own for own in explained if own.evidence.ticks is not None]
        if known_ns is not None:
            explained = [
                blames_room.attribute(own.evidence, budget_ns=min(known_ns, own.budget_ns or known_ns), thread=own.thread_name)
                for own in explained
            ]
        explained = [_with_cut_ticks(own) for own in explained]
    used = {own.evidence.name for own in explained}
    return explained, [f"{each.name}, which shows too little of the thread" for each in captures if each.name not in used]


def _with_cut_ticks(own: Blame) -> Blame:
    """Adds the tick that was under way when the capture began, and the one when it ended, if it was late by then already.

    Such a tick took longer than it seems. It does not count if the thread slept for so long that it may have had nothing to do.
    """
    evidence, ticks, budget_ns = own.evidence, own.evidence.ticks, own.budget_ns
    if ticks is None or budget_ns is None:
        return own
    waits = evidence.waits
    seen_ns = waits.loc[(waits["thread"] == own.thread) & (waits["kind"] != TimeKind.ABSENT), "start_ns"]
    first_ns, last_ns = int(ticks["start_ns"].min()), int(ticks["start_ns"].max())
    edges = [
        edge_ns
        for edge_ns, length_ns in (
            (int(seen_ns.min()), first_ns - int(seen_ns.min())),
            (evidence.captured_ns[1], evidence.captured_ns[1] - last_ns),
        )
        if length_ns > SLOW * budget_ns
    ]
    if not edges:
        return own
    whole = _with_starts(own, edges)
    cut = whole.ticks[whole.ticks["start_ns"].isin([last_ns, *edges]) & (whole.ticks["gap_ns"] > SLOW * budget_ns)]
    awake = cut[cut["gap_ns"] - cut["sleep_ns"] > SLOW * budget_ns]
    kept = [
        edge_ns
        for edge_ns in edges
        if edge_ns in awake["start_ns"].tolist() or (edge_ns > last_ns and last_ns in awake["start_ns"].tolist())
    ]
    return whole if len(kept) == len(edges) else _with_starts(own, kept) if kept else own


def _with_starts(own: Blame, starts_ns: Sequence[int]) -> Blame:
    """Explains a capture again with further starts of ticks."""
    ticks = own.evidence.ticks
    assert ticks is not None
    all_ns = np.sort(np.append(ticks["start_ns"].to_numpy(np.int64), np.array(starts_ns, np.int64)))
    more = pd.DataFrame({"tick": np.arange(1, all_ns.size + 1), "start_ns": all_ns})
    more["end_ns"] = pd.array([pd.NA] * len(more), dtype="Int64")
    evidence = replace(own.evidence, ticks=more)
    return blames_room.attribute(evidence, budget_ns=own.budget_ns, thread=own.thread_name)


def _busiest_first(waits: pd.DataFrame) -> dict[int, str]:
    """Returns the names of threads by their numbers, those with most waits first, each with its most used name."""
    counted = waits.groupby(["thread", "thread_name"]).size().sort_values()
    names = {int(thread): str(name) for thread, name in counted.index.tolist()}
    return dict(reversed(names.items()))
