"""Causes of claims that are not decided: each kind is read back from a file, and an answer tells it in words of its own.

The tests of the studies check that their claims have the causes that they must have.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import pytest
from evidence_of import ASKED, evidence_of

from tickdisk.foundation.errors import TickdiskError
from tickdisk.report.answers import Answers, answer
from tickdisk.report.answers.why import clause, has_too_few, reasons
from tickdisk.report.evidence import Evidence
from tickdisk.stats import (
    AnyWord,
    BelowFloor,
    BoundWord,
    Cause,
    Censored,
    ClientsSaturated,
    ControlFailed,
    ControlUndecided,
    FewerThanPlanned,
    FilesUnknown,
    LimitTooNarrow,
    LivesFailed,
    NoInterval,
    NothingCaptured,
    NotMeasured,
    NotSettled,
    NotShown,
    PointsNotJudged,
    StepsNotValid,
    TooFew,
    Undecided,
    Word,
    WrongTwinNotFound,
)
from tickdisk.studies import Claim, Statement

FEW = TooFew(n=4, needed=6, counted="lives")
SATURATED = ClientsSaturated(life="life 3", detail="client saturated: 3 % of its steps were late")
CONTROL = ControlFailed(control="null", verdict="not valid", reason="n = 5, fewer than the 6 lives that a verdict needs")
CLAUSES: dict[Cause, str] = {
    FEW: "4 lives are too few for a verdict",
    TooFew(n=1, needed=6, counted="lives"): "1 life is too few for a verdict",
    FewerThanPlanned(n=8, planned=10, counted="lives"): "8 lives are too few for a verdict",
    NoInterval(n=8, counted="lives"): "8 lives give no interval",
    CONTROL: "a control of the experiment did not come out as it must",
    ControlUndecided(
        control="sham", low=0.9, high=1.4, n=8, reason="ratio 1.1"
    ): "a control of the experiment did not come out as it must",
    SATURATED: "the clients were short of processor time",
    NothingCaptured(): "nothing was captured",
    FilesUnknown(): "the files of the device's requests are not known here",
    StepsNotValid(players=20, stack="TCP", detail="a player was lost", n=1, lives=6): "with 20 players on TCP, a player was lost",
    NotMeasured(what="the value"): "the value could not be measured",
    PointsNotJudged(judged=1, untold=3, loaded=2): "too few points could be judged",
    LivesFailed(n=6): "no life has a record",
    Undecided(n=8, needed=21, counted="lives"): "8 lives are too few to decide",
    NotShown(n=6, counted="requests"): "6 requests are too few to decide",
    BelowFloor(operation="read", latency_ns=20_000, floor_ns=25_000, share=0.7): "the disk is faster than the emulator can be",
    WrongTwinNotFound(n=6, low=0.9, high=1.3): "not even a wrong twin was found to differ",
    Censored(n=3, of=12): "3 of 12 searches ended at their first step or went through all steps",
    LimitTooNarrow(players=5, n=4, of=6): "the fast disk carried 5 players in 4 of 6 blocks only",
    NotSettled(n=2, predictions=12): "2 of 12 predictions did not settle",
}


def claim_of(*causes: Cause, verdict: Word = "not valid") -> Claim:
    said = Statement("s")
    said.fact("ratio", 2.0, "ratio", source="x")
    words = {"source": "this project", "statement": "y", "evidence": "z"}
    said.comparison("c", verdict=verdict, causes=causes, effect="ratio", n=4, counted="lives", **words)
    return said.claims[0]


@pytest.mark.parametrize(("cause", "words"), CLAUSES.items(), ids=lambda value: getattr(value, "kind", ""))
def test_each_kind_has_its_own_clause(cause: Cause, words: str) -> None:
    assert clause(cause) == words


def test_every_kind_is_told() -> None:
    kinds = set(get_args(get_args(Cause)[0]))
    assert {type(cause) for cause in CLAUSES} == kinds
    assert len({kind.model_fields["kind"].default for kind in kinds}) == len(kinds)


def test_every_kind_is_read_as_it_was_written(tmp_path: Path) -> None:
    said = Statement("s")
    for number, cause in enumerate(CLAUSES):
        words = {"source": "this project", "statement": "y", "evidence": "z", "n": 4, "counted": "lives"}
        said.bound(str(number), verdict="not valid", causes=[cause], **words)
    said.save(tmp_path)
    (tmp_path / "figures.json").write_text("{}")
    found = Evidence.collect([tmp_path])
    assert [claim.causes for claim in found.claims.values()] == [(cause,) for cause in CLAUSES]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("causes", [{"kind": "moonlight"}], r"claims.json: key 0.causes.0: .*moonlight"),
        ("causes", [{"kind": "too_few", "n": 4}], r"claims.json: key 0.causes.0.too_few.needed is missing"),
        ("verdict", "perhaps", r"claims.json: 0.verdict = 'perhaps' is not acceptable"),
        ("causes", None, r"claims.json: 0.causes = None is not acceptable"),
    ],
)
def test_an_unknown_kind_or_verdict_in_a_file_is_an_error(key: str, value: object, words: str, tmp_path: Path) -> None:
    said = Statement("s")
    said.bound("b", source="x", statement="y", verdict="not valid", evidence="z", causes=[FEW], n=4, counted="lives")
    said.save(tmp_path)
    (claim,) = json.loads((tmp_path / "claims.json").read_text())
    (tmp_path / "claims.json").write_text(json.dumps([{**claim, key: value}]))
    with pytest.raises(TickdiskError, match=words):
        Evidence.collect([tmp_path])


def test_an_unknown_kind_has_no_clause() -> None:
    with pytest.raises(AssertionError, match="unreachable"):
        clause(cast("Cause", "moonlight"))


@pytest.mark.parametrize(("verdict", "causes"), [("not valid", []), ("different", [FEW]), ("equivalent", [NothingCaptured()])])
def test_a_claim_has_causes_if_it_is_not_decided_and_only_then(verdict: Word, causes: list[Cause]) -> None:
    with pytest.raises(TickdiskError, match=rf"claim s.c is {verdict} and has {len(causes)} causes"):
        claim_of(*causes, verdict=verdict)


def test_an_inconclusive_claim_without_another_cause_was_not_shown() -> None:
    assert claim_of(verdict="inconclusive").causes == (NotShown(n=4, counted="lives"),)
    open_claim = claim_of(NoInterval(n=4, counted="lives"), verdict="inconclusive")
    assert open_claim.causes == (NoInterval(n=4, counted="lives"),)


@pytest.mark.parametrize(
    ("causes", "told"),
    [
        ([SATURATED, FEW], FEW),
        ([SATURATED, CONTROL], CONTROL),
        ([CONTROL, FewerThanPlanned(n=8, planned=10, counted="lives")], FewerThanPlanned(n=8, planned=10, counted="lives")),
        ([CONTROL, NoInterval(n=8, counted="lives")], CONTROL),
        ([SATURATED, NoInterval(n=8, counted="lives")], SATURATED),
    ],
)
def test_of_several_causes_missing_lives_are_told_before_controls(causes: list[Cause], told: Cause) -> None:
    assert reasons([claim_of(*causes)]) == CLAUSES[told]


def test_each_reason_is_told_once() -> None:
    claims = [claim_of(FEW), claim_of(CONTROL), claim_of(FEW), claim_of(verdict="different")]
    assert reasons(claims) == f"{CLAUSES[FEW]} and {CLAUSES[CONTROL]}"


def test_too_few_of_one_thing_is_not_too_few_of_another() -> None:
    assert has_too_few(claim_of(SATURATED, FEW), "lives")
    assert not has_too_few(claim_of(TooFew(n=1, needed=5, counted="update rates")), "lives")
    assert not has_too_few(claim_of(CONTROL), "lives"), "the lives of the control are no lives of the claim"


def answered(changed: dict[str, list[Cause]]) -> Answers:
    """Answers from a run in which some claims are not valid for other causes."""
    evidence = evidence_of()
    claims = {
        name: claim.model_copy(update={"verdict": "not valid", "causes": tuple(changed[name])}) if name in changed else claim
        for name, claim in evidence.claims.items()
    }
    assert changed.keys() <= claims.keys()
    return answer(replace(evidence, claims=claims), ASKED, "Luanti", {"SATA SSD": 0.1, "hard disk": 6.0}, 0.2, {})


def sentence(answers: Answers, question: str) -> str:
    return next(each.sentence for each in answers.answers if each.id == question)


@pytest.mark.parametrize("cause", [cause for cause in CLAUSES if not isinstance(cause, Undecided | NotShown)])
def test_an_effect_that_is_not_valid_says_why(cause: Cause) -> None:
    said = sentence(answered({"switchback.latency_6ms.gap_max": [cause]}), "latency")
    assert f"on the longest tick gap of an epoch was not decided, because {CLAUSES[cause]}." in said


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (FEW, "Which disk is good enough is not decided at this scale, which has too few server lives."),
        (CONTROL, f"Which disk is good enough is not decided, because {CLAUSES[CONTROL]}."),
        (SATURATED, f"Which disk is good enough is not decided, because {CLAUSES[SATURATED]}."),
    ],
)
def test_advice_that_cannot_be_given_says_why(cause: Cause, words: str) -> None:
    doses = [f"switchback.dose_{metric}" for metric in ("gap_mean", "gap_max", "teleport_mean")]
    found = answered({name: [cause] for name in doses})
    assert found.advice.startswith(words)
    assert words in sentence(found, "latency")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (TooFew(n=3, needed=20, counted="stalls"), "request, file and tick, too few to judge."),
        (FilesUnknown(), f"request, file and tick, which is not judged, because {CLAUSES[FilesUnknown()]}."),
        (NothingCaptured(), "request, file and tick, which is not judged, because nothing was captured."),
    ],
)
def test_stalls_that_are_not_judged_say_why(cause: Cause, words: str) -> None:
    assert sentence(answered({"inside_tick.device_stalls": [cause]}), "blame").endswith(words)


@pytest.mark.parametrize(
    ("cause", "words"),
    [(FEW, " So few lives allow no verdict."), (SATURATED, f" There is no verdict, because {CLAUSES[SATURATED]}.")],
)
def test_late_time_without_a_verdict_says_why(cause: Cause, words: str) -> None:
    evidence = evidence_of()
    claims = {**evidence.claims, "inside_tick.explained": claim_of(cause)}
    found = answer(replace(evidence, claims=claims), ASKED, "Luanti", {}, 0.2, {})
    assert f"ticks were late.{words}" in sentence(found, "blame")


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (TooFew(n=1, needed=5, counted="lives"), " That is too few lives for a recommendation."),
        (TooFew(n=1, needed=5, counted="update rates"), " because 1 update rate is too few for a verdict."),
        (NotMeasured(what="the value"), " That is no recommendation, because the value could not be measured."),
    ],
)
def test_a_method_that_cannot_be_recommended_says_why(cause: Cause, words: str) -> None:
    evidence = evidence_of()
    found = answer(
        replace(evidence, claims={**evidence.claims, "store.calibrated": claim_of(cause)}), ASKED, "Luanti", {}, 0.2, {}
    )
    assert sentence(found, "saving").endswith(words)


def test_answers_name_the_arms_of_the_plan() -> None:
    asked = replace(ASKED, slow=None, burst=None)
    evidence = evidence_of(without=["switchback", "join_burst"])
    found = answer(evidence, asked, "Luanti", {}, 0.2, {})
    assert found.brief.startswith("On Luanti, the effect of storage latency on the longest tick gap of an epoch was not measured")
    slow, baseline = ASKED.slow, ASKED.baseline
    assert slow is not None
    assert baseline is not None
    asked = replace(ASKED, slow=slow.model_copy(update={"latency_us": 2500.0}))
    assert (
        " of 2.5 ms of storage latency instead of 0.1 ms " in answer(evidence, asked, "Luanti", {"SATA SSD": 0.1}, 0.2, {}).brief
    )
    asked = replace(ASKED, baseline=baseline.model_copy(update={"device": "mydisk.yaml"}))
    assert " instead of the latency of mydisk.yaml " in answer(evidence, asked, "Luanti", {}, 0.2, {}).brief


def test_words_of_verdicts_are_those_of_both_kinds_of_claim() -> None:
    assert set(get_args(AnyWord)) == {*get_args(Word), *get_args(BoundWord)}
