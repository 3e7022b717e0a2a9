"""The store notebook's computing, on tables in which everything is known."""

import json
from dataclasses import replace
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from records_of import plan_in
from test_store_model import DESIGN, MACHINE, TRUE, made_up

from tickdisk import stats
from tickdisk.saving import store
from tickdisk.studies import Study
from tickdisk.studies import store as report_store
from tickdisk.studies.store import Results
from tickdisk.studies.store.compute import Ranks
from tickdisk.studies.store.state import state

RATES = (500, 1_000, 2_000, 4_000, 8_000)
GAMES = pd.DataFrame(
    {
        "game": "small",
        "life": 0,
        "algorithm": store.ALGORITHMS,
        "rate": 4_000,
        "added_ms": [float(number) for number in range(1, 13)],
        "longest_ms": [3.0 * number for number in range(1, 13)],
        "checkpoint_s": 0.5,
        "recovery_s": 0.7,
        "bytes": 4e6,
        "memory_bytes": 5e7,
        "state_bytes": 4_000_000,
        "skew": 0.8,
        "device": "sata_ssd",
        "tick_hz": 30.0,
    }
)


def study(folder: Path, rates: tuple[int, ...], *, off: float = 1.0, lives: int = 6, spread: float = 0.01) -> Study[Results]:
    tables = study_folder(folder, rates, off=off, lives=lives, spread=spread)
    return report_store(plan_in(folder), tables=str(tables), published="data/published.yaml")


def study_folder(folder: Path, rates: tuple[int, ...], *, off: float = 1.0, lives: int = 6, spread: float = 0.01) -> Path:
    """A study whose real overheads are `off` times what the calibrated model says, in lives that differ by `spread`."""
    true = store.Calibrated(machine=MACHINE, terms_ns=dict.fromkeys(store.TERMS, 0.0) | TRUE, pass_ns=700, sync_ms=12)
    design = replace(DESIGN, rates=rates)
    predicted = made_up(design, true).assign(ticks=90, null_ms=0.0, slower=0.05, added_ms=1.0)
    tested = pd.concat([predicted.assign(life=life) for life in range(lives)], ignore_index=True)
    tested["own_ms"] *= off * (1 + spread * (tested["life"] - (lives - 1) / 2))
    store.write_study(store.StoreFindings(store.ModelComparison(true, tested, tested), GAMES), folder / "study")
    return folder / "study"


def verdicts(own: Study[Results]) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in own.statement.claims}


def evidence(own: Study[Results]) -> dict[str, str]:
    return {claim.id: claim.evidence for claim in own.statement.claims}


def test_a_model_that_is_right_and_one_that_is_not(tmp_path: Path) -> None:
    right, wrong = study(tmp_path / "right", RATES), study(tmp_path / "wrong", RATES, off=1.5)
    assert verdicts(right)["store.calibrated"] == verdicts(right)["store.ranks"] == "kept"
    assert {claim.kind for claim in right.statement.claims} == {"bound"}
    assert right.statement["calibrated.most_off"].value == pytest.approx(1)
    slower = right.statement["slower"]
    assert (slower.value, slower.unit, slower.low, slower.n) == (pytest.approx(5), "%", pytest.approx(5), 180)
    assert verdicts(wrong)["store.calibrated"] == "missed"
    assert verdicts(wrong)["store.ranks"] == "kept"
    assert wrong.statement["calibrated.most_off"].value == pytest.approx(1.5)
    assert wrong.statement["calibrated.within"].value == 0


def test_evidence_about_no_point_is_an_english_sentence(tmp_path: Path) -> None:
    wrong = evidence(study(tmp_path / "wrong", RATES, off=1.5))
    assert wrong["store.calibrated"] == (
        "the model is off by at most 30 % at 0 of 30 points; at the worst point it is off by a factor of 1.5; "
        "the whole 90 % interval keeps the bound at 0 and misses it at 30"
    )
    none = evidence(study(tmp_path / "none", RATES, off=-1.0))
    unknown = "is at least 0.01 ms, and less cannot be told from none"
    assert none["store.calibrated"] == f"no real overhead of any algorithm {unknown}"
    assert none["store.paper_model"] == f"no real overhead of Copy-on-Update {unknown}"
    one = evidence(study(tmp_path / "one", RATES[:1], lives=1))
    assert one["store.ranks"] == (
        "no algorithm has a real overhead that is known to change 2-fold over the update rates; "
        "1 update rate, fewer than the 5 that a verdict needs; 1 life at a point, fewer than the 5 that a verdict needs"
    )


def test_algorithms_that_cannot_be_ranked_are_named(tmp_path: Path) -> None:
    results = study(tmp_path, RATES).results
    for ranks, said, verdict in (
        (Ranks(0.95, "Partial-Redo", 1, ("Fork",)), "the correlation of Partial-Redo is 0.95; others are not judged", "kept"),
        (Ranks(0.85, "Partial-Redo", 2, ()), "the lowest correlation of 2 algorithms is 0.85 (Partial-Redo)", "missed"),
        (Ranks(float("nan"), "Partial-Redo", 1, ()), "the correlation of Partial-Redo is not estimable", "missed"),
        (Ranks(None, "", 0, ("Fork",)), "no algorithm has a real overhead that is known to change 2-fold", "not valid"),
    ):
        claim = next(claim for claim in state(replace(results, ranks=ranks)).claims if claim.id == "store.ranks")
        assert claim.evidence.startswith(said)
        assert claim.verdict == verdict


