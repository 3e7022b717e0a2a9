"""The types that describe a simulation: the state, the costs, and the readings, which are choices where the paper leaves
something open.
"""

from typing import Annotated, Literal

from pydantic import Field

from tickdisk.foundation.record import Record

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Algorithm = Literal[
    "naive_snapshot",
    "dribble_and_copy_on_update",
    "atomic_copy_dirty_objects",
    "partial_redo",
    "copy_on_update",
    "copy_on_update_partial_redo",
]
ALGORITHMS: tuple[Algorithm, ...] = (
    "naive_snapshot",
    "dribble_and_copy_on_update",
    "atomic_copy_dirty_objects",
    "partial_redo",
    "copy_on_update",
    "copy_on_update_partial_redo",
)
"""The six algorithms of the paper, in the order in which the native core numbers them.

They differ in when they copy objects (`COPY_ON_UPDATE`), in whether a checkpoint has all objects or those that have changed, and
in whether it overwrites one of two images or is appended to a log (`PARTIAL_LOG`).
"""
PARTIAL_LOG: tuple[Algorithm, ...] = ("partial_redo", "copy_on_update_partial_redo")
"""Algorithms that append only the objects that changed since the last checkpoint to a log."""
COPY_ON_UPDATE: tuple[Algorithm, ...] = ("dribble_and_copy_on_update", "copy_on_update", "copy_on_update_partial_redo")
"""Algorithms that copy an object at its first update during a checkpoint, instead of copying at the checkpoint's beginning."""
UNITS_PER_S = 3_000_000_000_000
"""Units of simulated time per second. They are thirds of a picosecond, so that 1/30 s and the time of 512 B at 60 MB/s are whole
numbers. A write of the whole state then ends exactly with the twentieth tick, and not a rounding error after it.
"""
_BYTES = {"GB/s": 1e9, "GiB/s": 2.0**30, "MB/s": 1e6, "MiB/s": 2.0**20}


