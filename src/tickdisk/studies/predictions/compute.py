"""Predicts the effects of slower disks from captured lives, and compares them with the effects in other lives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import predict
from tickdisk.experiment import CAPTURED, PREDICTIONS
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.studies.runs import Runs

METRICS: Mapping[str, tuple[str, str]] = {
    "gap_max_ms": (predict.LONGEST, "longest tick gap"),
    "gap_mean_ms": (predict.MEAN, "mean tick gap"),
    "teleport_mean_ms": ("teleport", "mean teleport latency"),
    "place_mean_ms": ("place", "mean latency of placing a block"),
}
"""The metrics, each with its name in a prediction and in prose."""
METHODS: Mapping[str, str] = {
    "predicted": "the prediction",
    "nothing": "nothing changes",
    "serial": "all requests one after another",
}
"""The ways to predict, each in words. The last two are the rivals."""


@dataclass(frozen=True)
class Score:
    """The errors of the predictions of one metric on one server."""

    rows: pd.DataFrame
    """One row per disk: arm, latency_ms, measured (ratio to the baseline, geometric mean over lives), lives, a column with the
    ratio by each of `METHODS` (geometric mean over captures), and is_scored (whether the measured effect exceeds the margin)."""
    margin: float

    def errors(self, method: str) -> "pd.Series[float]":
        """Returns by how much the ratio of a method is off on each disk that is scored, as a share of the measured ratio."""
        scored = self.rows[self.rows["is_scored"]].dropna(subset=["measured", method])
        return (scored[method] / scored["measured"] - 1).abs()

    def median(self, method: str) -> float:
        """Returns the median error of a method. NaN if no disk is scored."""
        errors = self.errors(method)
        return float(errors.median()) if len(errors) else float("nan")

    @property
    def quiet(self) -> pd.DataFrame:
        """The disks on which the measured effect stays within the margin, and on which an alarm would be false."""
        return self.rows[~self.rows["is_scored"]].dropna(subset=["measured", "predicted"])

    @property
    def alarms(self) -> int:
        """Number of disks on which an effect beyond the margin was predicted and none was measured."""
        return int((np.abs(np.log(self.quiet["predicted"])) > np.log(1 + self.margin)).sum())


@dataclass(frozen=True)
class Predicted:
    """The predictions and the measured effects of one server."""

    data: Runs
    predictions: Sequence[predict.Prediction]
    """A prediction for each captured life and disk."""
    scores: Mapping[str, Score]
    """The errors, by metric."""
    lives: int
    """Number of lives with which the predictions are compared."""

    @property
    def title(self) -> str:
        """The name of the server for people."""
        return self.data.manifests[0].server.title

    @property
    def captures(self) -> int:
        """Number of captured lives."""
        return len({each.capture for each in self.predictions})

    @property
    def invalid(self) -> int:
        """Number of captured lives whose gaps the method does not give back. They are left out."""
        return len({each.capture for each in self.predictions if not each.is_valid})


@dataclass(frozen=True)
class Results:
    """The results of every server that has run the experiment, the server of the other studies first."""

    servers: Sequence[Predicted]
    main: str
    """Name of the server that the other studies are about."""
    margin: float
    """Ratio less 1 up to which an effect does not count."""


def compute(plan: str, *, runs: str, margin: float | None, seed: int | None) -> Results:
    """Scores the predictions of every server against its lives on slower disks.

    `plan` and `runs` are the paths of plan.json and of the folder of the run folders. `margin` is a ratio less 1, and if it is
    None, it is the plan's. Nothing is drawn, so that `seed` plays no part. Raises TickdiskError if no cell of the experiment has
    run.
    """
    del seed
    planned = read_plan(Path(plan))
    main = planned.config.server
    ran = dict.fromkeys(
        cell.server for cell in planned.cells if cell.experiment == PREDICTIONS.name and has_run(Path(runs) / cell.hash)
    )
    if not ran:
        raise TickdiskError(
            f"no cell of {PREDICTIONS.name} has run under {runs}; run `make paper STUDY={PREDICTIONS.name}` first"
        )
    margin = planned.config.decision.margin if margin is None else margin
    servers = sorted(ran, key=lambda name: name != main)
    return Results([_server(Runs(plan, runs, PREDICTIONS.name, name), margin) for name in servers], main, margin)


def _server(data: Runs, margin: float) -> Predicted:
    arms = [data.role("null"), *(arm.arm for arm in data.arms if arm.role == "dose")]
    made: dict[str, list[predict.Prediction]] = {arm: [] for arm in arms}
    for manifest, folder in zip(data.manifests, data.folders, strict=True):
        captured = predict.load_captured(folder / CAPTURED)
        for arm in arms:
            made[arm].append(predict.predict(captured, manifest.models[arm], f"{manifest.hash} {CAPTURED}"))
    measured, lives = _measured(data, arms)
    scores = {metric: _score(data, metric, made, measured[metric], margin) for metric in METRICS}
    return Predicted(data, [each for own in made.values() for each in own], scores, lives)


def _measured(data: Runs, arms: Sequence[str]) -> tuple[dict[str, pd.DataFrame], int]:
    """Returns for each metric the ratios of the disks to the baseline, one row per life, and the number of lives.

    A life without the metric in both epochs has no ratio.
    """
    tau_ns, baseline = data.design(PREDICTIONS).tau_ns, data.role("baseline")
    tables = [life.epoch_rows(tau_ns).assign(life=number) for number, life in enumerate(data.lives()) if life.name != CAPTURED]
    rows = pd.concat(tables)
    found = {}
    for metric in METRICS:
        values = rows.pivot_table(index="life", columns="arm", values=metric).reindex(columns=[baseline, *arms])
        found[metric] = values[arms].div(values[baseline], axis=0)
    return found, len(tables)


def _score(
    data: Runs, metric: str, made: Mapping[str, Sequence[predict.Prediction]], measured: pd.DataFrame, margin: float
) -> Score:
    rows = []
    for arm, predictions in made.items():
        own = [each for each in predictions if each.is_valid and METRICS[metric][0] in {one.metric for one in each.forecasts}]
        forecasts = [each.of(METRICS[metric][0]) for each in own]
        ratio = _mean(measured[arm])
        rows.append(
            {
                "arm": arm,
                "latency_ms": data.latency_ms(arm),
                "measured": ratio,
                "lives": int(measured[arm].notna().sum()),
                "predicted": _mean(pd.Series([each.ratio for each in forecasts], dtype=float)),
                "nothing": 1.0,
                "serial": _mean(pd.Series([each.serial_ratio for each in forecasts], dtype=float)),
                "is_scored": bool(np.isfinite(ratio) and abs(np.log(ratio)) > np.log(1 + margin)),
            }
        )
    return Score(pd.DataFrame(rows), margin)


def _mean(ratios: "pd.Series[float]") -> float:
    """Returns the geometric mean of the ratios that are known. NaN if there is none."""
    known = ratios.dropna()
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")
