"""Splits the gap of every tick into computing and waiting, shares its late time out to causes, and names the main cause."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.blame.chain import follow
from tickdisk.blame.evidence import CaptureEvidence
from tickdisk.blame.lanes import KINDS, Integers, Intervals, ThreadWaits
from tickdisk.blame.links import describe
from tickdisk.blame.loops import loop_of, paced_loop, scheduled_loop
from tickdisk.blame.threads import threads
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TickCause, TimeKind

SLOW = 1.5
"""A tick is slow if its gap is longer than this number of budgets."""
CAUSES = tuple(cause.value for cause in TickCause)
WINDOW_NS = 1_000_000_000
"""Length of the windows that stand for ticks in a capture of a thread without a loop."""


@dataclass(frozen=True)
class Blame:
    """The ticks of one server life, or windows of a capture, with the links that explain them. `attribute` returns it.

    A link is a time in which a thread waited or ran: the thread that ticks, or the holder of a lock that it waited for.
    """

    evidence: CaptureEvidence
    """The tables that were explained. Their ticks may be the turns of a loop, which were recognised."""
    thread_name: str
    """Name of the thread that is explained."""
    budget_ns: int | None
    """Longest gap in ns with which a tick is still in time. None if there are no ticks and the caller gave no budget."""
    ticks: pd.DataFrame
    """One row per tick: tick, start_ns, gap_ns, late_ns, slow, running_ns, io_ns, lock_ns, run_queue_ns, sleep_ns, pause_ns,
    lock_storage_ns, storage_ns, late_CAUSE_ns for each of CAUSES, and cause.

    late_ns is max(0, gap - budget), or gap - sleep without a budget. running_ns to pause_ns split the gap. sleep_ns includes the
    sleep of a thread that was waited for as if it held a lock. lock_storage_ns is the part of lock_ns in which the holder waited
    for storage, and storage_ns is io_ns + lock_storage_ns. The times late_CAUSE_ns add up to late_ns. cause is the cause without
    which most of the late time would be gone, and empty for a tick that was in time."""
    links: pd.DataFrame
    """One row per link, with the number of its tick and the columns that `links.describe` lists. `parent` is the row of this
    table with the wait for a lock that the link explains, or -1 for a link of the thread that ticks."""
    storage: Intervals
    """Times in which the thread waited for storage, itself or behind locks."""
    uncaptured: int
    """Number of ticks that are not in `ticks` because they began before the capture or ended after it."""
    thread: int
    """Number of the thread that is explained."""
    contradictions: int
    """Number of waits of any thread that overlapped its previous wait, and were cut. There are none unless events were lost."""

    def chain(self, tick: int) -> pd.DataFrame:
        """Returns the rows of `links` for one tick, the longest first. There is none if it was not captured as a whole."""
        return self.links[self.links["tick"] == tick].sort_values("ns", ascending=False, kind="stable")


def attribute(
    evidence: CaptureEvidence,
    *,
    budget_ns: int | None = None,
    thread: str | None = None,
    period_ns: int | None = None,
    pacer: int | None = None,
    finds_loop: bool = True,
) -> Blame:
    """Finds for every tick how its gap was spent, and which kind of waiting or computing made it late.

    Only ticks in the window of the evidence that were captured as a whole are explained. If the evidence has no ticks, the turns
    of the thread's loop stand for them, and windows of one second if it runs no loop.

    Parameters
    ----------
    evidence
        The tables of a captured server life, or of a capture.
    budget_ns
        Time that a tick may take, instead of that of the evidence, which is the period of a recognised loop. If there is none,
        all time in which the thread does not sleep counts as late.
    thread
        Name of the thread that ticks, instead of that of the evidence. If both are None, it is the busiest thread that
        runs a loop with a period.
    period_ns
        Period of the thread's loop, if it is known, so that a loop that is often late is recognised, too.
    pacer
        Number of the thread at whose pace the thread ticks, as Luanti's `Server` does at that of the main thread, or that wakes
        it for each tick, as Minestom's scheduler does.
    finds_loop
        Whether the turns of a loop stand for ticks that the evidence lacks. A thread of a runtime can run a loop that is none of
        the program's.

    Raises
    ------
    TickdiskError
        If no wait of the thread, or no whole tick, was captured.
    """
    thread = evidence.thread if thread is None else thread
    lanes = ThreadWaits(evidence.waits)
    lane, name = _explained_thread(lanes, evidence, thread)
    if evidence.ticks is None and finds_loop:
        evidence = _recognised(evidence, int(lanes.threads[lane]), lanes.seen_ns(lane), period_ns, pacer)
    budget_ns = evidence.budget_ns if budget_ns is None else budget_ns
    tick, start_ns, end_ns = _gaps(evidence, lanes.seen_ns(lane))
    captured = (start_ns >= evidence.captured_ns[0]) & (end_ns <= evidence.captured_ns[1])
    if not captured.any():
        raise TickdiskError(
            f"{evidence.name}: none of {start_ns.size} ticks lies within the capture of {name}; run the cell again"
        )
    tick, start_ns, end_ns = tick[captured], start_ns[captured], end_ns[captured]
    chain = follow(lanes, lane, start_ns, end_ns)
    links = describe(chain, lanes, evidence)
    links.insert(0, "tick", tick[chain["window"].to_numpy()])
    io = chain[chain["kind"] == TimeKind.IO]
    idle_ns, paused_ns = _parked(evidence, lanes, lane, tick, end_ns), _paused(evidence, lanes, lane, start_ns, end_ns)
    return Blame(
        evidence,
        name,
        budget_ns,
        _share_lateness(_split(chain, tick, start_ns, end_ns, budget_ns, idle_ns, paused_ns)),
        links,
        Intervals.of_rows(io),
        int((~captured).sum()),
        int(lanes.threads[lane]),
        lanes.contradictions,
    )


def _explained_thread(lanes: ThreadWaits, evidence: CaptureEvidence, name: str | None) -> tuple[int, str]:
    """Returns lane and name of the thread to explain. If several threads have the name, it is the first one of `threads`."""
    known = threads(evidence)
    waits = evidence.waits
    named = known if name is None else known[known["thread"].isin(waits.loc[waits["thread_name"] == name, "thread"])]
    if named.empty:
        there = ", ".join(sorted(waits["thread_name"].unique())) or "none"
        raise TickdiskError(
            f"{evidence.name}: no wait of {name or 'any thread'} was captured (threads: {there}); "
            "name another thread, or capture again"
        )
    first = named.iloc[0]
    return int(np.searchsorted(lanes.threads, int(first["thread"]))), str(first["name"] if name is None else name)


def _recognised(
    evidence: CaptureEvidence, thread: int, seen_ns: tuple[int, int], period_ns: int | None, pacer: int | None
) -> CaptureEvidence:
    """Returns the evidence with the turns of the thread's loop as ticks, and with its period as the budget, if it runs a loop."""
    own, length_ns = _waits_of(evidence, thread), seen_ns[1] - seen_ns[0]
    loop = None
    if pacer is not None:
        pacing = _waits_of(evidence, pacer)
        loop = None if period_ns is None else scheduled_loop(own, pacing, period_ns)
        if loop is None and (pace := loop_of(pacing, length_ns)) is not None:
            loop = paced_loop(own, pace)
    loop = loop or loop_of(own, length_ns, period_ns) or loop_of(own, length_ns)
    if loop is None:
        return evidence
    ticks = pd.DataFrame({"tick": np.arange(1, loop.starts_ns.size + 1), "start_ns": loop.starts_ns})
    ticks["end_ns"] = pd.array([pd.NA] * len(ticks), dtype="Int64")
    return replace(evidence, ticks=ticks, budget_ns=loop.period_ns, recognised=True)


