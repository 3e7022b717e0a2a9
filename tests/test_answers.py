"""Answers are whole English sentences for every outcome, and say no more than one verdict each."""

import re
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from evidence_of import ASKED, STUDIES, evidence_of

from tickdisk.project import SizingClass
from tickdisk.report.answers import QUESTIONS, Answers, Effect, ServerResult, answer, sentence_beside, sentences
from tickdisk.report.evidence import Evidence
from tickdisk.stats import TooFew, Word
from tickdisk.studies.statement import THIS_PROJECT, VERDICTS, Claim, Fact, Statement

TIERS = {"SATA SSD": 0.1, "cloud volume": 1.0, "hard disk": 6.0}
WORDS = [word for kind in VERDICTS.values() for word in kind]
EFFECT = Effect("6 ms of storage latency instead of 0.1 ms", "the longest tick gap", 0.2)


def answered(evidence: Evidence) -> Answers:
    return answer(evidence, ASKED, "Luanti", TIERS, 0.2, {})


def said(evidence: Evidence) -> dict[str, str]:
    return {each.id: each.sentence for each in answered(evidence).answers}


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
    whole = answered(evidence_of(comparison=comparison, bound=bound, ratio=ratio))
    assert [each.id for each in whole.answers] == list(QUESTIONS)
    for text in (whole.brief, whole.advice, *(each.sentence for each in whole.answers)):
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
        (
            "different",
            2.0,
            "makes the longest tick gap of an epoch 2.00 [1.81, 2.20] times as long",
        ),
        ("different", 0.5, "makes the longest tick gap of an epoch shorter, 0.500"),
        ("equivalent", 1.01, "leaves the longest tick gap of an epoch within 20 % of what it was"),
        ("inconclusive", 1.1, "it is not known whether 6 ms of storage latency"),
        ("not valid", 1.1, "was not decided, because 4 lives are too few for a verdict"),
    ],
)
def test_the_sentence_of_an_effect_says_what_came_out(verdict: str, ratio: float, words: str) -> None:
    assert words in said(evidence_of(comparison=verdict, ratio=ratio))["latency"]


def test_servers_are_named_with_the_outcome_that_each_has() -> None:
    def told(server: str, verdict: str, ratio: float) -> ServerResult:
        evidence = evidence_of(comparison=verdict, ratio=ratio)
        claim = evidence.claims["switchback.latency_6ms.gap_max"]
        return ServerResult(server, claim, evidence.facts[claim.effect])

    text = sentences(
        EFFECT,
        [
            told("Luanti", "different", 2.0),
            told("Minestom", "different", 3.0),
            told("Dragonfly", "equivalent", 1.0),
            ServerResult("Paper", None, None),
        ],
    )
    check(text)
    assert text.startswith("On Luanti and Minestom, 6 ms of storage latency instead of 0.1 ms makes the longest tick gap 2.00")
    assert "On Dragonfly, " in text
    assert text.endswith(
        "On Paper, the effect of 6 ms of storage latency instead of 0.1 ms on the longest tick gap was not measured in this run."
    )


@pytest.mark.parametrize(
    ("good", "hurts", "words"),
    [
        (
            1.02,
            6.01,
            "is shown to stay at most 20 % above its baseline up to 1 ms, and exceeds that from 6 ms on",
        ),
        (
            12.1,
            None,
            "is shown to stay at most 20 % above its baseline up to 12 ms, and is not shown to exceed that at any",
        ),
        (
            None,
            1.02,
            "is not shown to stay at most 20 % above its baseline at any latency tried, and exceeds that from 1 ms on",
        ),
        (
            None,
            None,
            "is not shown to stay at most 20 % above its baseline at any latency tried, and is not shown to exceed that at any",
        ),
    ],
)
def test_the_sizing_table_says_which_latency_is_good(good: float | None, hurts: float | None, words: str) -> None:
    found = answered(evidence_of(good=good, hurts=hurts))
    assert {row.disk for row in found.sizing} == {"not measured"}
    text = next(each.sentence for each in found.answers if each.id == "latency")
    check(text)
    assert words in text


