"""Where the time of every tick went."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.blame.chain import follow
from tickdisk.blame.evidence import Evidence
from tickdisk.blame.lanes import KINDS, Cover, Integers, Lanes
from tickdisk.blame.links import describe
from tickdisk.blame.threads import threads
from tickdisk.errors import TickdiskError

SLOW = 1.5
"""A tick whose gap is longer than so many budgets is slow."""
CAUSES = ("storage", "lock", "cpu", "run_queue", "sleep")
"""What late time is shared out to: `lock` is without the storage behind it, `sleep` the server's own pace."""
WINDOW_NS = 1_000_000_000
"""Where there are no ticks: the length of the windows that stand for them."""


@dataclass(frozen=True)
class Blame:
    """The ticks of one life (or windows of a capture), and the links of the chains that explain them."""

    evidence: Evidence
    thread_name: str
    budget_ns: int | None
    ticks: pd.DataFrame
    """tick, start_ns, gap_ns, late_ns = max(0, gap - budget) (without a budget: gap - sleep), slow, the split of the gap into
    running_ns, io_ns, lock_ns, run_queue_ns and sleep_ns (also of who was waited for), lock_storage_ns (I/O behind the locks),
    storage_ns = io + lock_storage,
    late_CAUSE_ns (sum to late_ns) and cause, without which most of it would not have been ("" for a tick in time)."""
    links: pd.DataFrame
    """tick, and the columns of `links.describe`; `parent` is a row."""
    storage: Cover
    """When the thread waited for storage, itself or behind locks."""
    uncaptured: int
    """Ticks that began before or ended after the capture: not in `ticks`."""
    contradictions: int
    """Waits that overlapped the one before of the same thread, and were cut."""

    def chain(self, tick: int) -> pd.DataFrame:
        """Returns the links of one tick, the longest first."""
        return self.links[self.links["tick"] == tick].sort_values("ns", ascending=False, kind="stable")


def attribute(evidence: Evidence, *, budget_ns: int | None = None, thread: str | None = None) -> Blame:
    """Returns where the time of the ticks went that lie within the evidence's window.

    `thread` names the thread that ticks; None: the first of `threads`, the busiest that runs a loop. Without ticks, windows of
    WINDOW_NS stand for them.
    TickdiskError when nothing was captured, or not that thread.
    """
    lanes = Lanes(evidence.waits)
    lane, name = _chosen(lanes, evidence, thread)
    tick, start_ns, end_ns = _gaps(evidence, lanes.seen_ns(lane))
    captured = (start_ns >= evidence.captured_ns[0]) & (end_ns <= evidence.captured_ns[1])
    if not captured.any():
        raise TickdiskError(
            f"{evidence.name}: none of {start_ns.size} ticks lies within the capture of {name}; run the cell again"
        )
    tick, start_ns, end_ns = tick[captured], start_ns[captured], end_ns[captured]
    found = follow(lanes, lane, start_ns, end_ns)
    links = describe(found, lanes, evidence)
    links.insert(0, "tick", tick[found["window"].to_numpy()])
    io = found[found["kind"] == "io"]
    return Blame(
        evidence,
        name,
        budget_ns,
        _share_lateness(_split(found, tick, start_ns, end_ns, budget_ns)),
        links,
        Cover.of(io["start_ns"].to_numpy(), io["end_ns"].to_numpy()),
        int((~captured).sum()),
        lanes.contradictions,
    )


def _chosen(lanes: Lanes, evidence: Evidence, name: str | None) -> tuple[int, str]:
    """Returns lane and name of the thread, of those with that name, that comes first among `threads`."""
    known = threads(evidence)
    waits = evidence.waits
    named = known if name is None else known[known["thread"].isin(waits.loc[waits["thread_name"] == name, "thread"])]
    if named.empty:
        there = ", ".join(sorted(waits["thread_name"].unique())) or "none"
        raise TickdiskError(
            f"{evidence.name}: no wait of {name or 'any thread'} was captured (threads: {there}); name another, or capture again"
        )
    first = named.iloc[0]
    return int(np.searchsorted(lanes.threads, int(first["thread"]))), str(first["name"] if name is None else name)