def _waits_of(evidence: CaptureEvidence, thread: int) -> pd.DataFrame:
    """Returns the waits of a thread while it existed that the capture saw to their end, in the order of time."""
    waits = evidence.waits
    has_ended = waits["end_ns"] < evidence.captured_ns[1]
    return waits[(waits["thread"] == thread) & (waits["kind"] != TimeKind.ABSENT) & has_ended].sort_values("start_ns")


def _gaps(evidence: CaptureEvidence, seen_ns: tuple[int, int]) -> tuple[Integers, Integers, Integers]:
    """Returns tick, start and end of every gap in the window.

    If ticks are missing, one gap lasts to the next tick that was logged. A tick that was logged twice counts once.
    """
    if evidence.ticks is None:
        edges = np.append(np.arange(*seen_ns, WINDOW_NS), seen_ns[1])
        return np.arange(edges.size - 1), edges[:-1], edges[1:]
    ticks = evidence.ticks.drop_duplicates("tick").sort_values("start_ns", kind="stable")
    tick, start_ns = ticks["tick"].to_numpy(np.int64), ticks["start_ns"].to_numpy(np.int64)
    low, high = evidence.window_ns or (start_ns[0], start_ns[-1])
    inside = (start_ns[:-1] >= low) & (start_ns[:-1] < high)
    return tick[:-1][inside], start_ns[:-1][inside], start_ns[1:][inside]


