"""What switchback and join burst make of run folders in which every effect is known."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tickdisk import table
from tickdisk.config import Config, Life, load_arms, load_config, parse_config, plan
from tickdisk.device import load_devices
from tickdisk.report import join_burst, switchback
from tickdisk.report.study import Study

SECOND = 1_000_000_000
BASE_MS, PER_MS = 100.0, 5.0
"""A tick takes so long, and so much longer for each ms of storage latency."""
QUIET = {"steal_share": 0.0, "pressure_cpu_share": 0.0}
GapOf = Callable[[str, int], float]
LATENCY_MS = {"ssd_100us": 0.1, "ssd_100us_again": 0.1, "sham": 0.1, "hdd": 6.0}
LATENCY_MS |= {f"latency_{ms}ms": float(ms) for ms in (1, 3, 6, 12)}


def linear(arm: str, _: int) -> float:
    """The gap in ms that an arm's latency costs."""
    return BASE_MS + PER_MS * LATENCY_MS[arm]


def _tables(life: Life, block: int, gap_ms: GapOf, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    starts, actions, at_s = [], [], 0.0
    for epoch in life.epochs:
        level = gap_ms(epoch.arm, block) * rng.normal(1, 0.01)
        while at_s < epoch.end_s:
            starts.append(at_s)
            at_s += level / 1000
        for due_s in np.arange(epoch.steady_s, epoch.end_s - 0.5, 0.5).tolist():
            actions += [(kind, due_s, due_s + 2 * level / 1000) for kind in ("teleport", "join")]
    ns = [round(s * SECOND) + SECOND for s in starts]
    acted = pd.DataFrame(actions, columns=["action", "due_ns", "completed_ns"])
    acted[["due_ns", "completed_ns"]] = (acted[["due_ns", "completed_ns"]] * SECOND + SECOND).round().astype("int64")
    epochs = [
        {"epoch": number, "cycle": epoch.cycle, "arm": epoch.arm, "device": epoch.arm, "setting": number}
        | {f"{name}_ns": round(getattr(epoch, f"{name}_s") * SECOND) + SECOND for name in ("start", "steady", "end")}
        for number, epoch in enumerate(life.epochs)
    ]
    none = pd.array([pd.NA] * len(ns), dtype="Int64")
    return {
        "ticks": pd.DataFrame({"tick": range(len(ns)), "start_ns": ns, "end_ns": none, "players": 1}),
        "actions": acted.assign(player="p000", issued_ns=acted["due_ns"], outcome="completed", detail=""),
        "epochs": pd.DataFrame(epochs),
    }


def _described(reasons: list[str]) -> dict[str, Any]:
    ticks = dict.fromkeys(("ticks", "missing", "late", "merged"), 0)
    return {"reasons": reasons, "ticks": ticks, "trace_events": 1, "client": {"backlog_max": 0}, "requests": 1}


def _config(scale: str, blocks: int | None) -> Config:
    return parse_config(load_config().model_dump(mode="json") | {"scale": scale, "blocks": blocks})


def _runs(
    folder: Path,
    experiment: str,
    *,
    scale: str = "paper",
    blocks: int | None = None,
    gap_ms: GapOf = linear,
    spoilt: Mapping[tuple[int, str], list[str]] | None = None,
) -> Path:
    """Writes the run folders of all cells of an experiment and their plan; returns the plan's path."""
    config, arms, rng = _config(scale, blocks), load_arms(), np.random.default_rng(7)
    devices = {name: model.as_dict() for name, model in load_devices(Path("data/devices.yaml")).items()}
    models = {
        arm.arm: devices["hdd" if arm.arm == "hdd" else "sata_ssd"]
        | {"name": arm.arm, "read_latency_ns": round(1e6 * LATENCY_MS[arm.arm])}
        for arm in arms
        if arm.experiment == experiment
    }
    cells = [cell for cell in plan(config, arms, devices, {}) if cell.experiment == experiment]
    for cell in cells:
        lives = {life.name: _described((spoilt or {}).get((cell.block, life.name), [])) for life in cell.lives}
        for life in cell.lives:
            (folder / cell.hash / life.name).mkdir(parents=True)
            for name, rows in _tables(life, cell.block, gap_ms, rng).items():
                table.write(name, folder / cell.hash / life.name / f"{name}.parquet", rows)
        manifest = {
            "hash": cell.hash,
            "block": cell.block,
            "plan": [asdict(life) for life in cell.lives],
            "lives": lives,
            "attempts": [{"load": QUIET}] * (2 if cell.block == 0 else 1),
            "marked": None,
            "models": models,
        }
        (folder / cell.hash / "manifest.json").write_text(json.dumps(manifest))
    path = folder / "plan.json"
    described = [{"experiment": experiment, "hash": cell.hash} for cell in cells]
    values = {"config": config.model_dump(mode="json"), "arms": [arm.model_dump(mode="json") for arm in arms]}
    path.write_text(json.dumps(values | {"cells": described}))
    return path


def _switchback(path: Path) -> switchback:
    own = {"tick_metric": "gap_max_ms", "action": "teleport", "margin": None, "bootstrap_samples": 200, "seed": 1}
    return switchback(str(path), runs=str(path.parent), output=None, **own)


def _join_burst(path: Path) -> join_burst:
    own = {"tick_metric": "gap_max_ms", "margin": None, "bootstrap_samples": 200, "seed": 1}
    return join_burst(str(path), runs=str(path.parent), output=None, **own)


def _verdicts(study: Study) -> dict[str, str]:
    return {claim.id.partition(".")[2]: claim.verdict for claim in study.claims}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> switchback:
    return _switchback(_runs(tmp_path_factory.mktemp("runs"), "switchback"))


def test_a_known_effect_is_found_and_none_where_there_is_none(planned: switchback) -> None:
    verdicts = _verdicts(planned)
    assert (verdicts["positive.gap_mean"], verdicts["null.gap_mean"], verdicts["sham.gap_mean"]) == (
        "different",
        "equivalent",
        "equivalent",
    )
    assert (verdicts["latency_6ms.gap_mean"], verdicts["latency_1ms.gap_mean"]) == ("different", "equivalent")
    found = planned.facts["switchback.gap_mean_ratio.latency_6ms"]
    assert found.value == pytest.approx(linear("latency_6ms", 0) / linear("ssd_100us", 0), rel=0.02)
    assert found.n == planned.facts["switchback.planned_pairs"].value == planned.facts["switchback.pairs"].value


def test_the_slope_is_that_of_the_server_and_does_not_rest_on_the_control(planned: switchback, tmp_path: Path) -> None:
    slope = planned.facts["switchback.gap_mean_slope"]
    assert slope.value == pytest.approx(PER_MS, rel=0.1)
    assert "switchback.gap_mean_good_enough" in planned.facts
    # 20 % more than 100.5 ms are 4.02 ms of latency more.
    assert planned.facts["switchback.gap_mean_good_enough"].value == pytest.approx(0.1 + 0.2 * 100.5 / PER_MS, rel=0.1)
    assert _verdicts(planned)["dose_gap_mean"] == "different"
    alone = _switchback(
        _runs(tmp_path, "switchback", gap_ms=lambda arm, block: linear(arm, block) if arm == "latency_12ms" else BASE_MS)
    )
    assert _verdicts(alone)["positive.gap_mean"] == "different"
    assert _verdicts(alone)["dose_gap_mean"] == "inconclusive", "nothing but the control is slower"
    assert alone.facts["switchback.gap_mean_slope"].value == pytest.approx(0, abs=0.5)
    assert "fitted to" in unescape(planned.dose_gap_mean().data)


def test_lives_that_differ_are_said_to(tmp_path: Path) -> None:
    path = _runs(tmp_path, "switchback", gap_ms=lambda arm, block: BASE_MS + (PER_MS + 3 * block) * LATENCY_MS[arm])
    study = _switchback(path)
    p = study.by_life().loc[("mean tick gap", "latency_6ms"), "p lives differ"]
    by_lives = study.facts["switchback.gap_mean_ratio_by_life.latency_6ms"]
    interval = f"{by_lives.value:.3g} [{by_lives.low:.3g}, {by_lives.high:.3g}], n = {by_lives.n}"
    evidence = {claim.id: claim.evidence for claim in study.claims}
    said = f"lives differ (p = {p:.2g}), by lives the ratio is {interval}"
    assert p < 0.001
    assert evidence["switchback.latency_6ms.gap_mean"].endswith(said)
    assert f"at 6 ms {said}" in evidence["switchback.dose_gap_mean"]


def test_what_was_repeated_and_spoilt_is_counted(tmp_path: Path) -> None:
    reasons = ["the client was saturated", "2 of 9 ticks missing"]
    study = _switchback(_runs(tmp_path, "switchback", spoilt={(1, "life"): reasons}))
    facts = {
        name: study.facts[f"switchback.{name}"].value for name in ("cells", "repeated_cells", "marked_cells", "spoilt_lives")
    }
    assert facts == {"cells": len(study.data.planned), "repeated_cells": 1, "marked_cells": 0, "spoilt_lives": 1}
    assert _verdicts(study)["latency_6ms.gap_mean"] == "not valid", "a life is missing of what was planned"


def test_more_pairs_than_planned_say_so_and_fewer_decide_nothing(tmp_path: Path) -> None:
    planned = load_config().scales["paper"].join_burst.blocks
    more = _join_burst(_runs(tmp_path / "more", "join_burst", blocks=planned + 1))
    assert (more.facts["join_burst.planned_pairs"].value, more.facts["join_burst.pairs"].value) == (planned, planned + 1)
    claim = next(claim for claim in more.claims if claim.id == "join_burst.hdd.gap_mean")
    assert claim.verdict == "different"
    assert f"{planned} pairs were planned: confirmatory only if BLOCKS was set before the first run" in claim.evidence
    fewer = _join_burst(_runs(tmp_path / "fewer", "join_burst", blocks=planned - 1))
    assert _verdicts(fewer)["hdd.gap_mean"] == "not valid"
    assert fewer.facts["join_burst.planned_pairs"].value == planned


def test_an_arm_of_which_no_life_counts_is_not_valid_and_breaks_nothing(tmp_path: Path) -> None:
    path = _runs(tmp_path, "join_burst", scale="smoke", spoilt={(0, "hdd"): ["client saturated"]})
    study = _join_burst(path)
    assert study.facts["join_burst.spoilt_lives"].value == 1
    claim = next(claim for claim in study.claims if claim.id == "join_burst.hdd.gap_mean")
    assert claim.verdict == "not valid"
    assert claim.evidence.endswith("1 of 1 lives of hdd did not count")
    assert "ssd_100us" in unescape(study.gap_tail().data)
    study.joins(), study.effects(), study.by_life(), study.effects_table(), study.power()
