"""The cost model's parameters, the state, and the readings of what the paper leaves open: typed and described."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

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
"""In the order of the native core."""
PARTIAL_LOG: tuple[Algorithm, ...] = ("partial_redo", "copy_on_update_partial_redo")
COPY_ON_UPDATE: tuple[Algorithm, ...] = ("dribble_and_copy_on_update", "copy_on_update", "copy_on_update_partial_redo")
UNITS_PER_S = 3_000_000_000_000
"""The simulator counts thirds of a picosecond, so that 1/30 s and 512 B at 60 MB/s are whole: a write of the whole state then
ends with the twentieth tick, not a rounding error after it."""
_BYTES = {"GB/s": 1e9, "GiB/s": 2.0**30, "MB/s": 1e6, "MiB/s": 2.0**20}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class State(_Strict):
    """The state that is checkpointed: a table of cells, cut into objects in the order of its rows."""

    rows: Annotated[int, Field(ge=1)] = 1_000_000
    columns: Annotated[int, Field(ge=1)] = 10
    cell_bytes: Annotated[int, Field(ge=1)] = 4
    object_bytes: Annotated[int, Field(ge=1)] = 512
    """S_obj: the atomic object, what is copied and written as one."""

    @property
    def object_cells(self) -> int:
        """Cells of an object."""
        return max(1, self.object_bytes // self.cell_bytes)

    @property
    def objects(self) -> int:
        """Objects of the state."""
        return -(-self.rows * self.columns // self.object_cells)


class Costs(_Strict):
    """What things take; the defaults are the paper's setting, with the units that fit its published times best."""

    tick_hz: Positive = 30
    """F_tick: ticks per second."""
    memory_bandwidth: Positive = 2.2
    """B_mem, in `memory_unit`."""
    memory_unit: Literal["GB/s", "GiB/s"] = "GiB/s"
    """Printed GB/s; with GiB/s a full copy takes the published 17 ms."""
    disk_bandwidth: Positive = 60
    """B_disk, in `disk_unit`."""
    disk_unit: Literal["MB/s", "MiB/s"] = "MB/s"
    copy_start_ns: NotNegative = 100
    """O_mem: before every contiguous group of objects that is copied."""
    lock_ns: NotNegative = 145
    """O_lock: an uncontended lock."""
    bit_ns: NotNegative = 2
    """O_bit: a test of a dirty bit."""
    pass_ns: NotNegative | None = None
    """Of an object until the writer is past it, where the system's page cache takes it and the disk follows; None: the disk's
    time is all there is, as in the paper.
    """
    sync_ms: NotNegative = 0
    """Of a checkpoint after its objects, until it is durable; the paper has none."""
    slot_bytes: Annotated[int, Field(ge=1)] | None = None
    """Of an object on the disk; None: as many as in memory."""
    page_bytes: Annotated[int, Field(ge=1)] = 4096
    """What is written of a double backup where one of eight neighbouring objects has changed, when it is not swept over."""

    @property
    def memory_bytes_per_s(self) -> float:
        """B_mem in B/s."""
        return self.memory_bandwidth * _BYTES[self.memory_unit]

    @property
    def disk_bytes_per_s(self) -> float:
        """B_disk in B/s."""
        return self.disk_bandwidth * _BYTES[self.disk_unit]

    def units(self, object_bytes: int) -> tuple[int, ...]:
        """Returns tick, start of a copy, copy of an object, lock, bit test, write of an object, the writer's passing it, sync,
        and write of a page in the simulator's units.
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


class Readings(_Strict):
    """What the paper leaves open; each default is the reading under which most of its published numbers come out."""

    updates_at: Literal["start", "spread"] = "start"
    """Where the updates of a tick fall in it: all at its start, or evenly over it."""
    locks: Literal["written", "touched"] = "touched"
    """Which first updates of an object in a checkpoint take the lock: of objects that this checkpoint writes, or all."""
    copies: Literal["unwritten", "touched"] = "unwritten"
    """Which first updates of an object that the checkpoint writes save the old value: before the writer passed it, or all."""
    writes: Literal["always", "ticks"] = "ticks"
    """When the asynchronous write progresses: always, or only in a tick's own length and not in its overhead."""
    full_every: Annotated[int, Field(ge=1)] = 10
    """C: of the log-based dirty-object methods' checkpoints every so many is full. Inferred from the published time of 0.1 s."""
    starts: Literal["clean", "dirty"] = "clean"
    """Whether at the beginning the state is on the disk, or no object of it is."""
    lasts: Literal["whole_ticks", "written"] = "whole_ticks"
    """What the time of a checkpoint is: to the end of the tick at which it is found written, or until it is written."""

    backup: Literal["swept", "written"] = "swept"
    """What a write to a double backup takes: as much as the whole image, as sorted writes pass every track, or what is
    written.
    """

    @property
    def flags(self) -> tuple[bool, ...]:
        """The readings as the native core takes them."""
        return (
            self.updates_at == "spread",
            self.locks == "touched",
            self.copies == "touched",
            self.writes == "always",
            self.starts == "dirty",
            self.backup == "swept",
        )
