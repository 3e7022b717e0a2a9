"""The real thing, small: cells run end to end, every instrument agrees, and what was killed is cleaned up and runs again."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import BIN, left

from tickdisk.foundation import host, table
from tickdisk.foundation.record import plain
from tickdisk.manifest import MANIFEST

pytestmark = pytest.mark.live
Start = Callable[..., "subprocess.Popen[str]"]
_LIMIT_S = 240
_GONE_S = 30
"""After a kill nothing of a life is left within so long."""


def _cells(project: Path, experiment: str) -> list[str]:
    plan = json.loads((project / "results/plan.json").read_text())
    return [cell["hash"] for cell in plan["cells"] if (cell["experiment"], cell["server"]) == (experiment, "luanti")]


def _manifest_path(project: Path, cell: str) -> Path:
    return project / "results/runs" / cell / MANIFEST


def _finish(process: "subprocess.Popen[str]") -> str:
    output, _ = process.communicate(timeout=_LIMIT_S)
    assert process.returncode == 0, output[-4000:]
    return output


@pytest.fixture(scope="module")
def switchback(small_project: Path) -> Path:
    """The small switchback cell, run by plain snakemake."""
    cell = _cells(small_project, "switchback")[0]
    done = subprocess.run(
        [BIN / "snakemake", "--cores", "16", str(_manifest_path(Path(), cell))],
        cwd=small_project,
        check=False,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return small_project / "results/runs" / cell


def _life(folder: Path, name: str) -> pd.DataFrame:
    return table.read(name, folder / "life" / f"{name}.parquet")


def test_the_cell_is_whole_and_valid(switchback: Path) -> None:
    manifest = json.loads((switchback / MANIFEST).read_text())
    life = manifest["lives"]["life"]
    assert life["marked"] == []
    assert life["not_valid"] == {}
    assert life["server_problems"] == []
    assert life["ended"] is None
    assert [attempt["reasons"] for attempt in life["attempts"]] == [[]]
    assert left() == ([], [], [])


def test_the_manifest_names_the_machine_and_what_it_makes_of_every_latency(switchback: Path) -> None:
    manifest = json.loads((switchback / MANIFEST).read_text())
    assert manifest["machine"] == plain(host.machine())
    assert manifest["realised_ns"].keys() == manifest["models"].keys()
    for arm, realised_ns in manifest["realised_ns"].items():
        assert 0.8 < realised_ns / manifest["models"][arm]["read_latency_ns"] < 1.5, arm  # of a p50 after 0.2 s


def test_lags_of_the_clients_are_told_for_every_second_of_the_life(switchback: Path) -> None:
    manifest = json.loads((switchback / MANIFEST).read_text())
    seconds = manifest["lives"]["life"]["client"]["lag_seconds"]
    last = int(_life(switchback, "epochs")["end_ns"].max() - manifest["lives"]["life"]["started_ns"]) // 10**9
    assert {second["second"] for second in seconds} >= set(range(last))
    # Two players update their position ten times a second.
    assert all(10 <= second["samples"] <= 60 for second in seconds if 2 <= second["second"] < last)


def test_every_event_of_the_trace_has_one_action(switchback: Path) -> None:
    trace = [json.loads(line) for line in (switchback / "life/players.jsonl").read_text().splitlines()]
    actions = _life(switchback, "actions")
    assert len(actions) == len(trace)
    key = ["player", "action", "due"]
    manifest = json.loads((switchback / MANIFEST).read_text())
    wanted = pd.DataFrame([{"player": event["player"], "action": event["action"], "due": event["due_ns"]} for event in trace])
    found = actions.assign(due=actions["due_ns"] - manifest["lives"]["life"]["started_ns"])[key]
    assert sorted(map(tuple, wanted[key].to_numpy())) == sorted(map(tuple, found.to_numpy()))
    assert (actions["outcome"] == "completed").mean() > 0.95


def test_ticks_are_numbered_without_a_gap(switchback: Path) -> None:
    ticks = _life(switchback, "ticks")
    assert (ticks["tick"].diff().dropna() == 1).all()
    assert ticks["players"].max() == 3  # two that roam, and one that delays ticks in an arm
    seconds = (ticks["start_ns"].iloc[-1] - ticks["start_ns"].iloc[0]) / 1e9
    assert 0.3 * seconds / 0.09 < len(ticks) <= seconds / 0.09 + 2


def test_the_device_changes_with_the_epochs(switchback: Path) -> None:
    manifest = json.loads((switchback / MANIFEST).read_text())
    epochs, requests = _life(switchback, "epochs"), _life(switchback, "device")
    assert sorted(epochs["arm"]) == sorted(manifest["models"])
    seen = 0
    for epoch in epochs.itertuples():
        model = manifest["models"][epoch.arm]
        own = requests[
            (requests["setting"] == epoch.setting) & (requests["op"] == "read") & (requests["arrival_ns"] >= epoch.start_ns)
        ]
        following = epochs.loc[epochs["start_ns"] > epoch.start_ns, "start_ns"]
        assert (own["arrival_ns"] <= (following.min() if len(following) else own["arrival_ns"].max())).all()
        assert (own["nominal_ns"] - own["arrival_ns"] >= model["read_latency_ns"]).all()
        seen += len(own)
    assert seen > 0


def test_one_marker_is_seen_by_players_probe_and_device_within_a_millisecond(switchback: Path) -> None:
    life = json.loads((switchback / MANIFEST).read_text())["lives"]["life"]
    actions, requests = _life(switchback, "actions"), _life(switchback, "device")
    asked = actions[actions["action"] == "marker"].sort_values("due_ns")
    assert asked["outcome"].tolist() == ["completed", "completed"]
    seen = sorted((marker for marker in life["markers"] if marker["name"] != "burn"), key=lambda marker: marker["before_ns"])
    assert [marker["name"] for marker in seen] == ["read0", "read1"]
    reads = requests.loc[requests["op"] == "read", "arrival_ns"]
    for action, marker in zip(asked.itertuples(), seen, strict=True):
        assert action.issued_ns - 1_000_000 <= marker["before_ns"] <= marker["after_ns"] <= action.completed_ns + 1_000_000
        assert reads.between(marker["before_ns"] - 1_000_000, marker["after_ns"] + 1_000_000).any()
    assert life["clock_disagreement_ns"] <= 1_000_000


def _wait_for_server(project: Path, process: "subprocess.Popen[str]") -> dict[str, Any]:
    """Waits until a live life has its clients, and returns the device's record."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0][-3000:]
        for path in (project / "results/runs").glob(".*.partial/*/logs/players.json"):
            life = path.parent
            records = {record.stem: json.loads(record.read_text()) for record in life.glob("*.json")}
            return {"records": records, "life": life.parent}
        time.sleep(0.1)
    raise AssertionError("no live life within 120 s")


