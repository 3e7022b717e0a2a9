"""The registry of experiments: every entry is whole, orders differ between experiments, and an experiment can be left out."""

from pathlib import Path

import numpy as np
import pytest

from tickdisk import player, studies
from tickdisk.config import arms_of_run, load_arms, load_config, plan
from tickdisk.config.plan import generators
from tickdisk.device import NO_DELAY
from tickdisk.experiment import EXPERIMENTS, STUDIES, Arm, Need
from tickdisk.project import Project, unable

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_its_notebook_its_analysis_and_the_values_that_it_states(name: str) -> None:
    study = STUDIES[name]
    assert study.name == name
    assert (ROOT / f"notebooks/{name}.ipynb").exists()
    assert callable(getattr(studies, name))
    assert set(study.stated) <= set(study.design.model_fields)
    assert set(study.needs) <= set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_a_study_with_a_behaviour_and_a_number_of_blocks(name: str) -> None:
    entry = EXPERIMENTS[name]
    assert STUDIES[name] is entry
    assert entry.behaviour in player.BEHAVIOURS
    assert entry.repeats in entry.design.model_fields
    assert "baseline" in entry.controls


def test_experiments_whose_names_begin_alike_share_no_random_number() -> None:
    names = (("switchback", "luanti"), ("switchback", "luanti2"), ("switchback_luanti", "luanti"), ("switchback", "dragonfly"))
    drawn = {
        tuple(generators(42, *name)(purpose, number).integers(2**31, size=4))
        for name in names
        for purpose in ("order", "trace")
        for number in (0, 1)
    }
    assert len(drawn) == len(names) * 4
    again = generators(42, "switchback", "luanti")("order", 1).permutation(8)
    assert np.array_equal(again, generators(42, "switchback", "luanti")("order", 1).permutation(8))


def without(*experiments: str) -> list[Arm]:
    return [arm for arm in arms_of_run(load_arms(), None) if arm.experiment not in experiments]


def test_an_experiment_without_arms_has_no_cells() -> None:
    config, code = load_config(), {(name, "luanti"): {"python": "a"} for name in EXPERIMENTS}
    arms = without("join_burst", "accesses")
    models = {(arm.experiment, arm.arm): NO_DELAY for arm in arms}
    cells = plan(config, arms, models, code)
    usual = {name for name, entry in EXPERIMENTS.items() if not entry.runs_alone}
    assert {cell.experiment for cell in cells} == usual - {"join_burst", "accesses"}


@pytest.mark.parametrize(
    ("experiments", "left_out"),
    [
        ((), []),
        (("join_burst",), ["join_burst"]),
        (("accesses",), ["accesses", "inspect", "replay"]),
        (("switchback",), ["switchback", "operations"]),
    ],
)
def test_what_needs_an_experiment_without_arms_is_left_out_with_it(experiments: tuple[str, ...], left_out: list[str]) -> None:
    project = Project(load_config(), tuple(without(*experiments)), {}, None)  # type: ignore[arg-type]
    assert [name for name in project.left_out if not STUDIES[name].runs_alone] == left_out
    if "replay" in left_out:
        assert project.left_out["replay"] == "it needs accesses, of which the table of experiments has no arm"


@pytest.mark.parametrize(
    ("lacks", "remaining"),
    [
        ({"devices": "no mounts", "captures": "no BPF", "networks": "no tun"}, {"pools", "checkpoint"}),
        (
            {"captures": "no BPF", "networks": "no tun"},
            {"switchback", "join_burst", "pools", "calibration", "checkpoint", "store", "changes", "twin"}
            | {"load", "bursts", "instances", "memory", "backup"},
        ),
        ({}, set(STUDIES)),
    ],
)
def test_studies_that_need_a_right_which_root_lacks_are_left_out(lacks: dict[Need, str], remaining: set[str]) -> None:
    left_out = unable(load_arms(), lacks)
    assert STUDIES.keys() - left_out.keys() == remaining
    assert left_out.get("replay") == next(iter(lacks.values()), None)
