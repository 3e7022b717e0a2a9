"""The sizing table and its sentences: up to which latency a metric is good, from which one it suffers, which disk is enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tickdisk.numbers import number, percent
from tickdisk.report.evidence import Evidence

METRICS = {
    "switchback.gap_mean": "mean tick gap",
    "switchback.gap_max": "longest tick gap of an epoch",
    "switchback.teleport_mean": "mean teleport latency",
}
NOT_DECIDED = "not decided at this scale"
_NONE = "no latency tried"


@dataclass(frozen=True)
class Row:
    """A row of the sizing table."""

    server: str
    metric: str
    good_up_to: str
    suffers_from: str
    disk: str
    """The slowest class of disk that is shown to be good enough."""
    effect: str
    """The effect of the largest dose, with its interval."""
    is_decided: bool


def sizing(evidence: Evidence, server: str, tiers: Mapping[str, float]) -> list[Row]:
    """Returns the sizing table of a server; `tiers` are the classes of disks and their latencies in ms.

    A table without rows says that the experiment did not run.
    """
    if not evidence.has("switchback"):
        return []
    return [_row(evidence, server, name, title, tiers) for name, title in METRICS.items()]


def _row(evidence: Evidence, server: str, name: str, title: str, tiers: Mapping[str, float]) -> Row:
    study, _, metric = name.partition(".")
    claim = evidence.claims[f"{study}.dose_{metric}"]
    effect = f"{evidence.facts[claim['effect']]['text']} at {_dose(evidence, claim['effect'])}"
    if claim["verdict"] == "not valid":
        return Row(server, title, NOT_DECIDED, NOT_DECIDED, NOT_DECIDED, effect, is_decided=False)
    good, hurts = evidence.value(f"{name}_good_up_to"), evidence.value(f"{name}_hurts_from")
    return Row(
        server,
        title,
        _NONE if good is None else f"{number(good)} ms",
        _NONE if hurts is None else f"{number(hurts)} ms",
        _disk(None if good is None else _nominal_ms(evidence, study, good), hurts, tiers),
        effect,
        is_decided=True,
    )


def _dose(evidence: Evidence, effect: str) -> str:
    """The nominal latency of the arm that a ratio is about."""
    study, _, rest = effect.partition(".")
    return evidence.short(f"{study}.latency.{rest.partition('.')[2]}")


def _nominal_ms(evidence: Evidence, study: str, good_ms: float) -> float:
    """The nominal latency of the slowest arm whose realised latency is shown to be good: tiers go by theirs, too."""
    doses = [name.rpartition(".")[2] for name in evidence.facts if name.startswith(f"{study}.dose.")]
    nominal = [
        evidence.value(f"{study}.latency.{arm}") for arm in doses if (evidence.value(f"{study}.dose.{arm}") or 0) <= good_ms
    ]
    return max(latency for latency in nominal if latency is not None)


def _disk(good_ms: float | None, hurts_ms: float | None, tiers: Mapping[str, float]) -> str:
    """The slowest tier at or below the latency that is good."""
    if good_ms is None:
        return "none is shown to be" if hurts_ms is not None else "not known"
    enough = {name: latency for name, latency in tiers.items() if latency <= good_ms}
    return max(enough, key=lambda name: enough[name]) if enough else "none is shown to be"


def sentence(rows: Sequence[Row], margin: float) -> str:
    """Returns what the table says, in one sentence a metric; `margin` is the ratio less 1 that a metric may change by."""
    if not rows:
        return "The experiment that decides which disk is good enough did not run."
    if not any(row.is_decided for row in rows):
        return "Which disk is good enough is not decided at this scale, which has too few server lives."
    return " ".join(_said(row, percent(margin)) for row in rows)


def _said(row: Row, margin: str) -> str:
    if not row.is_decided:
        return f"For the {row.metric} this is {NOT_DECIDED}."
    good = (
        f"is not shown to stay within {margin} of its baseline at any latency tried"
        if row.good_up_to == _NONE
        else f"is shown to stay within {margin} of its baseline up to {row.good_up_to}"
    )
    hurts = (
        "and is not shown to exceed that at any" if row.suffers_from == _NONE else f"and exceeds that from {row.suffers_from} on"
    )
    return f"The {row.metric} {good}, {hurts}."
