"""Facts, claims and the checks on results: what is stated is whole and comes from somewhere."""

import json
import math
from pathlib import Path

import pytest

from tickdisk.foundation.errors import TickdiskError
from tickdisk.report.evidence import Evidence
from tickdisk.report.page import _claim
from tickdisk.report.publish import other_host
from tickdisk.studies import Statement, Study


def test_a_fact_has_unit_interval_n_and_source(tmp_path: Path) -> None:
    said = Statement("s")
    said.fact("gap.arm", 1.5, "ratio", interval=(1.25, math.inf), n=4, source="table x")
    said.save(tmp_path)
    assert json.loads((tmp_path / "facts.json").read_text())["s.gap.arm"] == {
        "value": 1.5,
        "unit": "ratio",
        "low": 1.25,
        "high": None,
        "n": 4,
        "source": "table x",
        "note": "",
        "text": "1.50 [1.25, ∞]",
        "short": "1.5",
    }


def test_a_value_that_cannot_be_estimated_is_null_and_said() -> None:
    said = Statement("s")
    assert said.fact("gap", math.nan, "ms", source="x").value is None
    assert said["gap"].text == "not estimable"


def test_an_interval_without_an_end_says_that_it_has_none() -> None:
    said = Statement("s")
    said.fact("open", 4.0, "ms", interval=(2.0, math.inf), source="x")
    said.fact("none", 4.0, "ms", interval=(math.nan, math.nan), source="x")
    assert [fact.text for fact in said.facts.values()] == ["4.00 [2.00, ∞] ms", "4 ms"]


VALUES = [(1, "lives"), (1, "update rates"), (2, "lives"), (1, "ms"), (1.0, "requests"), (1, "requests/s")]


def test_one_of_something_is_said_as_one() -> None:
    said = Statement("s")
    for number, (value, unit) in enumerate(VALUES):
        said.fact(f"f{number}", value, unit, source="x")
    assert [fact.text for fact in said.facts.values()] == [
        "1 life",
        "1 update rate",
        "2 lives",
        "1 ms",
        "1 requests",
        "1 request/s",
    ]


def test_an_effect_that_counts_what_decided_is_a_part_of_it() -> None:
    for kept, of in ((1, 4), (2, 4), (1, 1), (0, 4)):
        said = Statement("s")
        said.fact("kept", kept, "lives", source="x")
        said.bound("b", source="x", statement="y", verdict="kept", evidence="z", effect="kept", n=of, counted="lives")
        evidence = Evidence(said.facts, {}, {}, {})
        assert _claim(said.claims[0], evidence).here == f"{kept} of {of} {'life' if of == 1 else 'lives'}"


def test_a_fact_is_stated_once() -> None:
    said = Statement("s")
    said.fact("gap", 1, "ms", source="x")
    with pytest.raises(TickdiskError, match=r"fact s.gap is stated twice"):
        said.fact("gap", 2, "ms", source="x")


def test_a_claim_rests_on_facts_and_has_a_verdict_of_its_kind() -> None:
    said = Statement("s")
    said.fact("gap", 1, "ms", source="x")
    words = {"source": "x", "statement": "y", "evidence": "z", "n": 6, "counted": "lives"}
    said.comparison("compared", verdict="equivalent", effect="gap", **words)
    said.bound("held", verdict="kept", effect="gap", **words)
    assert [(claim.kind, claim.effect, claim.facts) for claim in said.claims] == [
        ("comparison", "s.gap", ["s.gap"]),
        ("bound", "s.gap", ["s.gap"]),
    ]
    for state, verdict, effect in (
        (said.comparison, "kept", "gap"),
        (said.bound, "equivalent", "gap"),
        (said.comparison, "equivalent", "other"),
    ):
        with pytest.raises((TickdiskError, KeyError), match=r"claim s.d|s.other"):
            state("d", verdict=verdict, effect=effect, **words)


def test_a_figure_that_results_do_not_have_leaves_a_reason(tmp_path: Path) -> None:
    def none(_: int) -> None:
        raise TickdiskError("no tick was late")

    said = Statement("s")
    study = Study(1, said, {"late": none}, {})
    assert "no tick was late" in study.figure("late").data
    study.save(str(tmp_path))
    assert json.loads((tmp_path / "figures.json").read_text()) == {"late": "no tick was late"}
    with pytest.raises(TickdiskError, match=r"there is no figure other; this study has late"):
        study.figure("other")


def test_without_output_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "not written" in Study(1, Statement("s"), {}, {}).save(None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("html", "asks"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/css">', True),
        ("<style>@import url(https://fonts.example/css);</style>", True),
        ('<a href="https://example.org/">a link that a person may follow</a>', False),
        ('<img src="notebooks/x/figures/y.svg"><a href="paper.pdf">paper</a>', False),
    ],
)
def test_a_request_to_another_host_is_found(html: str, asks: bool) -> None:
    assert (other_host(html) is not None) == asks
