"""Who ended in a life, told apart: the server is a result, an instrument spoils the life."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tickdisk import trace
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child
from tickdisk.run.actors import Actors, ServerEndedError, instruments
from tickdisk.run.captures import LifeCaptures
from tickdisk.run.judge import InstrumentError

if TYPE_CHECKING:
    from tickdisk.experiment import Tool


class Disk:
    def __init__(self, alive: bool) -> None:
        self._alive = alive

    def alive(self) -> bool:
        return self._alive


class Server(Disk):
    def last_words(self) -> str:
        return "disk I/O error"


def actors(tmp_path: Path, *, disk: bool = True, server: bool = True, players: str = "sleep 60") -> Actors:
    return Actors((cast("Any", Disk(disk)),), cast("Any", Server(server)), Child("players", ["sh", "-c", players], tmp_path))


def test_while_all_are_there_time_passes(tmp_path: Path) -> None:
    who = actors(tmp_path)
    at_ns = time.monotonic_ns() + 300_000_000
    who.wait_until(at_ns)
    assert time.monotonic_ns() >= at_ns
    who.players.stop(5)


def test_a_server_that_ended_is_a_result(tmp_path: Path) -> None:
    who = actors(tmp_path, server=False, players="exec sleep 60")
    with pytest.raises(ServerEndedError, match="disk I/O error"):
        who.wait_until(time.monotonic_ns() + 60 * 10**9)
    with pytest.raises(InstrumentError, match="exit code -15"):  # of a program that does not account for its actions
        who.end_players()


def test_an_emulator_that_ended_spoils_the_life_even_if_the_server_ended_of_it(tmp_path: Path) -> None:
    who = actors(tmp_path, disk=False, server=False)
    with pytest.raises(InstrumentError, match="the device's emulator ended"):
        who.check()
    who.players.stop(5)


@pytest.mark.parametrize("code", [0, 3])
def test_players_of_whom_not_one_could_join_have_played(tmp_path: Path, code: int) -> None:
    who = actors(tmp_path, players=f"exit {code}")
    who.finish(time.monotonic_ns() + 60 * 10**9)
    assert who.players.poll() == code
    who.check()


@pytest.mark.parametrize("end", ["exit 1", "exit 2", "kill -9 $$"])
def test_players_that_have_no_records_spoil_the_life(tmp_path: Path, end: str) -> None:
    who = actors(tmp_path, players=f"echo no space left; {end}")
    with pytest.raises(InstrumentError, match=r"the players ended with exit code .*no space left"):
        who.finish(time.monotonic_ns() + 60 * 10**9)


def test_players_that_are_late_are_interrupted(tmp_path: Path) -> None:
    who = actors(tmp_path, players="trap 'exit 0' TERM; while :; do sleep 0.05; done")
    who.finish(time.monotonic_ns() + 500_000_000)
    assert who.players.poll() == 0


def test_what_fails_because_the_server_has_ended_is_told_so(tmp_path: Path) -> None:
    who = actors(tmp_path, server=False)
    with pytest.raises(ServerEndedError), who.explained_by_its_end():
        raise TickdiskError("strace cannot attach")
    alive = actors(tmp_path)
    with pytest.raises(TickdiskError, match="strace cannot attach"), alive.explained_by_its_end():
        raise TickdiskError("strace cannot attach")
    who.players.stop(5)
    alive.players.stop(5)


def test_an_instrument_that_fails_spoils_the_life_and_the_emulator_is_named_where_it_is_the_cause() -> None:
    def fail(disks: list[Disk]) -> None:
        with instruments(*cast("Any", disks)):
            raise TickdiskError("the log is damaged")

    for alive, said in (
        ([], "the log is damaged"),
        ([True], "the log is damaged"),
        ([True, True], "the log is damaged"),
        ([False], "emulator ended"),
        ([True, False], "emulator ended"),
    ):
        with pytest.raises(InstrumentError, match=said):
            fail([Disk(each) for each in alive])


def test_players_that_end_before_the_life_does_spoil_it_even_with_exit_code_0(tmp_path: Path) -> None:
    who = actors(tmp_path, players="exit 0")
    with pytest.raises(InstrumentError, match="the players ended before the life did"):
        who.wait_until(time.monotonic_ns() + 60 * 10**9)


def test_a_child_ends_with_its_block(tmp_path: Path) -> None:
    def fail() -> None:
        with Child("players", ["sleep", "60"], tmp_path) as child:
            pids.append(child.pid)
            raise TickdiskError("the cell failed")

    pids: list[int] = []
    with pytest.raises(TickdiskError, match="the cell failed"):
        fail()
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_capture_goes_on_while_arms_have_the_same_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Recording:
        pid = 1

        def stop(self) -> Any:
            return None

    started: list[str] = []

    @contextmanager
    def start(tool: str, **_: Any) -> Iterator[Recording]:
        started.append(tool)
        yield Recording()

    monkeypatch.setattr(trace, "start", start)
    cpu = cast("Any", SimpleNamespace(follow=lambda *_: None))
    tools: dict[str, Tool] = {"a": "bpftrace", "b": "bpftrace", "c": "none", "d": "strace"}
    captures = LifeCaptures(tools, tmp_path, tmp_path, [0], cpu, lambda _: "other")
    captures._cgroup = cast("Any", object())
    for arm in ("a", "b", "a", "c", "b", "a", "d"):
        captures.begin(arm)
    captures.end()
    assert started == ["bpftrace", "bpftrace", "strace"]
    assert [part.arm for part in captures._parts] == ["a", "b", "d"]


def test_a_capture_that_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    class Failing:
        def stop(self) -> None:
            raise TickdiskError("the tool is gone")

    closed: list[str] = []
    captures = LifeCaptures({"only": "bpftrace"}, tmp_path, tmp_path, [0], cast("Any", None), lambda _: "other")
    captures._stack.callback(closed.append, "closed")
    captures._running = cast("Any", Failing())
    with pytest.raises(TickdiskError, match="the tool is gone"):
        captures.__exit__()
    assert closed == ["closed"]
