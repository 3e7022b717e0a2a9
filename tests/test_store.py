"""The store: under every algorithm a life leaves the world that plain updates make, and after crashes and damage no other one.

TICKDISK_DAMAGES says how often each algorithm's files are damaged (15; a release is checked with 84, about 1,000 in all).
"""

import os
import random
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tickdisk._native import World
from tickdisk.cli import app
from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving.checkpoint import State, ZipfTrace
from tickdisk.saving.store import (
    ALGORITHMS,
    ProcessKill,
    Setting,
    StoreRefused,
    campaign,
    cells_in,
    live,
    recover,
    started,
    verify,
)
from tickdisk.saving.store.child import NO_FOLDER, REFUSED
from tickdisk.saving.store.crash import AIMED, kills_only
from tickdisk.saving.store.life import failure

SMALL = ZipfTrace(500, 0.5, state=State(rows=1_283, columns=10))
"""101 objects, of which the last is not full."""
MASK = 0xFFFF_FFFF
DAMAGES = int(os.environ.get("TICKDISK_DAMAGES", "15"))


def expected(setting: Setting, ticks: int) -> World:
    world = World(setting.cells)
    world.play(setting.updates.open(), ticks)
    return world


def test_a_world_is_played_by_the_rule() -> None:
    """The oracle of all others, against the rule as it is said in `arena.rs`."""
    trace = ZipfTrace(50, 0.9, state=State(rows=7, columns=3))
    counts, packed = trace.open().take(4)
    values = {cell: (cell * 0x9E3779B9 & MASK) ^ 0x5BD1E995 for cell in range(21)}
    cells = memoryview(packed).cast("I").tolist()
    for tick, count in enumerate(counts, 1):
        for cell in cells[:count]:
            turned = (values[cell] << 5 | values[cell] >> 27) & MASK
            values[cell] = turned + (tick * 0x85EBCA6B & MASK ^ cell) & MASK
        del cells[:count]
    world = World(21)
    world.play(trace.open(), 4)
    assert [world.value(cell) for cell in range(21)] == list(values.values())
    before = world.digest()
    world.play(ZipfTrace(1, 0, state=trace.state).open(), 1)
    assert world.digest() != before


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_life_leaves_the_world_that_updates_make(algorithm: str, tmp_path: Path) -> None:
    setting = Setting(algorithm, tmp_path / "store", SMALL, ticks=60, tick_hz=400, full_every=4)
    world = World(setting.cells)
    checkpoints: list[int] = []
    # A slow disk may end only one checkpoint in a life: lives follow until there are three.
    while len(checkpoints) < 3:
        life = live(setting)
        assert (life.found, life.last, len(life.ticks)) == (world.tick, world.tick + 60, 60)
        world.play(setting.updates.open(), 60)
        checkpoints += life.checkpoints["number"].tolist()
        found = recover(setting.folder, setting.cells)
        assert (found.tick, found.was_stopped, found.findings) == (world.tick, True, [])
        assert found.image_tick == life.checkpoints["tick"].iloc[-1]
        assert found.digest == world.digest()
        assert verify(setting.folder, setting.cells) == []
    # The next life goes on from there, and takes the updates one by one.
    again = live(replace(setting, one_by_one=True))
    assert (again.found, again.last) == (world.tick, world.tick + 60)
    checkpoints += again.checkpoints["number"].tolist()
    assert checkpoints == list(range(1, len(checkpoints) + 1))
    world.play(setting.updates.open(), 60)
    assert recover(setting.folder, setting.cells).digest == world.digest()
    assert verify(setting.folder, setting.cells) == []


def test_lives_under_different_algorithms_share_a_folder(tmp_path: Path) -> None:
    order = random.Random(1).sample(ALGORITHMS, len(ALGORITHMS))  # noqa: S311
    cells = SMALL.state.rows * SMALL.state.columns
    world = World(cells)
    for number, algorithm in enumerate(order):
        updates = replace(SMALL, seed=number)
        live(Setting(algorithm, tmp_path, updates, ticks=30, tick_hz=400, full_every=3))
        world.play(updates.open(), 30)
        found = recover(tmp_path, cells)
        assert (found.tick, found.digest) == (world.tick, world.digest()), algorithm
        assert verify(tmp_path, cells) == []


