"""One short life of each study of what a disk carries: players in steps and bursts, several servers, and too little memory."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import for_release, left

from tickdisk import calibrate
from tickdisk.experiment import PlannedLife
from tickdisk.foundation import table
from tickdisk.foundation.process import Child
from tickdisk.foundation.yaml_file import read_yaml
from tickdisk.manifest import PlayedLife
from tickdisk.project import Project
from tickdisk.run.judge import CLOCKS_AGREE_NS
from tickdisk.run.life import run_life
from tickdisk.run.quota import Group, Quota
from tickdisk.run.stage import Stage
from tickdisk.server import WorldSpec, named

pytestmark = pytest.mark.live
_PAGES_PER_MIB = 256
_ROOM_BYTES = 1 << 20
"""Memory by which a server may need less than at its peak, which the limit leaves."""


def played(study: str, name: str, folder: Path, server: str = "luanti") -> tuple[PlannedLife, PlayedLife]:
    """Runs a life of the small project, in whose folder this is, into `folder`."""
    planned = Project.of({**read_yaml(Path("workflow/config/config.yaml"), ""), "study": study})
    cell = next(cell for cell in planned.cells if (cell.experiment, cell.server) == (study, server))
    life = next(life for life in cell.lives if life.name == name)
    if not (world := planned.world(server)).exists():
        spec = WorldSpec(**planned.config.chosen.world_of(server).model_dump())
        named(server).make_world(world, spec, world.parent / "logs")
    calibration = calibrate.load_calibration(Path("results/calibration.json"))
    models = {arm.arm: planned.model(study, arm.arm) for arm in planned.arms if arm.experiment == study}
    return life, run_life(Stage(planned, cell, life, models, calibration, folder))


def groups() -> list[Path]:
    """Returns the control groups of quotas that are left."""
    return [path for path in Path("/sys/fs/cgroup").rglob("tickdisk-quota-*") if path.is_dir()]


def in_order(record: PlayedLife) -> None:
    assert record.ended is None
    assert record.server_problems == ()
    assert (record.clock_disagreement_ns or 0) <= CLOCKS_AGREE_NS
    assert {kind: counts.failed + counts.timed_out for kind, counts in record.client.actions.items()} == dict.fromkeys(
        record.client.actions, 0
    )
    assert left() == ([], [], [])
    assert groups() == []


def test_players_join_in_steps(small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small_project)
    life, record = played("load", "ssd_100us", tmp_path / "life")
    in_order(record)
    epochs, ticks = (table.read(name, tmp_path / "life" / f"{name}.parquet") for name in ("epochs", "ticks"))
    for planned, epoch in zip(life.epochs, epochs.to_dict("records"), strict=True):
        inside = ticks[(ticks["start_ns"] >= epoch["steady_ns"]) & (ticks["start_ns"] < epoch["end_ns"])]
        assert set(inside["players"]) == {planned.players}


@pytest.mark.parametrize("server", ["luanti", pytest.param("minestom", marks=for_release)])
def test_players_join_in_a_burst_from_a_cold_page_cache(
    server: str, small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_project)
    life, record = played("bursts", "ssd_100us", tmp_path / "life", server)
    in_order(record)
    epochs, actions, device = (
        table.read(name, tmp_path / "life" / f"{name}.parquet") for name in ("epochs", "actions", "device")
    )
    joins = actions[(actions["action"] == "join") & (actions["player"] != "p000")]
    reads = device.loc[device["op"] == "read", "arrival_ns"]
    for epoch in epochs.to_dict("records"):
        own = joins[joins["issued_ns"].between(epoch["steady_ns"], epoch["end_ns"])]
        assert len(own) == (5 if server == "luanti" else 1)
        assert int(reads.between(epoch["steady_ns"], epoch["end_ns"]).sum()) >= 4 * len(own), "each join reads its terrain"
    assert len(joins) == (1 + len(life.epochs)) * (5 if server == "luanti" else 1), "the first burst is not analysed"


@pytest.mark.parametrize("server", ["luanti", pytest.param("dragonfly", marks=for_release)])
def test_several_servers_play_on_one_disk(
    server: str, small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_project)
    life, record = played("instances", "instances_2", tmp_path / "life", server)
    in_order(record)
    assert [neighbour.instance for neighbour in record.neighbours] == [1]
    neighbour = record.neighbours[0]
    assert neighbour.server_problems == ()
    for quota in (record.quota, neighbour.quota):
        assert quota is not None
        assert (quota.cores, quota.memory_bytes) == (0.25, 512 << 20)
        assert quota.cached_bytes > 0
    own, other = (
        table.read("actions", folder / "actions.parquet") for folder in (tmp_path / "life", tmp_path / "life/instance1")
    )
    assert len(own) > 0 < len(other)
    assert own["due_ns"].tolist() != other["due_ns"].tolist(), "each server has players of its own"
    ticks = table.read("ticks", tmp_path / "life/instance1/ticks.parquet")
    assert ticks["players"].max() == len({*json_players(tmp_path / "life/players1.jsonl")})
    load = table.read("load", tmp_path / "life/load.parquet")
    assert {"server", "server 1"} <= set(load["process"])
    assert (own["completed_ns"].dropna() > life.seconds).all()


def json_players(path: Path) -> list[str]:
    return [json.loads(line)["player"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("state", ["quarter", pytest.param("warm", marks=for_release)])
def test_memory_has_too_little_or_all_of_a_world(
    state: str, small_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With too little, the page cache stays below its limit. With all, the device sees that markers are read, and little else."""
    monkeypatch.chdir(small_project)
    _, record = played("memory", state, tmp_path / "life")
    in_order(record)
    assert record.quota is not None
    reads = int((table.read("device", tmp_path / "life/device.parquet")["op"] == "read").sum())
    if state == "warm":
        assert record.quota.memory_bytes is None
        assert 0 < reads < 100
    else:
        assert record.quota.memory_bytes is not None
        assert record.quota.hot_bytes is not None
        assert 0 < record.quota.cached_bytes < record.quota.hot_bytes / 4 + _ROOM_BYTES
        assert record.quota.refaults > 0


