"""The neighbours of a server on its device: further servers, each with a world and players of its own, and backups."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tickdisk import player, server
from tickdisk.foundation import host, table
from tickdisk.manifest import Neighbour, QuotaUsage
from tickdisk.run.actors import ServerEndedError
from tickdisk.run.copying import Backups
from tickdisk.run.judge import InstrumentError
from tickdisk.run.limits import Limits, groups_of, limited
from tickdisk.run.record import CpuRecorder
from tickdisk.run.stage import Stage
from tickdisk.run.ticks import ticks_of
from tickdisk.run.trace import write_life_trace

if TYPE_CHECKING:
    from tickdisk.foundation.process import Child

_PLAYERS_END_S = 10.0


@dataclass(frozen=True)
class _Started:
    """A further server that runs."""

    instance: int
    running: server.RunningServer
    limits: Limits
    fast: Path
    logs: Path
    trace: Path
    events: int


class Neighbours:
    """The further servers of one life and its backups, all on its device. Most lives have none of them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._started: list[_Started] = []
        self._clients: list[Child] = []
        self._problems: dict[int, tuple[str, ...]] = {}
        self._usages: dict[int, QuotaUsage | None] = {}
        self._backups: Backups | None = None

    def make_backups(self, folder: Path, resources: ExitStack) -> None:
        """Lets backups of a folder be made beside it, where an arm asks for it. They end with `resources`."""
        if self._stage.makes_backups:
            limit = float(self._stage.cell.resolved.design["limit_mb_per_s"])
            self._backups = resources.enter_context(Backups(folder, limit, self._stage.logs, host.split_cores().clients))

    def switch(self, arm: str) -> None:
        """Begins the backup of an arm that comes into force, and ends that of the arm before."""
        if self._backups is not None:
            self._backups.begin(self._stage.copying(arm))

    def end_backups(self) -> None:
        """Ends the backup that is being made, if any."""
        if self._backups is not None:
            self._backups.end()

    @property
    def instances(self) -> range:
        """The numbers of the further servers."""
        return range(1, self._stage.life.instances or 1)

    def start(self, worlds: Sequence[Path], fast: Path, cpu: CpuRecorder, resources: ExitStack) -> list[int]:
        """Starts a server on each of the `worlds` on the device, and returns their process ids.

        The folder `fast` lies in memory. Groups and servers end with `resources`. Raises TickdiskError if one does not start.
        """
        stage = self._stage
        for instance, world in zip(self.instances, worlds, strict=True):
            own, logs = fast / f"instance{instance}", stage.logs / f"instance{instance}"
            trace = stage.folder / f"players{instance}.jsonl"
            # Every server has other players, and none of them stalls or delays a server on purpose.
            life = replace(stage.life, trace_seed=stage.life.trace_seed + instance, injections=())
            events = write_life_trace(trace, stage.cell, life, server.read_world(world)).events
            group = limited(stage, resources)
            running = stage.server.start(
                world,
                port=stage.project.config.port + instance,
                folder=own,
                logs=logs,
                cores=host.split_cores().server,
                save_period_s=stage.save_period_s,
                settings=stage.settings,
                groups=groups_of(group),
            )
            resources.callback(running.kill)
            cpu.follow(f"server {instance}", running.pid)
            self._started.append(_Started(instance, running, Limits(stage, group), own, logs, trace, events))
        return [pid for each in self._started for pid in each.running.pids]

    def play(self, started_ns: int, resources: ExitStack) -> None:
        """Starts the players of each further server, whose traces begin at `started_ns`. They end with `resources`."""
        for each in self._started:
            each.limits.begin()
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
        """Raises ServerEndedError if a further server has ended by itself, and InstrumentError if a backup has.

        A slow disk may end any of the servers, so the life is then kept as a result.
        """
        if self._backups is not None and not self._backups.alive():
            raise InstrumentError(f"a backup ended in the middle of the run; its output is in {self._stage.logs}")
        for each in self._started:
            if not each.running.alive():
                raise ServerEndedError(f"server {each.instance} ended in the middle of the run; {each.running.last_words()}")

    def finish(self, until_ns: int) -> None:
        """Waits for the players to come to the end of their traces, at most until `until_ns` (CLOCK_MONOTONIC).

        It keeps what the servers met of their limits.
        """
        for clients in self._clients:
            if clients.wait(max(0.0, (until_ns - time.monotonic_ns()) / 1e9)) is None:
                clients.stop(_PLAYERS_END_S)
        for each in self._started:
            self._usages[each.instance] = each.limits.read()

    def stop(self, timeout_s: float) -> None:
        """Ends the servers in order."""
        for each in self._started:
            self._problems[each.instance] = tuple(each.running.stop(timeout_s))

    def write(self, folder: Path, samples: pd.DataFrame) -> tuple[Neighbour, ...]:
        """Writes the tables of ticks and actions of each server into `folder/instanceN`, and returns their records.

        `samples` are those of the clocks. Raises TickdiskError if a record of a program is missing or damaged.
        """
        return tuple(self._written(each, folder / f"instance{each.instance}", samples) for each in self._started)

    def _written(self, each: _Started, folder: Path, samples: pd.DataFrame) -> Neighbour:
        folder.mkdir()
        ticks = ticks_of(
            each.running.tick_log, samples, self._stage.server.ticking.budget_ns, in_order=not self._problems[each.instance]
        )
        table.write("ticks", folder / "ticks.parquet", ticks.table)
        table.write("actions", folder / "actions.parquet", player.read_actions(each.fast / player.ACTIONS, expected=each.events))
        return Neighbour(
            instance=each.instance,
            trace_events=each.events,
            ticks=ticks.counts,
            client=player.read_status(each.fast / player.STATUS),
            server_problems=self._problems[each.instance],
            quota=self._usages.get(each.instance),
        )
