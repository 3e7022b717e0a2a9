"""The paper's micro-benchmarks, which measure the parameters of the cost model on this machine."""

import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from time import perf_counter

from tickdisk._native import store_micro
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record
from tickdisk.saving.checkpoint import Costs, State

_WRITE_BYTES = 1 << 20


class CostParameters(Record):
    """The parameters of the cost model, as `measure_machine` measures them for one size of state and one disk."""

    state_bytes: int
    """The size of the state on which the times were measured."""
    copy_all_ns: float
    """The time of one copy of the whole state."""
    copy_random_ns: float
    """The time of one copy of an object at a random place of the state."""
    lock_ns: float
    """The time of taking and releasing one lock, which no other thread wants."""
    bit_ns: float
    """The time of testing a dirty bit, counted with its neighbours."""
    disk_bytes_per_s: float
    """The bandwidth of large sequential writes, with the flush at their end."""

    def costs(self, *, tick_hz: float, object_bytes: int) -> Costs:
        """Returns the parameters of the cost model, derived from the micro-benchmarks as in the paper.

        The time to start a copy is the time of a copy at a random place, less the object's share of a copy of the whole state.
        """
        bandwidth = self.state_bytes / self.copy_all_ns
        return Costs(
            tick_hz=tick_hz,
            memory_bandwidth=bandwidth,
            memory_unit="GB/s",
            copy_start_ns=max(0.0, self.copy_random_ns - object_bytes / bandwidth),
            lock_ns=self.lock_ns,
            bit_ns=self.bit_ns,
            disk_bandwidth=self.disk_bytes_per_s / 1e6,
            disk_unit="MB/s",
        )


def measure_machine(state: State, folder: Path, *, rounds: int = 5, write_bytes: int = 64 << 20) -> CostParameters:
    """Measures the parameters of the cost model on this machine by the paper's micro-benchmarks, which run alone.

    Each measurement is the median of `rounds` repetitions, and each repetition writes `write_bytes` to the disk with `folder`.
    Raises TickdiskError if `folder` cannot be written.
    """
    native = dict(store_micro(state.rows * state.columns, rounds, 1))
    return CostParameters(
        state_bytes=state.objects * state.object_bytes,
        disk_bytes_per_s=write_bytes / median(_write_s(folder, write_bytes) for _ in range(rounds)),
        **native,
    )


def _write_s(folder: Path, size_bytes: int) -> float:
    block = os.urandom(_WRITE_BYTES)
    try:
        with TemporaryFile(dir=folder, buffering=0) as file:
            started = perf_counter()
            for _ in range(size_bytes // _WRITE_BYTES):
                file.write(block)
            os.fdatasync(file.fileno())
            return perf_counter() - started
    except OSError as error:
        raise TickdiskError(f"{folder} cannot be written ({error.strerror}); give a folder on the disk to be measured") from error
