"""The waits table: every interval in which a thread did not run, and what for."""

import numpy as np
import pandas as pd

from tickdisk.trace.calls import CALLS, LOCKS, MEMORY_MAP, NAMES, ON_FILES
from tickdisk.trace.descriptors import CLOSED, Followed
from tickdisk.trace.reading import Reading

RUNNING, UNINTERRUPTIBLE = 0xFF, 0x02
"""Of a state, as sched_switch tells it: none of these bits is set when the thread could have run on; D."""
_FUTEX = {LOCKS["futex"], LOCKS["futex_waitv"], LOCKS["futex_wait"]}
_ENDS = {60, 231}
"""exit and exit_group: the kernel wakes who waits for the end of the thread."""
_WAKES_FUTEX = {*_FUTEX, *_ENDS}
"""Another waker of a futex is an interrupt that came in between, so that the wait timed out."""
_BY_FD = {call.number for call in CALLS.values() if call.fd is not None and call.path is None}
_FAULT = "fault"


def wait_rows(reading: Reading, followed: Followed, started_ns: int) -> pd.DataFrame:
    """Returns the rows of the waits table without thread_name, in the tool's clock; a wait that did not end has end_ns 0.

    `started_ns` is the start of the capture.

    Kinds: `run_queue`, the thread could have run, from the switch if it was preempted, else from its wake-up; `io`, it waits
    in a call on a file, or in a page fault in state D; `lock`, it waits for another thread in futex, flock or fcntl, or for the
    address space, which another thread changes; `sleep`, everything else: timers, sockets, pipes, children, and the end of
    another thread, which holds no lock; `absent`, the thread had not begun yet, or had ended.
    """
    if reading.waits is None:
        raise ValueError("only bpftrace tells waits")
    waits = reading.waits
    waits = waits.assign(process=_processes(reading, waits))
    waits = waits[waits["process"].isin(followed.since.keys())].reset_index(drop=True)
    number = waits["number"].where(_under_way(reading.calls, waits), -1)
    call = number.map(NAMES).fillna(number.map("syscall_{}".format)).where(number >= 0, "")
    uninterruptible = (waits["state"] & UNINTERRUPTIBLE) > 0
    blocked = (waits["state"] & RUNNING) != 0
    call = call.where((number >= 0) | ~(blocked & uninterruptible), _FAULT)
    of_file = ~number.isin(_BY_FD) | (followed.at(waits, "fd", "start_ns") != CLOSED)
    kind = np.select(
        [
            ~blocked,
            number.isin(_FUTEX) & waits["waker_number"].isin(_ENDS),
            call.isin(LOCKS),
            call.isin(MEMORY_MAP) | ((call == _FAULT) & waits["waker_number"].isin(MEMORY_MAP.values())),
            uninterruptible | (call.isin(ON_FILES) & of_file),
        ],
        ["run_queue", "sleep", "lock", "lock", "io"],
        "sleep",
    )
    waker = waits["waker"].astype("Int64").where(blocked & (waits["woken_ns"] > 0) & (waits["waker"] > 0))
    waker = waker.where(~number.isin(_FUTEX) | waits["waker_number"].isin(_WAKES_FUTEX))
    woken = (blocked & (waits["woken_ns"] > waits["start_ns"])).to_numpy()
    first = pd.DataFrame(
        {
            "thread": waits["thread"],
            "start_ns": waits["start_ns"],
            "end_ns": waits["woken_ns"].where(woken, waits["end_ns"]),
            "kind": kind,
            "call": call,
            "waker": waker,
            "waker_name": waits["waker_name"].where(waker.notna(), None),
        }
    )
    second = first[woken].assign(
        start_ns=waits["woken_ns"][woken], end_ns=waits["end_ns"][woken], kind="run_queue", waker_name=None
    )
    second["waker"] = pd.array([pd.NA] * len(second), dtype="Int64")
    rows = pd.concat([first, second, _absences(reading, followed, started_ns)])
    return rows.sort_values(["start_ns", "end_ns"], kind="stable", ignore_index=True)


def _absences(reading: Reading, followed: Followed, started_ns: int) -> pd.DataFrame:
    """Returns from the start of the capture to the birth of each thread, and from its end to the next thread of its number."""
    born, ended = reading.of("newtask"), reading.of("end")
    births = born[born["process"].isin(followed.since.keys())].groupby("a")["ns"].apply(list).to_dict()
    rows = [(thread, started_ns, min(at)) for thread, at in births.items()]
    for thread, ns in ended.loc[ended["process"].isin(followed.since.keys()), ["thread", "ns"]].itertuples(index=False):
        rows.append((thread, ns, min((at for at in births.get(thread, []) if at > ns), default=0)))
    table = pd.DataFrame(rows, columns=["thread", "start_ns", "end_ns"]).astype("int64")
    return table.assign(kind="absent", call="", waker=pd.array([pd.NA] * len(table), dtype="Int64"), waker_name=None)


def settle_faults(requests: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """Returns the requests, page faults with their latency: to the end of the wait that the fault led to, 0 when it led to none.

    The kernel tries again after it has waited, and tells of the same fault twice: the second is left out.
    """
    faults = requests[requests["op"] == "fault"]
    ended = waits[(waits["call"] == _FAULT) & (waits["kind"] == "io") & (waits["end_ns"] > 0)]
    found = pd.merge_asof(
        faults[["thread", "start_ns"]].assign(row=faults.index).sort_values("start_ns"),
        ended[["thread", "start_ns", "end_ns"]].rename(columns={"start_ns": "out_ns"}).sort_values("out_ns"),
        left_on="start_ns",
        right_on="out_ns",
        by="thread",
        direction="forward",
    ).dropna(subset=["out_ns"])
    last = found.drop_duplicates(["thread", "out_ns"], keep="last")  # a wait is that of the last fault before it
    settled = requests.assign(latency_ns=requests["latency_ns"].where(requests["op"] != "fault", 0))
    settled.loc[last["row"], "latency_ns"] = (last["end_ns"] - last["start_ns"]).astype(np.int64).to_numpy()
    ordered = settled.sort_values("start_ns", kind="stable")
    before = ordered.groupby("thread")[["op", "file", "offset", "latency_ns"]].shift(1)
    again = (ordered["op"] == "fault") & (ordered["latency_ns"] == 0) & (before["op"] == "fault") & (before["latency_ns"] > 0)
    again &= (ordered["file"] == before["file"]) & (ordered["offset"] == before["offset"]).fillna(value=False)
    return settled.drop(index=ordered.index[again.astype(bool)])


def _processes(reading: Reading, waits: pd.DataFrame) -> "pd.Series[int]":
    """The process of a thread is known from its calls, and from the line that names it."""
    of = dict(zip(reading.calls["thread"], reading.calls["process"], strict=True))
    of |= {event.thread: event.process for event in reading.events if event.kind == "thread"}
    return waits["thread"].map(of).fillna(0).astype(np.int64)


def _under_way(calls: pd.DataFrame, waits: pd.DataFrame) -> "pd.Series[bool]":
    """Whether the last call that the thread had entered still ran: a captured one has its row when it has ended."""
    ended = calls.set_index(["thread", "start_ns"])["end_ns"].reindex(pd.MultiIndex.from_frame(waits[["thread", "call_ns"]]))
    return (waits["call_ns"] > 0) & ~(ended.to_numpy() < waits["start_ns"])
