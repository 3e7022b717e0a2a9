"""What becomes of a published finding: the quantity that was published decides, and a difference of the same sign does not."""

from itertools import product
from math import inf, nan
from pathlib import Path

import pytest

from tickdisk.foundation.errors import TickdiskError
from tickdisk.stats import Finding, Outcome
from tickdisk.studies.published import load_findings
from tickdisk.studies.statement import Statement, verdict_text

FINDINGS = load_findings("data/published.yaml")
SAID = {"source": "A. Nobody 2001", "said": "it is so", "quantity": "this over that"}


@pytest.mark.parametrize(
    ("name", "low", "high", "outcome"),
    [
        # Differences of the published sign, and far from the published number.
        ("memory", 4.58, 4.84, "contradicted"),
        ("checkpoint.crossing.atomic_copy_dirty_objects", 23_900, 23_900, "contradicted"),
        ("games.reads", 0.51, 0.57, "contradicted"),
        ("burst.gap_max.long", 7.01, 11.1, "contradicted"),
        ("cpu", 1.36, 1.65, "open"),
        ("cpu", 1.7, 2.4, "upheld"),
        ("memory", 15, 23, "upheld"),
        ("games.reads", 0.975, 1, "upheld"),
        ("steady.gap", 0.952, 1.1, "upheld"),
        ("steady.gap", 0.952, 1.21, "open"),
        ("steady.gap", 3.5, 4.6, "contradicted"),
        ("steady.gap", 0.7, 0.8, "contradicted"),
        ("activity.p20", 0.6, 2.4, "upheld"),
        ("activity.p20", -0.3, 0.4, "contradicted"),
        ("activity.snapshots", -0.9, 0.9, "upheld"),
        # A direction has no number: any value on its side upholds it.
        ("bytes", 1.09, 1.11, "upheld"),
        ("bytes", 0.99, 1.11, "open"),
        ("order.tcp_kcp", 0.939, 0.998, "contradicted"),
        ("random.writes", 0.79, 0.81, "contradicted"),
        # A crossing is known to lie between two numbers of players.
        ("crosses.tcp", 100, 140, "upheld"),
        ("crosses.tcp", 100, inf, "open"),
        ("crosses.tcp", 180, inf, "contradicted"),
        ("crosses.snapshots", 200, inf, "upheld"),
        ("crosses.snapshots", 140, 160, "contradicted"),
        ("steady.gap", nan, nan, "open"),
    ],
)
def test_an_interval_decides_about_what_was_published(name: str, low: float, high: float, outcome: Outcome) -> None:
    assert FINDINGS[name].outcome(low, high) == outcome


def accepts(finding: Finding, value: float) -> bool:
    """Whether a value is near enough, by the words of the test and not by the ends of a range."""
    ends = (finding.published, finding.published if finding.to is None else finding.to)
    if finding.test in ("above", "below"):
        return (value >= ends[0]) if finding.test == "above" else (value <= ends[0])
    nearest = min(max(value, ends[0]), ends[1])
    if finding.test == "distance":
        return abs(value - nearest) <= (finding.tolerance or 0)
    most = (finding.tolerance or 0) + (1 if finding.test == "equivalence" else 0)
    return max(value / nearest, nearest / value) <= most


def test_every_finding_is_upheld_only_if_all_values_of_the_interval_are_near_enough() -> None:
    for name, finding in FINDINGS.items():
        scale = finding.published or 1.0
        values = [scale * step / 40 for step in range(1, 121)]
        for low, high in product(values[::7], values[3::7]):
            if low > high:
                continue
            near = [accepts(finding, value) for value in values if low <= value <= high] + [
                accepts(finding, low),
                accepts(finding, high),
            ]
            found = finding.outcome(low, high)
            assert (found == "upheld") == all(near), name
            # An interval that covers the whole range has no value of this list in it where the range is narrow.
            assert found != "contradicted" or not any(near), name


def test_a_claim_has_the_quantity_the_published_value_the_tolerance_and_ours() -> None:
    said = Statement("s")
    said.fact("share", 0.54, "share", interval=(0.51, 0.57), n=6, source="x")
    said.fact("ratio", 1.17, "ratio", interval=(1.02, 1.33), n=6, source="x")
    words = {"statement": "reads against writes", "evidence": "z", "effect": "ratio", "n": 6, "counted": "lives"}
    said.comparison("reads", verdict="different", finding=FINDINGS["games.reads"], tested="share", **words)
    claim = said.claims[0]
    assert claim.finding is not None
    assert (claim.study, claim.source) == ("contradicted", "A. Maruf et al. 2021")
    assert (claim.finding.quantity, claim.finding.published) == ("share of reads among requests", "99.3 %")
    assert (claim.finding.criterion, claim.finding.here) == ("within 2 points", "54.0 [51.0, 57.0] %")
    shown = said.verdicts().iloc[0]
    assert [shown[name] for name in ("published", "upheld", "finding")] == ["99.3 %", "within 2 points", "contradicted"]


def test_a_claim_that_is_not_valid_or_measured_elsewhere_decides_no_finding() -> None:
    finding = Finding(**SAID, unit="ratio", published=2, test="factor", tolerance=1.25)
    direction = Finding(**SAID, unit="ratio", published=1, test="above", is_direction=True)
    said = Statement("s")
    said.fact("two", 2.0, "ratio", interval=(1.9, 2.1), n=6, source="x")
    words = {"statement": "y", "evidence": "z", "effect": "two", "n": 6, "counted": "lives"}
    cause = [{"kind": "no_interval", "n": 6, "counted": "lives"}]
    said.comparison("good", verdict="different", finding=finding, **words)
    said.comparison("elsewhere", verdict="different", finding=finding, is_same=False, **words)
    said.comparison("bad", verdict="not valid", causes=cause, finding=finding, **words)
    said.comparison("adjusted", verdict="inconclusive", finding=direction, **words)
    said.bound("kept", verdict="kept", finding=finding, is_fitted=True, **words)
    said.comparison("ours", verdict="different", **words)
    assert [claim.study for claim in said.claims] == ["upheld", "open", "not valid", "open", "open", ""]


@pytest.mark.parametrize(("value", "unit", "words"), [(0.825, "ratio", "lower"), (4.0, "ratio", "higher"), (0.5, "ms", "higher")])
def test_a_difference_says_its_direction(value: float, unit: str, words: str) -> None:
    said = Statement("s")
    said.fact("gap", value, unit, interval=(value / 1.1, value * 1.1), n=8, source="x")
    words_of = {"statement": "y", "evidence": "z", "effect": "gap", "n": 8, "counted": "lives"}
    said.comparison("gap", verdict="different", **words_of)
    said.comparison("same", verdict="equivalent", **words_of)
    assert [verdict_text(claim) for claim in said.claims] == [f"different, {words}", "equivalent"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("test: factor", "the test factor needs a tolerance"),
        ("test: above, tolerance: 2", "the test above needs no tolerance"),
        ("test: near, tolerance: 2", "findings: x.test"),
    ],
)
def test_a_finding_without_its_test_is_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "published.yaml"
    path.write_text(f"findings: {{x: {{source: a, said: b, quantity: c, unit: ratio, published: 2, {text}}}}}\n")
    with pytest.raises(TickdiskError, match=message):
        load_findings(str(path))
