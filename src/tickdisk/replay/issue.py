"""The replay itself: packs the plan for the native issuer, and unpacks what it logged."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import _native
from tickdisk.errors import TickdiskError
from tickdisk.replay.log import COLUMNS, Replayed
from tickdisk.replay.plan import ROOT, Plan
from tickdisk.replay.timing import lateness

SHIFTS = 4096
_LEAD_NS = 200_000_000
"""From the moment at which all streams are ready to the first due time."""
_SEED = 5
_REQUEST = np.dtype(
    [(name, "<u8") for name in ("due_ns", "offset", "length")] + [(name, "<u4") for name in ("stream", "op", "file", "other")]
)
_OUTCOME = np.dtype([("issued_ns", "<u8"), ("completed_ns", "<u8"), ("result", "<i8")])
"""Both as src/native/src/replay/request.rs has them."""
_OPS = (
    *("open", "try_open", "close", "read", "write", "fsync", "fdatasync", "syncfs"),
    *("truncate", "rename", "unlink", "open_empty"),
)


def payload(index: int, length: int) -> bytes:
    """Returns what the request at position `index` of a plan writes."""
    return noise(length)[index % SHIFTS : index % SHIFTS + length]


def noise(longest: int) -> bytes:
    """Returns random bytes, always the same, that hold every payload of at most `longest` bytes."""
    return np.random.default_rng(_SEED).bytes(longest + SHIFTS)


def issue(plan: Plan, target: Path, *, cores: Sequence[int] | None = None) -> Replayed:
    """Makes the plan's requests again on the files below `target`, which `prepare` has made; returns when the last is completed.

    One thread a stream, open loop: due = start + (captured start - first); issued at max(due, completion of the stream's previous
    request). `cores` are the ones that the streams run on. TickdiskError when a file that was open before is not there.
    """
    packed, files = _packed(plan, target)
    longest = int(plan.requests["length"].where(plan.requests["op"] == "write", 0).max())
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, before if cores is None else cores)
        start_ns, is_locked, is_real_time, log = _native.replay(packed.tobytes(), files, noise(longest), _LEAD_NS)
    except OSError as error:
        raise TickdiskError(f"cannot begin the replay in {target} ({error}); prepare the folder first") from error
    finally:
        os.sched_setaffinity(0, before)
    outcomes = np.frombuffer(log, _OUTCOME)
    times = {name: outcomes[name].astype(np.int64) for name in _OUTCOME.names or ()}
    timings = plan.requests.assign(**times, due_ns=start_ns + plan.requests["due_ns"])
    lag_ns, lost_ns = lateness(timings["thread"], timings["due_ns"], timings["issued_ns"], timings["completed_ns"])
    timings = timings.assign(lag_ns=lag_ns, lost_ns=lost_ns)[list(COLUMNS)]
    return Replayed(timings, is_real_time, is_locked)


def _packed(plan: Plan, target: Path) -> tuple[np.ndarray, list[tuple[str, bool, int]]]:
    requests = plan.requests
    paths = list(dict.fromkeys([ROOT, *requests["file"], *requests["other"]]))
    positions = {path: position for position, path in enumerate(paths)}
    op = requests["op"].where(requests["op"] != "sync", requests["call"].replace("sync", "syncfs"))
    op = op.mask((op == "open") & requests["cuts"], "open_empty")
    op = op.where((requests["op"] != "open") | (requests["expected"] >= 0), "try_open")
    packed = np.zeros(len(requests), _REQUEST)
    for name in ("due_ns", "offset", "length"):
        packed[name] = requests[name]
    packed["stream"] = pd.factorize(requests["thread"])[0]
    packed["op"] = op.map({name: number for number, name in enumerate(_OPS)})
    packed["file"], packed["other"] = requests["file"].map(positions), requests["other"].map(positions)
    handles = plan.beginning.handles
    return packed, [(str(target / path), path in plan.folders, handles.get(path, 0)) for path in paths]
