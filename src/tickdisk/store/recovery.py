"""From a store's folder to the world at the last committed tick."""

from dataclasses import dataclass
from pathlib import Path

from tickdisk._native import store_recover, store_verify
from tickdisk.errors import TickdiskError


class Refused(TickdiskError):  # noqa: N818 - it says what happened
    """The folder has no world that could be trusted; the words say why."""


@dataclass(frozen=True)
class Recovered:
    """A world that was found."""

    tick: int
    """The last one that is in it; 0: a new world."""
    number: int
    """Of the checkpoint that it rests on; 0: none."""
    image_tick: int
    was_stopped: bool
    """Whether the log of actions says that the server stopped."""
    findings: list[str]
    """What is not as it should be, and was not used."""
    restore_s: float
    replay_s: float
    digest: int
    """Of the state."""


def recover(folder: Path, cells: int) -> Recovered:
    """Returns the world of `cells` cells; Refused when what is there is damaged in a way that no good world can be made of."""
    try:
        tick, number, image_tick, was_stopped, findings, restore_ns, replay_ns, digest = store_recover(str(folder), cells)
    except ValueError as error:
        raise Refused(str(error)) from error
    except OSError as error:
        raise TickdiskError(f"{folder} cannot be read: {error}") from error
    return Recovered(tick, number, image_tick, was_stopped, findings, restore_ns / 1e9, replay_ns / 1e9, digest)


def verify(folder: Path, cells: int) -> list[str]:
    """Reads all that is in a folder, also what a recovery would not need; returns what is damaged: nothing after a stop."""
    try:
        return store_verify(str(folder), cells)
    except OSError as error:
        raise TickdiskError(f"{folder} cannot be read: {error}") from error