def _gaps(evidence: Evidence, seen_ns: tuple[int, int]) -> tuple[Integers, Integers, Integers]:
    """Returns tick, start and end of every gap; a gap across missing ticks is one, a tick that was logged twice counts once."""
    if evidence.ticks is None:
        edges = np.append(np.arange(*seen_ns, WINDOW_NS), seen_ns[1])
        return np.arange(edges.size - 1), edges[:-1], edges[1:]
    ticks = evidence.ticks.drop_duplicates("tick").sort_values("start_ns", kind="stable")
    tick, start_ns = ticks["tick"].to_numpy(np.int64), ticks["start_ns"].to_numpy(np.int64)
    low, high = evidence.window_ns or (start_ns[0], start_ns[-1])
    inside = (start_ns[:-1] >= low) & (start_ns[:-1] < high)
    return tick[:-1][inside], start_ns[:-1][inside], start_ns[1:][inside]


def _split(links: pd.DataFrame, tick: Integers, start_ns: Integers, end_ns: Integers, budget_ns: int | None) -> pd.DataFrame:
    gap_ns = end_ns - start_ns
    window, own = links["window"].to_numpy(), links["depth"].to_numpy() == 0

    def total(kind: str, *, own: NDArray[np.bool_] = own) -> Integers:
        # Sums of integers below 2^53 are exact in doubles.
        chosen = own & (links["kind"] == kind).to_numpy()
        return np.bincount(window[chosen], weights=links["ns"].to_numpy()[chosen], minlength=tick.size).astype(np.int64)

    split = {f"{kind}_ns": total(kind) for kind in KINDS if kind != "unknown"}
    # Condition variables look like locks: who is woken by a thread that slept meanwhile was waiting for the same event.
    idle_ns, behind_ns = total("sleep", own=~own), total("io", own=~own)
    split |= {"lock_ns": split["lock_ns"] - idle_ns, "sleep_ns": split["sleep_ns"] + idle_ns}
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
    """Shares the late time out: first to storage what would not have been without its waits, gap - max(budget, gap - storage).

    The rest goes to lock, cpu and run queue in proportion to their time, to none more than its time, and what is left to sleep.
    The cause is what alone would have saved most of it; computing and waiting for a core are one thing there, since a thread that
    computes is also put off its core.
    """
    late_ns = ticks["late_ns"].to_numpy()
    storage_ns = ticks["storage_ns"].to_numpy()
    others = {
        "lock": (ticks["lock_ns"] - ticks["lock_storage_ns"]).to_numpy(),
        "cpu": ticks["running_ns"].to_numpy(),
        "run_queue": ticks["run_queue_ns"].to_numpy(),
    }
    shares = {"storage": np.minimum(late_ns, storage_ns)}
    scale = np.minimum(1.0, (late_ns - shares["storage"]) / np.maximum(sum(others.values()), 1))
    shares |= {name: np.floor(ns * scale).astype(np.int64) for name, ns in others.items()}
    shares["sleep"] = late_ns - sum(shares.values())
    took_ns = np.column_stack([storage_ns, others["lock"], others["cpu"] + others["run_queue"], shares["sleep"]])
    # Of those that would have saved all of it, the longest.
    saved = np.minimum(took_ns, late_ns[:, None]) + took_ns * 1e-9
    cause = np.array(["storage", "lock", "cpu", "sleep"], dtype=object)[saved.argmax(axis=1)]
    cause = np.where((cause == "cpu") & (others["run_queue"] > others["cpu"]), "run_queue", cause)
    cause = np.where(late_ns > 0, cause, "")
    return ticks.assign(**{f"late_{name}_ns": shares[name] for name in CAUSES}, cause=cause)
