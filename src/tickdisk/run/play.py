"""Plays the epochs of a life: switches the device and the capture at their times, and stalls the device where that is planned."""

import time
from dataclasses import dataclass
from typing import Any

from tickdisk import device
from tickdisk.experiment import Epoch
from tickdisk.run.actors import Actors, ServerEndedError
from tickdisk.run.captures import LifeCaptures
from tickdisk.run.stage import Stage
from tickdisk.run.trace import TAIL_S

_DRAIN_S = 30.0
"""Time after the last due time for actions that are still under way."""


@dataclass(frozen=True)
class Played:
    """The epochs of a server life that began, and the end of a server that ended too early."""

    epochs: list[dict[str, Any]]
    """Rows of the table of epochs, with the times at which they really began."""
    ended: dict[str, Any] | None
    """Epoch, arm and time at which the server ended by itself, and its last words. None if it did not."""

    def latest_switch_ns(self, stage: Stage, started_ns: int) -> int:
        """Returns the longest time from the planned start of an epoch to the time at which its device was in force.

        `started_ns` is the start of the player trace. Returns 0 if no epoch began.
        """
        planned = (started_ns + round(epoch.start_s * 1e9) for epoch in stage.life.epochs)
        return max((row["start_ns"] - due_ns for row, due_ns in zip(self.epochs, planned, strict=False)), default=0)


def play(stage: Stage, actors: Actors, captures: LifeCaptures, started_ns: int) -> Played:
    """Plays the epochs of a server life: switches device and capture at their times, and waits for the players to finish.

    `started_ns` is the start of the player trace on CLOCK_MONOTONIC. If the server ends by itself, the players are ended, too.
    Raises InstrumentError if an instrument fails.
    """
    epochs: list[dict[str, Any]] = []
    try:
        with actors.explained_by_its_end():
            _switch(stage, actors, captures, started_ns, epochs)
            actors.finish(started_ns + round((stage.life.seconds + TAIL_S + _DRAIN_S) * 1e9))
    except ServerEndedError:
        at_ns = time.monotonic_ns()
        actors.end_players()
        last = epochs[-1] if epochs else None
        ended = {
            "epoch": last["epoch"] if last is not None and at_ns < last["end_ns"] else None,
            "arm": stage.life.first_arm if last is None else last["arm"],
            "at_ns": at_ns,
            "said": actors.running.last_words(),
        }
        return Played(epochs, ended)
    return Played(epochs, None)


def _switch(stage: Stage, actors: Actors, captures: LifeCaptures, started_ns: int, epochs: list[dict[str, Any]]) -> None:
    """Sets the device and the capture of each epoch at its time, stalls the device, and adds the epochs as they really were."""
    stalls = [injection for injection in stage.life.injections if injection.kind == "device_stall"]
    for number, epoch in enumerate(stage.life.epochs):
        actors.wait_until(started_ns + round(epoch.start_s * 1e9))
        setting = stage.set(actors.disk, epoch.arm, number)
        epochs.append(_epoch_row(number, epoch, stage, setting, started_ns))
        captures.begin(epoch.arm)
        for stall in (stall for stall in stalls if epoch.start_s <= stall.due_s < epoch.end_s):
            actors.wait_until(started_ns + round(stall.due_s * 1e9))
            actors.disk.stall(stall.length_ms * 1_000_000)
    actors.wait_until(started_ns + round(stage.life.epochs[-1].end_s * 1e9))


def _epoch_row(number: int, epoch: Epoch, stage: Stage, setting: device.Setting, started_ns: int) -> dict[str, Any]:
    return {
        "epoch": number,
        "arm": epoch.arm,
        "device": stage.models[epoch.arm].name,
        "setting": setting.number,
        "start_ns": setting.effective_ns,
        "steady_ns": started_ns + round(epoch.steady_s * 1e9),
        "end_ns": started_ns + round(epoch.end_s * 1e9),
    }
