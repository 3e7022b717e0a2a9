"""Lets the players play the epochs of a life: switches the device and the capture, and stalls the device as planned."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tickdisk import device, player
from tickdisk.foundation import host
from tickdisk.manifest import Ended
from tickdisk.run.actors import Actors, ServerEndedError
from tickdisk.run.cache import forget
from tickdisk.run.captures import LifeCaptures
from tickdisk.run.cuts import CutImages
from tickdisk.run.judge import InstrumentError
from tickdisk.run.limits import Limits
from tickdisk.run.neighbours import Neighbours
from tickdisk.run.record import CpuRecorder
from tickdisk.run.stage import Stage
from tickdisk.run.trace import TAIL_S
from tickdisk.server import RunningServer

_LEAD_S = 1.0
"""Time from the start of the clients to the first due time, in which they become ready."""
_DRAIN_S = 30.0
"""Time after the last due time for actions that are still under way."""


@dataclass(frozen=True)
class PlayedEpoch:
    """A row of the table of epochs: an epoch that began, with the time at which it really did."""

    epoch: int
    arm: str
    device: str
    setting: int
    start_ns: int
    steady_ns: int
    end_ns: int


@dataclass(frozen=True)
class PlayedEpochs:
    """The epochs of a server life that began, and the end of a server that ended too early."""

    started_ns: int
    """Start of the player trace on CLOCK_MONOTONIC."""
    epochs: list[PlayedEpoch]
    ended: Ended | None
    """The end of a server that ended by itself. None if it did not."""
    extents: device.ExtentRecorder | None
    """The recorder of the places of files on the device. None if they are not recorded."""

    def latest_switch_ns(self, stage: Stage) -> int:
        """Returns the longest time from the planned start of an epoch to the time at which its device was in force.

        Returns 0 if no epoch began.
        """
        planned = (self.started_ns + round(epoch.start_s * 1e9) for epoch in stage.life.epochs)
        return max((row.start_ns - due_ns for row, due_ns in zip(self.epochs, planned, strict=False)), default=0)


def play(
    stage: Stage,
    disks: Sequence[device.MountedDevice],
    running: RunningServer,
    world: Path,
    fast: Path,
    captures: LifeCaptures,
    cpu: CpuRecorder,
    images: CutImages,
    neighbours: Neighbours,
    limits: Limits,
) -> PlayedEpochs:
    """Starts the players and plays the epochs of a server life: switches device, answers and capture, and waits for the players.

    The world lies on the first of the `disks`, in the folder `world`. The folder `fast` takes what the players record, and
    `images` the images of power cuts. The players of the `neighbours`, which are further servers, play at the same time. The
    `limits` may hold the server back from the first epoch on. If the server ends by itself, the players are ended, too. Raises
    InstrumentError if an instrument fails.
    """
    started_ns = time.monotonic_ns() + round(_LEAD_S * 1e9)
    epochs, ended = list[PlayedEpoch](), None
    with player.start_players(
        stage.server.clients,
        stage.address,
        stage.trace,
        started_ns,
        fast,
        stage.logs,
        host.split_cores().clients,
        max_lag_ms=stage.project.config.limits.client_lag_ms,
    ) as players:
        cpu.follow("players", players.pid)
        actors = Actors(tuple(disks), running, players, neighbours)
        with ExitStack() as during:
            neighbours.play(started_ns, during)
            recorded = stage.captured and disks[0].tells_extents
            extents = during.enter_context(device.ExtentRecorder(world)) if recorded else None
            try:
                with actors.explained_by_its_end():
                    _switch(stage, actors, captures, started_ns, epochs, images, neighbours, world, limits)
                    until_ns = started_ns + round((stage.life.seconds + TAIL_S + _DRAIN_S) * 1e9)
                    actors.finish(until_ns)
                    neighbours.finish(until_ns)
            except ServerEndedError:
                at_ns = time.monotonic_ns()
                actors.end_players()
                ended = _ended(stage, epochs, at_ns, running.last_words())
    return PlayedEpochs(started_ns, epochs, ended, extents)


def _switch(
    stage: Stage,
    actors: Actors,
    captures: LifeCaptures,
    started_ns: int,
    epochs: list[PlayedEpoch],
    images: CutImages,
    neighbours: Neighbours,
    world: Path,
    limits: Limits,
) -> None:
    """Sets devices, answers, capture and backup of each epoch at its time, stalls the device, and adds the epochs as they really
    were. Where memory is cold, and before a burst, the page cache forgets the world.

    Images of power cuts are taken at their times.
    """
    stalls = [injection for injection in stage.life.injections if injection.kind == "device_stall"]
    for number, epoch in enumerate(stage.life.epochs):
        actors.wait_until(started_ns + round(epoch.start_s * 1e9))
        setting = stage.set(actors.disk, epoch.arm, number)
        for other in actors.disks[1:]:
            stage.set(other, epoch.arm, number)
        actors.running.delay_actions(stage.action_delay_ms(epoch.arm))
        epochs.append(
            PlayedEpoch(
                epoch=number,
                arm=epoch.arm,
                device=stage.models[epoch.arm].name,
                setting=setting.number,
                start_ns=setting.effective_ns,
                steady_ns=started_ns + round(epoch.steady_s * 1e9),
                end_ns=started_ns + round(epoch.end_s * 1e9),
            )
        )
        if stage.life.memory == "cold" or stage.life.in_bursts:
            forget(world)
        if number == 0:
            limits.hold_back()
        captures.begin(epoch.arm)
        neighbours.switch(epoch.arm)
        takes_time = stage.life.memory is not None or stage.life.in_bursts or stage.makes_backups
        if takes_time and (late_ns := time.monotonic_ns() - epochs[-1].steady_ns) > 0:
            raise InstrumentError(
                f"memory and backups were as planned for epoch {number} only {late_ns / 1e9:.1f} s after its cut"
            )
        for stall in (stall for stall in stalls if epoch.start_s <= stall.due_s < epoch.end_s):
            actors.wait_until(started_ns + round(stall.due_s * 1e9))
            actors.disk.stall(stall.length_ms * 1_000_000)
        for due_s in (due_s for due_s in stage.life.cuts_s if epoch.start_s <= due_s < epoch.end_s):
            actors.wait_until(started_ns + round(due_s * 1e9))
            images.take(started_ns + round(due_s * 1e9))
    actors.wait_until(started_ns + round(stage.life.epochs[-1].end_s * 1e9))
    neighbours.end_backups()


def _ended(stage: Stage, epochs: list[PlayedEpoch], at_ns: int, message: str) -> Ended:
    """Returns the end of a server that ended by itself, in which no epoch is named before the first and after the last."""
    last = epochs[-1] if epochs else None
    epoch = last.epoch if last is not None and at_ns < last.end_ns else None
    return Ended(epoch=epoch, arm=stage.life.first_arm if last is None else last.arm, at_ns=at_ns, said=message)
