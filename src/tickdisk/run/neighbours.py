"""Further servers on the device of a life, each with a world, a port and players of its own."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from tickdisk import player, server
from tickdisk.foundation import host, table
from tickdisk.foundation.process import Child
from tickdisk.manifest import Neighbour, QuotaUsage
from tickdisk.run.judge import InstrumentError
from tickdisk.run.quota import Group
from tickdisk.run.record import CpuRecorder
from tickdisk.run.stage import Stage
from tickdisk.run.ticks import ticks_of
from tickdisk.run.trace import write_life_trace

_PLAYERS_END_S = 10.0


@dataclass(frozen=True)
class _Started:
    """A further server that runs, and the group that limits it."""

    instance: int
    running: server.RunningServer
    group: Group | None
    fast: Path
    logs: Path
    trace: Path
    events: int


class Neighbours:
    """The further servers of one life, all on its device. A life with one server has none."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._started: list[_Started] = []
        self._clients: list[Child] = []
        self._problems: dict[int, tuple[str, ...]] = {}
        self._usages: dict[int, QuotaUsage | None] = {}

    @property
    def instances(self) -> range:
        """The numbers of the further servers."""
        return range(1, self._stage.life.instances or 1)

    def start(self, worlds: Sequence[Path], fast: Path, cpu: CpuRecorder, resources: ExitStack) -> list[int]:
        """Starts a server on each of the `worlds` on the device, and returns their process ids.

        The folder `fast` lies in memory. Groups and servers end with `resources`. Raises TickdiskError if a server does not start.
        """
        stage = self._stage
        for instance, world in zip(self.instances, worlds, strict=True):
            own, logs = fast / f"instance{instance}", stage.logs / f"instance{instance}"
            trace = stage.folder / f"players{instance}.jsonl"
            # Every server has other players, and none of them stalls or delays a server on purpose.
            life = replace(stage.life, trace_seed=stage.life.trace_seed + instance, injections=())
            events = write_life_trace(trace, stage.cell, life, server.read_world(world)).events
            with limited(stage, resources) as group:
                running = stage.server.start(
                    world,
                    port=stage.project.config.port + instance,
                    folder=own,
                    logs=logs,
                    cores=host.split_cores().server,
                    save_period_s=stage.save_period_s,
                    settings=stage.settings,
                )
            resources.callback(running.kill)
            cpu.follow(f"server {instance}", running.pid)
            self._started.append(_Started(instance, running, group, own, logs, trace, events))
        return [pid for each in self._started for pid in each.running.pids]

    def play(self, started_ns: int, resources: ExitStack) -> None:
        """Starts the players of each further server, whose traces begin at `started_ns`. They end with `resources`."""
        for each in self._started:
            clients = player.start_players(
                self._stage.server.clients,
                f"127.0.0.1:{self._stage.project.config.port + each.instance}",
                each.trace,
                started_ns,
                each.fast,
                each.logs,
                host.split_cores().clients,
                max_lag_ms=self._stage.project.config.limits.client_lag_ms,
            )
            self._clients.append(resources.enter_context(clients))

    def check(self) -> None:
        """Raises InstrumentError if a further server has ended by itself, so that the life is played again."""
        for each in self._started:
            if not each.running.alive():
                raise InstrumentError(f"server {each.instance} ended in the middle of the run; {each.running.last_words()}")

    def finish(self, until_ns: int) -> None:
        """Waits for the players to come to the end of their traces, at most until `until_ns` (CLOCK_MONOTONIC)."""
        for clients in self._clients:
            if clients.wait(max(0.0, (until_ns - time.monotonic_ns()) / 1e9)) is None:
                clients.stop(_PLAYERS_END_S)

    def stop(self, timeout_s: float) -> None:
        """Ends the servers in order, and keeps what their groups met of their limits."""
        for each in self._started:
            self._usages[each.instance] = None if each.group is None else usage_of(self._stage, each.group)
            self._problems[each.instance] = tuple(each.running.stop(timeout_s))

    def write(self, folder: Path, samples: pd.DataFrame) -> tuple[Neighbour, ...]:
        """Writes the tables of ticks and actions of each server into `folder/instanceN`, and returns their records.

        `samples` are those of the clocks. Raises TickdiskError if a record of a program is missing or damaged.
        """
        return tuple(self._written(each, folder / f"instance{each.instance}", samples) for each in self._started)

    def _written(self, each: _Started, folder: Path, samples: pd.DataFrame) -> Neighbour:
        folder.mkdir()
        ticks = ticks_of(each.running.tick_log, samples, self._stage.server.ticking.budget_ns, in_order=True)
        table.write("ticks", folder / "ticks.parquet", ticks.table)
        table.write("actions", folder / "actions.parquet", player.read_actions(each.fast / player.ACTIONS, expected=each.events))
        return Neighbour(
            instance=each.instance,
            trace_events=each.events,
            ticks=ticks.counts,
            client=player.read_status(each.fast / player.STATUS),
            server_problems=self._problems[each.instance],
            quota=self._usages[each.instance],
        )


@contextmanager
def limited(stage: Stage, resources: ExitStack) -> Iterator[Group | None]:
    """Yields the group of a server that the block starts, or None if the life has no limits. It ends with `resources`."""
    if stage.quota is None:
        yield None
        return
    group = resources.enter_context(Group(stage.quota))
    with group.entered():
        yield group


def usage_of(stage: Stage, group: Group) -> QuotaUsage:
    """Returns the limits of a server of the life, and what it has met of them so far."""
    quota, usage = stage.quota, group.usage()
    return QuotaUsage(
        cores=None if quota is None else quota.cores,
        memory_bytes=None if quota is None else quota.memory_bytes,
        refaults=usage.refaults,
        cached_bytes=usage.cached_bytes,
        throttled_ns=usage.throttled_ns,
    )
