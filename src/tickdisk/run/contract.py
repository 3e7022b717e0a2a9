"""The contract that every server keeps, as a rehearsal with real players in which each clause is checked."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import player, server
from tickdisk.foundation import clock, host
from tickdisk.foundation.errors import TickdiskError

_S = 1_000_000_000
SPEC = server.WorldSpec(seed=42, edge_blocks=25)
"""World of a server that is tried outside of a run."""
_LEAD_S = 1.0
_BURN_MS = 400
_FIGHT_S = 7.1
_HELD_FROM_S, _HELD_STEPS = 8.7, 4
"""Time from which answers are held back, after the burn, and the number of steps for which they are."""
_HELD_ACTIONS = ("place", "dig", "teleport")
"""Actions whose answers are held back."""
_END_S = 14.4
_LOOK_PERIOD_S = 0.2
_Position = tuple[int, int, int]
_SAVE_PERIOD_S = 1.5
_STOP_S = 30.0
_LATE, _NEAR_BUDGET = 1.5, 0.1
"""Number of budgets from which a gap is late, and the most by which the mean gap may differ from the budget, as a share of it."""
_NOT_STARTED = (1, 2)
"""Exit codes of clients that have no record."""


@dataclass(frozen=True)
class Clause:
    """One requirement that every kind of game server has to meet, and whether a server met it in `check_server`."""

    name: str
    """The requirement in a few words, such as `ticks keep their budget`."""
    kept: bool
    detail: str
    """The evidence in words."""


def check_server(kind: server.Server, folder: Path, *, port: int, players: int = 10) -> Iterator[Clause]:
    """Starts a server with real players, and yields each clause of the contract of all servers as soon as it is checked.

    The contract says how a server makes a world, ticks, records, lets players act, saves and ends. `folder` is an empty folder
    for the world and the files of all programs, without an emulated device. A clause that is not kept does not end the check.
    Raises TickdiskError if the server is not installed, or if it does not start at all.
    """
    program = kind.check()
    yield Clause("program", True, f"{program.version}, {program.binary}")
    world = folder / "world"
    described = kind.make_world(world, SPEC, folder / "logs")
    yield Clause("world", len(described.places) >= 2 * players, f"{described.blocks_stored} pieces, {described.seconds} s")
    yield from _world_clauses(kind, world, folder)
    rehearsal = _rehearse(kind, world, folder, port, described.places, players)
    yield from _action_clauses(kind, rehearsal)
    yield from _tick_clauses(kind, rehearsal)
    yield from _held_clauses(kind, rehearsal)
    yield from _end_clauses(kind, world, folder, port)
    yield from _look_clauses(kind, rehearsal, world, folder, port, described.places, players)


@dataclass(frozen=True)
class _Rehearsal:
    actions: dict[str, dict[str, int]]
    """Outcomes by kind of action."""
    details: list[str]
    """Remarks of actions that were not completed."""
    ticks: server.Ticks
    problems: list[str]
    thread: int | None
    written: set[str]
    """Kinds of data in the files that the server changed."""
    fastest_ns: dict[tuple[str, bool], float]
    """The time of the fastest action of a kind, before answers were held back (False) and while they were (True)."""
    seen: dict[_Position, str | None]
    """The kind of block at each position at which a player looked, as `tickdisk.player.looks` says it."""
    held_from_ns: int
    """Time from which answers were held back, until the end."""


def _world_clauses(kind: server.Server, world: Path, folder: Path) -> Iterator[Clause]:
    started = time.monotonic()
    kind.make_world(world, SPEC, folder / "logs")
    yield Clause("a world that is there is kept", time.monotonic() - started < 1, f"{time.monotonic() - started:.2f} s")
    other_spec = server.WorldSpec(SPEC.seed + 1, SPEC.edge_blocks)
    yield _refused("a world of another spec is refused", lambda: kind.make_world(world, other_spec, folder / "logs"))
    strange = folder / "strange"
    strange.mkdir()
    server.write_world(strange, server.read_world(world).model_copy(update={"server": "another"}))
    fast, logs = folder / "fast", folder / "logs"
    yield _refused("a world of another server is refused", lambda: kind.start(strange, port=1, folder=fast, logs=logs))


def _rehearse(
    kind: server.Server, world: Path, folder: Path, port: int, places: Sequence[Sequence[int]], players: int
) -> _Rehearsal:
    fast, logs = folder / "fast", folder / "logs"
    trace = folder / "players.jsonl"
    expected = player.write_trace(trace, list(_events(kind, places, players)))
    before = _sizes(world)
    with clock.Sampler() as clocks:
        running = kind.start(world, port=port, folder=fast, logs=logs, save_period_s=_SAVE_PERIOD_S)
        try:
            thread = server.first_thread(running.tick_log)
            if kind.ticking.thread is not None:
                thread = host.thread_named(running.pid, kind.ticking.thread)
            started_ns = time.monotonic_ns() + round(_LEAD_S * _S)
            with player.start_players(kind.clients, f"127.0.0.1:{port}", trace, started_ns, fast, logs) as clients:
                held_from_ns = started_ns + round(_HELD_FROM_S * _S)
                clients.wait((held_from_ns - time.monotonic_ns()) / _S)
                running.delay_actions(_HELD_STEPS * kind.ticking.budget_ns // 1_000_000)
                if clients.wait(_END_S + 60) is None or clients.poll() in _NOT_STARTED:
                    raise TickdiskError(f"the clients of {kind.title} ended without a record: {clients.tail(3)}")
            problems = running.stop(_STOP_S)
        finally:
            running.kill()
        samples = clocks.table()
    actions = player.read_actions(fast / player.ACTIONS, expected=expected)
    ticks = server.read_ticks(running.tick_log, lambda ns, name: clock.to_monotonic(ns, name, samples), kind.ticking.budget_ns)
    after = _sizes(world)
    took_ns = (actions["completed_ns"] - actions["issued_ns"]).astype(float)
    # Terrain after a teleport may come later by chance, and never earlier, so the fastest action of each kind tells the delay.
    # The fights do not count, because their terrain is there already.
    fights = actions["due_ns"].between(started_ns + round(_FIGHT_S * _S), held_from_ns, inclusive="left")
    counted = took_ns[~fights]
    fastest_ns = counted.groupby([actions["action"], actions["due_ns"] >= held_from_ns]).min()
    return _Rehearsal(
        {
            str(action): {str(end): int(count) for end, count in of_action["outcome"].value_counts().items()}
            for action, of_action in actions.groupby("action")
        },
        actions.loc[actions["outcome"] != "completed", "detail"].tolist(),
        ticks,
        problems,
        thread,
        {kind.classify(path) for path, changed in after.items() if before.get(path) != changed},
        {(name, held): float(fastest_ns.get((name, held), np.nan)) for name in _HELD_ACTIONS for held in (False, True)},
        _seen(actions),
        held_from_ns,
    )


def _events(kind: server.Server, places: Sequence[Sequence[int]], players: int) -> Iterator[player.Event]:
    """Yields the actions: every player does each kind that the server can, at a place of its own."""

    def event(due_s: float, name: str, action: str, parameters: tuple[tuple[str, int], ...] = ()) -> player.Event:
        return player.Event(round(due_s * _S), name, action, parameters)

    for number in range(players):
        name, late_s = player.player_name(number), 0.07 * number
        positions = (places[number], places[players + number], *_block_and_air(places, players, number))
        back, there, block, air = (tuple(zip("xyz", position, strict=True)) for position in positions)
        plan = [
            ("join", 0.0, ()),
            ("walk", 2.5, (("yaw_degrees", 90), ("speed_nodes_per_s", 1))),
            ("walk", 3.0, (("yaw_degrees", 90), ("speed_nodes_per_s", 0))),
            ("ping", 3.3, ()),
            ("teleport", 4.0, there),
            ("teleport", 4.7, back),
            ("teleport", 5.4, there),
            ("place", 6.0, there),
            ("place", 6.3, block),
            ("look", 6.6, block),
            ("look", 6.8, air),
            ("dig", 7.0, there),
            *_fight(places, players, number),
            ("place", _HELD_FROM_S + 0.1, there),
            ("dig", _HELD_FROM_S + 0.9, there),
            ("teleport", _HELD_FROM_S + 1.7, back),
            ("teleport", _HELD_FROM_S + 2.4, there),
            ("place", _HELD_FROM_S + 3.1, there),
            ("dig", _HELD_FROM_S + 3.9, there),
            ("teleport", _HELD_FROM_S + 4.7, back),
            ("leave", _END_S, ()),
        ]
        if number == 0:
            plan += [("marker", 3.5, (("number", 1),)), ("burn", 8.0, (("milliseconds", _BURN_MS),))]
        for action, due_s, parameters in plan:
            if action in kind.capabilities:
                yield event(due_s + late_s, name, action, parameters)


def _fight(places: Sequence[Sequence[int]], players: int, number: int) -> list[tuple[str, float, tuple[tuple[str, int], ...]]]:
    """Returns actions with due times in s: a player kills an NPC, and two players attack each other at the place of the first.

    The last player of an odd number attacks nobody.
    """
    npc, partner = (("number", number),), number ^ 1
    actions: list[tuple[str, float, tuple[tuple[str, int], ...]]] = [("npc", _FIGHT_S, npc), ("kill", _FIGHT_S + 0.2, npc)]
    if partner >= players:
        return actions
    meeting, own = (tuple(zip("xyz", places[players + each], strict=True)) for each in (min(number, partner), number))
    attack = ("attack", _FIGHT_S + 0.6, (("player", partner),))
    return [*actions, ("teleport", _FIGHT_S + 0.3, meeting), attack, ("teleport", _FIGHT_S + 0.7, own)]


def _block_and_air(places: Sequence[Sequence[int]], players: int, number: int) -> tuple[_Position, _Position]:
    """Returns where a player places the block that stays, on top of the one that it digs, and the air above it."""
    x, y, z = places[players + number]
    return (x, y + 1, z), (x, y + 2, z)


def _seen(actions: pd.DataFrame) -> dict[_Position, str | None]:
    looks = player.looks(actions)
    positions = zip(looks["x"].tolist(), looks["y"].tolist(), looks["z"].tolist(), strict=True)
    return {position: None if seen is pd.NA else seen for position, seen in zip(positions, looks["seen"].tolist(), strict=True)}


def _action_clauses(kind: server.Server, rehearsal: _Rehearsal) -> Iterator[Clause]:
    for action in sorted(kind.capabilities):
        outcomes = rehearsal.actions.get(action, {})
        words = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "not tried"
        yield Clause(f"players can {action}", set(outcomes) == {"completed"}, words)
    if rehearsal.details:
        yield Clause("no action fails", False, rehearsal.details[0])


def _tick_clauses(kind: server.Server, rehearsal: _Rehearsal) -> Iterator[Clause]:
    ticks, counts = rehearsal.ticks, rehearsal.ticks.counts
    kept = counts.complete and not (counts.missing or counts.rejected or counts.backwards or counts.duplicated)
    yield Clause("ticks are numbered without a gap", kept, ", ".join(f"{name} {value}" for name, value in counts))
    start_ns, end_ns = ticks.table["start_ns"].to_numpy(), ticks.table["end_ns"]
    gaps_ns = np.diff(start_ns)
    budget_ns = kind.ticking.budget_ns
    yield _budget_clause(gaps_ns, budget_ns)
    spans = bool((end_ns.dropna() >= ticks.table.loc[end_ns.notna(), "start_ns"]).all())
    yield Clause("ends of ticks", spans and bool(end_ns.notna().all()) == kind.ticking.has_end, f"{end_ns.notna().sum()} ends")
    threads = sorted(set(ticks.table["thread"].dropna()))
    has_one_thread = rehearsal.thread is not None and threads in ([], [rehearsal.thread])
    yield Clause("ticks have one thread", has_one_thread, f"thread {rehearsal.thread}, in the record {threads or 'none'}")
    burns = ticks.markers[ticks.markers["name"] == "burn"]
    longest = int(gaps_ns.max()) if gaps_ns.size else 0
    burnt = len(burns) == 1 and longest >= _BURN_MS * 1_000_000
    yield Clause("a burn delays a tick", burnt, f"the longest gap is {longest / 1e6:.0f} ms")
    read = ticks.markers[ticks.markers["name"] == "read1"]
    yield Clause("a marker is recorded", len(read) == 1, f"{len(read)} in the record")
    yield Clause("no terrain is generated", counts.blocks_generated == 0, f"{counts.blocks_generated} pieces")
    yield Clause(
        "files have a kind of data", kind.kinds_of_data <= rehearsal.written, f"changed: {', '.join(sorted(rehearsal.written))}"
    )
    yield Clause("the server reports no problem", not rehearsal.problems, "; ".join(rehearsal.problems[:2]) or "none")


def _held_clauses(kind: server.Server, rehearsal: _Rehearsal) -> Iterator[Clause]:
    """Yields whether answers that are held back show in each kind of action, to within two steps, and not in ticks.

    The server may work on an answer while it is held back, so the usual time of the action adds to the delay or not.
    """
    budget_ns, start_ns = kind.ticking.budget_ns, rehearsal.ticks.table["start_ns"].to_numpy()
    for action in _HELD_ACTIONS:
        usual, held = (rehearsal.fastest_ns[action, is_held] / budget_ns for is_held in (False, True))
        shows = usual + 1 < held and _HELD_STEPS - 1 < held < _HELD_STEPS + usual + 2
        words = f"held back for {_HELD_STEPS} steps, the fastest takes {held:.2f} steps instead of {usual:.2f}"
        yield Clause(f"a held-back answer shows in a {action}", shows, words)
    gaps_ns = np.diff(start_ns[start_ns >= rehearsal.held_from_ns])
    usual = float(gaps_ns.mean()) / budget_ns if gaps_ns.size else np.inf
    yield Clause("a held-back answer delays no tick", abs(usual - 1) < _NEAR_BUDGET, f"the mean gap is {usual:.3f} budgets")


def _look_clauses(
    kind: server.Server,
    rehearsal: _Rehearsal,
    world: Path,
    folder: Path,
    port: int,
    places: Sequence[Sequence[int]],
    players: int,
) -> Iterator[Clause]:
    """Yields whether players see what they placed, and whether another player sees it after a stop and a kill of the server."""
    positions = list(rehearsal.seen) if "look" in kind.capabilities else []
    again, problems, ready_s = _look_again(kind, world, folder, port, positions, players)
    yield Clause("a world survives a kill", not problems, "; ".join(problems[:2]) or f"ready in {ready_s} s")
    if "look" not in kind.capabilities:
        return
    pairs = [_block_and_air(places, players, number) for number in range(players)]
    for wanted, own in zip((player.PLACED, player.AIR), zip(*pairs, strict=True), strict=True):
        found = [rehearsal.seen.get(position) or "nothing" for position in own]
        yield Clause(f"a look tells {wanted} from other blocks", set(found) == {wanted}, f"{', '.join(found)}")
    kept = sum(again.get(position) == seen for position, seen in rehearsal.seen.items())
    words = f"{kept} of {len(rehearsal.seen)} blocks are as they were"
    yield Clause("edits outlast a stop", again == rehearsal.seen and kept == 2 * players, words)


def _look_again(
    kind: server.Server, world: Path, folder: Path, port: int, positions: Sequence[_Position], players: int
) -> tuple[dict[_Position, str | None], list[str], float]:
    """Starts the server again and lets a player look that has not been there, unless there is no position.

    Returns what it saw, the server's problems, and how long the server needed until it was ready.
    """
    fast, logs, trace = folder / "look", folder / "logs", folder / "looks.jsonl"
    running = kind.start(world, port=port, folder=fast, logs=logs)
    seen: dict[_Position, str | None] = {}
    try:
        if positions:
            events = player.look_around(positions, players=1, period_s=_LOOK_PERIOD_S, first=players)
            expected = player.write_trace(trace, events)
            started_ns = time.monotonic_ns() + round(_LEAD_S * _S)
            with player.start_players(kind.clients, f"127.0.0.1:{port}", trace, started_ns, fast, logs) as clients:
                if clients.wait(events[-1].due_ns / _S + 60) is None or clients.poll() in _NOT_STARTED:
                    raise TickdiskError(f"the clients of {kind.title} ended without a record: {clients.tail(3)}")
            seen = _seen(player.read_actions(fast / player.ACTIONS, expected=expected))
        problems = running.stop(_STOP_S)
    finally:
        running.kill()
    return seen, problems, running.facts.ready_s


def _budget_clause(gaps_ns: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]", budget_ns: int) -> Clause:
    name, in_time_ns = "ticks keep their budget", gaps_ns[gaps_ns < _LATE * budget_ns]
    if not in_time_ns.size:
        return Clause(name, False, f"none of {gaps_ns.size} gaps is in time")
    # A loop may tick a little late and a little early in turn. Its mean gap then tells its period, and its median gap does not.
    usual = float(in_time_ns.mean()) / budget_ns
    return Clause(name, abs(usual - 1) < _NEAR_BUDGET, f"the mean gap is {usual:.3f} budgets without late ones")


def _end_clauses(kind: server.Server, world: Path, folder: Path, port: int) -> Iterator[Clause]:
    fast, logs = folder / "again", folder / "logs"
    running = kind.start(world, port=port, folder=fast, logs=logs)
    try:
        yield Clause("the world can be opened again", running.alive(), f"ready in {running.facts.ready_s} s")
        yield _refused("a port that is taken is refused", lambda: kind.start(world, port=port, folder=fast, logs=logs))
    finally:
        running.kill()
    gone = not Path(f"/proc/{running.pid}").exists()
    yield Clause("a killed server leaves no process", gone, f"process {running.pid}")


def _refused(name: str, attempt: Callable[[], object]) -> Clause:
    """Returns the clause that an attempt is refused in one sentence."""
    try:
        attempt()
    except TickdiskError as error:
        return Clause(name, "\n" not in str(error), str(error))
    return Clause(name, False, "it was not refused")


def _sizes(world: Path) -> dict[Path, tuple[int, int]]:
    """Returns size and time of change of every file."""
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in world.rglob("*") if path.is_file()}
