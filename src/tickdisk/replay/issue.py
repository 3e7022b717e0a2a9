"""The replay by the native core. The module packs a plan for the core, and unpacks the times that the core logged."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import _native
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.paths import on_disk
from tickdisk.foundation.storing import BUFFERED, is_direct, sync_of
from tickdisk.replay.changes import ROOT, is_unnamed
from tickdisk.replay.log import COLUMNS, ReplayResult
from tickdisk.replay.plan import ReplayPlan
from tickdisk.replay.schedule import Schedule, Turns, turns_of
from tickdisk.replay.timing import Integers, lateness

SHIFTS = 4096
"""Number of different places in the noise at which the data of a write can begin."""
LONGEST_PART = 16 << 20
"""Number of bytes of the noise that a longer write takes several times, unless it passes by the page cache."""
_LEAD_NS = 200_000_000
"""Time from the moment at which all streams are ready to the first due time."""
_SEED = 5
_REQUEST = np.dtype(
    [(name, "<u8") for name in ("due_ns", "offset", "length")]
    + [(name, "<u4") for name in ("stream", "op", "file", "other")]
    + [("from", "<u8")]
)
_OUTCOME = np.dtype([("issued_ns", "<u8"), ("completed_ns", "<u8"), ("result", "<i8")])
"""The layouts of a request and of an outcome, as in src/native/src/replay/request.rs."""
_OPS = (
    *("open", "try_open", "close", "read", "write", "fsync", "fdatasync", "syncfs"),
    *("truncate", "rename", "unlink", "open_empty", "open_unnamed", "link", "symlink", "mkdir", "rmdir", "fallocate", "copy"),
    "half",
)

_SYNCS = {"": 0, "fdatasync": 2, "fsync": 4}
"""Bits for the sync that a write waits for. A request that passes by the page cache has the bit 1."""
_HOW = 8
"""Number of bits of the operation, above which the bits of `_SYNCS` are, or the flags of a rename or a fallocate."""


def payload(index: int, length: int) -> bytes:
    """Returns what the write at position `index` of a plan writes in the replay, because a capture does not hold the written
    data.

    It is `length` random bytes, which depend only on `length` and on `index` modulo 4096. They repeat after LONGEST_PART.
    """
    part = noise(min(length, LONGEST_PART))[index % SHIFTS :][:LONGEST_PART]
    return (part * (length // LONGEST_PART + 1))[:length]


def noise(longest: int) -> bytes:
    """Returns random bytes, the same in every call, in which each write of at most `longest` bytes finds its data (see
    `payload`).
    """
    return np.random.default_rng(_SEED).bytes(longest + SHIFTS)


def issue(
    plan: ReplayPlan, target: Path, *, cores: Sequence[int] | None = None, schedule: Schedule | None = None
) -> ReplayResult:
    """Makes the requests of a plan again on the files in `target`, and returns when the last is completed.

    `prepare` must have made the files. Each stream has a thread of its own, on `cores` or, if that is None, on those of this
    process. By default, a request is due as long after the start as it was captured after the first request. It is issued when it
    is due, or when the request before it in its stream is completed, whichever is later. Times are in CLOCK_MONOTONIC. Raises
    TickdiskError if a file that was open before the capture is missing in `target`, or the schedule needs what the trace does not
    have.
    """
    turns = turns_of(plan, schedule or Schedule())
    packed, files = _packed(plan, target, turns)
    lengths = plan.requests["length"].where(plan.requests["op"] == "write", 0)
    is_whole = plan.requests["storing"].fillna(BUFFERED).map(is_direct)
    longest = int(lengths.where(is_whole, lengths.clip(upper=LONGEST_PART)).max())
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before if cores is None else cores)
    try:
        start_ns, is_locked, is_real_time, log = _native.replay(
            packed.tobytes(), files, noise(longest), _LEAD_NS, turns.needs.tobytes(), turns.is_closed
        )
    except OSError as error:
        raise TickdiskError(f"the replay in {target} cannot begin ({error}); prepare the folder first") from error
    finally:
        os.sched_setaffinity(0, before)
    outcomes = np.frombuffer(log, _OUTCOME)
    times = {name: outcomes[name].astype(np.int64) for name in _OUTCOME.names or ()}
    _halve(times, *_pairs(plan.requests))
    return ReplayResult(timed(plan.requests.assign(**times), turns, start_ns), is_real_time, is_locked)


def _pairs(requests: pd.DataFrame) -> tuple[Integers, Integers]:
    """Returns the places of the reads of copies, and those of their writes."""
    places = pd.Series(np.arange(len(requests)), requests.index)
    after = places.groupby(requests["thread"].to_numpy()).shift(-1)
    copies = requests["copies"].to_numpy(bool)
    return np.flatnonzero(copies), after.to_numpy()[copies].astype(np.int64)


def _halve(times: dict[str, Integers], reads: Integers, writes: Integers) -> None:
    """Gives the read of each copy the first half of the time of the call that made both, and the write the second."""
    begin_ns, end_ns = times["issued_ns"][reads], times["completed_ns"][writes]
    times["completed_ns"][reads] = times["issued_ns"][writes] = begin_ns + (end_ns - begin_ns) // 2
    times["result"][reads] = times["result"][writes]


def timed(requests: pd.DataFrame, turns: Turns, start_ns: int) -> pd.DataFrame:
    """Returns the table of a replay from its requests with issued_ns, completed_ns and result, and the start of the replay in ns.

    In a closed loop, a request is due when its turn comes, so that no request loses time to others, and `lost_ns` is null.
    """
    ready = np.maximum(turns.ready_ns(requests["completed_ns"]), start_ns)
    due_ns = (ready if turns.is_closed else start_ns) + turns.due_ns
    lag_ns, lost_ns = lateness(ready, due_ns, requests["issued_ns"])
    known = pd.array([None] * len(lost_ns), dtype="Int64") if turns.is_closed else lost_ns
    return requests.assign(due_ns=due_ns, lag_ns=lag_ns, lost_ns=known)[list(COLUMNS)]


def _packed(plan: ReplayPlan, target: Path, turns: Turns) -> tuple[np.ndarray, list[tuple[str, bool, int]]]:
    requests = plan.requests
    paths = list(dict.fromkeys([ROOT, *requests["file"], *requests["other"]]))
    positions = {path: position for position, path in enumerate(paths)}
    op = requests["op"].where(requests["op"] != "sync", requests["call"].replace("sync", "syncfs"))
    op = op.mask((op == "open") & requests["cuts"], "open_empty")
    op = op.mask((op == "open") & requests["flags"].map(is_unnamed), "open_unnamed")
    op = op.where((requests["op"] != "open") | (requests["expected"] >= 0), "try_open")
    packed = np.zeros(len(requests), _REQUEST)
    packed["offset"], packed["length"] = requests["offset"], requests["length"]
    packed["due_ns"], packed["stream"] = turns.due_ns, turns.streams
    how = {word: is_direct(word) | _SYNCS[sync_of(word)] for word in requests["storing"].dropna().unique()}
    packed["op"] = op.map({name: number for number, name in enumerate(_OPS)})
    packed["op"] |= np.array([how.get(word, 0) for word in requests["storing"]], np.uint32) << _HOW
    packed["op"] |= requests["flags"].where(requests["op"].isin(["rename", "fallocate"]), 0).to_numpy(np.uint32) << _HOW
    packed["file"], packed["other"] = requests["file"].map(positions), requests["other"].map(positions)
    reads, writes = _pairs(requests)
    packed["op"][reads], packed["op"][writes] = _OPS.index("half"), _OPS.index("copy")
    packed["other"][writes], packed["from"][writes] = packed["file"][reads], packed["offset"][reads]
    handles = plan.beginning.handles
    return packed, [(str(target / on_disk(path)), path in plan.folders, handles.get(path, 0)) for path in paths]
