"""Says in one sentence what kind of load a trace has, and which published load is most like it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from tickdisk.characterise.load import OPS
from tickdisk.foundation.numbers import number, percent
from tickdisk.foundation.record import Record
from tickdisk.foundation.yaml_file import read_section

_ALMOST_ALL, _MOST, _BURSTS, _FEW = 0.95, 0.6, 10.0, 0.2
_KIB, _MS_PER_S = 1024, 1000
_MEASURES = {"share_reads": "requests", "share_read_bytes": "bytes", "share_read_time": "time"}
"""Shares of reads by which a load is judged, with the words for their whole."""


class PublishedLoad(Record, strict=True):
    """A published load, with which others are compared. A number that was not published is None."""

    load: str
    share_reads: Annotated[float, Field(ge=0, le=1)] | None = None
    """Share of reads among the requests."""
    least_kib: Annotated[float, Field(ge=0)] | None = None
    """Size in KiB from which most requests are."""
    most_kib: Annotated[float, Field(gt=0)] | None = None
    """Size in KiB up to which most requests are."""
    peak_ratio: Annotated[float, Field(gt=0)] | None = None
    """Largest peak of the requests per second over their average."""
    hot_ratio: Annotated[float, Field(gt=0)] | None = None
    """Accesses of hot areas over those of others."""
    queue_most: Annotated[float, Field(ge=0)] | None = None
    """Largest number of requests in progress."""
    said: str
    """The published words."""


class References(Record):
    """A publication and its loads."""

    source: str
    loads: list[PublishedLoad]


def references(path: Path) -> References:
    """Reads the publication and its loads from `data/published.yaml`. Raises TickdiskError if the file or a value is wrong."""
    return read_section(References, path, "games")


@dataclass(frozen=True)
class LoadKind:
    """A load in one sentence, and the published load that is most like it."""

    sentence: str
    nearest: str
    """Name of the published load whose share of reads is the nearest. It is empty if no reference has one."""


def kind(values: Mapping[str, float], known: Sequence[PublishedLoad], *, place_word: str) -> LoadKind:
    """Describes a load in one sentence, from the numbers that `summary` returns. It leaves out what the trace does not tell.

    A sentence about syncs stands before it, because a slow disk lengthens them first. `place_word` is the word for the place of a
    request, `file` or `volume`.
    """
    reads = values["share_reads"]
    parts = [_direction(values)]
    if np.isfinite(values["p50_bytes"]):
        low, high = (_size(values[f"{name}_bytes"]) for name in ("p25", "p75"))
        parts.append(f"half of the requests have {low} to {high}" if low != high else f"at least half of the requests have {low}")
    if np.isfinite(values["share_sequential"]):
        share = values["share_sequential"]
        word = "almost never" if share < _FEW else "mostly" if share > _MOST else "partly"
        parts.append(f"they {word} follow each other in their {place_word} ({percent(share)} do)")
    if np.isfinite(values["average_iops"]):
        peak = values["peak_ratio"]
        rate = f"there are {number(values['average_iops'])} requests per second"
        parts.append(f"{rate}, in bursts of up to {number(peak)} times as many" if peak > _BURSTS else rate)
    periods_s = {op: values[f"{op}_period_s"] for op in reversed(OPS)}
    parts += [f"bursts of {op}s return every {number(period_s)} s" for op, period_s in periods_s.items() if np.isfinite(period_s)]
    told = [reference for reference in known if reference.share_reads is not None and np.isfinite(reads)]
    nearest = min(told, key=lambda reference: abs(float(reference.share_reads or 0) - reads)).load if told else ""
    begin = _syncs(values)
    end = f" Of the published loads, {nearest} has the most similar share of reads." if nearest else ""
    if len(parts) == 1:
        return LoadKind(f"{begin}{parts[0]}.{end}", nearest)
    if not np.isfinite(reads):
        return LoadKind(f"{begin}{', '.join(parts[:-1])}, and {parts[-1]}.", nearest)
    return LoadKind(f"{begin}{parts[0]}: {', '.join(parts[1:-1])}{', and ' if len(parts) > 2 else ''}{parts[-1]}." + end, nearest)  # noqa: PLR2004


def _syncs(values: Mapping[str, float]) -> str:
    """Returns a sentence about syncs with a blank after it, or nothing if there are none."""
    count = values["syncs"]
    if not count > 0:
        return ""
    syncs = "one sync" if count == 1 else f"{number(count)} syncs"
    if not np.isfinite(values["sync_total_ms"]):
        return f"There are {syncs}. "
    share = "" if not np.isfinite(values["share_sync_time"]) else f", in {percent(values['share_sync_time'])} of the time"
    total_ms = values["sync_total_ms"]
    total = f"{number(total_ms / _MS_PER_S)} s" if total_ms >= _MS_PER_S else f"{number(total_ms)} ms"
    return f"The program waits {total} for {syncs}{share}. "


def _direction(values: Mapping[str, float]) -> str:
    """Says whether a load reads or writes, by the number of its requests, by their bytes and by the time that they take."""
    shares = [(values[name], words) for name, words in _MEASURES.items() if np.isfinite(values[name])]
    if not np.isfinite(values["share_reads"]):
        return "The trace does not tell which of its requests read and which write"
    first, *others = [(_degree(share), share, words) for share, words in shares]
    alike = [(share, words) for degree, share, words in (first, *others) if degree[1] == first[0][1]]
    parts = [f"This load {' '.join(first[0])} ({', '.join(_share(share, words, first[0][1]) for share, words in alike)})"]
    parts += [
        f"but {' '.join(degree)} by its {words} ({_share(share, words, degree[1])})"
        for degree, share, words in others
        if degree[1] != first[0][1]
    ]
    return ", ".join(parts)


def _degree(reads: float) -> tuple[str, str]:
    """Returns an adverb and a verb for a share of reads."""
    for share, word in ((reads, "reads"), (1 - reads, "writes")):
        if share >= _ALMOST_ALL:
            return "almost only", word
        if share >= _MOST:
            return "mostly", word
    return "about equally", "reads and writes"


def _share(reads: float, words: str, verb: str) -> str:
    return f"{percent(1 - reads if verb == 'writes' else reads)} of its {words}{' are reads' if ' ' in verb else ''}"


def _size(size_bytes: float) -> str:
    if size_bytes >= _KIB * _KIB:
        return f"{number(size_bytes / _KIB / _KIB)} MiB"
    if size_bytes >= _KIB:
        return f"{number(size_bytes / _KIB)} KiB"
    return "1 byte" if size_bytes == 1 else f"{number(size_bytes)} bytes"