def test_a_group_limits_memory_and_counts_what_is_read_again(tmp_path: Path) -> None:
    """The oracle is a file of 64 MiB that is read three times in a group of 24 MiB, of which at most 24 MiB can stay."""
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20) * 64)
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    program = 'for time in 1 2 3; do cat "$1" >/dev/null; done; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'
    with Group(Quota(cores=0.2, memory_bytes=24 << 20)) as group:
        process = Child("reader", ["sh", "-c", program, "sh", path], tmp_path, groups=group.folders)
        assert process.wait(60) == 0
        usage = group.usage()
        assert {each.name for each in groups()} == {f"tickdisk-quota-{os.getpid()}-{group.number}"}
    assert usage.cached_bytes <= 24 << 20
    assert usage.refaults >= 2 * (64 - 24) * _PAGES_PER_MIB // 2, "half of what cannot stay is counted at least"
    assert usage.throttled_ns > 0


@pytest.fixture(autouse=True)
def no_groups_before() -> None:
    assert groups() == []


def test_a_group_that_needs_more_than_its_limit_waits_and_is_not_killed(tmp_path: Path) -> None:
    program = """
import pathlib, time
first = bytearray(b'x') * (24 << 20)
pathlib.Path("ready").touch()
while not pathlib.Path("go on").exists():
    time.sleep(0.02)
second = bytearray(b'x') * (24 << 20)
"""
    words = [sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r}){program}"]
    with Group(Quota()) as group, Child("needs", words, tmp_path, groups=group.folders) as process:
        until(tmp_path.joinpath("ready").exists)
        own_bytes = group.usage().own_bytes
        assert own_bytes > 24 << 20
        until(lambda: group.limit(own_bytes + (4 << 20)))
        tmp_path.joinpath("go on").touch()
        assert process.wait(1.0) is None, "it waits for memory"
        group.limit(own_bytes + (40 << 20))
        assert process.wait(10.0) == 0


def until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)
