"""Answers are whole English sentences for every outcome, and say no more than one verdict each."""

import re
from itertools import product

import pytest
from evidence_of import STUDIES, evidence_of

from tickdisk.report.answers import QUESTIONS, Context, Effect, Row, Told, answers, sentences, sizing
from tickdisk.report.evidence import Evidence
from tickdisk.report.statement import VERDICTS

TIERS = {"SATA SSD": 0.1, "cloud volume": 1.0, "hard disk": 6.0}
WORDS = [word for kind in VERDICTS.values() for word in kind]
EFFECT = Effect("6 ms of storage latency instead of 0.1 ms", "the longest tick gap", 0.2)


def said(evidence: Evidence) -> dict[str, str]:
    rows = sizing(evidence, "Luanti", TIERS)
    return {each.id: each.sentence for each in answers(Context(evidence, "Luanti", rows, 0.2))}


def check(text: str) -> None:
    assert text.strip() == text
    assert text.endswith(".")
    assert not re.search(r"nan|e\+0|None|not estimable|\.\.|  |;", text), text
    for sentence in re.split(r"(?<=\.) (?=[A-Z9])", text):
        assert sentence[0].isupper() or sentence[0].isdigit()
        assert sentence.count("(") == sentence.count(")")
        assert sum(len(re.findall(rf"\b{word}\b", sentence)) for word in set(WORDS)) <= 1, sentence


@pytest.mark.parametrize(("comparison", "bound", "ratio"), list(product(VERDICTS["comparison"], VERDICTS["bound"], (0.5, 2.0))))
def test_every_outcome_has_whole_sentences(comparison: str, bound: str, ratio: float) -> None:
    found = said(evidence_of(comparison=comparison, bound=bound, ratio=ratio))
    assert list(found) == list(QUESTIONS)
    for text in found.values():
        check(text)


@pytest.mark.parametrize("study", STUDIES)
def test_an_experiment_that_did_not_run_is_said(study: str) -> None:
    whole, without = said(evidence_of()), said(evidence_of(without=[study]))
    changed = {name for name in whole if whole[name] != without[name]}
    assert len(changed) == 1
    for text in without.values():
        check(text)


def test_nothing_at_all_is_still_an_answer() -> None:
    for text in said(evidence_of(without=STUDIES)).values():
        check(text)
        assert "run" in text


@pytest.mark.parametrize(
    ("verdict", "ratio", "words"),
    [
        ("different", 2.0, "makes the longest tick gap longer, by a factor of 2.00 [1.81, 2.20]"),
        ("different", 0.5, "makes the longest tick gap shorter, to a ratio of"),
        ("equivalent", 1.01, "leaves the longest tick gap within 20 % of what it was"),
        ("inconclusive", 1.1, "it is not known whether 6 ms of storage latency"),
        ("not valid", 1.1, "was not decided, because 4 lives are fewer than a verdict needs"),
    ],
)
def test_the_sentence_of_an_effect_says_what_came_out(verdict: str, ratio: float, words: str) -> None:
    assert words in said(evidence_of(comparison=verdict, ratio=ratio))["latency"]


def test_servers_are_named_with_the_outcome_that_each_has() -> None:
    def told(server: str, verdict: str, ratio: float) -> Told:
        evidence = evidence_of(comparison=verdict, ratio=ratio)
        claim = evidence.claims["switchback.latency_6ms.gap_max"]
        return Told(server, claim, evidence.facts[claim["effect"]])

    text = sentences(
        EFFECT,
        [
            told("Luanti", "different", 2.0),
            told("Minestom", "different", 3.0),
            told("Dragonfly", "equivalent", 1.0),
            Told("Paper", None, None),
        ],
    )
    check(text)
    assert text.startswith("On Luanti and Minestom, 6 ms of storage latency instead of 0.1 ms makes the longest tick gap longer")
    assert "On Dragonfly, " in text
    assert text.endswith(
        "On Paper, the effect of 6 ms of storage latency instead of 0.1 ms on the longest tick gap was not measured in this run."
    )


@pytest.mark.parametrize(
    ("good", "hurts", "disk", "words"),
    [
        (
            1.02,
            6.01,
            "cloud volume",
            "is shown to stay within 20 % of its baseline up to 1.02 ms, and exceeds that from 6.01 ms on",
        ),
        (
            12.1,
            None,
            "hard disk",
            "is shown to stay within 20 % of its baseline up to 12.1 ms, and is not shown to exceed that at any",
        ),
        (
            None,
            1.02,
            "none is shown to be",
            "is not shown to stay within 20 % of its baseline at any latency tried, and exceeds that from 1.02 ms on",
        ),
        (
            None,
            None,
            "not known",
            "is not shown to stay within 20 % of its baseline at any latency tried, and is not shown to exceed that at any",
        ),
    ],
)
def test_the_sizing_table_names_the_slowest_disk_that_is_good(
    good: float | None, hurts: float | None, disk: str, words: str
) -> None:
    rows = sizing(evidence_of(good=good, hurts=hurts), "Luanti", TIERS)
    assert {row.disk for row in rows} == {disk}
    text = said(evidence_of(good=good, hurts=hurts))["latency"]
    check(text)
    assert words in text


def test_a_scale_that_decides_nothing_says_so_once() -> None:
    evidence = evidence_of(comparison="not valid", good=None, hurts=None)
    rows = sizing(evidence, "Luanti", TIERS)
    assert all(row == Row("Luanti", row.metric, *["not decided at this scale"] * 3, row.effect, is_decided=False) for row in rows)
    assert said(evidence)["latency"].count("not decided at this scale") == 1
