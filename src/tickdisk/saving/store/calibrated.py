"""The calibrated cost model: the paper's cost model with further terms, and with the time of each term fitted to real lives.

The paper's times of dirty bits, locks and copies come from micro-benchmarks that run alone. They take longer beside a writer that
reads the state, and the page cache, the pages of the disk and the log of actions are not in the paper's model. The simulator
counts the work of each tick (`checkpoint.WORK`), and the calibrated model multiplies each of TERMS with the time that it took in
lives at other update rates.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import least_squares, nnls

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record
from tickdisk.saving import checkpoint
from tickdisk.saving.checkpoint import WORK, Costs, Outcome, Readings, Simulation
from tickdisk.saving.store.machine import CostParameters
from tickdisk.saving.store.trial import SETTLING, SLOT_BYTES, TrialDesign

PAPER = Readings(locks="written", writes="always", starts="dirty", lasts="written")
"""Readings of the paper's model that follow the real algorithms where the paper leaves something open."""
REAL = PAPER.model_copy(update={"backup": "written"})
"""Readings of the calibrated model. A double backup takes the time of its written pages, as disks of today have no tracks."""
TERMS = (*(name for name in WORK if name != "beside"), "handed", "marked")
"""Names of the work items that have a time in the calibrated model. `handed` counts the calls of the store with updates, whether
or not a checkpoint runs. `marked` counts the dirty bits that updates set, one for each update and image. `beside`, the updates
while a checkpoint is written, has no term, because such updates are slower even if no algorithm keeps their state, which
`Comparison.slower` reports.
"""
_FLOOR_MS = 0.02
"""Overhead that is added to the modelled and to the real overhead before their ratio is taken."""
_FIRST_NS = 1.0
"""Time that is added to the first guess of every term, so that a term whose first guess is 0 can grow."""
_TICKS = 250
"""Smallest number of simulated ticks, so that many checkpoints are complete."""
ACTION_BYTES = 4
_IMAGES = {"atomic_copy_dirty_objects": 2, "copy_on_update": 2, "partial_redo": 1, "copy_on_update_partial_redo": 1}
"""Number of dirty bits that each update sets, by algorithm. The other algorithms have no dirty bits."""


class Calibrated(Record):
    """The calibrated cost model, as `calibrate` fits it on one machine."""

    machine: CostParameters
    """The times of single steps on this machine, from micro-benchmarks that run alone."""
    terms_ns: dict[str, float]
    """The time of each thing that a tick does for checkpoints, by name, fitted to the lives in `fitted.parquet`."""
    pass_ns: float
    """The time for an object until the writer has handed it to the page cache."""
    sync_ms: float
    """The time of a checkpoint besides the writing of its bytes, such as for syncs."""

    def costs(self, design: TrialDesign, rate: int) -> Costs:
        """Returns the simulator's parameters for lives of `design` at an update rate, in updates per tick.

        The log of actions takes its share of the disk's bandwidth, at most 90 %.
        """
        return _costs(self.machine, design, rate, pass_ns=self.pass_ns, sync_ms=self.sync_ms)

    def overhead_ms(self, work: pd.Series) -> float:
        """Returns the mean time that a tick's work adds to it. `work` has the mean count per tick of each of TERMS, by name."""
        return sum(ns * float(work[name]) for name, ns in self.terms_ns.items()) / 1e6


def calibrate(machine: CostParameters, design: TrialDesign, lives: pd.DataFrame) -> Calibrated:
    """Fits the times of the calibrated cost model to trials, so that the model can predict overheads at other update rates.

    The fit minimises the squared logarithm of modelled over real `own_ms`, with 0.02 ms added to both, and no term is below 0.
    Rows of `lives` without `own_ms`, and of algorithms that the model does not know, are not used. Raises TickdiskError if no
    trial has an `own_ms`, or if the fit does not converge.
    """
    known = lives[lives["algorithm"].isin(checkpoint.ALGORITHMS) & lives["own_ms"].notna()]
    if known.empty:
        raise TickdiskError("no trial had enough checkpoints to tell what an algorithm adds; give more time for checkpoints")
    # The median over lives is used, because a life that other programs disturbed must not decide the cost of a checkpoint.
    own = known.groupby(["rate", "algorithm"], as_index=False)[["own_ms", "pass_ns", "objects", "checkpoint_s"]].median()
    pass_ns = float((own["pass_ns"] * own["objects"]).sum() / own["objects"].sum())
    points: list[tuple[int, checkpoint.Algorithm]] = list(zip(own["rate"].tolist(), own["algorithm"].tolist(), strict=True))
    without = [_simulated(design, rate, name, _costs(machine, design, rate, pass_ns=pass_ns)) for rate, name in points]
    later_s = own["checkpoint_s"].to_numpy() - np.array([checkpoint_s(outcome) for outcome in without])
    sync_ms = max(0.0, 1e3 * float(np.nanmedian(later_s)))
    works = []
    for rate, name in points:
        outcome = _simulated(design, rate, name, _costs(machine, design, rate, pass_ns=pass_ns, sync_ms=sync_ms))
        works.append(work(outcome, design, rate))
    terms = _explain(pd.DataFrame(works)[list(TERMS)].to_numpy() / 1e6, own["own_ms"].to_numpy())
    return Calibrated(machine=machine, terms_ns=dict(zip(TERMS, terms.tolist(), strict=True)), pass_ns=pass_ns, sync_ms=sync_ms)


