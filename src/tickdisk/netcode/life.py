"""Runs the life of one server on a network stack, with players who come and go."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tickdisk.foundation import host, memory
from tickdisk.foundation.cores import Cores
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child
from tickdisk.netcode.counters import Counters
from tickdisk.netcode.namespaces import SERVER_ADDRESS, Conditions, Namespace, Network, wait_until_ready
from tickdisk.netcode.program import binary, prototypes, stacks
from tickdisk.netcode.schedule import Attendance, Group, Schedule, plan
from tickdisk.player import write_trace

_PORT = 4000
_LEAD_NS, _START_NS = 300_000_000, 20_000_000
"""Time from the start of the client processes to that of the trace, and how much longer it is for each process."""
_PATIENCE_S = 10.0
"""Time that clients have after the end of the trace. A player waits up to 5 s for a world without changes."""
_END_S = 5.0
_TABLES = ("players", "pings", "ages", "transport")


@dataclass(frozen=True)
class Setting:
    """Everything that a server life depends on."""

    stack: str
    attendance: Attendance
    prototype: str = "voxel"
    conditions: Conditions | None = None
    """Conditions of the link, or None for a plain pair of virtual Ethernet devices."""

    def check(self) -> None:
        """Raises TickdiskError if there is no such stack or no such prototype."""
        for kind, name, known in (("stack", self.stack, stacks()), ("prototype", self.prototype, prototypes())):
            if name not in known:
                raise TickdiskError(f"there is no {kind} {name}; take one of {', '.join(known)}")


@dataclass(frozen=True)
class StackLife:
    """The record of a server life. Times are in ns of CLOCK_MONOTONIC."""

    setting: Setting
    schedule: Schedule
    start_ns: int
    """Start of the schedule."""
    updates: pd.DataFrame
    """One row per update of the server: number, due_ns, started_ns, ended_ns, players and digest."""
    players: pd.DataFrame
    """One row per player: player, name, records, last_number and digest of the player's world at the end, and has_given_up."""
    pings: pd.DataFrame
    """One row per ping: player, due_ns, sent_ns and received_ns, which is null if no answer came."""
    ages: pd.DataFrame
    """One row per update that a player got: player, number and age_ns."""
    transport: pd.DataFrame
    """Round-trip times that the stack itself tells: player, at_ns and rtt_ns. It is empty if the stack tells none."""
    counters: pd.DataFrame
    """Readings of the counters of the system, as `Counters.table` describes them."""
    threads: pd.DataFrame
    """Processor times of all threads, as `Counters.threads` describes them."""
    cores: Cores
    lost: tuple[str, ...]
    """Messages of the client processes that lost a player, whose tables are missing, and of players who waited in vain for an
    answer or for the end of all changes.
    """

    @property
    def is_equal(self) -> bool:
        """Whether the world of every player was equal to the server's in the update that the player got last."""
        digests = self.updates.set_index("number")["digest"]
        return not self.lost and bool((digests.reindex(self.players["last_number"]).array == self.players["digest"].array).all())


