"""The simulation: algorithms under the cost model get the same input, each with its own costs and readings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving.checkpoint.inputs import Input
from tickdisk.saving.checkpoint.model import ALGORITHMS, PARTIAL_LOG, UNITS_PER_S, Algorithm, Costs, Readings

_MS = UNITS_PER_S / 1e3
WORK = ("begun", "copied", "groups", "tested", "touched", "locked", "saved", "beside", "changed_beside")
"""Names of the counted items of work that a tick does for checkpoints. They count checkpoints begun, objects copied at the
beginning of a checkpoint and contiguous groups of them, updates that tested a dirty bit and objects of such updates, first
updates of an object in a checkpoint that took a lock, first updates that saved the old value, updates in ticks that began while a
checkpoint was being written, and objects that these changed.
"""
_TICKS = ("start", "overhead", "length", *WORK)
_CHECKPOINTS = ("tick", "begin", "pause", "written", "objects", "copied", "is_full")
_COSTS, _READINGS = Costs(), Readings()


@dataclass(frozen=True)
class Simulation:
    """One run of the simulator: an algorithm under one set of costs and one set of readings."""

    algorithm: Algorithm
    costs: Costs = _COSTS
    readings: Readings = _READINGS


@dataclass(frozen=True)
class Outcome:
    """The result of one run of the simulator, as `simulate` returns it."""

    run: Simulation
    ticks: pd.DataFrame
    """One row per tick: overhead_ms (the time that checkpoints add to the tick) and length_ms (its length with that time)."""
    work: pd.DataFrame
    checkpoints: pd.DataFrame
    """One row per completed checkpoint: tick (at whose end the checkpoint begins), begin_s, end_s, pause_ms, objects and bytes
    (written), copied (objects copied in memory), is_full, and recovery_s (time of a recovery after a crash at the checkpoint's
    end).
    """
    updates: int
    nanoseconds: int
    """Time that the simulator spent on this run and on the sorting of the input."""

    @property
    def overhead_ms(self) -> float:
        """Mean time in ms that checkpoints add to a tick."""
        return float(self.ticks["overhead_ms"].mean())

    @property
    def checkpoint_s(self) -> float:
        """Mean time in s from the beginning of a checkpoint to its end, or NaN if none was completed."""
        return float((self.checkpoints["end_s"] - self.checkpoints["begin_s"]).mean())

    @property
    def recovery_s(self) -> float:
        """Mean time in s of a recovery after a crash at the end of a checkpoint, or NaN if no checkpoint was completed.

        A recovery reads the checkpoint and plays the lost ticks again.
        """
        return float(self.checkpoints["recovery_s"].mean())


def simulate(source: Input, runs: Sequence[Simulation], *, ticks: int) -> list[Outcome]:
    """Simulates algorithms on the same input, and computes what each adds to every tick under the cost model.

    The model is that of M. Vaz Salles et al., "An Evaluation of Checkpoint Recovery for Massively Multiplayer Online Games", VLDB
    2009, sections 3 and 4. The updates are made once and fed to all runs. Times are counted in whole units of 1/3 ps. The
    simulation ends before the last of `ticks` if the input does. The outcomes are in the order of `runs`. Raises TickdiskError if
    a run has the reading `backup="written"` and no `pass_ns`.
    """
    for run in runs:
        if run.readings.backup == "written" and run.costs.pass_ns is None:
            raise TickdiskError(
                "the reading backup=written needs pass_ns in the costs; give the time that the writer takes to pass an object"
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


def _checkpoints(raw: pd.DataFrame, run: Simulation, objects: int, object_bytes: int) -> pd.DataFrame:
    """Returns the table of completed checkpoints. The last checkpoint is left out, because no other has followed it."""
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
            # In the worst case, the replay takes as long as a checkpoint.
            "recovery_s": restored * write_s + (end_s - begin_s),
        }
    )