def _explain(work: npt.NDArray[np.float64], real_ms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns the time of each term in ns, by least squares of the logarithm of modelled over real times.

    The first guess comes from least squares of relative errors. Its result alone would be too low, because a model that is twice
    too large has a larger relative error than a model that is half as large as it should be.
    """
    level = np.maximum(real_ms, 0) + _FLOOR_MS
    first, _ = nnls(work / level[:, None], real_ms / level)
    fit = least_squares(
        lambda terms: np.log((work @ terms + _FLOOR_MS) / level),
        first + _FIRST_NS,
        bounds=(0, np.inf),
        x_scale="jac",
        max_nfev=10_000,
    )
    if not fit.success:
        raise TickdiskError(f"the cost model does not settle on terms ({fit.message}); give more lives")
    return np.asarray(fit.x)


def predict(calibrated: Calibrated, design: TrialDesign, algorithms: Sequence[str]) -> pd.DataFrame:
    """Predicts what algorithms add to a tick and how long a checkpoint takes, by the paper's model and by the calibrated model.

    The simulation uses the updates of the first life at each rate of `design`. Algorithms that the model does not know are left
    out. The result has one row per rate and algorithm: rate (updates per tick), algorithm, model_ms and calibrated_ms (mean time
    added to a tick), model_s and calibrated_s (mean time of a checkpoint). The columns that begin with `model` come from the
    paper's model, with times that the paper's micro-benchmarks measured on this machine.
    """
    rows = []
    plain = calibrated.machine.costs(tick_hz=design.tick_hz, object_bytes=design.state.object_bytes)
    for rate in design.rates:
        for name in [one for one in checkpoint.ALGORITHMS if one in algorithms]:
            model = _simulated(design, rate, name, plain, PAPER)
            outcome = _simulated(design, rate, name, calibrated.costs(design, rate))
            rows.append(
                {
                    "rate": rate,
                    "algorithm": name,
                    "model_ms": float(model.ticks["overhead_ms"][whole(model)].mean()),
                    "calibrated_ms": calibrated.overhead_ms(work(outcome, design, rate)),
                    "model_s": checkpoint_s(model),
                    "calibrated_s": checkpoint_s(outcome),
                }
            )
    return pd.DataFrame(rows)


def whole(outcome: Outcome) -> slice:
    """Returns the ticks of a simulation over which means are taken, as positions in the tables of `outcome`.

    They are the ticks of complete checkpoints after the first `SETTLING`, as in real lives (see `trials`), or all ticks if there
    are too few checkpoints.
    """
    begun = outcome.checkpoints["tick"].to_numpy()
    return slice(int(begun[SETTLING]) + 1, int(begun[-1]) + 1) if len(begun) > SETTLING + 1 else slice(None)


def checkpoint_s(outcome: Outcome) -> float:
    """Returns the mean simulated time in s of the checkpoints after the first `SETTLING`, or NaN if there are none."""
    settled = outcome.checkpoints.iloc[SETTLING:]
    return float((settled["end_s"] - settled["begin_s"]).mean())


def work(outcome: Outcome, design: TrialDesign, rate: int) -> "pd.Series[float]":
    """Returns the mean count per tick of each item of work, with all of TERMS, over the ticks of `whole`. `rate` is in updates
    per tick.
    """
    counted = outcome.work[whole(outcome)]
    mean = counted.mean()
    mean["handed"] = rate if design.one_by_one else 1
    mean["marked"] = _IMAGES.get(outcome.run.algorithm, 0) * rate
    return mean


def _costs(machine: CostParameters, design: TrialDesign, rate: int, *, pass_ns: float, sync_ms: float = 0.0) -> Costs:
    own = machine.costs(tick_hz=design.tick_hz, object_bytes=design.state.object_bytes)
    logged = ACTION_BYTES * rate * design.tick_hz
    left = max(0.1 * machine.disk_bytes_per_s, machine.disk_bytes_per_s - logged)
    changes = {"disk_bandwidth": left / 1e6, "pass_ns": pass_ns, "sync_ms": sync_ms, "slot_bytes": SLOT_BYTES}
    return own.model_copy(update=changes)


def _simulated(design: TrialDesign, rate: int, name: checkpoint.Algorithm, costs: Costs, readings: Readings = REAL) -> Outcome:
    own = readings.model_copy(update={"full_every": design.full_every})
    return checkpoint.simulate(design.trace(rate), [Simulation(name, costs, own)], ticks=max(_TICKS, design.ticks))[0]
