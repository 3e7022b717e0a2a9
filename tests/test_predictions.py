"""The score of predictions: errors and false alarms where the measured effects and the predictions are known."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from simulated_runs import LATENCY_MS, cells_of, config_of, write_runs

from tickdisk import device, predict
from tickdisk.config import Cell
from tickdisk.experiment import CAPTURED, STUDIES, PlannedLife
from tickdisk.studies import predictions
from tickdisk.studies.predictions.compute import METRICS, Results
from tickdisk.studies.study import Study

BASE_MS, PER_MS = 100.0, 15.0
"""A gap of the waiting server, and its rise for each ms of latency. At 1 ms it stays within the margin."""
Gap = Callable[[str, int], float]
Ratio = Callable[[float], float]


def true_ratio(latency_ms: float) -> float:
    return (BASE_MS + PER_MS * latency_ms) / (BASE_MS + PER_MS * 0.1)


def waiting(_: PlannedLife) -> Gap:
    return lambda arm, block: (BASE_MS + PER_MS * LATENCY_MS[arm]) * (1 + block / 10)


def careless(_: PlannedLife) -> Gap:
    return lambda _, block: BASE_MS * (1 + block / 10)


def with_places(_: PlannedLife, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    actions = made["actions"]
    return {**made, "actions": pd.concat([actions, actions[actions["action"] == "teleport"].assign(action="place")])}


def predicting(ratio: Ratio, monkeypatch: pytest.MonkeyPatch, *, invalid: int = 0) -> None:
    """Lets every capture predict a ratio from the latency of the disk. The first captures do not give their own gaps back."""
    order: list[str] = []

    def predicted(_: None, model: device.DeviceModel, name: str) -> predict.Prediction:
        if name not in order:
            order.append(name)
        found = ratio(model.latency_ns[0] / 1e6)
        known: dict[str, Any] = {"captured_ms": 100.0, "predicted_ms": 100 * found, "ratio": found, "control_ratio": 1.0}
        forecasts = tuple(
            predict.Forecast(metric=metric, serial_ratio=3 * true_ratio(model.latency_ns[0] / 1e6), **known)
            for metric, _ in METRICS.values()
        )
        return predict.Prediction(
            capture=name,
            server="Luanti",
            captured_device="fast",
            device=model.name,
            verdict="not valid" if order.index(name) < invalid else "predicted",
            ticks=100,
            waits_followed=10,
            waits_kept=0,
            unordered=0,
            is_settled=True,
            forecasts=forecasts,
        )

    monkeypatch.setattr(predict, "load_captured", lambda _: None)
    monkeypatch.setattr(predict, "predict", predicted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predictions")
    for server, gap_of in (("luanti", waiting), ("minestom", careless)):
        write_runs(folder, "predictions", server=server, gap_of=gap_of, of_life=with_places)
    return folder


def study_of(folder: Path) -> Study[Results]:
    return predictions(str(folder / "plan.json"), runs=str(folder), margin=None, seed=1)


def verdicts(study: Study[Results]) -> Mapping[str, str]:
    return {claim.id.removeprefix("predictions."): claim.verdict for claim in study.statement.claims}


def planned(server: str = "luanti") -> list[Cell]:
    return cells_of(config_of("paper", None), "predictions", server)


def test_the_captured_life_and_the_others_are_analysed_for_as_long() -> None:
    assert STUDIES["predictions"].runs_alone
    for cell in planned():
        captured, other = sorted(cell.lives, key=lambda life: life.name != CAPTURED)
        assert [epoch.arm for epoch in captured.epochs] == ["captured"]
        lengths = {round(epoch.end_s - epoch.steady_s, 6) for life in cell.lives for epoch in life.epochs}
        assert len(lengths) == 1
        assert {epoch.arm for epoch in other.epochs} == {
            "ssd_100us",
            "ssd_100us_again",
            "latency_1ms",
            "latency_6ms",
            "latency_12ms",
        }
        assert all(one.end_s == pytest.approx(after.start_s) for one, after in pairwise(other.epochs))
        assert captured.trace_seed == other.trace_seed


def test_a_right_prediction_is_kept_and_its_error_is_small(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predicting(true_ratio, monkeypatch)
    study = study_of(folder)
    facts, found = study.statement.facts, verdicts(study)
    for metric in ("gap_max", "gap_mean", "teleport_mean"):
        assert found[f"luanti.predicts.{metric}"] == "kept"
        assert (facts[f"predictions.luanti.error.{metric}.predicted"].value or 0) < 0.05
        # Only 6 and 12 ms change it by more than 20 %. One after another, everything would be three times as long.
        assert facts[f"predictions.luanti.scored.{metric}"].value == 2
        assert facts[f"predictions.luanti.error.{metric}.serial"].value == pytest.approx(2.0, abs=0.1)
        measured = facts[f"predictions.luanti.measured.{metric}.latency_6ms"].value
        assert measured == pytest.approx(true_ratio(6), rel=0.03)
        expected = 1 - (1 / true_ratio(6) + 1 / true_ratio(12)) / 2
        assert facts[f"predictions.luanti.error.{metric}.nothing"].value == pytest.approx(expected, abs=0.02)
        assert facts[f"predictions.luanti.alarms.{metric}"].value == 0


def test_where_nothing_changes_a_prediction_of_an_effect_is_a_false_alarm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predicting(true_ratio, monkeypatch)
    study = study_of(folder)
    assert verdicts(study)["minestom.predicts.gap_max"] == "not valid"
    assert study.statement.facts["predictions.minestom.alarms.gap_max"].value == 2, "at 6 and at 12 ms, and at 1 ms not"
    assert study.statement.facts["predictions.minestom.alarms.gap_max"].n == 4


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (lambda ms: 1.3 * true_ratio(ms), "missed"),  # above 25 %
        (lambda ms: 1.2 * true_ratio(ms), "kept"),
        (lambda _: 1.0, "missed"),  # not better than the rival that says the same
    ],
)
def test_a_prediction_must_be_near_and_nearer_than_the_rivals(
    ratio: Ratio, verdict: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predicting(ratio, monkeypatch)
    assert verdicts(study_of(folder))["luanti.predicts.gap_mean"] == verdict


def test_captures_that_are_not_given_back_are_left_out_and_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predicting(true_ratio, monkeypatch, invalid=1)
    study = study_of(folder)
    assert study.statement.facts["predictions.luanti.invalid_captures"].value == 1
    assert verdicts(study)["luanti.predicts.gap_mean"] == "kept"
    predicting(true_ratio, monkeypatch, invalid=100)
    study = study_of(folder)
    assert set(verdicts(study).values()) == {"not valid"}


def test_tables_and_figures_have_every_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predicting(true_ratio, monkeypatch)
    study = study_of(folder)
    assert len(study.table("ratios")) == 2 * 4 * 4
    assert len(study.table("errors")) == 2 * 4
    assert len(study.table("captures")) == 2 * 4 * 4
    for name in ("compared", "paper_predictions"):
        assert "Measured ratio" in study.figure(name).data
