"""The first screen of the page: the answer in a sentence, three numbers, and a picture of the latencies that are good enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Literal

from tickdisk.compare import Reference
from tickdisk.experiment import Arm
from tickdisk.foundation import record
from tickdisk.foundation.numbers import number, with_interval
from tickdisk.project import KeptPlan
from tickdisk.report.answers import METRICS, PLAY, Answers, Asked, SizingRow, answer
from tickdisk.report.evidence import Evidence
from tickdisk.server import SERVERS
from tickdisk.studies.statement import read_claims, read_facts

REFERENCE = Path("data/reference/paper")

Kind = Literal["good", "open", "suffers"]


@dataclass(frozen=True)
class Segment:
    """A part of a bar, with its place as percentages of the width of the picture."""

    kind: Kind
    left: float
    width: float


@dataclass(frozen=True)
class Bar:
    """A metric on a server: the latencies at which it is good, not decided, and longer."""

    label: str
    words: str
    segments: Sequence[Segment]


@dataclass(frozen=True)
class Front:
    """The first screen, from one run."""

    sentence: str
    numbers: Sequence[tuple[str, str]]
    """Up to three values, each with the words for it."""
    ticks: Sequence[tuple[str, float]]
    """Labels of the axis of the picture, each with its place as a percentage of the width."""
    bars: Sequence[Bar]
    """The longest tick gap and the action of the confirmatory claims, on each server."""
    sizing: Sequence[tuple[SizingRow, Bar | None]]
    """All rows of the sizing table, each with its bar if several latencies were tried."""
    origin: str
    """The run that this comes from, in words."""
    is_decided: bool
    """Whether anything is decided about the server that the studies are about."""


def front(answers: Answers, evidence: Evidence, asked: Asked, origin: str) -> Front:
    """Returns the first screen of a run. `origin` names the run in words."""
    doses = latencies(evidence, PLAY)
    title = SERVERS[asked.server].title
    is_decided = any(row.is_decided for row in answers.sizing if row.server == title)
    sizing = [(row, _bar(row, doses) if len(doses) > 1 else None) for row in answers.sizing]
    shown = [METRICS.get(f"{PLAY}.{name}") for name in (asked.ticks, f"{asked.action}_mean")]
    return Front(
        sentence=answers.headline,
        numbers=_numbers(evidence, asked),
        ticks=[(f"{number(dose)} ms", _place(dose, doses)) for dose in doses],
        bars=[bar for row, bar in sizing if bar is not None and row.metric in shown],
        sizing=sizing,
        origin=origin,
        is_decided=is_decided,
    )


def reference_front(folder: Path = REFERENCE) -> Front | None:
    """Returns the first screen of our reference run, or None if the project keeps none."""
    if not (folder / "plan.json").exists():
        return None
    plan, facts = record.read(KeptPlan, folder / "plan.json"), read_facts(folder)
    evidence = Evidence(facts, read_claims(folder), {name.partition(".")[0]: {} for name in facts}, {})
    asked, about = Asked.of(plan), record.read(Reference, folder / "about.json")
    title, margin = SERVERS[plan.config.server].title, plan.config.decision.margin
    answers = answer(evidence, asked, title, {}, margin, {})
    return front(answers, evidence, asked, f"our run at {about.scale} scale of {about.date}")


def latencies(evidence: Evidence, study: str) -> list[float]:
    """Returns the latencies in ms of the arms of a study, each once and in order."""
    found = {fact.value for name, fact in evidence.facts.items() if name.startswith(f"{study}.latency.")}
    return sorted(float(value) for value in found if value)


def _numbers(evidence: Evidence, asked: Asked) -> list[tuple[str, str]]:
    """Returns the effects that are shown: those of a slow disk on ticks and actions, and what a ms of latency adds."""
    latency, fast = ("storage" if arm is None else _latency(evidence, arm) for arm in (asked.slow, asked.baseline))
    metrics = (METRICS.get(f"{PLAY}.{asked.ticks}", asked.ticks), f"mean {asked.action}")
    shown = []
    for name, metric in zip(asked.claims, metrics, strict=True):
        claim = evidence.claims.get(name)
        if claim is not None and claim.direction == "higher":
            shown.append((f"{evidence.text(claim.effect)} times as long", f"is the {metric} at {latency}, compared with {fast}"))
    slope = evidence.facts.get(f"operations.{asked.server}.per_ms.gap_max.all")
    if slope is not None and slope.low is not None and slope.low > 0:
        size = with_interval(slope.value, slope.low, slope.high)
        shown.append((f"{size} ms longer", "is the longest tick gap on average for each ms of latency"))
    return shown


def _latency(evidence: Evidence, arm: Arm) -> str:
    name = f"{PLAY}.latency.{arm.arm}"
    return f"{evidence.short(name)} of storage latency" if name in evidence.facts else f"the latency of {arm.arm}"


def _bar(row: SizingRow, doses: Sequence[float]) -> Bar:
    least, most = doses[0], doses[-1]
    good, suffers = (None if bound is None else _nearest(bound, doses) for bound in (row.good_up_to_ms, row.suffers_from_ms))
    first, last = least if good is None else good, most if suffers is None else suffers
    parts: list[tuple[Kind, float, float]] = [("good", least, first), ("open", first, last), ("suffers", last, most)]
    # A metric that suffers from the slowest latency that was tried still has a mark there.
    segments = [Segment(kind, _place(begin, doses), _place(end, doses) - _place(begin, doses)) for kind, begin, end in parts]
    shown = [
        Segment(each.kind, min(each.left, 97.0), max(each.width, 3.0))
        for each, is_there in zip(segments, (good is not None, first < last, suffers is not None), strict=True)
        if is_there
    ]
    words = f"good up to {row.good_up_to}, suffers from {row.suffers_from}" if row.is_decided else "not decided"
    return Bar(f"{row.server}: {row.metric}", words, shown or [Segment("open", 0.0, 100.0)])


def _nearest(realised_ms: float, doses: Sequence[float]) -> float:
    """Returns the latency of the arm that realised this latency, because an arm realises a little more or less than its own."""
    return min(doses, key=lambda dose: abs(log(dose / realised_ms)))


def _place(latency_ms: float, doses: Sequence[float]) -> float:
    """Returns the place of a latency on a logarithmic axis as a percentage of its width."""
    low, high = log(doses[0]), log(doses[-1])
    return round(100 * (log(min(max(latency_ms, doses[0]), doses[-1])) - low) / (high - low), 2)
