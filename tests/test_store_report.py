"""The store notebook's computing, on tables in which everything is known."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from test_store_model import DESIGN, MACHINE, TRUE, made_up

from tickdisk import store
from tickdisk.report.store import StoreStudy

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


def study(folder: Path, rates: tuple[int, ...], *, off: float = 1.0, lives: int = 6, spread: float = 0.01) -> StoreStudy:
    return StoreStudy(str(study_folder(folder, rates, off=off, lives=lives, spread=spread)), output=str(folder / "out"))


def study_folder(folder: Path, rates: tuple[int, ...], *, off: float = 1.0, lives: int = 6, spread: float = 0.01) -> Path:
    """A study whose real overheads are `off` times what the calibrated model says, in lives that differ by `spread`."""
    true = store.Calibrated(machine=MACHINE, terms_ns=dict.fromkeys(store.TERMS, 0.0) | TRUE, pass_ns=700, sync_ms=12)
    design = replace(DESIGN, rates=rates)
    predicted = made_up(design, true).assign(ticks=90, null_ms=0.0, slower=0.05)
    tested = pd.concat([predicted.assign(life=life) for life in range(lives)], ignore_index=True)
    tested["own_ms"] *= off * (1 + spread * (tested["life"] - (lives - 1) / 2))
    store.write_study(store.Findings(store.Comparison(true, tested, tested), GAMES), folder / "study")
    return folder / "study"


def verdicts(own: StoreStudy) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in own.claims}


def test_a_model_that_is_right_and_one_that_is_not(tmp_path: Path) -> None:
    right, wrong = study(tmp_path / "right", RATES), study(tmp_path / "wrong", RATES, off=1.5)
    assert verdicts(right)["store.calibrated"] == verdicts(right)["store.ranks"] == "equivalent"
    assert right.facts["store.calibrated.most_off"].value == pytest.approx(1)
    slower = right.facts["store.slower"]
    assert (slower.value, slower.unit, slower.low, slower.n) == (pytest.approx(5), "%", pytest.approx(5), 180)
    assert verdicts(wrong)["store.calibrated"] == "different"
    assert verdicts(wrong)["store.ranks"] == "equivalent"
    assert wrong.facts["store.calibrated.most_off"].value == pytest.approx(1.5)
    assert wrong.facts["store.calibrated.within"].value == 0


def test_lives_that_differ_much_decide_nothing(tmp_path: Path) -> None:
    own = study(tmp_path, RATES, spread=0.3)
    assert verdicts(own)["store.calibrated"] == "inconclusive"
    assert own.facts["store.calibrated.within"].value == own.facts["store.points"].value == 30


def test_an_overhead_that_is_not_told_from_none_is_not_judged(tmp_path: Path) -> None:
    own = study(tmp_path, RATES, off=-1.0)
    assert own.facts["store.points.told"].value == 0
    assert own.facts["store.calibrated.most_off"].value is None
    assert verdicts(own)["store.calibrated"] == verdicts(own)["store.paper_model"] == "not valid"


def test_a_few_lives_that_were_disturbed_are_not_what_an_algorithm_costs(tmp_path: Path) -> None:
    found = store.read_study(study_folder(tmp_path, RATES, lives=8)).comparison
    found.tested.loc[found.tested["life"] < 3, "own_ms"] *= 3
    points = found.points()
    assert points["calibrated"].between(0.96, 1).all()
    assert (points["low"] < 0.4).all(), "the interval has them"
    assert points["high"].between(0.98, 1.01).all()


def test_few_rates_or_lives_decide_nothing(tmp_path: Path) -> None:
    assert set(verdicts(study(tmp_path / "rates", RATES[:2])).values()) == {"not valid"}
    assert set(verdicts(study(tmp_path / "lives", RATES, lives=4)).values()) == {"not valid"}


def test_games_tables_and_figures(tmp_path: Path) -> None:
    own = study(tmp_path, RATES)
    assert own.facts["store.game.small.kept"].value == 5, "of 12 those whose longest tick is not above half of one"
    assert own.facts["store.game.small.advice"].word == "Naive-Snapshot"
    table = own.games_table()
    assert table.loc[("small", "fork(2)"), "longest (ms)"] == 36
    assert len(own.terms()) == len(store.TERMS)
    assert own.model_table().loc["Copy-on-Update", "calibrated over real"] == "1.00 to 1.00"
    for svg in (own.models(), own.which()):
        assert "<svg" in str(svg.data)
    own.save()
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"facts.json", "claims.json", "figures"}
