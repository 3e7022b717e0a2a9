"""Images of power cuts and the recovery from them, with made devices, servers and players."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, cast

import pandas as pd
import pytest
from records_of import LIFE, changed

from tickdisk import device
from tickdisk.device import CutImage
from tickdisk.experiment import PlannedLife
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import CutOutcome, PlayedLife
from tickdisk.run import played, recover
from tickdisk.run.cuts import CutImages, TakenCut, seed_of
from tickdisk.run.judge import InstrumentError
from tickdisk.run.recover import Recovered

if TYPE_CHECKING:
    from queue import SimpleQueue

PLANNED = PlannedLife("cut_unchanged", "ssd", 7, 9.0, (), cuts_s=(1.0, 2.0, 3.0), keep_shares=(0.0, 0.5, 0.5))
BASE_NS = 2**53 + 1
"""As floats, times after so long an uptime would lose nanoseconds."""
LIMIT_S = 10
ENDED = {"epoch": 0, "arm": "ssd", "at_ns": 10_500, "said": "no space"}
Play = Callable[..., tuple[list[dict[str, Any]], list[dict[str, Any]]]]


def record(**values: Any) -> PlayedLife:
    life = changed(LIFE, **values)
    return PlayedLife(**{name: getattr(life, name) for name in PlayedLife.model_fields})


def image(path: Path, cut_ns: int) -> CutImage:
    path.write_bytes(b"disk")
    return CutImage(path, cut_ns, pages_dropped=3, pages_kept=2, held_ns=1)


# Images


def test_all_devices_get_their_orders_at_once(tmp_path: Path) -> None:
    both, asked = threading.Barrier(2, timeout=LIMIT_S), []

    def disk(cut_ns: int) -> Any:
        def image_of_cut(path: Path, *, keep_share: float, seed: int) -> CutImage:
            both.wait()  # One after the other, this would never return.
            asked.append((path.name, keep_share, seed))
            return image(path, cut_ns)

        return SimpleNamespace(image_of_cut=image_of_cut)

    images = CutImages(PLANNED, tmp_path)
    images.disks = (disk(1030), disk(1010))
    for number in range(3):
        images.take(1000 + number)
    assert [(cut.number, cut.cut_ns, cut.late_ns, cut.apart_ns) for cut in images.taken] == [
        (0, 1010, 10, 20),
        (1, 1010, 9, 20),
        (2, 1010, 8, 20),
    ]
    assert sorted(name for name, _, _ in asked) == [f"image-{number}-{place}" for number in range(3) for place in range(2)]
    assert [share for _, share, _ in sorted(asked)] == [0.0, 0.0, 0.5, 0.5, 0.5, 0.5]
    assert len({seed for _, _, seed in asked}) == 6, "each device of each cut has draws of its own"
    assert {seed for _, _, seed in asked} == {seed_of(PLANNED, number, place) for number in range(3) for place in range(2)}


# All cuts of a life


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Recovers from cuts with known outcomes, and returns the rows of the tables of cuts and of remains."""

    def played(outcomes: dict[int, list[Recovered]], record: PlayedLife) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        cuts = [
            TakenCut(number, BASE_NS + 9_000, (image(tmp_path / f"{number}", BASE_NS + 10_000 + number),)) for number in outcomes
        ]
        running, first = [], threading.Event()

        def recovered(_: object, ports: "SimpleQueue[int]", cut: TakenCut, __: object, logs: Path) -> Recovered:
            port = ports.get()
            running.append(port)
            assert cut.images[0].path.read_bytes() == b"disk", "every try has the image"
            again = logs.name.endswith("_again")
            assert len(running) == 1 or not again, "a second try is alone"
            first.wait(0.05)
            running.remove(port)
            ports.put(port)
            return outcomes[cut.number][again]

        monkeypatch.setattr(recover, "recover", recovered)
        actions = pd.DataFrame(
            [
                {"player": "p0", "action": "place", "due_ns": 1, "issued_ns": 1, "completed_ns": done_ns, "outcome": "completed"}
                | {"detail": "", "x": x, "y": 2, "z": 3, "seen": None}
                for x, done_ns in enumerate(BASE_NS + at_ns for at_ns in (9_999, 10_000, 10_001))
            ]
        )
        table.write("actions", tmp_path / "actions.parquet", actions)
        stage = SimpleNamespace(
            folder=tmp_path, logs=tmp_path / "logs", life=PLANNED, project=SimpleNamespace(config=SimpleNamespace(port=1))
        )
        recover.recover_all(cast("Any", stage), cuts, record)
        assert not [cut for cut in cuts if cut.images[0].path.exists()], "no image stays"
        found = [table.read(name, tmp_path / f"{name}.parquet") for name in ("cuts", "remains")]
        return tuple(
            [{name: None if pd.isna(value) else value for name, value in row.items()} for row in frame.to_dict("records")]
            for frame in found
        )  # type: ignore[return-value]

    return played


