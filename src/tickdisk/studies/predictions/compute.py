"""Predicts the metrics of every server on slower disks from captured lives, and measures them in other lives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tickdisk import predict, qos, stats
from tickdisk.experiment import CAPTURED, PREDICTIONS
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.studies.predictions.score import Disk, Score
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import Runs

METRICS: Mapping[str, tuple[str, str]] = {
    "gap_max_ms": (predict.LONGEST, "longest tick gap"),
    "gap_mean_ms": (predict.MEAN, "mean tick gap"),
    "teleport_mean_ms": ("teleport", "mean teleport latency"),
    "place_mean_ms": ("place", "mean latency of placing a block"),
}
"""The metrics, each with its name in a prediction and in prose."""
GAPS = ("gap_max_ms", "gap_mean_ms")
"""The metrics for which the captured disk itself is the control of the method."""
METHODS: Mapping[str, str] = {
    "predicted": "the prediction",
    "nothing": "nothing changes",
    "serial": "all requests one after another",
}
"""The ways to predict, each in words. The last two are the rivals."""


@dataclass(frozen=True)
class Predicted:
    """The predictions and the measured effects of one server."""

    data: Runs
    predictions: Sequence[predict.Prediction]
    """A prediction for each slower disk from each captured life that was played to its end."""
    not_played: int
    """Number of captured lives in which the server ended by itself, or the clients were short of processor time."""
    held_out: Mapping[str, Score]
    """The errors by metric, on the disks that were not known when the rules of the prediction were found."""
    seen: Mapping[str, Score]
    """The same on the disks that were known then."""
    again: Mapping[str, stats.Contrast]
    """The ratio of the repeated baseline to the baseline, by metric (A/A)."""
    verdicts: Mapping[str, stats.Verdict]
    """The verdicts on `again`."""
    plan: stats.DecisionPlan
    """Rules of the decision, which counts lives."""
    lives: int
    """Number of lives with which the predictions are compared."""

    @property
    def title(self) -> str:
        """The name of the server for people."""
        return self.data.manifests[0].server.title

    @property
    def invalid(self) -> int:
        """Number of captured lives whose gaps the method does not give back. They do not count."""
        return len({each.capture for each in self.predictions if not each.is_valid})

    @property
    def captures(self) -> int:
        """Number of captured lives that count."""
        return len({each.capture for each in self.predictions if each.is_valid})

    @property
    def scores(self) -> Mapping[str, Mapping[str, Score]]:
        """The errors by metric on both groups of disks, by words for a group."""
        return {"held out": self.held_out, "seen": self.seen}


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
    plan = decide_by(data.decision, data.asked(PREDICTIONS).blocks, margin)
    arms = {arm.arm: arm.role == "held_out" for arm in data.arms if arm.role in ("dose", "held_out")}
    made, not_played = _made(data, list(arms))
    effects, lives = _measured(data, plan)
    verdicts = _verdicts(data, effects, plan)
    held_out, seen = (
        {
            metric: Score(
                [
                    Disk(
                        arm,
                        data.latency_ms(arm),
                        effects[metric][arm],
                        verdicts[metric][arm],
                        _ratios(made[arm], METRICS[metric][0]),
                        sum(each.is_valid and not each.is_settled for each in made[arm]),
                        margin,
                    )
                    for arm, is_other in arms.items()
                    if is_other == is_held_out
                ]
            )
            for metric in METRICS
        }
        for is_held_out in (True, False)
    )
    null = data.role("null")
    return Predicted(
        data=data,
        predictions=[each for own in made.values() for each in own],
        not_played=not_played,
        held_out=held_out,
        seen=seen,
        again={metric: own[null] for metric, own in effects.items()},
        verdicts={metric: own[null] for metric, own in verdicts.items()},
        plan=plan,
        lives=lives,
    )


def _made(data: Runs, arms: Sequence[str]) -> tuple[dict[str, list[predict.Prediction]], int]:
    """Returns the predictions for each disk, and the number of captured lives that were not played to their end."""
    made: dict[str, list[predict.Prediction]] = {arm: [] for arm in arms}
    tau_ns, not_played = data.design(PREDICTIONS).tau_ns, 0
    for manifest, folder in zip(data.manifests, data.folders, strict=True):
        life = manifest.lives[CAPTURED]
        if life.ended is not None or life.not_valid:
            not_played += 1
            continue
        captured = predict.load_captured(folder / CAPTURED)
        for arm in arms:
            made[arm].append(predict.predict(captured, manifest.models[arm], f"{manifest.hash} {CAPTURED}", tau_ns=tau_ns))
    return made, not_played


def _measured(data: Runs, plan: stats.DecisionPlan) -> tuple[dict[str, dict[str, stats.Contrast]], int]:
    """Returns for each metric and arm the ratio to the baseline over lives, and the number of lives."""
    tables = [life.epoch_rows(data.design(PREDICTIONS).tau_ns) for life in data.lives if life.name != CAPTURED]
    rows = pd.concat(tables)
    arms = [arm.arm for arm in data.arms if arm.arm != CAPTURED]
    found: dict[str, dict[str, stats.Contrast]] = {}
    for metric in METRICS:
        logs = qos.contrasts_by_life(rows, metric, baseline=data.role("baseline"), null=data.role("null"))
        found[metric] = {
            arm: data.contrast(logs.get(arm, pd.Series(dtype=float)), margin=plan.margin, alpha=plan.alpha) for arm in arms
        }
    return found, len(tables)


def _verdicts(
    data: Runs, effects: Mapping[str, Mapping[str, stats.Contrast]], plan: stats.DecisionPlan
) -> dict[str, dict[str, stats.Verdict]]:
    """Returns the verdicts on the measured ratios by metric and arm. The repeated baselines of all metrics are one family."""
    saturated, unreached, null = data.not_valid(), data.unreached(), data.role("null")
    always = [*saturated.get(data.role("baseline"), ()), *saturated.get(null, ())]
    p, p_equivalent = (
        stats.adjusted([getattr(effects[metric][null], test) for metric in METRICS], "confirmatory").tolist()
        for test in ("p", "p_equivalent")
    )
    found: dict[str, dict[str, stats.Verdict]] = {}
    for number, metric in enumerate(METRICS):
        again = stats.verdict(
            effects[metric][null],
            plan,
            family="control",
            obstacles=always,
            unreached=unreached.get(null, 0),
            p=p[number],
            p_equivalent=p_equivalent[number],
        )
        cause = stats.judge_quiet("null", effects[metric][null], again)
        found[metric] = {null: again}
        for arm in (arm for arm in effects[metric] if arm not in (null, data.role("baseline"))):
            effect = effects[metric][arm]
            # With too few lives, the control has too few as well, and the cause need not be given twice.
            failed = [cause] if isinstance(cause, stats.ControlFailed) and effect.n >= plan.minimum else []
            found[metric][arm] = stats.verdict(
                effect,
                plan,
                obstacles=[*always, *saturated.get(arm, ()), *failed],
                undecided=[cause] if isinstance(cause, stats.ControlUndecided) else [],
                unreached=unreached.get(arm, 0),
            )
    return found


def _ratios(predictions: Sequence[predict.Prediction], metric: str) -> pd.DataFrame:
    """Returns the rows of `Disk.ratios`. A captured life without the metric has none."""
    rows = {
        each.capture: {"predicted": forecast.ratio, "nothing": 1.0, "serial": forecast.serial_ratio}
        for each in predictions
        if each.is_valid
        for forecast in each.forecasts
        if forecast.metric == metric
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(METHODS), dtype=float)
