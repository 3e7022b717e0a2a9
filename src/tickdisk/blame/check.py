"""Blame against stalls that were injected: what the device's own log says was stalled is the truth."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from tickdisk.blame.attribute import Blame
from tickdisk.blame.links import JOURNAL
from tickdisk.blame.requests import READS, FilesOnDevice
from tickdisk.errors import TickdiskError


@dataclass(frozen=True)
class Count:
    """k of n, with Clopper and Pearson's (1934) and Wilson's (1927) 95 % intervals; NaN without any."""

    k: int
    n: int
    exact: tuple[float, float]
    wilson: tuple[float, float]


def count(found: "pd.Series[bool]") -> Count:
    """Returns how many are true."""
    k, n = int(found.sum()), len(found)
    if n == 0:
        return Count(0, 0, (np.nan, np.nan), (np.nan, np.nan))
    test = binomtest(k, n)
    exact, wilson = (tuple(test.proportion_ci(0.95, method=method)) for method in ("exact", "wilson"))
    return Count(k, n, exact, wilson)


def check_injections(blame: Blame) -> pd.DataFrame:
    """Returns one row a stall that was injected while ticks were captured, in order of time.

    kind, start_ns, end_ns; tick, gap_ns and cause of the slow tick that shares most time with it (NA, "" for none); stalled: the
    device's requests that were in service during it, stalled_files: theirs by their place, JOURNAL for no file; the longest wait
    for I/O in slow ticks during the stall: waited_ns, call, request, file, device; storage_ns: what the tick thread waited for
    storage during the stall; named: a slow tick, and in its chain a request whose device request was stalled, of a file that was;
    outweighed: the slow tick waited for storage at other times than the stall, and longer than it; blamed: the slow tick's cause
    is storage, and the stall was not outweighed. Where nothing says of which file a device's request is (`knows_files`) no
    stall is named, and none has files. TickdiskError where there are no injections, or no device.
    """
    evidence = blame.evidence
    if evidence.injections is None:
        raise TickdiskError(f"{evidence.name} has no injected stalls; only lives of the inside_tick experiment have them")
    if evidence.device is None:
        raise TickdiskError(f"{evidence.name} has no record of its device's requests; only lives of an experiment have one")
    files = None if evidence.extents is None else FilesOnDevice.of(evidence.device, evidence.extents)
    ticks = blame.ticks
    first, last = int(ticks["start_ns"].iloc[0]), int((ticks["start_ns"] + ticks["gap_ns"]).iloc[-1])
    made = evidence.injections.sort_values("start_ns")
    made = made[(made["start_ns"] >= first) & (made["end_ns"] <= last)]
    rows = list(_checked(blame, files, made))
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=["kind", "tick", "named", "outweighed", "blamed"])


def _checked(blame: Blame, files: FilesOnDevice | None, made: pd.DataFrame) -> Iterator[dict[str, Any]]:
    device, slow = blame.evidence.device, blame.ticks[blame.ticks["slow"]]
    assert device is not None
    io = blame.links[(blame.links["kind"] == "io") & blame.links["tick"].isin(slow["tick"])]
    for kind, start_ns, end_ns in made[["kind", "start_ns", "end_ns"]].itertuples(index=False):
        stalled = np.flatnonzero((device["arrival_ns"] < end_ns) & (device["replied_ns"] > start_ns))
        stalled_files = {name for row in stalled.tolist() for name in files.files(row) or {JOURNAL}} if files else set()
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
            "named": link is not None and _agrees(link, set(device["seq"].iloc[stalled]), stalled_files),
            "outweighed": outweighed,
            "blamed": tick is not None and tick["cause"] == "storage" and not outweighed,
        }


def _shared(starts: "pd.Series[int]", ends: "pd.Series[int]", start_ns: int, end_ns: int) -> "pd.Series[int]":
    return (ends.clip(upper=end_ns) - starts.clip(lower=start_ns)).clip(lower=0)


def _agrees(link: "pd.Series[Any]", stalled: set[int], stalled_files: set[str]) -> bool:
    """A read must be of a file whose bytes were stalled; other calls also wait for the journal."""
    if pd.isna(link["device"]) or link["device"] not in stalled:
        return False
    return link["file"] in stalled_files or (link["op"] not in READS and JOURNAL in stalled_files)