class State(Record):
    """The state that is saved: a table of cells, which is cut into objects of neighbouring cells.

    The cells of a row are neighbours, unless a trace says that the cells of a column are.
    """

    rows: Annotated[int, Field(ge=1)] = 1_000_000
    columns: Annotated[int, Field(ge=1)] = 10
    cell_bytes: Annotated[int, Field(ge=1)] = 4
    object_bytes: Annotated[int, Field(ge=1)] = 512
    """Size of an object, which is copied and written as a whole (S_obj in the paper)."""

    @property
    def object_cells(self) -> int:
        """Number of cells of an object."""
        return max(1, self.object_bytes // self.cell_bytes)

    @property
    def objects(self) -> int:
        """Number of objects of the state. The last may be incomplete."""
        return -(-self.rows * self.columns // self.object_cells)


class Costs(Record):
    """The parameters of the cost model. The defaults are those of the paper, with the units that fit its published times best."""

    tick_hz: Positive = 30
    """F_tick in the paper."""
    memory_bandwidth: Positive = 2.2
    """Bandwidth of copies in memory, in `memory_unit` (B_mem in the paper)."""
    memory_unit: Literal["GB/s", "GiB/s"] = "GiB/s"
    """Unit of `memory_bandwidth`. The paper prints GB/s, but only with GiB/s a full copy takes the published 17 ms."""
    disk_bandwidth: Positive = 60
    """Bandwidth of writes to the disk, in `disk_unit` (B_disk in the paper)."""
    disk_unit: Literal["MB/s", "MiB/s"] = "MB/s"
    copy_start_ns: NotNegative = 100
    """Time before each copy of a contiguous group of objects (O_mem in the paper)."""
    lock_ns: NotNegative = 145
    """Time of an uncontended lock (O_lock in the paper)."""
    bit_ns: NotNegative = 2
    """Time to test a dirty bit, which says whether an object has changed (O_bit in the paper)."""
    pass_ns: NotNegative | None = None
    """Time for an object until the writer has passed it, if the writer hands objects to the page cache and the disk follows. If
    None, the writer passes an object when the disk has written it, as in the paper.
    """
    sync_ms: NotNegative = 0
    """Time from the last object of a checkpoint until the checkpoint is durable. The paper has no such time."""
    slot_bytes: Annotated[int, Field(ge=1)] | None = None
    """Size of an object on the disk. If None, it is the size in memory."""
    page_bytes: Annotated[int, Field(ge=1)] = 4096
    """Number of bytes that are written for each eight neighbouring objects of which at least one has changed. This applies only
    to double backups, which are two images that are overwritten in turn, and only with the reading `backup="written"`.
    """

    @property
    def memory_bytes_per_s(self) -> float:
        """Bandwidth of copies in memory, in B/s."""
        return self.memory_bandwidth * _BYTES[self.memory_unit]

    @property
    def disk_bytes_per_s(self) -> float:
        """Bandwidth of writes to the disk, in B/s."""
        return self.disk_bandwidth * _BYTES[self.disk_unit]

    def units(self, object_bytes: int) -> tuple[int, ...]:
        """Returns nine times in units of the simulator (`UNITS_PER_S`), as the native core takes them.

        They are the times of a tick, the start of a copy, the copy of an object, a lock, a bit test, the write of an object, the
        writer's passing of an object, a sync, and the write of a page.
        """
        write_s = (self.slot_bytes or object_bytes) / self.disk_bytes_per_s
        pass_s = write_s if self.pass_ns is None else self.pass_ns / 1e9
        seconds = (
            1 / self.tick_hz,
            self.copy_start_ns / 1e9,
            object_bytes / self.memory_bytes_per_s,
            self.lock_ns / 1e9,
            self.bit_ns / 1e9,
            write_s if self.pass_ns is None else pass_s + write_s,
            pass_s,
            self.sync_ms / 1e3,
            self.page_bytes / self.disk_bytes_per_s,
        )
        return tuple(round(value * UNITS_PER_S) for value in seconds)


class Readings(Record):
    """The readings of the paper, where it leaves something open. With the defaults, most of the published numbers come out."""

    updates_at: Literal["start", "spread"] = "start"
    """Times of the updates within a tick: all at its start, or spread evenly over it."""
    locks: Literal["written", "touched"] = "touched"
    """First updates of an object in a checkpoint that take a lock: those of objects that this checkpoint writes, or all."""
    copies: Literal["unwritten", "touched"] = "unwritten"
    """First updates in a checkpoint that save the old value of an object that the checkpoint writes: those before the writer has
    passed the object, or all.
    """
    writes: Literal["always", "ticks"] = "ticks"
    """Times in which a checkpoint is written beside the game: always, or only in a tick's own length and not in its overhead,
    which is the time that checkpoints add to it.
    """
    full_every: Annotated[int, Field(ge=1)] = 10
    """Number of checkpoints per full one, for the algorithms of PARTIAL_LOG (C in the paper). The default is inferred from the
    published time of 0.1 s per checkpoint.
    """
    starts: Literal["clean", "dirty"] = "clean"
    """Content of the disk at the beginning: the whole state (clean), or no object of it (dirty)."""
    lasts: Literal["whole_ticks", "written"] = "whole_ticks"
    """End of a checkpoint's time: the end of the tick in which the game finds it written, or the moment of its last write."""

    backup: Literal["swept", "written"] = "swept"
    """Time of a write to one of the two images of a double backup: that of the whole image, because sorted writes pass every
    track of a hard disk, or that of the pages that are written.
    """

    @property
    def flags(self) -> tuple[bool, ...]:
        """Six of the readings, as the native core takes them. `full_every` and `lasts` are not among them."""
        return (
            self.updates_at == "spread",
            self.locks == "touched",
            self.copies == "touched",
            self.writes == "always",
            self.starts == "dirty",
            self.backup == "swept",
        )