@pytest.mark.parametrize(
    ("good", "hurts", "words"),
    [
        (
            1.02,
            6.01,
            "up to 1 ms are shown to lengthen no metric of play by more than 20 %, and from 6 ms on",
        ),
        (
            12.1,
            None,
            "up to 12 ms are shown to lengthen no metric of play by more than 20 %, and no metric is shown",
        ),
        (
            None,
            1.02,
            "no latency that was tried is shown to lengthen the mean tick gap by at most 20 %, and from 1 ms",
        ),
        (
            None,
            None,
            "no latency that was tried is shown to lengthen the mean tick gap by at most 20 %, and no metric",
        ),
    ],
)
def test_the_advice_is_that_of_the_strictest_metric(good: float | None, hurts: float | None, words: str) -> None:
    found = answered(evidence_of(good=good, hurts=hurts))
    assert words in found.advice
    assert words in found.brief
    assert ("When all players join at once" in found.advice) == (hurts is not None)
    check(found.brief)


def test_advice_goes_by_the_metric_that_suffers_first() -> None:
    evidence = evidence_of(good=3.0, hurts=12.0)
    changed = {"switchback.gap_max_good_up_to": 1.0, "switchback.gap_max_hurts_from": 3.0}
    facts = {name: evidence.facts[name].model_copy(update={"value": value}) for name, value in changed.items()}
    advice = answered(replace(evidence, facts={**evidence.facts, **facts})).advice
    assert advice.startswith(
        "On Luanti, storage latencies of up to 1 ms are shown to lengthen no metric of play by more than 20 %, "
    )
    assert "and from 3 ms on the longest tick gap of an epoch is shown to be lengthened by more." in advice


@pytest.mark.parametrize(
    ("verdict", "shown", "is_said"),
    [
        ("different", "9.10 [8.80, 9.40] ms per ms", True),
        ("equivalent", "within the margin (9.10 [8.80, 9.40] ms per ms)", False),
        ("inconclusive", "not known (9.10 [8.80, 9.40] ms per ms)", False),
        ("not valid", "not decided", False),
    ],
)
def test_the_sizing_table_says_for_how_many_players_it_holds_and_what_one_more_costs(
    verdict: Word, shown: str, is_said: bool
) -> None:
    evidence, players, setup = evidence_of(), Statement("players"), Statement("setup")
    setup.fact("switchback.players", 5, "players", source="plan")
    players.fact("per_player", 9.1, "ms per ms", interval=(8.8, 9.4), n=6, source="lines")
    few = [TooFew(n=1, needed=6, counted="blocks")] if verdict == "not valid" else []
    own: dict[str, Any] = {
        "source": THIS_PROJECT,
        "statement": "Effect of a player",
        "evidence": "x",
        "n": 6,
        "counted": "blocks",
    }
    players.comparison("per_player", verdict=verdict, causes=few, effect="per_player", **own)
    facts, claims = {**evidence.facts, **setup.facts, **players.facts}, {claim.id: claim for claim in players.claims}
    found = answered(replace(evidence, facts=facts, claims={**evidence.claims, **claims}))
    assert {row.metric: row.players for row in found.sizing if row.study == "switchback"} == {
        "mean tick gap": 5,
        "longest tick gap of an epoch": 5,
        "mean teleport latency": 5,
    }
    assert {row.per_player for row in found.sizing} == {"", shown}
    assert "On Luanti with 5 players, storage latencies of up to" in found.advice
    words = "Each further player adds 9.10 [8.80, 9.40] ms to the longest tick gap for each ms of latency."
    assert (words in found.advice, words in next(each.sentence for each in found.answers if each.id == "latency")) == (
        is_said,
        is_said,
    )
    check(found.advice)


def with_classes(good: int | None, slowest: str) -> Evidence:
    """Returns evidence in which reads, writes and flushes were measured apart."""
    own = Statement("operations.luanti")
    own.word("title", "Luanti", source="manifests")
    for metric in ("gap_mean", "gap_max", "teleport_mean"):
        if good is not None:
            own.fact(f"classes_good.{metric}", good, "classes", source="bounds")
        if slowest:
            own.word(f"slowest_class.{metric}", slowest, source="bounds")
        own.word(f"class_answer.{metric}.gp3", "slow" if metric == "gap_max" else "good", source="bounds")
        own.word(f"class_answer.{metric}.st1_1tib", "open", source="bounds")
    evidence = evidence_of()
    return replace(evidence, facts={**evidence.facts, **own.facts})