def test_two_do_not_play_in_one_folder(tmp_path: Path) -> None:
    setting = Setting("calc", tmp_path / "store", SMALL, ticks=10_000, tick_hz=100)
    setting.folder.mkdir()
    with started(setting, tmp_path):
        while not list(setting.folder.glob("actions-*")):
            time.sleep(0.01)
        with pytest.raises(TickdiskError, match="another process plays in this folder; end it first"):
            live(setting)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_killed_life_is_found_at_its_last_committed_tick(algorithm: str, tmp_path: Path) -> None:
    trace = ZipfTrace(2_000, 0.8, state=State(rows=100_000, columns=10))
    setting = Setting(algorithm, tmp_path, trace, ticks=1_000_000, tick_hz=500, full_every=3)
    crashes = list(campaign(setting, ProcessKill(tmp_path / "store"), 6))
    assert [crash for crash in crashes if not crash.is_survived] == []
    assert {crash.aimed for crash in crashes} == {"copy", "write", "sync", "switch", "commit", "start"}
    assert all(0 < crash.committed <= crash.recovered <= crash.tick for crash in crashes if crash.aimed != "start")


def test_one_crash_in_four_of_a_campaign_of_cuts_only_kills_and_each_is_aimed_elsewhere() -> None:
    killed = [number for number in range(4 * len(AIMED)) if kills_only(number)]
    assert sorted(number % len(AIMED) for number in killed) == list(range(len(AIMED)))


def test_crashes_need_a_folder_or_a_device_whose_power_is_cut(tmp_path: Path) -> None:
    for words in ([], [str(tmp_path / "crashes"), "--cuts"]):
        result = CliRunner().invoke(app, ["checkpoint", "crash", *words])
        assert isinstance(result.exception, TickdiskError)
        assert "give a folder for the saved states, or --cuts" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_damage_is_found_and_never_makes_a_wrong_world(algorithm: str, tmp_path: Path) -> None:
    setting = Setting(algorithm, tmp_path / "store", SMALL, ticks=80, tick_hz=400, full_every=3)
    live(setting)
    draw = random.Random(algorithm)  # noqa: S311
    for number in range(DAMAGES):
        folder = tmp_path / f"damaged-{number}"
        shutil.copytree(setting.folder, folder)
        damaged = damage(folder, draw)
        assert verify(folder, setting.cells), damaged
        try:
            found = recover(folder, setting.cells)
        except StoreRefused:
            pass
        else:
            assert found.digest == expected(setting, found.tick).digest(), damaged
            assert found.tick == 80 or not found.was_stopped, damaged
        shutil.rmtree(folder)


def test_a_committed_tick_that_is_damaged_is_not_taken_for_the_tail_of_a_crash(tmp_path: Path) -> None:
    setting = Setting("hourglass", tmp_path, SMALL, ticks=40, tick_hz=400, has_checkpoints=False)
    live(setting)
    path = tmp_path / "actions-000000000001.log"
    data, record = path.read_bytes(), 32 + 4 * 500
    assert len(data) == 40 * record + 32
    path.write_bytes(data[: 30 * record + 100] + b"?" + data[30 * record + 101 :])
    with pytest.raises(
        StoreRefused, match=r"tick 31 is damaged, but 40 was committed; the state cannot be recovered beyond tick 30"
    ):
        recover(tmp_path, setting.cells)
    path.write_bytes(data[: 39 * record + 100])
    found = recover(tmp_path, setting.cells)
    assert (found.tick, found.digest) == (39, expected(setting, 39).digest())
    assert [words for words in found.findings if "after tick 39" in words]


