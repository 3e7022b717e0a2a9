"""Results of another identity: they are counted and named, and what ran on different machines is not pooled."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from records_of import HOST, MACHINE, manifest_of, plan_of, planned, resolved_of

from tickdisk.config import load_config
from tickdisk.foundation import host
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import plain
from tickdisk.project import OTHER_CODE, OTHER_SETTINGS, Plan, kept, write_plan
from tickdisk.studies.runs import Runs

OTHER = {"python": "b"}


def write_cell(runs: Path, name: str, *, experiment: str = "switchback", lacks: str = "", about: Any = None, **own: Any) -> None:
    """Writes the manifest of a cell with these values of what decides its outcome, and with what else is said `about` it.

    If it `lacks` a key of what decides its outcome, it is of an older version, which knew less.
    """
    manifest = plain(manifest_of(experiment, hash=name, resolved=resolved_of(**own), **(about or {})))
    if lacks:
        del manifest["resolved"][lacks], manifest["machine"]
    (runs / name).mkdir(parents=True)
    (runs / name / "manifest.json").write_text(json.dumps(manifest))


def a_plan(*cells: str) -> Plan:
    rows = [planned(cell, "switchback") for cell in cells]
    return plan_of(load_config(), rows, arms=(), resolved={"luanti": {"switchback": resolved_of()}})


def test_cells_that_are_not_in_the_plan_are_counted_by_reason(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    write_cell(runs, "planned")
    write_cell(runs, "other_code", code=OTHER)
    write_cell(runs, "older", lacks="code", seed=1)
    write_cell(runs, "without_server", lacks="server")
    write_cell(runs, "other_seed", seed=43)
    write_cell(runs, "both", seed=43, code=OTHER)
    write_cell(runs, "block_too_many")
    write_cell(runs, "elsewhere", experiment="gone")
    (runs / ".x.1.partial").mkdir()
    (runs / ".x.1.partial/manifest.json").write_text("{}")
    found = {(one.experiment, one.reason): one.cells for one in kept(a_plan("planned"), runs)}
    assert found == {("switchback", OTHER_CODE): 3, ("switchback", OTHER_SETTINGS): 3, ("gone", OTHER_SETTINGS): 1}
    said = [one.sentence(Path("results/runs")) for one in kept(a_plan("planned"), runs)]
    assert "3 cells of switchback were made by other code; they are kept in results/runs and not used" in said
    assert "1 cell of gone was made with other settings; it is kept in results/runs and not used" in said


def test_an_analysis_names_cells_of_other_code_and_counts_calibrations(tmp_path: Path) -> None:
    runs, plan = tmp_path / "runs", tmp_path / "plan.json"
    write_plan(plan, a_plan("one", "two", "not_yet_run"))
    write_cell(runs, "one")
    write_cell(runs, "two", about={"calibration": "another"})
    write_cell(runs, "older", lacks="code")
    write_cell(runs, "other_seed", seed=43)
    found = Runs(str(plan), str(runs), "switchback")
    assert found.not_used == [f"1 cell of switchback was made by other code; it is kept in {runs} and not used"]
    assert found.calibrations == 2
    with pytest.raises(TickdiskError, match=r"no arm of switchback on luanti has the role sham; add one"):
        found.role("sham")
    with pytest.raises(TickdiskError, match=r"no arm of switchback on luanti has ticks in the column positive_for"):
        found.positive_for("ticks")


def test_cells_of_two_machines_are_not_pooled(tmp_path: Path) -> None:
    runs, plan = tmp_path / "runs", tmp_path / "plan.json"
    write_plan(plan, a_plan("one", "two", "three"))
    for name, kernel in (("one", "k"), ("two", "k"), ("three", "l")):
        write_cell(runs, name, about={"machine": MACHINE.model_copy(update={"kernel": kernel})})
    with pytest.raises(TickdiskError, match=r"ran on 2 machines \(2 on cores 4, kernel k, .*; 1 on .*kernel l.*move the folders"):
        Runs(str(plan), str(runs), "switchback")


def test_cells_that_could_use_other_numbers_of_cores_are_not_pooled(tmp_path: Path) -> None:
    runs, plan = tmp_path / "runs", tmp_path / "plan.json"
    write_plan(plan, a_plan("one", "two", "three"))
    for name, cores in (("one", 4), ("two", 4), ("three", 1)):
        write_cell(runs, name, about={"host": HOST.model_copy(update={"cores": cores})})
    with pytest.raises(TickdiskError, match=r"2 machines \(2 on cores 4, .*, usable cores 4; 1 on cores 4, .*usable cores 1"):
        Runs(str(plan), str(runs), "switchback")


def test_a_machine_is_what_it_is_whatever_cores_this_process_may_use() -> None:
    before, may = host.machine(), os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(may)})
        assert host.machine() == before
        assert host.facts().cores == 1
    finally:
        os.sched_setaffinity(0, may)
    assert before.kernel == host.facts().kernel