@pytest.mark.parametrize(
    ("good", "slowest", "disk"),
    [(2, "gp3", "gp3 volume"), (0, "", "none is shown to be"), (None, "", "not decided")],
)
def test_the_sizing_table_names_the_slowest_class_that_is_good(good: int | None, slowest: str, disk: str) -> None:
    rows = answered(with_classes(good, slowest)).sizing
    assert {row.disk for row in rows if row.study == "switchback"} == {disk}
    assert {row.disk for row in rows if row.study == "join_burst"} == {"not measured"}


def test_the_answer_about_a_class_is_the_worst_of_its_metrics() -> None:
    own: dict[str, Any] = {"description": "a volume", "source": "ours", "write_latency_ns": 2e6, "flush_latency_ns": 0.0}
    classes = {name: SizingClass(read_latency_ns=ns, **own) for name, ns in (("st1_1tib", 9e6), ("gp3", 1e6), ("hdd", 2e6))}
    rows = answer(with_classes(1, "gp3"), ASKED, "Luanti", TIERS, 0.2, classes).classes
    assert [(row.name, row.read_ms) for row in rows] == [("gp3 volume", 1.0), ("hard disk", 2.0), ("st1 volume", 9.0)]
    assert [[each.text for each in row.servers] for row in rows] == [
        ["too slow: longest tick gap of an epoch"],
        [""],
        ["not decided"],
    ]
    assert answer(evidence_of(), ASKED, "Luanti", TIERS, 0.2, classes).classes == ()


def test_a_scale_that_decides_nothing_says_so_once() -> None:
    found = answered(evidence_of(comparison="not valid", good=None, hurts=None))
    told = {(row.good_up_to, row.suffers_from, row.is_decided) for row in found.sizing}
    assert told == {(*["not decided"] * 2, False)}
    assert next(each.sentence for each in found.answers if each.id == "latency").count("not decided at this scale") == 1


_WAITS = "a tick in which the server saves waits for 42.9 requests one after another."


@pytest.mark.parametrize(
    ("ends", "waited", "told"),
    [
        ((42.0, 60.0), 42.9, f"Each ms of latency adds 53.9 [42.0, 60.0] ms to the longest gap on average, because {_WAITS}"),
        ((49.8, 60.0), 42.9, f"53.9 [49.8, 60.0] ms to the longest gap on average, of which 42.9 ms are explained: {_WAITS}"),
        ((30.0, 40.0), 42.9, f"ms to the longest gap on average, although {_WAITS}"),
        ((49.8, 60.0), 0.568, "Each ms of latency adds 53.9 [49.8, 60.0] ms to the longest gap on average. "),
        ((49.8, 60.0), None, "Each ms of latency adds 53.9 [49.8, 60.0] ms to the longest gap on average. "),
        ((-0.4, 60.0), 42.9, ""),
        (None, 42.9, ""),
    ],
)
def test_the_abstract_has_the_mechanism_as_far_as_it_is_shown(
    ends: tuple[float, float] | None, waited: float | None, told: str
) -> None:
    evidence = evidence_of()
    own = Statement("operations.luanti")
    own.fact("per_ms.gap_max.all", 53.9, "ms per ms", interval=ends, source="lives")
    if waited is not None:
        own.fact("waited.saving.all", waited, "requests", source="captured lives")
    found = answered(replace(evidence, facts={**evidence.facts, **own.facts}))
    assert told in found.brief
    assert ("Each ms of latency adds" in found.brief) == (told != "")


def test_the_headline_says_what_other_servers_do() -> None:
    told = [ServerResult(name, claim, fact) for name, claim, fact in _others()]
    said = sentence_beside(Effect("6 ms", "the longest gap", 0.2), told)
    assert said == (
        "On B it is 2.00 [1.81, 2.20] times as long, on A and C it stays within 20 % of what it was, "
        "on D it is not known whether it changes and on E this was not measured."
    )
    assert sentence_beside(Effect("6 ms", "the longest gap", 0.2), []) == ""


def _others() -> list[tuple[str, Claim | None, Fact | None]]:
    words = {"A": "equivalent", "B": "different", "C": "equivalent", "D": "inconclusive"}
    claims = {}
    for name, word in words.items():
        evidence = evidence_of(comparison=word)  # type: ignore[arg-type]
        claim = evidence.claims[ASKED.claims[0]]
        claims[name] = (claim, evidence.facts[claim.effect])
    return [*((name, *found) for name, found in claims.items()), ("E", None, None)]
