"""Luanti's world in PostgreSQL: how its server is started, what its files are, and that nothing of it stays behind."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import for_release, left

from tickdisk import TickdiskError, device, trace
from tickdisk.foundation.process import state_of
from tickdisk.server import OptionalProgram, WorldSpec, copy_world
from tickdisk.server.luanti import Luanti, postgresql
from tickdisk.server.ready import free_port

CHANGE = Luanti.changes["postgresql"]
DURABLE = ("fsync", "synchronous_commit", "full_page_writes", "checkpoint", "wal", "shared_buffers", "bgwriter")
GONE_S = 20
needs_postgresql = pytest.mark.skipif(postgresql.PROGRAM.found() is None, reason="needs PostgreSQL")
STARTS = """
import sys, time
from pathlib import Path
from tickdisk import device
from tickdisk.server import copy_world
from tickdisk.server.luanti import Luanti
world, port, folder, disk = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), None
if sys.argv[4] == "on a device":
    model = device.DeviceModel(name="slow", read_latency_ns=3000000, write_latency_ns=3000000, flush_latency_ns=3000000)
    disk = device.bring_up(model, floor_ns=0, size_bytes=512 << 20)
    copy_world(world, disk.mount_point / "world")
    disk.remount()
    world = disk.mount_point / "world"
running = Luanti().start(world, port=port, folder=folder / "fast", logs=folder / "logs")
for pid in running.pids if disk else ():
    disk.add_user(pid)
print(*running.pids, flush=True)
time.sleep(600)
"""


class Asked(Exception):  # noqa: N818 - it is no error
    """Stands for the start of a process."""


def test_only_the_account_and_the_socket_differ_from_the_usual_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = list[list[str]]()

    def child(_: str, command: list[Any], __: Path, **___: Any) -> None:
        commands.append([str(word) for word in command])
        raise Asked

    monkeypatch.setattr(OptionalProgram, "found", lambda _: Path("/usr/lib/postgresql/15/bin/postgres"))
    monkeypatch.setattr(postgresql, "run", lambda *_, **__: "postgres (PostgreSQL) 15.0")
    monkeypatch.setattr(shutil, "chown", lambda *_: None)
    monkeypatch.setattr(postgresql, "Child", child)
    with pytest.raises(Asked):
        postgresql.start(tmp_path / "world/postgresql", tmp_path / "fast", tmp_path / "logs", None)
    (words,) = commands
    at = words.index("/usr/lib/postgresql/15/bin/postgres")
    before, after = words[:at], words[at + 1 :]
    assert before[:3] == ["unshare", "--ipc", "setpriv"]
    assert {"--reuid=postgres", "--regid=postgres", "--pdeathsig=keep"} <= set(before)
    assert after[:2] == ["-D", str(tmp_path / "world/postgresql")]
    settings = dict(word.split("=", 1) for word in after[2:] if word != "-c")
    assert settings["listen_addresses"] == ""
    assert settings["unix_socket_directories"] == postgresql.address(tmp_path / "fast")["PGHOST"]
    assert Path(settings["unix_socket_directories"]).is_relative_to(tmp_path / "fast")
    assert not [name for name in settings if name.startswith(DURABLE)], "what is on the disk, and when, is PostgreSQL's choice"


def test_a_world_in_it_is_refused_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OptionalProgram, "found", lambda _: None)
    with pytest.raises(TickdiskError, match=r"^PostgreSQL is not installed; install the package postgresql$"):
        postgresql.start(tmp_path, tmp_path, tmp_path, None)
    with pytest.raises(TickdiskError, match="PostgreSQL is not installed"), postgresql.made(tmp_path / "w", tmp_path, tmp_path):
        raise AssertionError("there is no server")
    assert not (tmp_path / "w").exists()


def test_its_files_are_of_no_kind() -> None:
    for name in ("base/5/16384", "base/5/16384_fsm", "pg_wal/000000010000000000000001", "global/pg_control", "postmaster.pid"):
        assert Luanti().classify(Path("/disk/world/postgresql") / name) == "other", name
    assert Luanti().classify(Path("/disk/world/map.sqlite")) == "terrain"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which may give files away")
def test_a_copy_of_a_world_keeps_the_owners_of_its_files(tmp_path: Path) -> None:
    world, target = tmp_path / "world", tmp_path / "target"
    (world / "store/base").mkdir(parents=True, mode=0o700)
    (world / "store/base/1").write_text("rows")
    (world / "world.mt").write_text("gameid = minetest")
    for path in (world / "store", *(world / "store").rglob("*")):
        os.chown(path, 12345, 54321)
    copy_world(world, target)
    owners = {str(path.relative_to(target)): (path.stat().st_uid, path.stat().st_gid) for path in target.rglob("*")}
    ours, theirs = (0, 0), (12345, 54321)
    assert owners == {"world.mt": ours, "store": theirs, "store/base": theirs, "store/base/1": theirs}
    assert (target / "store/base/1").read_text() == "rows"


# A real server


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world in PostgreSQL, below folders that are closed to other accounts."""
    folder = tmp_path_factory.mktemp("world")
    Luanti().make_world(folder / "w", WorldSpec(42, 15), folder / "logs", timeout_s=60)
    converted = Luanti().world_with(folder / "w", CHANGE, folder / "logs")
    assert Luanti().world_with(folder / "w", CHANGE, folder / "none") == converted, "it is made once"
    assert not (folder / "none").exists()
    return converted