def _parked(evidence: CaptureEvidence, lanes: ThreadWaits, lane: int, tick: Integers, gap_end_ns: Integers) -> Integers:
    """Returns for each gap the time that the thread waited as if for a lock between the end of its tick and the next tick.

    It is 0 for a runtime whose idle threads sleep, and where the probe does not see the end of a tick.
    """
    if not evidence.parks or evidence.ticks is None or evidence.ticks["end_ns"].isna().any():
        return np.zeros(tick.size, dtype=np.int64)
    ends = evidence.ticks.drop_duplicates("tick").set_index("tick")["end_ns"]
    return _locked(evidence, lanes, lane).within(np.minimum(ends.loc[pd.Index(tick)].to_numpy(np.int64), gap_end_ns), gap_end_ns)


def _paused(evidence: CaptureEvidence, lanes: ThreadWaits, lane: int, start_ns: Integers, end_ns: Integers) -> Integers:
    """Returns for each gap the time that the thread waited as if for a lock while the runtime had stopped all threads."""
    if evidence.pauses is None or evidence.pauses.empty:
        return np.zeros(start_ns.size, dtype=np.int64)
    stopped = Intervals.of(evidence.pauses["begin_ns"].to_numpy(np.int64), evidence.pauses["end_ns"].to_numpy(np.int64))
    waited = _locked(evidence, lanes, lane)
    return waited.within(start_ns, end_ns) - waited.without(stopped).within(start_ns, end_ns)


def _locked(evidence: CaptureEvidence, lanes: ThreadWaits, lane: int) -> Intervals:
    """Returns the times in which a thread waited as if for a lock."""
    waits = evidence.waits[(evidence.waits["thread"] == int(lanes.threads[lane])) & (evidence.waits["kind"] == TimeKind.LOCK)]
    return Intervals.of_rows(waits)


