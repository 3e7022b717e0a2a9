"""Checks the blame of a server life against injected stalls, for which the device's log says which requests were stalled."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from tickdisk.blame.actions import blame_actions
from tickdisk.blame.attribute import Blame
from tickdisk.blame.links import JOURNAL
from tickdisk.blame.requests import READS, FilesOnDevice
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.waiting import TickCause, TimeKind

FEWEST_STALLS = 20
"""Number of injected stalls of a kind from which a claim about blame is decided."""
_DECIDED = ("outweighed", "blamed")
_COLUMNS = (
    *("kind", "start_ns", "end_ns", "tick", "gap_ns", "cause", "stalled", "stalled_files", "waited_ns", "call", "file"),
    *("request", "device", "storage_ns", "named", "action", "action_ns", "action_named", "outweighed", "blamed"),
)


@dataclass(frozen=True)
class Count:
    """A count of k true values out of n, with intervals of the share, which are NaN if n is 0."""

    k: int
    n: int
    exact: tuple[float, float]
    """Interval of Clopper and Pearson (1934)."""
    wilson: tuple[float, float]
    """Interval of Wilson (1927)."""


def count(hits: "pd.Series[bool]", alpha: float) -> Count:
    """Counts the true values of the array `hits`, with intervals of their share at confidence 1 - alpha."""
    k, n = int(hits.sum()), len(hits)
    if n == 0:
        return Count(0, 0, (np.nan, np.nan), (np.nan, np.nan))
    test = binomtest(k, n)
    exact, wilson = (tuple(test.proportion_ci(1 - alpha, method=method)) for method in ("exact", "wilson"))
    return Count(k, n, exact, wilson)


def check_injections(blame: Blame) -> pd.DataFrame:
    """Compares each injected stall with what blame says of the tick that it met, to test whether blame is right.

    A stall is injected if the experiment made it on purpose, in the device or in the processor. Stalls that do not lie within the
    time of the captured ticks are left out. Raises TickdiskError if the evidence has no injected stalls, or no log of the device.
    There is one row per stall, in the order of time, with these columns:

    - kind, start_ns, end_ns: the stall.
    - tick, gap_ns, cause: the slow tick that shares most time with the stall; NA and "" if there is none.
    - stalled: the number of the device's requests that were in service during the stall.
    - stalled_files: the files of these requests, by their place on the device, with JOURNAL for a place outside every file.
    - waited_ns, call, file, request, device: the longest wait for storage in slow ticks during the stall, with the numbers of its
      request and of its device's request; 0, "" and NA if there is none.
    - storage_ns: the time during the stall in which the tick thread waited for storage, itself or behind locks.
    - named: whether the device's request of this longest wait was stalled, and its file is one of `stalled_files`.
    - action, action_ns: the kind of the slow action that shares most time with the stall, and its latency; "" and 0 if there is
      none. If several share as much, it is one that blame explains.
    - action_named: whether in a slow action during the stall the longest wait for storage, of the threads that read for players
      or of the thread that ticks, was for one of the stalled requests and files.
    - outweighed: whether the slow tick waited for storage outside the stall for longer than the stall lasted.
    - blamed: whether the cause of the slow tick is storage, and the stall was not outweighed.

    If the evidence does not know the files of the device's requests (`CaptureEvidence.knows_files`), no stall is named and none
    has files.
    """
    evidence = blame.evidence
    if evidence.injections is None:
        raise TickdiskError(f"{evidence.name} has no injected stalls; only lives of the inside_tick experiment have them")
    if evidence.device is None:
        raise TickdiskError(f"{evidence.name} has no record of its device's requests; only lives of an experiment have one")
    files = None if evidence.extents is None else FilesOnDevice.of(evidence.device, evidence.extents)
    ticks = blame.ticks
    first, last = int(ticks["start_ns"].iloc[0]), int((ticks["start_ns"] + ticks["gap_ns"]).iloc[-1])
    injections = evidence.injections.sort_values("start_ns")
    injections = injections[(injections["start_ns"] >= first) & (injections["end_ns"] <= last)]
    return pd.DataFrame(list(_checked(blame, files, injections)), columns=_COLUMNS)


def _checked(blame: Blame, files: FilesOnDevice | None, injections: pd.DataFrame) -> Iterator[dict[str, Any]]:
    device, slow = blame.evidence.device, blame.ticks[blame.ticks["slow"]]
    assert device is not None
    io = blame.links[(blame.links["kind"] == TimeKind.IO) & blame.links["tick"].isin(slow["tick"])]
    actions = pd.DataFrame({"slow": [], "issued_ns": [], "completed_ns": []})
    if blame.evidence.actions is not None:
        actions = blame_actions(blame)
    actions = actions[actions["slow"].astype(bool)]
    for kind, start_ns, end_ns in injections[["kind", "start_ns", "end_ns"]].itertuples(index=False):
        stalled = np.flatnonzero((device["arrival_ns"] < end_ns) & (device["replied_ns"] > start_ns))
        stalled_files = {name for row in stalled.tolist() for name in files.files(row) or {JOURNAL}} if files else set()
        requests = set(device["seq"].iloc[stalled])
        shared = _shared(slow["start_ns"], slow["start_ns"] + slow["gap_ns"], start_ns, end_ns)
        tick = slow.iloc[int(shared.to_numpy().argmax())] if (shared > 0).any() else None
        waited = _shared(io["start_ns"], io["end_ns"], start_ns, end_ns)
        link = io.iloc[int(waited.to_numpy().argmax())] if (waited > 0).any() else None
        inside_ns = int(blame.storage.within(np.array([start_ns]), np.array([end_ns]))[0])
        outweighed = tick is not None and tick["storage_ns"] - inside_ns > end_ns - start_ns
        yield {
            "kind": kind,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "tick": pd.NA if tick is None else tick["tick"],
            "gap_ns": pd.NA if tick is None else tick["gap_ns"],
            "cause": "" if tick is None else tick["cause"],
            "stalled": len(stalled),
            "stalled_files": tuple(sorted(stalled_files)),
            "waited_ns": int(waited.max()) if link is not None else 0,
            **{name: "" if link is None else link[name] for name in ("call", "file")},
            **{name: pd.NA if link is None else link[name] for name in ("request", "device")},
            "storage_ns": inside_ns,
            "named": link is not None and _agrees(link, requests, stalled_files),
            **_action(actions, start_ns, end_ns, requests, stalled_files),
            "outweighed": outweighed,
            "blamed": tick is not None and tick["cause"] == TickCause.STORAGE and not outweighed,
        }


def _action(actions: pd.DataFrame, start_ns: int, end_ns: int, stalled: set[int], stalled_files: set[str]) -> dict[str, Any]:
    """Returns action, action_ns and action_named of a stall. The slow actions of the life are given."""
    shared_ns = _shared(actions["issued_ns"], actions["completed_ns"], start_ns, end_ns)
    met = [
        (ns, _agrees(row, stalled, stalled_files), row)
        for ns, (_, row) in zip(shared_ns.tolist(), actions.iterrows(), strict=True)
        if ns > 0
    ]
    if not met:
        return {"action": "", "action_ns": 0, "action_named": False}
    _, _, most = max(met, key=itemgetter(0, 1))
    return {"action": most["action"], "action_ns": int(most["latency_ns"]), "action_named": any(agrees for _, agrees, _ in met)}


def _shared(starts: "pd.Series[int]", ends: "pd.Series[int]", start_ns: int, end_ns: int) -> "pd.Series[int]":
    return (ends.clip(upper=end_ns) - starts.clip(lower=start_ns)).clip(lower=0)


def _agrees(link: "pd.Series[Any]", stalled: set[int], stalled_files: set[str]) -> bool:
    """Returns whether a link waited for a stalled request of the device and for one of the stalled files.

    Calls other than reads also agree if the journal was stalled, since they wait for it.
    """
    if pd.isna(link["device"]) or link["device"] not in stalled:
        return False
    return link["file"] in stalled_files or (link["op"] not in READS and JOURNAL in stalled_files)
