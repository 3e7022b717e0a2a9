"""Measures what a game server sends to players who only look on: bytes, datagrams and the round-trip time of a ping."""

import ctypes
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tickdisk import player, server
from tickdisk.foundation import host, process
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run.contract import SPEC

_S = 1_000_000_000
_CLONE_NEWNET = 0x40000000
_IDLE_S = 3.0
"""Time in s that is measured without players."""
_JOINS_S = 3.0
"""Time in s over which the players join."""
_SETTLES_S = 4.0
"""Time in s after the start of the server, and after the joins, in which nothing is measured."""
_END_S = 1.0
"""Time in s from the end of the measurement to the leave of the players."""
_STOP_S = 30.0
"""Longest time in s that the server or the clients may take to end."""
_PING_PERIOD_S = 0.5
"""Average time in s from one ping of a player to the next."""


@dataclass(frozen=True)
class Traffic:
    """The traffic of one server with some players, or without any."""

    players: int
    seconds: float
    bytes_per_s: float
    """Bytes of both directions together, with all headers."""
    datagrams_per_s: float
    """Packets of both directions together."""
    server_share: float
    """Processor time of the server, as a share of one core."""
    rtt_ms: tuple[float, ...] = ()
    """Round-trip time of each ping that was answered."""
    unanswered: int = 0
    """Number of pings without an answer."""


def measure_traffic(
    kind: server.Server, folder: Path, *, players: int, seconds: float, say: Callable[[str], None]
) -> list[Traffic]:
    """Starts a game server in a network namespace of its own, and measures its traffic without players and with some.

    The calling process enters a new network namespace, in which only the loopback device is, and stays there. All packets on this
    device are therefore the server's or its players'. The players join, stand still, and send a ping every half second at random
    times. `folder` is empty, and takes the world and the files of all programs. `seconds` is the time that is measured with
    players. Raises TickdiskError if the server is not installed or does not start, if the players end early, or if the process
    may not enter a namespace.
    """
    kind.check()
    _enter_own_network()
    world, fast, logs = folder / "world", folder / "fast", folder / "logs"
    say(f"{kind.title}: the world is made")
    places = kind.make_world(world, SPEC, logs).places
    if players > len(places):
        raise TickdiskError(f"the world has room for {len(places)} players, not for {players}; give fewer")
    say(f"{kind.title}: the server starts")
    running = kind.start(world, port=server.PORT, folder=fast, logs=logs)
    try:
        time.sleep(_SETTLES_S)
        idle = _counted(running, 0, _IDLE_S)
        trace = folder / "players.jsonl"
        expected = player.write_trace(trace, _events(players, seconds))
        started_ns = time.monotonic_ns() + _S
        say(f"{kind.title}: {players} players join")
        with player.start_players(kind.clients, f"127.0.0.1:{server.PORT}", trace, started_ns, fast, logs) as clients:
            begin_s = started_ns / _S + _JOINS_S + _SETTLES_S
            time.sleep(max(0.0, begin_s - time.monotonic()))
            busy = _counted(running, players, seconds)
            if clients.wait(_END_S + _STOP_S) != 0:
                raise TickdiskError(f"the clients of {kind.title} failed: {clients.tail(2)}")
        running.stop(_STOP_S)
    finally:
        running.kill()
    actions = player.read_actions(fast / player.ACTIONS, expected=expected)
    pings = actions[actions["action"] == "ping"]
    answered = pings[pings["outcome"] == "completed"]
    rtt_ms = (answered["completed_ns"] - answered["issued_ns"]).to_numpy(dtype=float) / 1e6
    return [idle, Traffic(*_values(busy), tuple(rtt_ms.tolist()), len(pings) - len(answered))]


def _values(traffic: Traffic) -> tuple[int, float, float, float, float]:
    return traffic.players, traffic.seconds, traffic.bytes_per_s, traffic.datagrams_per_s, traffic.server_share


def _enter_own_network() -> None:
    """Enters a new network namespace with its main thread, from which all children are started."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise TickdiskError(f"a network namespace cannot be made ({reason}); run as root")
    process.run(["ip", "link", "set", "lo", "up"])


def _events(players: int, seconds: float) -> list[player.Event]:
    """Returns the actions of players who join one after another, stand still, ping and leave."""
    rng, events = np.random.default_rng(1), list[player.Event]()
    begin_s = _JOINS_S + _SETTLES_S
    for number in range(players):
        name = player.player_name(number)
        events.append(player.Event(round(_JOINS_S * number / players * _S), name, "join"))
        for slot in range(round(seconds / _PING_PERIOD_S)):
            due_s = begin_s + (slot + rng.uniform()) * _PING_PERIOD_S
            events.append(player.Event(round(due_s * _S), name, "ping"))
        events.append(player.Event(round((begin_s + seconds + _END_S) * _S), name, "leave"))
    return events


def _counted(running: server.RunningServer, players: int, seconds: float) -> Traffic:
    """Counts the packets on the loopback device for some time. Raises TickdiskError if the server ends before that."""
    before, started_ns, used_before_ns = _loopback(), time.monotonic_ns(), host.cpu_ns(running.pid)
    time.sleep(seconds)
    after, ended_ns, used_ns = _loopback(), time.monotonic_ns(), host.cpu_ns(running.pid)
    if used_before_ns is None or used_ns is None or not running.alive():
        raise TickdiskError(f"the server ended while its traffic was measured: {running.last_words()}")
    length_s = (ended_ns - started_ns) / _S
    size, packets = ((later - sooner) / length_s for sooner, later in zip(before, after, strict=True))
    return Traffic(players, length_s, size, packets, (used_ns - used_before_ns) / (ended_ns - started_ns))


def _loopback() -> tuple[int, int]:
    """Returns the bytes and packets that the loopback device of this network namespace has carried."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()
    values = next(line.split(":")[1].split() for line in lines if line.split(":")[0].strip() == "lo")
    return int(values[8]), int(values[9])
