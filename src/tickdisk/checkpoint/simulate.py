"""Runs of the simulator: algorithms under the cost model, fed with one input, each with its own costs and readings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.checkpoint.inputs import Input
from tickdisk.checkpoint.model import ALGORITHMS, PARTIAL_LOG, UNITS_PER_S, Algorithm, Costs, Readings
from tickdisk.errors import TickdiskError

_MS = UNITS_PER_S / 1e3
WORK = ("begun", "copied", "groups", "tested", "touched", "locked", "saved", "beside", "changed_beside")
"""What a tick does for checkpoints: checkpoints begun; objects copied at once, in so many contiguous groups; updates that tested
whether to save, of so many objects; first touches that took the lock, and those that saved; updates while a checkpoint was being
written, and the objects that they changed."""
_TICKS = ("start", "overhead", "length", *WORK)
_CHECKPOINTS = ("tick", "begin", "pause", "written", "objects", "copied", "is_full")
_COSTS, _READINGS = Costs(), Readings()


@dataclass(frozen=True)
class Run:
    """One algorithm under costs and readings."""

    algorithm: Algorithm
    costs: Costs = _COSTS
    readings: Readings = _READINGS


@dataclass(frozen=True)
class Outcome:
    """What a run of the simulator gives."""

    run: Run
    ticks: pd.DataFrame
    """A row a tick: overhead_ms (the time added to it), length_ms."""
    work: pd.DataFrame
    """A row a tick: WORK."""
    checkpoints: pd.DataFrame
    """A row a completed checkpoint: tick (at whose end it begins), begin_s, end_s, pause_ms, objects and bytes written, objects
    copied in memory, is_full, recovery_s (after a crash at its end)."""
    updates: int
    nanoseconds: int
    """Processor time of this run alone."""

    @property
    def overhead_ms(self) -> float:
        """Time added per tick, on average."""
        return float(self.ticks["overhead_ms"].mean())

    @property
    def checkpoint_s(self) -> float:
        """Time of a checkpoint, on average; NaN when none was completed."""
        return float((self.checkpoints["end_s"] - self.checkpoints["begin_s"]).mean())

    @property
    def recovery_s(self) -> float:
        """Restore and replay, on average over completed checkpoints."""
        return float(self.checkpoints["recovery_s"].mean())


def simulate(source: Input, runs: Sequence[Run], *, ticks: int) -> list[Outcome]:
    """Returns the outcome of each run over the first `ticks` ticks of the input, which is made once and fed to all.

    Cost model and framework: M. Vaz Salles et al., VLDB 2009, sections 3 and 4. Times are counted in whole units of 1/3 ps.
    """
    for run in runs:
        if run.readings.backup == "written" and run.costs.pass_ns is None:
            raise TickdiskError(
                "a double backup of which only what is written counts needs pass_ns, what passing an object takes"
            )
    state = source.state
    native = [
        (ALGORITHMS.index(run.algorithm), run.costs.units(state.object_bytes), run.readings.flags, run.readings.full_every)
        for run in runs
    ]
    updates, _, sorted_ns, packed = source.open().simulate(native, ticks, state.object_cells)
    outcomes = []
    for run, (own_ns, tick_bytes, checkpoint_bytes) in zip(runs, packed, strict=True):
        table = _unpacked(tick_bytes, _TICKS)
        checkpoints = _checkpoints(_unpacked(checkpoint_bytes, _CHECKPOINTS), run, state.objects, state.object_bytes)
        shown = pd.DataFrame({f"{name}_ms": table[name] / _MS for name in ("overhead", "length")})
        outcomes.append(Outcome(run, shown, table[list(WORK)], checkpoints, updates, own_ns + sorted_ns))
    return outcomes


def _unpacked(packed: bytes, names: Sequence[str]) -> pd.DataFrame:
    values = np.frombuffer(packed, dtype="<u8").reshape(-1, len(names)).astype(np.int64)
    return pd.DataFrame(values, columns=list(names))


def _checkpoints(raw: pd.DataFrame, run: Run, objects: int, object_bytes: int) -> pd.DataFrame:
    """The last checkpoint is not completed, as none begins after it."""
    done = raw.iloc[:-1]
    whole = run.readings.lasts == "whole_ticks"
    end = raw["begin"].to_numpy()[1:] if whole else done["written"].to_numpy()
    write_s = object_bytes / run.costs.disk_bytes_per_s
    begin_s, end_s = done["begin"].to_numpy() / UNITS_PER_S, end / UNITS_PER_S
    restored = float(objects)
    if run.algorithm in PARTIAL_LOG:
        partial = done.loc[done["is_full"] == 0, "objects"]
        restored += run.readings.full_every * (float(partial.mean()) if len(partial) else 0.0)
    return pd.DataFrame(
        {
            "tick": done["tick"].to_numpy(),
            "begin_s": begin_s,
            "end_s": end_s,
            "pause_ms": done["pause"].to_numpy() / _MS,
            "objects": done["objects"].to_numpy(),
            "bytes": done["objects"].to_numpy() * object_bytes,
            "copied": done["copied"].to_numpy(),
            "is_full": done["is_full"].to_numpy() == 1,
            # Replay takes as long as a checkpoint, in the worst case.
            "recovery_s": restored * write_s + (end_s - begin_s),
        }
    )