def test_the_published_ratio_of_real_to_model_is_upheld_or_contradicted(tmp_path: Path) -> None:
    results = study(tmp_path, RATES).results
    for times, verdict, becomes in ((3.0, "kept", "upheld"), (2.1, "kept", "upheld"), (5.0, "missed", "contradicted")):
        points = results.points.assign(model=1 / times)
        claim = next(one for one in state(replace(results, points=points)).claims if one.id == "store.paper_model")
        assert (claim.verdict, claim.study) == (verdict, becomes)
        assert claim.evidence.startswith(f"the largest real overhead is {times:.2f} [")


def test_lives_that_differ_much_decide_nothing(tmp_path: Path) -> None:
    own = study(tmp_path, RATES, spread=0.3)
    assert verdicts(own)["store.calibrated"] == "inconclusive"
    assert own.statement["calibrated.within"].value == own.statement["points"].value == 30


def test_an_overhead_that_is_not_told_from_none_is_not_judged(tmp_path: Path) -> None:
    own = study(tmp_path, RATES, off=-1.0)
    assert own.statement["points.told"].value == 0
    assert own.statement["calibrated.most_off"].value is None
    assert verdicts(own)["store.calibrated"] == verdicts(own)["store.paper_model"] == "not valid"
    causes = {claim.id: claim.causes for claim in own.statement.claims}
    assert causes["store.calibrated"] == (stats.NotMeasured(what="the real overhead of the algorithms"),)
    assert causes["store.paper_model"] == (stats.NotMeasured(what="the real overhead of Copy-on-Update"),)


def test_a_few_lives_that_were_disturbed_are_not_what_an_algorithm_costs(tmp_path: Path) -> None:
    found = store.read_study(study_folder(tmp_path, RATES, lives=8)).comparison
    found.tested.loc[found.tested["life"] < 3, "own_ms"] *= 3
    points = found.points(0.05)
    assert points["calibrated"].between(0.96, 1).all()
    assert (points["low"] < 0.4).all(), "the interval has them"
    assert points["high"].between(0.98, 1.01).all()


def test_few_rates_or_lives_decide_nothing_and_say_so(tmp_path: Path) -> None:
    rates, lives = study(tmp_path / "rates", RATES[:2]), study(tmp_path / "lives", RATES, lives=4)
    assert set(verdicts(rates).values()) == set(verdicts(lives).values()) == {"not valid"}
    assert all("2 update rates, fewer than the 5 that a verdict needs" in words for words in evidence(rates).values())
    assert all("4 lives at a point, fewer than the 5 that a verdict needs" in words for words in evidence(lives).values())
    assert {claim.study for claim in lives.statement.claims} == {"", "not valid"}
    assert {claim.causes[0] for claim in rates.statement.claims} == {stats.TooFew(n=2, needed=5, counted="update rates")}
    assert {claim.causes[0] for claim in lives.statement.claims} == {stats.TooFew(n=4, needed=5, counted="lives")}


def test_games_tables_and_figures(tmp_path: Path) -> None:
    own = study(tmp_path, RATES)
    assert own.statement["game.small.kept"].value == 5, "of 12 those whose longest tick is not above half of one"
    assert own.statement["game.small.advice"].word == "Naive-Snapshot"
    assert own.table("games").loc[("small", "fork(2)"), "longest (ms)"] == "36"
    assert len(own.table("terms")) == len(store.TERMS)
    assert own.table("models").loc["Copy-on-Update", "calibrated over real"] == "1.00"
    assert own.table("advice").loc["small", "take"] == "Naive-Snapshot"


def test_what_is_stated_does_not_depend_on_what_is_shown(tmp_path: Path) -> None:
    tables = str(study_folder(tmp_path, RATES))
    first, second = (report_store(plan_in(tmp_path), tables=tables, published="data/published.yaml") for _ in range(2))
    code = [cell.source for cell in nbformat.read("notebooks/store.ipynb", as_version=4).cells if cell.cell_type == "code"]
    shown = [line for source in code for line in source.splitlines() if line.startswith("study.") and "save" not in line]
    for line in reversed(shown):
        assert eval(line, {"study": second}) is not None  # noqa: S307 - the notebook's own cells
    figures = {f'study.figure("{name}")' for name in second.figures if not name.startswith("paper_")}
    assert set(shown) == {*figures, *(f'study.table("{name}")' for name in second.tables), "study.outcome()", "study.verdicts()"}
    for own, name in ((first, "first"), (second, "second")):
        own.save(str(tmp_path / name))
    for file in ("facts.json", "claims.json", "figures.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    assert set(json.loads((tmp_path / "first" / "figures.json").read_text()).values()) == {None}
    assert figures == {'study.figure("models")', 'study.figure("which")'}
