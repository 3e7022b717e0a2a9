"""Facts, claims and the checks on results: what is stated is whole and comes from somewhere."""

import json
import math
from pathlib import Path

import pytest

from tickdisk.errors import TickdiskError
from tickdisk.report import Study
from tickdisk.report.publish import other_host
from tickdisk.report.study import display


def test_a_fact_has_unit_interval_n_and_source(tmp_path: Path) -> None:
    study = Study("s", str(tmp_path))
    study.fact("gap.arm", 1.5, "ratio", interval=(1.25, math.inf), n=4, source="table x")
    study.save()
    assert json.loads((tmp_path / "facts.json").read_text())["s.gap.arm"] == {
        "value": 1.5,
        "unit": "ratio",
        "low": 1.25,
        "high": None,
        "n": 4,
        "source": "table x",
        "note": "",
    }


def test_what_cannot_be_estimated_is_null_and_said(tmp_path: Path) -> None:
    study = Study("s", str(tmp_path))
    study.fact("gap", math.nan, "ms", source="x")
    assert study.facts["s.gap"].value is None
    assert display(study.facts["s.gap"]) == "not estimable"


def test_an_interval_without_an_end_says_that_it_has_none() -> None:
    study = Study("s", None)
    study.fact("open", 4.0, "ms", interval=(2.0, math.inf), source="x")
    study.fact("none", 4.0, "ms", interval=(math.nan, math.nan), source="x")
    assert [display(fact) for fact in study.facts.values()] == ["4 [2, ∞] ms", "4 ms"]


def test_one_of_something_is_said_as_one() -> None:
    study = Study("s", None)
    for number, (value, unit) in enumerate([(1, "lives"), (1, "update rates"), (2, "lives"), (1, "ms"), (1.0, "requests")]):
        study.fact(f"f{number}", value, unit, source="x")
    assert [display(fact) for fact in study.facts.values()] == ["1 life", "1 update rate", "2 lives", "1 ms", "1 requests"]


def test_a_fact_is_stated_once() -> None:
    study = Study("s", None)
    study.fact("gap", 1, "ms", source="x")
    with pytest.raises(TickdiskError, match=r"fact s.gap: stated twice"):
        study.fact("gap", 2, "ms", source="x")


def test_a_claim_rests_on_facts_and_has_one_of_four_verdicts() -> None:
    study = Study("s", None)
    study.fact("gap", 1, "ms", source="x")
    study.claim("c", source="x", statement="y", verdict="equivalent", evidence="z", facts=["gap"], n=6)
    for verdict, facts in (("maybe", ["gap"]), ("equivalent", ["other"])):
        with pytest.raises(TickdiskError, match=r"claim s.d"):
            study.claim("d", source="x", statement="y", verdict=verdict, evidence="z", facts=facts, n=6)


def test_without_output_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "not written" in Study("s", None).save()
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