def looks(*seen: str | None) -> pd.DataFrame:
    return pd.DataFrame([{"x": x, "y": 2, "z": 3, "seen": each} for x, each in enumerate(seen)], columns=["x", "y", "z", "seen"])


def failed(outcome: CutOutcome) -> Recovered:
    return Recovered(outcome, "it failed", looks())


def test_a_server_that_does_not_start_is_tried_once_more_alone_and_others_are_not(play: Play) -> None:
    outcomes = {
        0: [failed(CutOutcome.NOT_STARTED), Recovered(CutOutcome.OPENED, "", looks("air", "placed", "placed"), absent=1)],
        1: [failed(CutOutcome.NO_PLAYER), failed(CutOutcome.NO_PLAYER)],
        2: [failed(CutOutcome.NOT_MOUNTED)],
    }
    cuts, remains = play(outcomes, record())
    assert [(row["outcome"], row["tries"], row["absent"]) for row in cuts] == [
        ("opened", 2, 1),
        ("no_player", 2, 0),
        ("not_mounted", 1, 0),
    ]
    assert [(row["due_ns"], row["cut_ns"], row["late_ns"], row["apart_ns"]) for row in cuts] == [
        (BASE_NS + 9_000, BASE_NS + 10_000 + number, 1_000 + number, None) for number in range(3)
    ]
    assert [row["keep_share"] for row in cuts] == [0.0, 0.5, 0.5]
    # Block 2 was acknowledged after the first cut, and blocks 0 and 1 before it.
    assert [(row["cut"], row["x"], row["seen"]) for row in remains if row["cut"] == 0] == [(0, 0, "air"), (0, 1, "placed")]
    assert [row["seen"] for row in remains if row["cut"] > 0] == [None] * 6


def test_cuts_after_the_end_of_a_server_have_rows(play: Play) -> None:
    ended = record(ended=ENDED, started_ns=BASE_NS)
    cuts, remains = play({0: [Recovered(CutOutcome.OPENED, "", looks("placed", "placed"))]}, ended)
    assert [(row["cut"], row["outcome"], row["tries"], row["cut_ns"]) for row in cuts] == [
        (0, "opened", 1, BASE_NS + 10_000),
        (1, "server_had_ended", 0, None),
        (2, "server_had_ended", 0, None),
    ]
    assert [row["due_ns"] for row in cuts[1:]] == [BASE_NS + 2 * 10**9, BASE_NS + 3 * 10**9]
    assert [row["detail"] for row in cuts[1:]] == ["no space"] * 2
    assert len(remains) == 2


def test_a_cut_that_was_not_made_though_the_server_ran_is_an_error(play: Play) -> None:
    with pytest.raises(InstrumentError, match="2 of 3 planned power cuts were not made"):
        play({0: [Recovered(CutOutcome.OPENED, "", looks("placed", "placed"))]}, record())


# One cut


class FakeServer:
    """A running server."""

    def last_words(self) -> str:
        return "the last words"


def visited(monkeypatch: pytest.MonkeyPatch, visits: list[pd.DataFrame | None]) -> tuple[Recovered, list[list[Any]]]:
    """Looks at three blocks with known answers, and returns the outcome and the blocks of each visit."""
    asked: list[list[Any]] = []

    def visit(_: object, __: object, ___: object, ____: object, blocks: list[Any], turn: int) -> pd.DataFrame | None:
        assert turn == len(asked)
        asked.append(list(blocks))
        return visits[turn]

    monkeypatch.setattr(recover, "_visit", visit)
    found = recover._look(cast("Any", None), cast("Any", FakeServer()), Path(), Path(), [(x, 2, 3) for x in range(3)])
    return found, asked


def actions(answers: dict[int, str | None], *joined: bool) -> pd.DataFrame:
    """Returns the actions of players who look at blocks by x, and who joined or not."""
    joins = [
        {"player": f"p{number}", "action": "join", "outcome": "completed" if joins else "timed_out", "detail": "no answer"}
        for number, joins in enumerate(joined)
    ]
    seen = [{"player": "p0", "action": "look", "x": x, "y": 2, "z": 3, "seen": each} for x, each in answers.items()]
    return pd.DataFrame([*joins, *seen]).assign(due_ns=0).astype(dict.fromkeys("xyz", "Int64"))


