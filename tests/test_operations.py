"""Reads, writes and flushes apart: the plan of whole squares, and the analysis on lives in which every effect is known."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from scipy import stats as student
from simulated_runs import (
    BASE_MS,
    CLASSES,
    DELAY_MS,
    DELAYED,
    HELD_OUT,
    LATENCY_MS,
    OPS_MS,
    REALISED_MS,
    cells_of,
    config_of,
    write_runs,
)

from tickdisk import blame, stats
from tickdisk.config import load_arms
from tickdisk.device import load_devices
from tickdisk.experiment import EXPERIMENTS, OPERATIONS, Arm
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import Project
from tickdisk.studies import operations
from tickdisk.studies.operations.classes import Answer, equivalent_latency, in_sequence
from tickdisk.studies.operations.compute import Results, Waited
from tickdisk.studies.operations.state import state
from tickdisk.studies.study import Study

SERVERS = ("luanti", "dragonfly", "minestom")
PER_MS = {"read": 1.0, "write": 6.0, "flush": 12.0}
"""A tick takes so much longer for each ms of latency of an operation."""
MORE_MS = 5.9
ADDED_MS = {op: MORE_MS * per_ms for op, per_ms in PER_MS.items()}
APART_MS = 70.0


def additive(arm: str, _: int) -> float:
    """Returns the gap in ms on a server that makes its requests one after another."""
    delay_ms = DELAY_MS if arm in DELAYED else 0.0
    return BASE_MS + delay_ms + sum(per_ms * ms for per_ms, ms in zip(PER_MS.values(), OPS_MS[arm], strict=True))


def apart(arm: str, block: int) -> float:
    """Returns the gap in ms on a server on which all operations together cost more than each alone."""
    return additive(arm, block) + (APART_MS if arm == "all_6ms" else 0.0)


def study_of(plan: Path) -> Study[Results]:
    own: dict[str, Any] = {"tick_metric": "gap_max_ms", "action": "teleport", "margin": None, "seed": 1}
    return operations(str(plan), runs=str(plan.parent), **own)


def written(folder: Path, gap_ms: Callable[[str, int], float], server: str = "luanti") -> Path:
    write_runs(folder, "switchback", server=server, gap_ms=gap_ms)
    return write_runs(folder, "operations", server=server, gap_ms=gap_ms)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study[Results]:
    """Effects add up on the first server, and not on the other."""
    folder = tmp_path_factory.mktemp("operations")
    written(folder, additive)
    return study_of(written(folder, apart, "dragonfly"))


def verdicts_of(study: Study[Results]) -> dict[str, str]:
    return {claim.id.removeprefix("operations."): claim.verdict for claim in study.statement.claims}


@pytest.mark.parametrize("scale", ["paper", "full"])
@pytest.mark.parametrize("server", SERVERS)
def test_lives_fill_whole_squares_in_which_every_arm_follows_every_other(scale: str, server: str) -> None:
    lives = [cell.lives[0] for cell in cells_of(config_of(scale, None), "operations", server)]
    orders = [[epoch.arm for epoch in life.epochs] for life in lives]
    squares, rest = divmod(len(orders), len(orders[0]))
    assert (len(orders[0]), rest) == (8, 0)
    assert set(Counter((place, arm) for order in orders for place, arm in enumerate(order)).values()) == {squares}
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert set(follows.values()) == {squares}
    assert len(follows) == 8 * 7


def test_at_the_smallest_scale_it_runs_on_one_server_and_for_at_most_22_s() -> None:
    cells = {server: cells_of(config_of("smoke", None), "operations", server) for server in SERVERS}
    assert [len(own) for own in cells.values()] == [1, 0, 0]
    assert sum(cell.seconds for own in cells.values() for cell in own) <= 22


def test_the_paper_takes_at_most_23_minutes_for_it() -> None:
    cells = [cell for server in SERVERS for cell in cells_of(config_of("paper", None), "operations", server)]
    assert sum(cell.seconds for cell in cells) <= 23 * 60


def test_known_effects_are_found(study: Study[Results]) -> None:
    facts, verdicts = study.statement.facts, verdicts_of(study)
    for op, added_ms in ADDED_MS.items():
        for metric in ("gap_mean", "gap_max"):
            found = facts[f"operations.luanti.added.{metric}.{op}"]
            assert found.value == pytest.approx(added_ms, abs=3)
            assert found.n == 8
            assert facts[f"operations.luanti.per_ms.{metric}.{op}"].value == pytest.approx(found.value / MORE_MS)
        # An action takes two gaps in these runs.
        assert facts[f"operations.luanti.added.teleport_mean.{op}"].value == pytest.approx(2 * added_ms, abs=6)
    assert verdicts["luanti.read.gap_mean"] == "equivalent"
    assert (
        verdicts["luanti.write.gap_mean"] == verdicts["luanti.flush.gap_mean"] == verdicts["luanti.all.gap_mean"] == "different"
    )
    assert facts["operations.luanti.longer_with.gap_max"].word == "writes and flushes"
    assert verdicts["luanti.null.gap_max"] == "equivalent"


def test_effects_that_add_up_are_told_from_effects_that_do_not(study: Study[Results]) -> None:
    facts, verdicts = study.statement.facts, verdicts_of(study)
    total_ms = sum(ADDED_MS.values())
    for server, more_ms, verdict in (("luanti", 0.0, "equivalent"), ("dragonfly", APART_MS, "different")):
        own = f"operations.{server}"
        assert facts[f"{own}.added.gap_mean.sum"].value == pytest.approx(total_ms, abs=6)
        assert facts[f"{own}.added.gap_mean.all"].value == pytest.approx(total_ms + more_ms, abs=6)
        interaction = facts[f"{own}.interaction.gap_mean"]
        assert interaction.value == pytest.approx(more_ms, abs=6)
        assert (interaction.low or 0) < more_ms < (interaction.high or 0)
        expected = 1 + more_ms / (additive("all_6ms", 0))
        assert facts[f"{own}.together_ratio.gap_mean"].value == pytest.approx(expected, rel=0.03)
        assert verdicts[f"{server}.together.gap_mean"] == verdict


def test_classes_are_predicted_from_the_effects_of_reads_writes_and_flushes(study: Study[Results]) -> None:
    """On a server that makes its requests one after another, the ratio of each class follows from its three latencies."""
    facts, verdicts, base_ms = study.statement.facts, verdicts_of(study), additive("ssd_100us", 0)
    for name, one in CLASSES.items():
        own = {kind: facts[f"operations.luanti.{kind}.gap_mean.{name}"] for kind in ("equivalent", "class", "class_answer")}
        waited_ms = sum(per_ms * ns / 1e6 for per_ms, ns in zip(PER_MS.values(), one.latencies_ns, strict=True))
        equivalent_ms = waited_ms / sum(PER_MS.values())
        assert own["equivalent"].value == pytest.approx(equivalent_ms, rel=0.05)
        assert (own["equivalent"].low or 0) <= equivalent_ms <= (own["equivalent"].high or 0)
        if name == "tape":
            assert own["class_answer"].text == "outside"
            continue
        ratio = (BASE_MS + max(waited_ms, additive("ssd_100us", 0) - BASE_MS)) / base_ms
        assert own["class"].value == pytest.approx(ratio, rel=0.03)
        assert (own["class"].low or 0) < ratio + 0.01
        assert (own["class"].high or 0) > ratio - 0.01
        judged = facts[f"operations.luanti.class_live.gap_mean.{name}"] if name in HELD_OUT.values() else own["class"]
        low, high = judged.low or 0, judged.high or 0
        assert own["class_answer"].text == ("good" if high < 1.2 else "slow" if low > 1.2 else "open")
    answers = {facts[f"operations.luanti.class_answer.gap_mean.{name}"].text for name in CLASSES}
    assert {"good", "slow", "outside"} <= answers
    for server, name in product(("luanti", "dragonfly"), HELD_OUT.values()):
        assert verdicts[f"{server}.held_out.gap_mean.{name}"] == "equivalent"
        assert facts[f"operations.{server}.class_inside.gap_mean.{name}"].value == 1
    assert facts["operations.luanti.class_hard.gap_mean.hdd_7200rpm"].value == 1
    assert facts["operations.luanti.class_hard.gap_mean.gp3"].value == 0


def test_the_interval_of_an_equivalent_latency_is_fieller_s() -> None:
    """Its ends are the roots of a quadratic equation (Fieller 1954)."""
    rng = np.random.default_rng(3)
    added = pd.DataFrame(rng.normal([40, 120, 90], 15, (8, 3)), columns=["read", "write", "flush"])
    own = np.array([0.05, 0.02, 1.7])
    found = equivalent_latency(added, own, alpha=0.05)
    top, bottom = added.to_numpy() @ own, added.to_numpy().sum(axis=1)
    (var_top, cov), (_, var_bottom) = np.cov(top, bottom) / len(added)
    t2 = student.t.ppf(0.975, len(added) - 1) ** 2
    roots = np.roots(
        [
            bottom.mean() ** 2 - t2 * var_bottom,
            -2 * (top.mean() * bottom.mean() - t2 * cov),
            top.mean() ** 2 - t2 * var_top,
        ]
    )
    step = 2 * (own.max() - own.min()) / 400
    assert found.ms == pytest.approx(top.mean() / bottom.mean())
    assert (found.low_ms, found.high_ms) == pytest.approx(sorted(roots), abs=step)


@pytest.mark.parametrize("spread", [0.0, 15.0])
def test_effects_that_tell_nothing_leave_every_latency_of_a_class(spread: float) -> None:
    added = pd.DataFrame(np.random.default_rng(4).normal(0, spread, (8, 3)), columns=["read", "write", "flush"])
    found = equivalent_latency(added, [0.05, 0.02, 1.7], alpha=0.05)
    assert (found.low_ms, found.high_ms) == (0.02, 1.7)


def test_bounds_of_classes_hold_for_all_rows_together(study: Study[Results]) -> None:
    """The level is shared among three metrics on two servers, and by the equivalent latency and the effect at its ends."""
    part = study.results.parts[0]
    found = part.classes["gap_mean_ms", "nvme_consumer"]
    arms = ("latency_1ms", "latency_3ms")
    logs_of = pd.DataFrame({arm: part.doses.outcome.logs["gap_mean_ms", arm] for arm in arms})
    ratios, ends = np.exp(logs_of.to_numpy(float)), []
    for ms, side in ((found.equivalent.low_ms, -1), (found.equivalent.high_ms, 1)):
        share = (ms - 1 - REALISED_MS) / 2
        logs = np.log(ratios[:, 0] * (1 - share) + ratios[:, 1] * share)
        half = student.t.ppf(1 - 0.05 / 6 / 2, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
        ends.append(np.exp(logs.mean() + side * half))
    assert 1.01 < found.equivalent.low_ms < found.equivalent.high_ms < 3.01
    assert (found.predicted.low_one_sided, found.predicted.high_one_sided) == pytest.approx(ends)


def test_the_slowest_class_is_good_only_if_all_faster_ones_are() -> None:
    def sequence(*answers: Answer) -> str | None:
        effects = {("gap", str(place)): Mock(answer=answer) for place, answer in enumerate(answers)}
        return in_sequence({("other", "x"): Mock(answer="slow"), **effects}, "gap")

    assert sequence("good", "good", "open", "good") == "1"
    assert sequence("open", "good") is None
    assert sequence("good", "outside", "good") == "0"


def test_a_class_that_does_otherwise_than_predicted_is_found(tmp_path: Path) -> None:
    """If the disk costs 70 ms more than its latencies say, the test says so, and the answer follows from what was measured."""

    def slower(arm: str, block: int) -> float:
        return additive(arm, block) + (APART_MS if arm == "gp3_volume" else 0.0)

    study = study_of(written(tmp_path, slower))
    claim = next(claim for claim in study.statement.claims if claim.id == "operations.luanti.held_out.gap_mean.gp3")
    assert claim.verdict == "different"
    assert "lies outside the predicted interval" in claim.evidence
    facts = study.statement.facts
    assert facts["operations.luanti.class_answer.gap_mean.gp3"].text == "slow"
    assert (facts["operations.luanti.class.gap_mean.gp3"].high or 0) < 1.2


def test_the_positive_controls_are_those_of_the_switchback(study: Study[Results], tmp_path: Path) -> None:
    part = study.results.parts[0]
    own: dict[str, str] = {kind: arm.arm for arm in load_arms() if arm.experiment == "switchback" for kind in arm.positive_for}
    kinds = {"gap_mean_ms": "ticks", "gap_max_ms": "ticks", "teleport_mean_ms": "actions"}
    assert part.effects.roles.positive == {metric: own[kind] for metric, kind in kinds.items()}
    assert [each.effects.roles.sham for each in study.results.parts] == ["sham", None]
    stated = {name.split(".")[1] for name in verdicts_of(study)}
    assert not stated & {"positive", "sham"}, "the switchback states them"

    def without_control(arm: str, block: int) -> float:
        return additive("ssd_100us" if arm == "tick_delay" else arm, block)

    lacking = study_of(written(tmp_path, without_control))
    assert verdicts_of(lacking)["luanti.flush.gap_max"] == verdicts_of(lacking)["luanti.together.gap_max"] == "not valid"
    claim = next(claim for claim in lacking.statement.claims if claim.id == "operations.luanti.flush.gap_max")
    assert [(cause.kind, cause.control) for cause in claim.causes if isinstance(cause, stats.ControlFailed)]
    assert lacking.statement.facts["operations.luanti.longer_with.gap_max"].word == "not decided"
    assert verdicts_of(lacking)["luanti.flush.teleport_mean"] == "different"


def test_a_sham_of_the_switchback_that_shows_an_effect_decides_here_too(tmp_path: Path) -> None:
    def burning(arm: str, block: int) -> float:
        return additive(arm, block) + (DELAY_MS if arm == "sham" else 0.0)

    burnt = study_of(written(tmp_path, burning))
    claim = next(claim for claim in burnt.statement.claims if claim.id == "operations.luanti.flush.gap_max")
    assert (claim.verdict, [cause.control for cause in claim.causes if isinstance(cause, stats.ControlFailed)]) == (
        "not valid",
        ["sham"],
    )


def test_without_the_switchback_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="no cell of switchback has run"):
        study_of(write_runs(tmp_path, "operations", gap_ms=additive))


def test_every_table_and_figure_comes(study: Study[Results], tmp_path: Path) -> None:
    assert "run the experiment as well" in str(getattr(study.table("waited"), "data", ""))
    for name in study.tables.keys() - {"waited"}:
        assert len(study.table(name))
    study.save(str(tmp_path))
    text = (tmp_path / "figures/paper_operations.svg").read_text()
    assert all(word in text for word in ("Luanti", "Dragonfly", "Reads", "Flushes", "Their sum"))
    assert LATENCY_MS["all_6ms"] == 6


def test_one_life_decides_nothing_and_every_table_and_figure_comes(tmp_path: Path) -> None:
    write_runs(tmp_path, "switchback", scale="smoke", gap_ms=additive)
    study = study_of(write_runs(tmp_path, "operations", scale="smoke", gap_ms=additive))
    assert set(verdicts_of(study).values()) == {"not valid"}
    added = study.statement.facts["operations.luanti.added.gap_mean.flush"]
    assert added.value == pytest.approx(ADDED_MS["flush"], abs=8)
    assert (added.low, added.high, added.n) == (None, None, 1)
    assert all(len(study.table(name)) for name in study.tables.keys() - {"waited"})
    study.save(str(tmp_path / "out"))
    assert (tmp_path / "out/figures/added.svg").exists()


def test_requests_of_saves_are_counted_for_each_player(study: Study[Results]) -> None:
    ticks = pd.DataFrame({"saves": [True, True, False], "read": [0, 0, 2], "write": [30, 20, 0], "flush": [20, 20, 0]})
    part = replace(study.results.parts[0], waited=Waited(ticks, players=5, latency_ms=3.0))
    facts = state(replace(study.results, parts=[part])).facts
    counted = {
        name: facts[f"operations.luanti.waited.{name}"] for name in ("saving.write", "player.flush", "saving.all", "other.read")
    }
    assert {name: fact.value for name, fact in counted.items()} == {
        "saving.write": 25.0,
        "player.flush": 4.0,
        "saving.all": 45.0,
        "other.read": 2.0,
    }
    assert counted["saving.write"].n == 2
    table = replace(study, results=replace(study.results, parts=[part])).table("waited")
    assert table.loc[("Luanti", "flushes"), "in a tick that saves, mean"] == "20"


def test_requests_in_a_row_are_those_that_a_tick_waited_for_one_after_another() -> None:
    """Two writes at the same time count once, a read of another thread in a save not at all, and a save in another tick there."""
    asked = [("write", 10, 20), ("write", 11, 21), ("read", 12, 19), ("flush", 22, 30), ("read", 40, 50), ("flush", 110, 120)]
    asked += [("write", 130, 140)]  # while no tick waits
    device = pd.DataFrame(asked, columns=["op", "arrival_ns", "replied_ns"])
    links = pd.DataFrame(
        [
            (1, 9, 31, "io", "save in the tick thread"),
            (1, 40, 51, "io", "read behind a lock"),
            (1, 52, 90, "running", ""),
            (2, 109, 121, "io", "other wait for storage in the tick thread"),
        ],
        columns=["tick", "start_ns", "end_ns", "kind", "routine"],
    )
    ticks = pd.DataFrame({"tick": [1, 2, 3], "start_ns": [0, 100, 200], "gap_ns": 100})
    one: Any = SimpleNamespace(evidence=SimpleNamespace(device=device, name="life"), links=links, ticks=ticks)
    counted = blame.requests_in_a_row(one).set_index("tick")
    assert counted[["read", "write", "flush"]].to_numpy().tolist() == [[1, 1, 1], [0, 0, 1], [0, 0, 0]]
    one.evidence.device = None
    with pytest.raises(TickdiskError, match="no log of the device"):
        blame.requests_in_a_row(one)


@pytest.mark.parametrize(
    "given", [{"read_us": 1.0}, {"read_us": 1.0, "write_us": 1.0, "flush_us": 1.0, "latency_us": 1.0}, {"flush_us": 0.0}]
)
def test_latencies_of_an_arm_that_are_not_clear_are_refused(given: dict[str, float]) -> None:
    own = {
        "experiment": "operations",
        "arm": "a",
        "servers": ("luanti",),
        "role": "treatment",
        "device": "hdd",
        "description": "x",
    }
    with pytest.raises(ValueError, match="read_us, write_us and flush_us together"):
        Arm(**own | given)


def test_a_device_of_an_arm_has_the_arm_s_latencies_and_is_not_calibrated_by_itself() -> None:
    arms = {arm.arm: arm for arm in load_arms() if arm.experiment == "operations"}
    assert {name: arm.latencies_us for name, arm in arms.items() if arm.role == "treatment"} == {
        name: tuple(1000 * ms for ms in OPS_MS[name]) for name in ("reads_6ms", "writes_6ms", "flushes_6ms", "all_6ms")
    }
    devices = load_devices(Path("data/devices.yaml"))
    project = Project(config_of("smoke", None), tuple(load_arms()), devices, None)  # type: ignore[arg-type]
    for name, arm in arms.items():
        model = project.model("operations", name)
        if name not in HELD_OUT:
            assert model.latency_ns[:3] == tuple(round(1e6 * ms) for ms in OPS_MS[name])
        assert (model.name in {each.name for each in project.models()}) == (not arm.has_operations_apart)
    assert EXPERIMENTS["operations"] is OPERATIONS
