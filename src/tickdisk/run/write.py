"""Writes the tables and the raw files of a life that was played, and makes its record."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from tickdisk import device, player, server
from tickdisk.foundation import clock, host, table
from tickdisk.manifest import ArmCapture, BlocksTraced, Marker, Neighbour, PlayedLife, QuotaUsage
from tickdisk.run.actors import instruments
from tickdisk.run.captures import LifeCaptures
from tickdisk.run.clocks import clock_agreement
from tickdisk.run.inject import injections_table
from tickdisk.run.neighbours import Neighbours
from tickdisk.run.play import PlayedEpochs
from tickdisk.run.record import CpuRecorder, compress
from tickdisk.run.saturation import saturated_arms
from tickdisk.run.stage import APART_LOG, DEVICE_LOG, Stage
from tickdisk.run.ticks import ticks_of
from tickdisk.run.trace import LifeTrace
from tickdisk.trace import BlockRequests


@dataclass(frozen=True)
class Ending:
    """The knowledge of a server life at the time when its server has ended and its device is down."""

    running: server.RunningServer
    """The server, which has ended."""
    thread: int | None
    """Identity of the thread in which the server ticked. None if it is not known."""
    world: Path
    """Folder in which the world was on the device."""
    played: PlayedEpochs
    problems: list[str]
    """Problems of the server, as `RunningServer.stop` returns them."""
    load: host.MachineLoad
    statuses: tuple[device.DeviceStatus, ...]
    """Status of each device before it went down, that of the world first. It is an `EmulatorStatus` unless the device is a real
    disk."""
    file_system: str | None
    quota: QuotaUsage | None
    """Limits of the server, and what it met of them. None without any."""
    neighbours: Neighbours
    """The further servers on the device, which have ended."""


@dataclass(frozen=True)
class _Recorded:
    """The records of the programs that took part in a life."""

    in_order: bool
    """Whether the server ended as it was told to, so that all of its problems are errors in its log."""
    samples: pd.DataFrame
    """Samples of the clocks."""
    ticks: server.Ticks
    actions: pd.DataFrame
    client: player.ClientStatus
    requests: pa.Table
    """Log of the device, or what the kernel saw of a real disk."""


def write_life(
    stage: Stage,
    trace: LifeTrace,
    ending: Ending,
    fast: Path,
    clocks: clock.Sampler,
    captures: LifeCaptures,
    cpu: CpuRecorder,
) -> PlayedLife:
    """Writes the tables and the raw files of a life into `stage.folder`, and returns its record.

    The programs have recorded into the folder `fast`. Raises InstrumentError if a record of theirs is missing or damaged.
    """
    running = ending.running
    with instruments():
        samples = pd.concat([clocks.table(), pd.DataFrame([clock.sample()])])
        in_order = len(ending.problems) == len(running.errors(running.server_log))
        recorded = _Recorded(
            in_order,
            samples,
            ticks_of(running.tick_log, samples, stage.server.ticking.budget_ns, in_order=in_order),
            player.read_actions(fast / player.ACTIONS, expected=trace.events),
            player.read_status(fast / player.STATUS),
            _requests(fast / DEVICE_LOG, captures),
        )
        _write_tables(stage.folder, recorded, ending, cpu)
        captured = captures.write(stage.folder, samples, root=ending.world)
        neighbours = ending.neighbours.write(stage.folder, samples)
    if ending.played.extents is not None:
        table.write("extents", stage.folder / "extents.parquet", ending.played.extents.table())
    if stage.life.injections:
        injections = injections_table(
            stage.life.injections, ending.played.started_ns, ending.statuses[0].stalls, recorded.ticks.markers
        )
        table.write("injections", stage.folder / "injections.parquet", injections)
    logs = [fast / name for name in (DEVICE_LOG, APART_LOG)[: len(ending.statuses)]] if stage.real_disk is None else []
    for path in (running.tick_log, fast / player.ACTIONS, *logs, running.server_log):
        compress(path, stage.raw)
    return _record(stage, trace, ending, recorded, captured, captures.blocks, neighbours)


def _requests(log: Path, captures: LifeCaptures) -> pa.Table:
    """Returns the requests of the device from its log, or, for a real disk, which keeps none, from the trace of the kernel."""
    if captures.blocks is not None and not log.exists():
        return pa.Table.from_pandas(captures.blocks.as_device_log(), preserve_index=False)
    return device.read_log(log)


def _write_tables(folder: Path, recorded: _Recorded, ending: Ending, cpu: CpuRecorder) -> None:
    ticks = recorded.ticks
    for name, frame in (
        ("ticks", ticks.table.assign(thread=ticks.table["thread"].fillna(ending.thread))),
        ("saves", ticks.saves),
        ("pauses", ticks.pauses),
        ("actions", recorded.actions),
        ("device", recorded.requests),
        ("clocks", recorded.samples),
        ("epochs", pd.DataFrame(ending.played.epochs, columns=table.SCHEMAS["epochs"].names)),
        ("load", cpu.table()),
    ):
        table.write(name, folder / f"{name}.parquet", frame)


def _record(
    stage: Stage,
    trace: LifeTrace,
    ending: Ending,
    recorded: _Recorded,
    captured: list[ArmCapture],
    blocks: BlockRequests | None,
    neighbours: tuple[Neighbour, ...],
) -> PlayedLife:
    played, ticks = ending.played, recorded.ticks
    agreement = clock_agreement(recorded.actions, ticks.markers, recorded.requests.to_pandas())
    arms = dict.fromkeys(epoch.arm for epoch in stage.life.epochs)
    clients = [recorded.client, *(neighbour.client for neighbour in neighbours)]
    return PlayedLife(
        name=stage.life.name,
        trace_events=trace.events,
        phases=trace.phases,
        captures=tuple(captured),
        blocks=None
        if blocks is None
        else BlocksTraced(requests=len(blocks.requests), unpaired=blocks.unpaired, lost=blocks.lost),
        requests=len(recorded.requests),
        started_ns=played.started_ns,
        load=ending.load,
        ticks=ticks.counts,
        rejects=ticks.rejects,
        markers=tuple(
            Marker(name=name, before_ns=before_ns, after_ns=after_ns)
            for name, before_ns, after_ns in ticks.markers[["name", "before_ns", "after_ns"]].itertuples(index=False)
        ),
        client=recorded.client,
        device=ending.statuses[0],
        device_apart=ending.statuses[1] if len(ending.statuses) > 1 else None,
        calibrated_lack=stage.calibration.arrivals_lack,
        file_system=ending.file_system,
        server=ending.running.facts,
        server_problems=tuple(ending.problems),
        server_ended_in_order=recorded.in_order,
        ended=played.ended,
        floors_ns={arm: stage.floor_ns(arm) for arm in sorted(arms)},
        latest_switch_ns=played.latest_switch_ns(stage),
        clock_disagreement_ns=agreement.disagreement_ns,
        markers_unseen=agreement.unseen,
        # Where players go up until something gives out, saturated clients are one of the outcomes.
        saturated={} if stage.life.in_steps else saturated_arms(clients, played.epochs, arms, played.started_ns),
        quota=ending.quota,
        neighbours=neighbours,
    )