def of_account() -> set[int]:
    """Returns the pids of all processes of PostgreSQL's account that have not ended."""
    uid, pids = pwd.getpwnam("postgres").pw_uid, set[int]()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                is_own = process.stat().st_uid == uid
                if is_own and (process / "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX":
                    pids.add(int(process.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return pids


def shared() -> tuple[list[str], list[str]]:
    """Returns the segments of shared memory of the machine, those of System V and those with a name in a file system."""
    return (
        [line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]],
        [path.name for path in Path("/dev/shm").glob("PostgreSQL.*")],
    )


@pytest.mark.live
@for_release
@needs_postgresql
def test_a_world_is_converted_and_its_server_ends_in_order(world: Path, tmp_path: Path) -> None:
    before = of_account()
    assert not (world / "map.sqlite").exists()
    described = dict(line.split(" = ", 1) for line in (world / "world.mt").read_text().splitlines())
    for kind in ("", "player_", "auth_"):
        assert described[f"{kind}backend"] == "postgresql"
        assert described[f"pgsql_{kind}connection"] == "user=luanti dbname=postgres"
    assert (world / "postgresql").stat().st_uid == pwd.getpwnam("postgres").pw_uid
    copy_world(world, tmp_path / "world")
    with trace.Cgroup() as captured:
        with captured.entered():
            running = Luanti().start(tmp_path / "world", port=free_port(), folder=tmp_path / "fast", logs=tmp_path / "logs")
        assert of_account() - before <= set(captured.members()), "a capture of the server has them all"
    states = [state_of(pid) for pid in of_account() - before]
    assert {state.parent for state in states if state is not None} == {os.getpid(), running.pids[1]}, "they are our descendants"
    assert running.facts.database is not None
    assert running.facts.database.startswith("postgres (PostgreSQL)")
    assert len(of_account() - before) > 3, "PostgreSQL has processes for its tasks and its connections"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "fast/postgresql/.s.PGSQL.5432"))
    # The settings as the server sees them, and where each comes from, in its own words.
    program = postgresql.PROGRAM.found()
    assert program is not None
    query = "select name || '=' || setting from pg_settings union all select 'blocks=' || count(*) from blocks"
    command: list[str | Path] = [program.with_name("psql"), "-AtXU", "luanti", "postgres", "-c", query]
    variables = {**os.environ, **postgresql.address(tmp_path / "fast")}
    said = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
    found = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    assert int(found["blocks"]) == Luanti().make_world(world.with_name("w"), WorldSpec(42, 15), tmp_path).blocks_stored
    assert {found[name] for name in ("fsync", "synchronous_commit", "full_page_writes")} == {"on"}
    assert found["listen_addresses"] == ""
    assert running.stop(30) == []
    assert of_account() == before
    assert not (tmp_path / "world/postgresql/postmaster.pid").exists()


@pytest.mark.live
@for_release
@needs_postgresql
def test_a_world_that_does_not_recover_says_why(world: Path, tmp_path: Path) -> None:
    before = of_account()
    copy_world(world, tmp_path / "world")
    (tmp_path / "world/postgresql/global/pg_control").unlink()
    with pytest.raises(TickdiskError, match=r"the PostgreSQL server ended at its start .*could not find the database system"):
        Luanti().start(tmp_path / "world", port=free_port(), folder=tmp_path / "fast", logs=tmp_path / "logs")
    assert of_account() == before


@pytest.mark.live
@for_release
@needs_postgresql
@pytest.mark.parametrize("place", ["in a folder", "on a device"])
def test_after_kill_9_nothing_of_it_is_left(place: str, world: Path, tmp_path: Path) -> None:
    before, memory = of_account(), shared()
    copy_world(world, tmp_path / "world")
    command: list[str | Path] = [sys.executable, "-c", STARTS, tmp_path / "world", str(free_port()), tmp_path, place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(word) for word in owner.stdout.readline().split()]
        assert len(pids) == 2
        assert all(Path(f"/proc/{pid}").exists() for pid in pids)
        assert pids[1] in of_account()
        os.kill(owner.pid, signal.SIGKILL)
    until = time.monotonic() + GONE_S
    while (of_account() != before or any(Path(f"/proc/{pid}").exists() for pid in pids)) and time.monotonic() < until:
        time.sleep(0.1)
    assert of_account() == before
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert shared() == memory
    removed = device.recover()
    assert any(line.startswith("slow-") for line in removed) == (place == "on a device")
    assert left() == ([], [], [])


@pytest.mark.live
@for_release
@needs_postgresql
def test_after_a_kill_its_files_are_recovered(world: Path, tmp_path: Path) -> None:
    before = of_account()
    copy_world(world, tmp_path / "world")
    killed = Luanti().start(tmp_path / "world", port=free_port(), folder=tmp_path / "fast", logs=tmp_path / "logs")
    killed.kill()
    assert of_account() == before, "nothing uses the device any more"
    again = Luanti().start(tmp_path / "world", port=free_port(), folder=tmp_path / "again", logs=tmp_path / "logs_again")
    assert "not properly shut down" in (tmp_path / "logs_again/postgresql.log").read_text()
    assert again.stop(30) == []
