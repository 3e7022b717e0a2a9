"""Makes the waits table, which has every interval in which a thread did not run, and the reason."""

import numpy as np
import pandas as pd

from tickdisk.foundation.waiting import TimeKind
from tickdisk.trace.calls import ADDRESS_SPACE_CALLS, CALLS, FILE_CALLS, LOCK_CALLS, NAMES
from tickdisk.trace.descriptors import CLOSED, FileHistory
from tickdisk.trace.reading import Reading

BLOCKED_BITS, UNINTERRUPTIBLE = 0xFF, 0x02
"""Bits of the state that sched_switch gives for a thread that leaves its core. UNINTERRUPTIBLE is state D.

If no bit of BLOCKED_BITS is set, the thread could have run on.
"""
_FUTEX = {LOCK_CALLS["futex"], LOCK_CALLS["futex_waitv"], LOCK_CALLS["futex_wait"]}
_ENDS = {60, 231}
"""Numbers of exit and exit_group. The kernel then wakes the threads that wait for the end of this one."""
_WAKES_FUTEX = {*_FUTEX, *_ENDS}
"""Calls that wake a thread in futex. If the waker is in another call, an interrupt woke the thread, so its wait timed out."""
_BY_FD = {call.number for call in CALLS.values() if call.fd is not None and call.path is None}
_FAULT = "fault"


def wait_rows(reading: Reading, followed: FileHistory, started_ns: int) -> pd.DataFrame:
    """Returns the rows of the waits table without thread_name, in the clock of `reading`, from what bpftrace captured.

    `followed` tells whether the descriptor of a call was a file's. A wait that did not end has end_ns 0. `started_ns` is the
    start of the capture. These are the kinds of waits:

    - run_queue: The thread could have run. The wait begins when the thread was preempted or, if it slept, when it was woken.
    - io: The thread waits in a call on a file, or in a page fault in state D.
    - lock: The thread waits for another thread in futex, flock or fcntl, or for the address space, which another thread changes.
    - sleep: The thread waits for something else: a timer, a socket, a pipe, a child, or the end of another thread, which holds no
      lock.
    - absent: The thread had not begun yet, or had ended.
    """
    waits = reading.waits.assign(process=_processes(reading))
    waits = waits[waits["process"].isin(followed.since.keys())].reset_index(drop=True)
    number = waits["number"].where(reading.in_call(waits), -1)
    call = number.map(NAMES).fillna(number.map("syscall_{}".format)).where(number >= 0, "")
    uninterruptible = (waits["state"] & UNINTERRUPTIBLE) > 0
    blocked = (waits["state"] & BLOCKED_BITS) != 0
    call = call.where((number >= 0) | ~(blocked & uninterruptible), _FAULT)
    of_file = ~number.isin(_BY_FD) | (followed.at(waits, "fd", "start_ns") != CLOSED)
    kind = np.select(
        [
            ~blocked,
            number.isin(_FUTEX) & waits["waker_number"].isin(_ENDS),
            call.isin(LOCK_CALLS),
            call.isin(ADDRESS_SPACE_CALLS) | ((call == _FAULT) & waits["waker_number"].isin(ADDRESS_SPACE_CALLS.values())),
            uninterruptible | (call.isin(FILE_CALLS) & of_file),
        ],
        [kind.value for kind in (TimeKind.RUN_QUEUE, TimeKind.SLEEP, TimeKind.LOCK, TimeKind.LOCK, TimeKind.IO)],
        TimeKind.SLEEP.value,
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
        start_ns=waits["woken_ns"][woken], end_ns=waits["end_ns"][woken], kind=TimeKind.RUN_QUEUE.value, waker_name=None
    )
    second["waker"] = pd.array([pd.NA] * len(second), dtype="Int64")
    rows = pd.concat([first, second, _absences(reading, followed, started_ns)])
    return rows.sort_values(["start_ns", "end_ns"], kind="stable", ignore_index=True)


def _absences(reading: Reading, followed: FileHistory, started_ns: int) -> pd.DataFrame:
    """Returns the intervals in which a thread did not exist, before its beginning or between its end and a next thread."""
    born, ended = reading.of("newtask"), reading.of("end")
    births = born[born["process"].isin(followed.since.keys())].groupby("child")["ns"].apply(list).to_dict()
    rows = [(thread, started_ns, min(at)) for thread, at in births.items()]
    for thread, ns in ended.loc[ended["process"].isin(followed.since.keys()), ["thread", "ns"]].itertuples(index=False):
        rows.append((thread, ns, min((at for at in births.get(thread, []) if at > ns), default=0)))
    table = pd.DataFrame(rows, columns=["thread", "start_ns", "end_ns"]).astype("int64")
    return table.assign(kind=TimeKind.ABSENT.value, call="", waker=pd.array([pd.NA] * len(table), dtype="Int64"), waker_name=None)


def with_fault_latencies(requests: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """Returns the requests with the latency of page faults, which lasts to the end of the wait that it led to, or is 0.

    The kernel handles a fault again after it has waited, so that the same fault is captured twice. The second row is left out.
    """
    faults = requests[requests["op"] == "fault"]
    ended = waits[(waits["call"] == _FAULT) & (waits["kind"] == TimeKind.IO) & (waits["end_ns"] > 0)]
    matched = pd.merge_asof(
        faults[["thread", "start_ns"]].assign(row=faults.index).sort_values("start_ns"),
        ended[["thread", "start_ns", "end_ns"]].rename(columns={"start_ns": "out_ns"}).sort_values("out_ns"),
        left_on="start_ns",
        right_on="out_ns",
        by="thread",
        direction="forward",
    ).dropna(subset=["out_ns"])
    last = matched.drop_duplicates(["thread", "out_ns"], keep="last")  # A wait belongs to the last fault before it.
    settled = requests.assign(latency_ns=requests["latency_ns"].where(requests["op"] != "fault", 0))
    settled.loc[last["row"], "latency_ns"] = (last["end_ns"] - last["start_ns"]).astype(np.int64).to_numpy()
    ordered = settled.sort_values("start_ns", kind="stable")
    before = ordered.groupby("thread")[["op", "file", "offset", "latency_ns"]].shift(1)
    again = (ordered["op"] == "fault") & (ordered["latency_ns"] == 0) & (before["op"] == "fault") & (before["latency_ns"] > 0)
    again &= (ordered["file"] == before["file"]) & (ordered["offset"] == before["offset"]).fillna(value=False)
    return settled.drop(index=ordered.index[again.astype(bool)])


def _processes(reading: Reading) -> "pd.Series[int]":
    """Returns the process of each wait's thread, which its calls and faults tell, and the event that names it."""
    of: dict[int, int] = {}
    for rows in (reading.faults, reading.calls):
        of |= dict(zip(rows["thread"], rows["process"], strict=True))
    of |= {event.thread: event.process for event in reading.events if event.kind == "thread"}
    return reading.waits["thread"].map(of).fillna(0).astype(np.int64)
