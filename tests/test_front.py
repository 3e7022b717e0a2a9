"""The first screen of the page: its bars lie where the sizing table says, and an undecided run shows no numbers."""

from dataclasses import replace
from math import log

import pytest
from evidence_of import ASKED, evidence_of

from tickdisk.report.answers import answer
from tickdisk.report.evidence import Evidence
from tickdisk.report.front import Front, front, latencies, reference_front
from tickdisk.studies.statement import Statement


def screen(evidence: Evidence) -> Front:
    return front(answer(evidence, ASKED, "Luanti", {}, 0.2, {}), evidence, ASKED, "this run")


@pytest.mark.parametrize(
    ("good", "hurts", "kinds"),
    [
        (1.02, 6.01, ["good", "open", "suffers"]),
        (12.0, None, ["good"]),
        (11.9977, None, ["good"]),
        (None, 6.01, ["open", "suffers"]),
        (None, None, ["open"]),
        (1.02, None, ["good", "open"]),
    ],
)
def test_a_bar_has_the_parts_that_are_shown(good: float | None, hurts: float | None, kinds: list[str]) -> None:
    bars = screen(evidence_of(good=good, hurts=hurts)).bars
    assert [bar.label for bar in bars] == ["Luanti: longest tick gap of an epoch", "Luanti: mean teleport latency"]
    for bar in bars:
        assert [part.kind for part in bar.segments] == kinds
        assert bar.segments[0].left == 0
        assert bar.segments[-1].left + bar.segments[-1].width == pytest.approx(100, abs=0.1)
        for one, other in zip(bar.segments, bar.segments[1:], strict=False):
            assert one.left + one.width == pytest.approx(other.left, abs=0.1)


def test_places_are_those_of_a_logarithmic_axis() -> None:
    evidence = evidence_of(good=1.0, hurts=6.0)
    assert latencies(evidence, "switchback") == [0.1, 1.0, 6.0, 12.0]
    (bar, *_), ticks = screen(evidence).bars, dict(screen(evidence).ticks)
    assert (ticks["0.1 ms"], ticks["12 ms"]) == (0, 100)
    assert ticks["1 ms"] == pytest.approx(100 * log(10) / log(120), abs=0.01)
    assert bar.segments[0].width == ticks["1 ms"]
    assert bar.segments[2].left == ticks["6 ms"]


def test_numbers_stand_only_where_something_is_decided() -> None:
    decided = screen(evidence_of())
    assert decided.is_decided
    assert [value for value, _ in decided.numbers] == ["2.00 [1.81, 2.20] times as long"] * 2
    assert not screen(evidence_of(comparison="not valid")).is_decided
    for verdict in ("not valid", "inconclusive", "equivalent"):
        assert screen(evidence_of(comparison=verdict)).numbers == []
    assert screen(evidence_of(ratio=0.5)).numbers == [], "a metric that gets shorter is no lag"


@pytest.mark.parametrize(("low", "numbers"), [(49.8, ["53.9 [49.8, 58.1] ms longer"]), (-0.4, []), (None, [])])
def test_what_a_ms_of_latency_adds_stands_only_where_it_is_shown(low: float | None, numbers: list[str]) -> None:
    evidence, own = evidence_of(comparison="equivalent"), Statement("operations.luanti")
    ends = None if low is None else (low, 58.1)
    own.fact("per_ms.gap_max.all", 53.9, "ms per ms", interval=ends, source="lives")
    found = screen(replace(evidence, facts={**evidence.facts, **own.facts}))
    assert [value for value, _ in found.numbers] == numbers


def test_the_reference_decides() -> None:
    found = reference_front()
    assert found is not None
    assert found.is_decided
    assert len(found.numbers) == 3
    assert {bar.label.partition(":")[0] for bar in found.bars} == {"Luanti", "Dragonfly", "Minestom"}
    assert "paper scale" in found.origin