def test_others_look_again_where_a_look_was_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = actions({0: "air", 1: None, 2: "refused"}, True, False), actions({1: "placed"}, True)
    found, asked = visited(monkeypatch, [first, second])
    assert asked == [[(0, 2, 3), (1, 2, 3), (2, 2, 3)], [(1, 2, 3)]], "a refusal is an answer"
    assert (found.outcome, found.absent, found.detail) == (CutOutcome.OPENED, 1, "p1 could not join (timed_out: no answer)")
    assert dict(zip(found.looks["x"], found.looks["seen"], strict=True)) == {0: "air", 1: "placed", 2: "refused"}


def test_a_place_that_nobody_saw_stays_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = visited(monkeypatch, [actions({0: "air", 1: None, 2: "air"}, True), actions({1: None}, False)])
    assert len(asked) == 2
    assert (found.outcome, found.absent) == (CutOutcome.OPENED, 1)
    assert found.looks.loc[found.looks["seen"].isna(), "x"].tolist() == [1]


@pytest.mark.parametrize("visits", [[None], [actions({0: "air", 1: None, 2: None}, True), None]])
def test_the_end_of_a_server_is_no_lost_edit(monkeypatch: pytest.MonkeyPatch, visits: list[pd.DataFrame | None]) -> None:
    found, _ = visited(monkeypatch, visits)
    assert (found.outcome, found.detail, len(found.looks)) == (CutOutcome.ENDED, "the last words", 0)


def test_without_players_there_is_nobody_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = visited(monkeypatch, [actions(dict.fromkeys(range(3)), False, False)])
    assert (found.outcome, len(asked)) == (CutOutcome.NO_PLAYER, 1)
    assert "p0 could not join" in found.detail
    assert found.detail.endswith("the last words")


def test_a_dead_server_is_found_before_the_actions_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Players:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def wait(self, _: float) -> int:
            return 0

        poll = cast("Any", staticmethod(lambda: 0))

    monkeypatch.setattr(recover.player, "start_players", lambda *_: Players())
    stage = SimpleNamespace(server=SimpleNamespace(clients="luanti"))
    for is_alive in (False, True):
        running = SimpleNamespace(alive=lambda is_alive=is_alive: is_alive, facts=SimpleNamespace(port=1))
        fast = tmp_path / str(is_alive)
        fast.mkdir()

        def visit(running: Any = running, fast: Path = fast) -> object:
            return recover._visit(cast("Any", stage), running, fast, fast, [(0, 0, 0)], 0)

        if is_alive:
            with pytest.raises(TickdiskError, match="the clients were killed"):
                visit()
        else:
            assert visit() is None


def test_files_that_cannot_be_placed_on_the_other_disk_are_a_file_system_that_is_lost(tmp_path: Path) -> None:
    disks = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        disks.append(SimpleNamespace(mount_point=tmp_path / name, set=lambda *_, **__: None, restore=lambda _: None))
    model = SimpleNamespace(unlimited=lambda: None)
    stage = SimpleNamespace(models={"ssd": model}, life=PLANNED, names_apart=("players",))
    cut = TakenCut(0, 0, tuple(image(tmp_path / f"image{number}", 0) for number in range(2)))
    with pytest.raises(device.NotRecoveredError, match=r"the files on the other disk cannot be used: .*No such file"):
        recover._restore(cast("Any", stage), cast("Any", disks), cut)  # The folder of the world is not there.
    (tmp_path / "first/world").mkdir()
    assert recover._restore(cast("Any", stage), cast("Any", disks), cut) == tmp_path / "first/world"


# The world in which players have been


def test_a_played_world_is_named_after_all_that_made_it() -> None:
    world = Path("results/worlds/a")
    names = [
        played.played_name(world, 5, {"players": "a"}),
        played.played_name(world, 3, {"players": "a"}),
        played.played_name(world, 5, {"players": "b"}),
        played.played_name(world.with_name("a-leveldb"), 5, {"players": "a"}),
    ]
    assert len(set(names)) == 4
    assert {name.parent for name in names} == {world.parent}


def test_no_server_stays_where_players_could_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, stopped = tmp_path / "world", []
    world.mkdir()
    running = SimpleNamespace(kill=lambda: stopped.append(True))
    stage = SimpleNamespace(
        logs=tmp_path / "logs",
        address="127.0.0.1:1",
        server=SimpleNamespace(start=lambda *_, **__: running, clients="luanti"),
        project=SimpleNamespace(config=SimpleNamespace(port=1)),
        cell=SimpleNamespace(resolved=SimpleNamespace(design={"players": 2}, code={})),
    )

    def fail(*_: object) -> None:
        raise TickdiskError("the clients are not built")

    monkeypatch.setattr(played.player, "start_players", fail)
    with pytest.raises(TickdiskError, match="not built"):
        played.played_world(cast("Any", stage), world)
    assert stopped == [True]
    assert [path.name for path in tmp_path.iterdir()] == ["world"], "no half of a world stays"
