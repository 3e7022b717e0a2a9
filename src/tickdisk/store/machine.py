"""The parameters of the cost model, measured on this machine: the paper's micro-benchmarks."""

import os
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from time import perf_counter

from pydantic import BaseModel, ConfigDict

from tickdisk._native import store_micro
from tickdisk.checkpoint import Costs, State
from tickdisk.errors import TickdiskError

_WRITE_BYTES = 1 << 20


class Machine(BaseModel):
    """What was measured, on a state of so many bytes and a disk."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    state_bytes: int
    copy_all_ns: float
    """Of one copy of the whole state."""
    copy_random_ns: float
    """Of one object anywhere in the state."""
    lock_ns: float
    """Of one lock, taken and released over and over."""
    bit_ns: float
    """Of a dirty bit, counted with its neighbours."""
    disk_bytes_per_s: float
    """Of large sequential writes, with the flush at their end."""

    def costs(self, *, tick_hz: float, object_bytes: int) -> Costs:
        """Returns the cost model's parameters, as the paper has them from its micro-benchmarks."""
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


def measure_machine(state: State, folder: Path, *, rounds: int = 5, write_bytes: int = 64 << 20) -> Machine:
    """Returns this machine's parameters for a state and the disk under `folder`; TickdiskError when that cannot be written."""
    native = dict(store_micro(state.rows * state.columns, rounds, 1))
    return Machine(
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
