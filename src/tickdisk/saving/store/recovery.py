"""The recovery of a state at its last committed tick from the folder of a store, and the check of such a folder for damage."""

from dataclasses import dataclass
from pathlib import Path

from tickdisk._native import store_look, store_recover, store_verify
from tickdisk.foundation.errors import TickdiskError

OBJECT_CELLS = 128
"""Number of cells of an object, which is the unit of a checkpoint."""


class StoreRefused(TickdiskError):  # noqa: N818 - it says what happened
    """The folder of a store has no state that can be trusted. The message says why."""


@dataclass(frozen=True)
class Recovered:
    """The result of a recovery, without the state itself, of which it has a digest."""

    tick: int
    """The last tick in the recovered state, or 0 for a new state."""
    number: int
    """Number of the checkpoint that the recovery began from, or 0 if there was none."""
    image_tick: int
    """The last tick in that checkpoint, or 0 if there was none."""
    was_stopped: bool
    """Whether the log of actions says that the server stopped, and did not crash."""
    findings: list[str]
    restore_s: float
    """Time to read the checkpoint."""
    replay_s: float
    """Time to play the ticks after the checkpoint again, from the log of actions."""
    digest: int
    """Digest of the recovered state, 64 bits. Equal states have equal digests."""


def cells_in(folder: Path, cells: int | None = None) -> int:
    """Returns the size of the state in a store, as its newest checkpoint says. `recover` and `verify` need it.

    It is rounded up to whole objects. If there is no whole checkpoint yet, it is `cells`, which the user expects. Raises
    StoreRefused if there is no store, if neither says the size, or if the two disagree, and TickdiskError if the folder cannot be
    read.
    """
    if not folder.is_dir():
        raise StoreRefused(f"{folder} does not exist; name the folder of a store")
    try:
        is_store, stored = store_look(str(folder))
    except OSError as error:
        raise TickdiskError(f"{folder} cannot be read: {error}") from error
    if not is_store:
        raise StoreRefused(
            f"{folder} has no store: no file in it is an image, a checkpoint or a log of actions; name the folder of a store"
        )
    if stored is None:
        if cells is None:
            raise StoreRefused(f"{folder} has no whole checkpoint that says how large the state is; give --rows as in its run")
        return cells
    if cells is not None and -(-cells // OBJECT_CELLS) * OBJECT_CELLS != stored:
        raise StoreRefused(f"{folder} has a state of {stored:,} cells, not of {cells:,}; leave --rows out to use its own size")
    return stored


def recover(folder: Path, cells: int) -> Recovered:
    """Recovers the state at the last committed tick from the newest whole checkpoint and the log of actions.

    A tick is committed when its updates are in the log of actions on the disk. An incomplete end of the log, as a crash leaves
    it, is reported and not used. Raises StoreRefused if the data is damaged in such a way that no state can be trusted, such as
    in a committed tick, or has another number of cells, and TickdiskError if the folder cannot be read.
    """
    try:
        tick, number, image_tick, was_stopped, findings, restore_ns, replay_ns, digest = store_recover(str(folder), cells)
    except ValueError as error:
        raise StoreRefused(str(error)) from error
    except OSError as error:
        raise TickdiskError(f"{folder} cannot be read: {error}") from error
    return Recovered(tick, number, image_tick, was_stopped, findings, restore_ns / 1e9, replay_ns / 1e9, digest)


def verify(folder: Path, cells: int) -> list[str]:
    """Reads every file of a store, including those that a recovery would not need, and returns a sentence for each damaged or
    incomplete thing.

    A log of actions that does not end with a stop counts as incomplete. Raises TickdiskError if the folder cannot be read.
    """
    try:
        return store_verify(str(folder), cells)
    except OSError as error:
        raise TickdiskError(f"{folder} cannot be read: {error}") from error