def damage(folder: Path, draw: random.Random) -> str:
    """Changes something in one of the files, and says what."""
    path = draw.choice(sorted(path for path in folder.iterdir() if path.stat().st_size))
    data = bytearray(path.read_bytes())
    kind = draw.choice(["flip", "zero", "cut", "swap"])
    at = draw.randrange(len(data))
    before = bytes(data)
    if kind == "cut":
        del data[at:]
    elif kind == "zero":
        data[at : at + 4096] = bytes(len(data[at : at + 4096]))
    elif kind == "swap" and len(data) > 1056:
        other = draw.randrange(len(data) // 528 - 1) * 528
        own = draw.randrange(len(data) // 528) * 528
        data[other : other + 528], data[own : own + 528] = data[own : own + 528], data[other : other + 528]
    if bytes(data) == before:
        data[at] ^= 1 << draw.randrange(8)
    path.write_bytes(data)
    return f"{path.name}: {kind} at {at} of {len(before)}"


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"no checkpoint algorithm zickzack; take one of naive_snapshot, "):
        live(Setting("zickzack", tmp_path))
    setting = Setting("naive_snapshot", tmp_path / "store", SMALL, ticks=20, tick_hz=400)
    live(setting)
    with pytest.raises(StoreRefused, match=r"image-\d.data has a state of 101 objects, not of 1; give the size"):
        recover(setting.folder, 128)
    with pytest.raises(TickdiskError, match="cannot be read"):
        recover(tmp_path / "nowhere", 128)
    for path in setting.folder.glob("image-*"):
        path.unlink()
    (setting.folder / "actions-000000000001.log").unlink(missing_ok=True)
    with pytest.raises(StoreRefused, match=r"begins with tick \d+, but the last tick before it is 0"):
        recover(setting.folder, setting.cells)


def test_a_store_says_its_own_size_and_a_folder_without_one_says_so(tmp_path: Path) -> None:
    setting = Setting("hourglass", tmp_path / "store", SMALL, ticks=60, tick_hz=0)
    while not list(setting.folder.glob("*.head")):
        live(setting)
    assert cells_in(setting.folder) == cells_in(setting.folder, setting.cells) == 101 * 128
    call = CliRunner().invoke
    for command in ("recover", "verify"):
        done = call(app, ["checkpoint", command, str(setting.folder)])
        assert done.exit_code == 0, done.output
    for rows, words in ((1_000_000, "has a state of 12,928 cells, not of 10,000,000; leave --rows out"),):
        with pytest.raises(StoreRefused, match=words):
            call(app, ["checkpoint", "verify", str(setting.folder), "--rows", str(rows)], catch_exceptions=False)
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "holiday.jpg").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    for folder, words in (("pictures", "has no store"), ("empty", "has no store"), ("nowhere", "does not exist")):
        for command in ("recover", "verify"):
            with pytest.raises(StoreRefused, match=words):
                call(app, ["checkpoint", command, str(tmp_path / folder)], catch_exceptions=False)


def test_verify_says_whether_a_crash_can_be_recovered(tmp_path: Path) -> None:
    setting = Setting("hourglass", tmp_path / "store", SMALL, ticks=60, tick_hz=0)
    while not list(setting.folder.glob("*.head")):
        live(setting)
    verifying = ["checkpoint", "verify", str(setting.folder)]
    log = max(setting.folder.glob("actions-*.log"))
    log.write_bytes(log.read_bytes()[:-3])
    done = CliRunner().invoke(app, verifying)
    assert done.exit_code == 0
    tick = recover(setting.folder, setting.cells).tick
    assert done.output.splitlines()[-1] == f"the state at tick {tick} can be recovered; the server crashed"
    for path in [*setting.folder.glob("image-*"), *setting.folder.glob("actions-*.log")]:
        content = bytearray(path.read_bytes())
        if content and path.suffix != ".head":
            content[len(content) // 2] ^= 0xFF
            path.write_bytes(content)
    done = CliRunner().invoke(app, verifying)
    assert done.exit_code == 1
    assert "the state cannot be recovered: " in done.output


def test_a_store_without_a_whole_checkpoint_asks_for_its_size(tmp_path: Path) -> None:
    (tmp_path / "actions-000000000001.log").write_bytes(b"")
    with pytest.raises(StoreRefused, match="no whole checkpoint that says how large the state is; give --rows"):
        cells_in(tmp_path)
    assert cells_in(tmp_path, 640) == 640
    (tmp_path / "image-0.head").write_bytes(b"damaged")
    with pytest.raises(StoreRefused, match="give --rows"):
        cells_in(tmp_path)


def test_advice_for_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="nowhere does not exist; create a folder on the disk"):
        CliRunner().invoke(app, ["checkpoint", "advise", str(tmp_path / "nowhere")], catch_exceptions=False)


def test_a_life_that_ended_says_by_its_exit_code_whether_its_folder_was_refused(tmp_path: Path) -> None:
    setting = Setting("zigzag", tmp_path)
    refused = failure(setting, REFUSED, b"image 1 is damaged: cell 3\n")
    assert isinstance(refused, StoreRefused)
    assert str(refused) == "image 1 is damaged: cell 3"
    for code, errors, words in (
        (1, b"Traceback\nValueError: no number\n", "ValueError: no number"),
        (NO_FOLDER, b"no space left\n", "no space left"),
        (-9, b"", "the life was killed"),
    ):
        other = failure(setting, code, errors)
        assert not isinstance(other, StoreRefused)
        assert str(other) == f"{tmp_path}, algorithm zigzag: {words}"
