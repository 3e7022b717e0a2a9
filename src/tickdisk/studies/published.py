"""Reads the published findings that studies hold their own measurements against."""

from collections.abc import Mapping
from pathlib import Path

from tickdisk.foundation.yaml_file import read_section
from tickdisk.stats import Finding

_SLOWEST_MS = 6.0
"""Latency of the slowest device of the published study, which says nothing about slower devices."""
_SHORT_REGIONS_PER_S = 160
"""Rate of a burst up to which that study found no difference between devices, and beyond which it found one (PokeSto, MF1)."""


def load_findings(path: str) -> Mapping[str, Finding]:
    """Returns the findings of `data/published.yaml` by their names. Raises TickdiskError if one is wrong."""
    return read_section(dict[str, Finding], Path(path), "findings")


def steady_finding(findings: Mapping[str, Finding], *, latency_ms: float, of_ticks: bool) -> Finding | None:
    """Returns the published finding about steady play on a device of some latency, or None if there is none.

    The published study says nothing about teleports.
    """
    return findings.get("steady.gap") if of_ticks and latency_ms <= _SLOWEST_MS else None


def burst_finding(findings: Mapping[str, Finding], metric: str, *, latency_ms: float, regions_per_s: float) -> Finding | None:
    """Returns the published finding about a metric of a burst of joins on a device of some latency, or None if there is none.

    The metrics are those of `qos.epoch_table`. The published number for a fast burst is that of a hard disk, so that it says
    nothing about faster devices.
    """
    if latency_ms > _SLOWEST_MS:
        return None
    if metric == "join_mean_ms":
        return findings.get("burst.join_mean")
    if metric != "gap_max_ms":
        return None
    if regions_per_s <= _SHORT_REGIONS_PER_S:
        return findings.get("burst.gap_max.short")
    return findings.get("burst.gap_max.long") if latency_ms == _SLOWEST_MS else None
