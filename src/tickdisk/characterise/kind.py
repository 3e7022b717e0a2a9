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
_KIB = 1024


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


def kind(values: Mapping[str, float], known: Sequence[PublishedLoad]) -> LoadKind:
    """Describes a load in one sentence, from the numbers that `summary` returns. It leaves out what the trace does not tell."""
    reads = values["share_reads"]
    parts = [_direction(reads)]
    if np.isfinite(values["p50_bytes"]):
        low, high = (_size(values[f"{name}_bytes"]) for name in ("p25", "p75"))
        parts.append(f"half of the requests have {low} to {high}" if low != high else f"at least half of the requests have {low}")
    if np.isfinite(values["share_sequential"]):
        share = values["share_sequential"]
        word = "almost never" if share < _FEW else "mostly" if share > _MOST else "partly"
        parts.append(f"they {word} follow each other on the disk ({percent(share)} do)")
    if np.isfinite(values["average_iops"]):
        peak = values["peak_ratio"]
        rate = f"there are {number(values['average_iops'])} requests per second"
        parts.append(f"{rate}, in bursts of up to {number(peak)} times as many" if peak > _BURSTS else rate)
    periods_s = {op: values[f"{op}_period_s"] for op in reversed(OPS)}
    parts += [f"bursts of {op}s return every {number(period_s)} s" for op, period_s in periods_s.items() if np.isfinite(period_s)]
    told = [reference for reference in known if reference.share_reads is not None and np.isfinite(reads)]
    nearest = min(told, key=lambda reference: abs(float(reference.share_reads or 0) - reads)).load if told else ""
    end = f" Of the published loads, {nearest} has the most similar share of reads." if nearest else ""
    if len(parts) == 1:
        return LoadKind(f"{parts[0]}.{end}", nearest)
    if not np.isfinite(reads):
        return LoadKind(f"{', '.join(parts[:-1])}, and {parts[-1]}.", nearest)
    return LoadKind(f"{parts[0]}: {', '.join(parts[1:-1])}{', and ' if len(parts) > 2 else ''}{parts[-1]}." + end, nearest)  # noqa: PLR2004


def _direction(reads: float) -> str:
    if not np.isfinite(reads):
        return "The trace does not tell which of its requests read and which write"
    for share, word in ((reads, "reads"), (1 - reads, "writes")):
        if share >= _ALMOST_ALL:
            return f"This load almost only {word} ({percent(share)} of its requests)"
        if share >= _MOST:
            return f"This load mostly {word} ({percent(share)} of its requests)"
    return f"This load reads and writes alike ({percent(reads)} of its requests are reads)"


def _size(size_bytes: float) -> str:
    if size_bytes >= _KIB * _KIB:
        return f"{number(size_bytes / _KIB / _KIB)} MiB"
    if size_bytes >= _KIB:
        return f"{number(size_bytes / _KIB)} KiB"
    return "1 byte" if size_bytes == 1 else f"{number(size_bytes)} bytes"
