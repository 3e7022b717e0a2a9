"""From a store's folder to the world at the last committed tick."""

from dataclasses import dataclass
from pathlib import Path

from tickdisk._native import store_look, store_recover, store_verify
from tickdisk.errors import TickdiskError

OBJECT_CELLS = 128
"""Cells of an object, the unit of a checkpoint."""


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


def cells_in(folder: Path, cells: int | None = None) -> int:
    """Returns how many cells the state of the store in `folder` has, as its checkpoints say.

    `cells` is what a person says, and stands in where there is no checkpoint yet. Refused if there is no store, if nothing says
    how large the state is, or if `cells` is another size than that of the checkpoints.
    """
    if not folder.is_dir():
        raise Refused(f"{folder} does not exist; name the folder of a store")
    try:
        is_store, found = store_look(str(folder))
    except OSError as error:
        raise TickdiskError(f"{folder} cannot be read: {error}") from error
    if not is_store:
        raise Refused(
            f"{folder} has no store: no file in it is an image, a checkpoint or a log of actions; name the folder of one"
        )
    if found is None:
        if cells is None:
            raise Refused(f"{folder} has no whole checkpoint that says how large the state is; give --rows, as it was run with")
        return cells
    if cells is not None and -(-cells // OBJECT_CELLS) * OBJECT_CELLS != found:
        raise Refused(f"{folder} has a state of {found:,} cells, not of {cells:,}; leave --rows out, and its own size is taken")
    return found


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