def _alive(records: dict[str, Any]) -> list[str]:
    """Those of a life's processes that still run; who has ended and waits for init to notice does not."""
    return [name for name, record in records.items() if _state(record["pid"]) not in "ZX"]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def test_after_kill_9_of_snakemake_and_of_the_device_daemon_plain_snakemake_finishes(
    small_project: Path, workflow: Start
) -> None:
    first, second = _cells(small_project, "switchback")
    of_first, of_second = (str(_manifest_path(Path(), cell)) for cell in (first, second))
    _finish(workflow(of_first))
    before = _manifest_path(small_project, first).stat().st_mtime_ns
    running = workflow(of_second)
    records = _wait_for_server(small_project, running)["records"]
    assert set(_alive(records)) >= {"emulator", "luanti", "players"}
    os.kill(running.pid, signal.SIGKILL)
    deadline = time.monotonic() + _GONE_S
    running.communicate(timeout=_GONE_S)  # until the cell, which holds the pipe, has cleaned up and ended
    while left() != ([], [], []) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left() == ([], [], [])
    assert _alive(records) == []  # nobody is stuck in state D either
    assert not _manifest_path(small_project, second).exists()
    # The same command works again, and one daemon's end is one error.
    running = workflow(of_second)
    records = _wait_for_server(small_project, running)["records"]
    os.kill(records["emulator"]["pid"], signal.SIGKILL)
    output, _ = running.communicate(timeout=_GONE_S)
    assert running.returncode != 0
    assert "tickdisk: the device's emulator ended" in output
    assert _alive(records) == []
    assert left() == ([], [], [])
    assert not _manifest_path(small_project, second).exists()
    _finish(workflow(of_second, of_first))
    assert _manifest_path(small_project, second).exists()
    assert _manifest_path(small_project, first).stat().st_mtime_ns == before
    assert list((small_project / "results/runs").glob(".*.partial")) == []


def test_two_signals_in_a_row_leave_nothing(small_project: Path) -> None:
    second = _cells(small_project, "switchback")[1]
    folder = small_project / "results/runs" / second
    shutil.rmtree(folder, ignore_errors=True)
    running = subprocess.Popen(
        [BIN / "tickdisk", "run", second], cwd=small_project, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    records = _wait_for_server(small_project, running)["records"]
    running.terminate()
    time.sleep(0.05)
    running.terminate()
    running.communicate(timeout=_GONE_S)
    assert running.returncode == 128 + signal.SIGTERM
    assert left() == ([], [], [])
    assert _alive(records) == []
    assert not folder.exists()
    assert list((small_project / "results/runs").glob(".*.partial")) == []


def test_answers_are_held_back_in_the_arm_that_says_so_and_in_no_other(switchback: Path) -> None:
    actions, epochs = _life(switchback, "actions"), _life(switchback, "epochs")
    held = epochs[epochs["arm"] == "action_delay"].iloc[0]
    own = actions[actions["action"].isin(["teleport", "place", "dig"]) & (actions["outcome"] == "completed")]
    inside = own["issued_ns"].between(held["start_ns"] + 10_000_000, held["end_ns"])
    took_ms = (own["completed_ns"] - own["issued_ns"]) / 1e6
    assert inside.any()
    assert took_ms[inside].min() > 3 * 90 - 10  # Four steps, of which the first may have nearly passed.
    assert took_ms[~inside].median() < 200