def live(setting: Setting, logs: Path) -> StackLife:
    """Runs a server life: makes the network, starts the server and the players, and waits for their end.

    The processes write their output to the folder `logs`. A player who was lost is in the record, and is no error. Raises
    TickdiskError if the machine lacks something, or the server fails.
    """
    setting.check()
    schedule, cores = plan(setting.attendance), host.split_cores()
    with ExitStack() as resources:
        fast = resources.enter_context(memory.folder())
        network = resources.enter_context(Network(logs, setting.conditions, cores.others))
        server = resources.enter_context(_server(setting, network.server, fast, logs, cores.server))
        for group in schedule.groups:
            write_trace(fast / f"{_name(group)}.jsonl", group.events)
        wait_until_ready(server)
        start_ns = time.monotonic_ns() + _LEAD_NS + len(schedule.groups) * _START_NS
        clients = [
            resources.enter_context(_players(setting, group, network.clients, start_ns, fast, logs, cores.others))
            for group in schedule.groups
        ]
        link = None if network.link is None else network.link.pid
        pids = [child.pid for child in clients]
        with Counters(network.server, server.pid, pids, link, {*cores.server, *cores.others}) as counters:
            end_ns = start_ns + schedule.steps[-1].end_ns
            lost = _wait(clients, server, network.link, end_ns)
            # The last step may be one without players.
            time.sleep(max(0, end_ns - time.monotonic_ns()) / 1e9)
        code = server.stop(_END_S)
        if code != 0:
            raise TickdiskError(f"the server on the stack {setting.stack} failed with exit code {code}: {server.tail(1)}")
        tables, updates = _tables(fast, schedule.groups), pd.read_csv(fast / "updates.csv", dtype={"digest": "uint64"})
        read = {"counters": counters.table(), "threads": counters.threads()}
        silent = tables["players"].loc[tables["players"]["has_given_up"].astype(bool), "name"]
        lost += tuple(f"player {name} waited in vain for an answer or for the end of all changes" for name in silent)
        return StackLife(setting, schedule, start_ns, updates=updates, **tables, **read, cores=cores, lost=lost)


def _server(setting: Setting, namespace: Namespace, folder: Path, logs: Path, cores: Sequence[int]) -> Child:
    words: list[str | Path] = [binary(), "serve", f"--stack={setting.stack}", f"--prototype={setting.prototype}"]
    command = namespace.command([*words, f"--listen={SERVER_ADDRESS}:{_PORT}", f"--output={folder / 'updates.csv'}"])
    return Child("server", command, logs, cores=cores)


def _players(
    setting: Setting, group: Group, namespace: Namespace, start_ns: int, folder: Path, logs: Path, cores: Sequence[int]
) -> Child:
    name = _name(group)
    trace = folder / f"{name}.jsonl"
    words: list[str | Path] = [
        binary(),
        "play",
        f"--stack={setting.stack}",
        f"--prototype={setting.prototype}",
        f"--trace={trace}",
    ]
    words += [
        f"--server={SERVER_ADDRESS}:{_PORT}",
        f"--start-ns={start_ns}",
        f"--first={group.first}",
        f"--output={folder / name}",
    ]
    return Child(name, namespace.command(words), logs, cores=cores)


def _name(group: Group) -> str:
    return f"players_{group.first}"


def _wait(clients: Sequence[Child], server: Child, link: Child | None, end_ns: int) -> tuple[str, ...]:
    """Waits for the end of all clients, and returns the messages of those that failed."""
    until_s = end_ns / 1e9 + _PATIENCE_S
    lost = list[str]()
    for client in clients:
        code = client.wait(max(0.0, until_s - time.monotonic()))
        if server.poll() is not None:
            raise TickdiskError(f"the server ended before its players: {server.tail(1) or 'it said nothing'}")
        if link is not None and link.poll() is not None:
            raise TickdiskError(f"the link ended before the players: {link.tail(1) or 'it said nothing'}")
        if code is None:
            lost.append(f"{client.name} did not end in time")
            client.stop(_END_S)
        elif code != 0:
            lost.append(client.tail(1) or f"{client.name} ended with exit code {code}")
    return tuple(lost)


def _tables(folder: Path, groups: Sequence[Group]) -> dict[str, pd.DataFrame]:
    tables = {}
    for name in _TABLES:
        files = [path for group in groups if (path := folder / _name(group) / f"{name}.csv").is_file()]
        parts = [pd.read_csv(path, dtype={"received_ns": "Int64", "digest": "uint64"}) for path in files]
        tables[name] = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_COLUMNS[name])
    return tables


_COLUMNS = {
    "players": ["player", "name", "records", "last_number", "digest", "has_given_up"],
    "pings": ["player", "due_ns", "sent_ns", "received_ns"],
    "ages": ["player", "number", "age_ns"],
    "transport": ["player", "at_ns", "rtt_ns"],
}
