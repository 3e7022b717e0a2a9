"""Predicts the tick gaps and the latencies of actions of a captured server life on another device."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import blame, device, qos, server
from tickdisk.blame import CaptureEvidence, Integers
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import Manifest, has_run, read_manifest
from tickdisk.predict.actions import latencies_ns
from tickdisk.predict.loop import Loop, timed
from tickdisk.predict.record import Forecast, Prediction
from tickdisk.predict.writing import Written, written

CONTROL = 0.05
"""Largest error of the longest and of the mean tick gap on the captured device, as a share of the captured value."""
LONGEST, MEAN = "longest_gap", "mean_gap"


@dataclass(frozen=True)
class CapturedLife:
    """A captured server life, its device, and how its server ticks."""

    evidence: CaptureEvidence
    model: device.DeviceModel
    title: str
    """Title of the server."""
    loop: Loop


def load_captured(path: Path, life: str | None = None) -> CapturedLife:
    """Loads a captured server life from its folder, or from that of its cell.

    Raises TickdiskError if there is none, if the folder has several and `life` names none of them, or if its block requests are
    not known.
    """
    lives = [evidence for evidence in blame.load_evidence(path) if life in (None, evidence.name)]
    folder = path if has_run(path) else path.parent
    if not has_run(folder):
        raise TickdiskError(
            f"{path} is a capture without a log of block requests, which a prediction needs; name a captured life of a run"
        )
    if len(lives) != 1:
        raise TickdiskError(f"{path} has {len(lives)} captured lives of that name; name one of its lives with --life")
    manifest = read_manifest(folder)
    ticking = server.named(manifest.server.name).ticking
    return CapturedLife(
        lives[0],
        _model(manifest, lives[0], folder / lives[0].name),
        manifest.server.title,
        Loop(manifest.server.tick_budget_ns, ticking.backlog),
    )


def _model(manifest: Manifest, evidence: CaptureEvidence, folder: Path) -> device.DeviceModel:
    arms = {capture.arm for capture in manifest.lives[evidence.name].captures}
    models = {manifest.models[arm].name: manifest.models[arm] for arm in arms}
    if len(models) != 1:
        raise TickdiskError(f"{folder} was captured on {len(models)} devices; name a life that has one device")
    return next(iter(models.values()))


def predict(captured: CapturedLife, model: device.DeviceModel, name: str = "", *, tau_ns: int | None = None) -> Prediction:
    """Predicts the metrics of a captured server life on a device, from the capture alone.

    The metrics are those of `qos` over the part of the life that is analysed. `name` is how the result calls the capture.
    `tau_ns` is the latency that an action counts with if it failed, timed out or took longer, in the capture and in the
    prediction. If it is None, only completed actions count, each with all of its latency.
    """
    evidence = captured.evidence
    window_ns = evidence.window_ns or evidence.captured_ns
    program = written(evidence, captured.model, window_ns)
    acted = _acted(evidence, window_ns, tau_ns)
    control, then = (_timed(captured, program, each, window_ns, acted) for each in (captured.model, model))
    serial_ns = _serial(captured, model)
    forecasts = []
    for metric, captured_ms in _captured(captured, window_ns, acted).items():
        serial_ms = _serial_ms(captured, metric, window_ns, serial_ns, acted)
        forecasts.append(
            Forecast(
                metric=metric,
                captured_ms=captured_ms,
                predicted_ms=then.metrics_ms[metric],
                ratio=then.metrics_ms[metric] / captured_ms,
                serial_ratio=serial_ms / captured_ms,
                control_ratio=control.metrics_ms[metric] / captured_ms if metric in (LONGEST, MEAN) else None,
            )
        )
    kept = all(abs(each.control_ratio - 1) <= CONTROL for each in forecasts if each.control_ratio is not None)
    return Prediction(
        capture=name or evidence.name,
        server=captured.title,
        captured_device=captured.model.name,
        device=model.name,
        verdict="predicted" if kept else "not valid",
        ticks=len(qos.gaps_ms(_ticks(evidence), *window_ns)),
        waits_followed=program.waits_followed,
        waits_kept=program.waits_kept,
        unordered=program.program.unordered,
        is_settled=control.is_settled and then.is_settled,
        forecasts=tuple(forecasts),
    )


def _ticks(evidence: CaptureEvidence) -> pd.DataFrame:
    if evidence.ticks is None:
        raise TickdiskError(f"{evidence.name} has no ticks; name a captured server life of a run")
    return evidence.ticks


@dataclass(frozen=True)
class _Acted:
    """The actions of players in a capture."""

    completed: pd.DataFrame | None
    """All completed actions. None if the capture has no actions."""
    due_ns: Mapping[str, Integers]
    done_ns: Mapping[str, Integers]
    """Times at which the completed actions of each kind were due and completed, of those that were due in the window."""
    failed: Mapping[str, int]
    """Number of the other actions of each kind, which failed or timed out. It is 0 without a limit."""
    tau_ns: float
    """Latency that an action counts with if it failed, timed out or took longer. It is infinite without a limit."""

    def mean_ms(self, kind: str, latencies_ns: npt.ArrayLike) -> float:
        """Returns the mean latency of the actions of a kind from the latencies of those that were completed."""
        every = np.append(np.minimum(latencies_ns, self.tau_ns), np.full(self.failed[kind], self.tau_ns))
        return float(every.mean()) / 1e6


def _acted(evidence: CaptureEvidence, window_ns: tuple[int, int], tau_ns: int | None) -> _Acted:
    limit_ns = np.inf if tau_ns is None else float(tau_ns)
    if evidence.actions is None:
        return _Acted(None, {}, {}, {}, limit_ns)
    actions = evidence.actions
    is_done = (actions["outcome"] == "completed") & actions["issued_ns"].notna() & actions["completed_ns"].notna()
    inside = (actions["due_ns"] >= window_ns[0]) & (actions["due_ns"] < window_ns[1])
    kinds = actions.loc[inside & is_done if tau_ns is None else inside, "action"].unique().tolist()
    own = {str(kind): actions[inside & is_done & (actions["action"] == kind)] for kind in sorted(kinds)}
    offered = actions.loc[inside, "action"].value_counts()
    return _Acted(
        actions[is_done],
        {kind: rows["due_ns"].to_numpy(np.int64) for kind, rows in own.items()},
        {kind: rows["completed_ns"].to_numpy(np.int64) for kind, rows in own.items()},
        {kind: 0 if tau_ns is None else int(offered[kind]) - len(rows) for kind, rows in own.items()},
        limit_ns,
    )


def _captured(captured: CapturedLife, window_ns: tuple[int, int], acted: _Acted) -> dict[str, float]:
    gaps = qos.gaps_ms(_ticks(captured.evidence), *window_ns)
    actions = {kind: acted.mean_ms(kind, acted.done_ns[kind] - acted.due_ns[kind]) for kind in acted.failed}
    return {LONGEST: float(gaps.max()), MEAN: float(gaps.mean()), **actions}


@dataclass(frozen=True)
class _Outcome:
    """The metrics of a program on a device, in ms, by name."""

    metrics_ms: Mapping[str, float]
    is_settled: bool


def _timed(
    captured: CapturedLife, program: Written, model: device.DeviceModel, window_ns: tuple[int, int], acted: _Acted
) -> _Outcome:
    then_ns, is_settled = timed(program, model, captured.loop)
    starts = program.starts_ns
    inside = ((starts >= window_ns[0]) & (starts < window_ns[1]))[:-1]
    if not inside.any():
        raise TickdiskError(f"{captured.evidence.name}: no tick gap lies within the capture; run the cell again")
    gaps = np.diff(then_ns[program.ticks])[inside] / 1e6
    done = acted.completed
    took_ns = {} if done is None or done.empty else latencies_ns(program, then_ns, done, window_ns, acted.tau_ns)
    means = {kind: acted.mean_ms(kind, took_ns.get(kind, ())) for kind in acted.failed}
    return _Outcome({LONGEST: float(gaps.max()), MEAN: float(gaps.mean()), **means}, is_settled)


def _serial(captured: CapturedLife, model: device.DeviceModel) -> Integers:
    """Returns by how much each request of the log takes longer on another device, if requests come one after another."""
    log = captured.evidence.device
    if log is None:
        return np.zeros(0, np.int64)
    asked = (log["op"].map(device.OPS.index), log["offset"], log["length"])
    took = [np.subtract(*reversed(device.simulate_closed(each, 1, *asked))) for each in (captured.model, model)]
    longer: Integers = took[1] - took[0]
    return longer


def _serial_ms(captured: CapturedLife, metric: str, window_ns: tuple[int, int], longer_ns: Integers, acted: _Acted) -> float:
    """Returns a metric by the rival that adds the longer latency of every request to the tick or action it falls into."""
    log = captured.evidence.device
    arrival = np.zeros(0, np.int64) if log is None else log["arrival_ns"].to_numpy(np.int64)
    order = np.argsort(arrival, kind="stable")
    total = np.concatenate([[0], np.cumsum(longer_ns[order])])

    def added(begin: Integers, end: Integers) -> Integers:
        found: Integers = total[np.searchsorted(arrival[order], end)] - total[np.searchsorted(arrival[order], begin)]
        return found

    if metric in (LONGEST, MEAN):
        gaps = qos.gaps(_ticks(captured.evidence))
        gaps = gaps[(gaps["start_ns"] >= window_ns[0]) & (gaps["start_ns"] < window_ns[1])]
        begin = gaps["start_ns"].to_numpy(np.int64)
        length = (gaps["gap_ms"] * 1e6).round().to_numpy(np.int64)
        longer = np.maximum(0, length + added(begin, begin + length)) / 1e6
        return float(longer.max() if metric == LONGEST else longer.mean())
    due, done = acted.due_ns[metric], acted.done_ns[metric]
    return acted.mean_ms(metric, np.maximum(0, done - due + added(due, done)))
