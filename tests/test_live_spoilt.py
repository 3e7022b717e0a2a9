"""Spoilt lives, for real: who disturbs a life from outside has it replaced, and a server that ends by itself is a result."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import BIN, for_release, left

from tickdisk.config import load_arms
from tickdisk.foundation import host, table
from tickdisk.manifest import MANIFEST

pytestmark = pytest.mark.live
_LIMIT_S = 240
_SETTINGS = {"warm_up_s": 2, "save_period_s": 0.3}
_EPOCH_S = 3 * 0.3
_LEAD_S = 1.0
Prepare = Callable[..., tuple[Path, str]]


@pytest.fixture
def prepare(small_project: Path, tmp_path: Path) -> Prepare:
    """Makes a project with the small one's world and calibration, and limits of its own; returns it and its switchback cell."""

    def make(*, replacements: int, other_programs_share: float) -> tuple[Path, str]:
        project = tmp_path / "project"
        shutil.copytree(small_project, project, symlinks=True, ignore=shutil.ignore_patterns("runs", "notebooks"))
        path = project / "workflow/config/config.yaml"
        values = yaml.safe_load(path.read_text())
        values["limits"]["other_programs_share"] = other_programs_share
        values["scales"]["smoke"]["replacements"] = replacements
        values["scales"]["smoke"]["switchback"] |= _SETTINGS
        path.write_text(yaml.safe_dump(values))
        subprocess.run([BIN / "tickdisk", "plan"], cwd=project, check=True)
        plan = json.loads((project / "results/plan.json").read_text())
        return project, next(cell["hash"] for cell in plan["cells"] if cell["experiment"] == "switchback")

    return make


def _start(project: Path, cell: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [BIN / "tickdisk", "run", cell], cwd=project, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _life(project: Path, cell: str) -> dict[str, Any]:
    manifest = json.loads((project / "results/runs" / cell / MANIFEST).read_text())
    life: dict[str, Any] = manifest["lives"]["life"]
    return life


@contextmanager
def _busy_neighbour() -> Iterator[None]:
    """A process that keeps one core busy, and that the cell did not start."""
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        neighbour.kill()
        neighbour.wait(10)


@for_release
@pytest.mark.skipif(not host.shows_kernel_threads(), reason="a pid namespace hides the threads of the kernel")
def test_beside_a_busy_neighbour_a_life_is_replaced_and_at_last_marked(prepare: Prepare) -> None:
    limit = round(0.2 / (os.cpu_count() or 1), 3)
    project, cell = prepare(replacements=1, other_programs_share=limit)
    with _busy_neighbour():
        process = _start(project, cell)
        output, _ = process.communicate(timeout=_LIMIT_S)
    assert process.returncode == 0, output[-3000:]
    life = _life(project, cell)
    assert len(life["attempts"]) == 2
    for attempt in life["attempts"]:
        assert attempt["load"]["other_programs_share"] > limit
        assert any(reason.startswith("other programs on the cores") for reason in attempt["reasons"])
    assert life["marked"] == life["attempts"][-1]["reasons"]
    assert "replaced (1 of at most 1), other programs on the cores" in output
    assert "kept and marked, other programs on the cores" in output
    # What is kept is whole, and there once.
    folder = project / "results/runs" / cell / "life"
    arms = {
        arm.arm
        for arm in load_arms(project / "workflow/config/experiments.tsv")
        if arm.experiment == "switchback" and "luanti" in arm.servers
    }
    assert sorted(table.read("epochs", folder / "epochs.parquet")["arm"]) == sorted(arms)
    assert life["ended"] is None
    assert left() == ([], [], [])


def test_a_server_that_is_killed_in_the_middle_is_a_result(prepare: Prepare) -> None:
    project, cell = prepare(replacements=1, other_programs_share=0.9)
    process = _start(project, cell)
    records = _records(project, process)
    # In the middle of the third epoch.
    at_ns = records["players"]["started_ns"] + round((_LEAD_S + _SETTINGS["warm_up_s"] + 2.5 * _EPOCH_S) * 1e9)
    time.sleep(max(0.0, (at_ns - time.monotonic_ns()) / 1e9))
    killed_ns = time.monotonic_ns()
    os.kill(records["luanti"]["pid"], signal.SIGKILL)
    output, _ = process.communicate(timeout=_LIMIT_S)
    assert process.returncode == 0, output[-3000:]
    life, folder = _life(project, cell), project / "results/runs" / cell / "life"
    epochs, actions = table.read("epochs", folder / "epochs.parquet"), table.read("actions", folder / "actions.parquet")
    ended = life["ended"]
    assert epochs["epoch"].tolist() == [0, 1, 2]
    assert (ended["epoch"], ended["arm"]) == (2, epochs["arm"].iloc[-1])
    assert killed_ns <= ended["at_ns"] < killed_ns + 10**9
    assert epochs["start_ns"].iloc[-1] <= killed_ns < epochs["end_ns"].iloc[-1]
    # A slow disk may have caused it: the life stays as it is, and counts.
    assert life["marked"] == []
    assert len(life["attempts"]) == 1
    assert any("the server ended in the middle of the life" in sentence for sentence in life["noted"])
    _check_records(folder, actions, killed_ns)
    ticks = table.read("ticks", folder / "ticks.parquet")
    assert killed_ns - 2 * 10**9 < ticks["start_ns"].max() <= killed_ns
    assert left() == ([], [], [])
    assert not any(_runs(record["pid"]) for record in records.values())


def _check_records(folder: Path, actions: pd.DataFrame, killed_ns: int) -> None:
    """Every event of the trace has its record, and what was due after the server's end has failed."""
    assert len(actions) == len((folder / "players.jsonl").read_text().splitlines())
    later = actions[actions["due_ns"] > killed_ns + 10**9]
    assert len(later) > 0
    assert set(later["outcome"]) == {"failed"}
    assert "completed" in set(actions.loc[actions["due_ns"] < killed_ns, "outcome"])


def _records(project: Path, process: "subprocess.Popen[str]") -> dict[str, Any]:
    """The records of a life's processes, as soon as it has its players."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0][-3000:]
        for path in (project / "results/runs").glob(".*.partial/*/logs/players.json"):
            return {record.stem: json.loads(record.read_text()) for record in path.parent.glob("*.json")}
        time.sleep(0.05)
    raise AssertionError("no live life within 120 s")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