def _split(
    links: pd.DataFrame,
    tick: Integers,
    start_ns: Integers,
    end_ns: Integers,
    budget_ns: int | None,
    parked_ns: Integers,
    paused_ns: Integers,
) -> pd.DataFrame:
    gap_ns = end_ns - start_ns
    window, direct = links["window"].to_numpy(), links["depth"].to_numpy() == 0

    def total(kind: str, *, direct: NDArray[np.bool_] = direct) -> Integers:
        # np.bincount adds doubles, in which sums of integers below 2^53 are exact.
        counted = direct & (links["kind"] == kind).to_numpy()
        return np.bincount(window[counted], weights=links["ns"].to_numpy()[counted], minlength=tick.size).astype(np.int64)

    split = {f"{kind}_ns": total(kind) for kind in KINDS if kind != TimeKind.UNKNOWN}
    # A wait at a condition variable looks like a wait for a lock. If the thread that ended it slept meanwhile, both threads
    # waited for the same event, so that time counts as sleep.
    idle_ns, behind_ns = total(TimeKind.SLEEP, direct=~direct), total(TimeKind.IO, direct=~direct)
    # A runtime parks an idle thread in the same way. Only time in which a thread waited for storage is known not to be idle.
    idle_ns = np.maximum(idle_ns, np.minimum(parked_ns, split["lock_ns"]) - behind_ns)
    # Time in which nothing was to be done is not late because of a pause.
    pause_ns = np.minimum(paused_ns, split["lock_ns"] - idle_ns - behind_ns)
    split |= {"lock_ns": split["lock_ns"] - idle_ns - pause_ns, "sleep_ns": split["sleep_ns"] + idle_ns, "pause_ns": pause_ns}
    late_ns = gap_ns - split["sleep_ns"] if budget_ns is None else np.maximum(gap_ns - budget_ns, 0)
    return pd.DataFrame(
        {
            "tick": tick,
            "start_ns": start_ns,
            "gap_ns": gap_ns,
            "late_ns": late_ns,
            "slow": late_ns > (0 if budget_ns is None else (SLOW - 1) * budget_ns),
            **split,
            "lock_storage_ns": behind_ns,
            "storage_ns": split["io_ns"] + behind_ns,
        }
    )


def _share_lateness(ticks: pd.DataFrame) -> pd.DataFrame:
    """Adds the columns late_CAUSE_ns and cause.

    Storage gets the late time that would be gone without the waits for storage, gap - max(budget, gap - storage). The rest goes
    to lock, pause, cpu and run_queue in proportion to their time, but none gets more than its time. The remainder goes to sleep.
    The cause is the kind of time whose absence alone would remove most of the late time. Computing and waiting for a core count
    as one kind there, since a thread that computes is also taken off its core.
    """
    late_ns = ticks["late_ns"].to_numpy()
    storage_ns = ticks["storage_ns"].to_numpy()
    other_ns = {
        TickCause.LOCK: (ticks["lock_ns"] - ticks["lock_storage_ns"]).to_numpy(),
        TickCause.PAUSE: ticks["pause_ns"].to_numpy(),
        TickCause.CPU: ticks["running_ns"].to_numpy(),
        TickCause.RUN_QUEUE: ticks["run_queue_ns"].to_numpy(),
    }
    shares = {TickCause.STORAGE: np.minimum(late_ns, storage_ns)}
    scale = np.minimum(1.0, (late_ns - shares[TickCause.STORAGE]) / np.maximum(sum(other_ns.values()), 1))
    shares |= {name: np.floor(ns * scale).astype(np.int64) for name, ns in other_ns.items()}
    shares[TickCause.SLEEP] = late_ns - sum(shares.values())
    computing_ns = other_ns[TickCause.CPU] + other_ns[TickCause.RUN_QUEUE]
    took_ns = np.column_stack(
        [storage_ns, other_ns[TickCause.LOCK], other_ns[TickCause.PAUSE], computing_ns, shares[TickCause.SLEEP]]
    )
    # If the absence of several kinds would remove all of the late time, the small term selects the longest.
    saved = np.minimum(took_ns, late_ns[:, None]) + took_ns * 1e-9
    cause = np.array([name for name in CAUSES if name != TickCause.RUN_QUEUE], dtype=object)[saved.argmax(axis=1)]
    cause = np.where(
        (cause == TickCause.CPU) & (other_ns[TickCause.RUN_QUEUE] > other_ns[TickCause.CPU]), TickCause.RUN_QUEUE.value, cause
    )
    cause = np.where(late_ns > 0, cause, "")
    return ticks.assign(**{f"late_{name}_ns": shares[name] for name in TickCause}, cause=cause)
