"""The cost model with the terms that the paper's leaves out, each as large as lives of this machine say.

The paper's overhead is of bits, locks and copies, as micro-benchmarks find them when nothing else goes on. Beside a
writer that reads the state, copies and marks are not in the cache, locks are contended, beginning a
checkpoint hands it over to another thread, and handing updates to the store takes something, too. And the disk takes neither
whole images nor objects: the page cache takes objects, the disk pages; the log of actions is on it, too. The simulator counts
what a tick does (`checkpoint.WORK`); here each of TERMS takes what it took in lives at other update rates.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy.optimize import least_squares, nnls

from tickdisk import checkpoint
from tickdisk.checkpoint import WORK, Costs, Outcome, Readings, Run
from tickdisk.errors import TickdiskError
from tickdisk.store.machine import Machine
from tickdisk.store.trial import SETTLING, SLOT_BYTES, Design

PAPER = Readings(locks="written", writes="always", starts="dirty", lasts="written")
"""The paper's model as the real ones do what it leaves open."""
REAL = PAPER.model_copy(update={"backup": "written"})
"""Disks of today have no tracks to be passed: a double backup takes what is written of it."""
TERMS = (*(name for name in WORK if name != "beside"), "handed", "marked")
"""And a call of the store with updates, whether a checkpoint runs or not, and a dirty bit set for each image with every update.
That even updates that nobody keeps are slower while a checkpoint is written is told apart (`Comparison.slower`).
"""
_FLOOR_MS = 0.02
_FIRST_NS = 1.0
"""From which a term that relative errors leave at nothing sets out."""
_TICKS = 250
"""Simulated at least, so that many checkpoints are whole."""
ACTION_BYTES = 4
"""Of an update in the log of actions."""
_IMAGES = {"atomic_copy_dirty_objects": 2, "copy_on_update": 2, "partial_redo": 1, "copy_on_update_partial_redo": 1}


class Calibrated(BaseModel):
    """What each thing takes on this machine, beside a writer."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    machine: Machine
    terms_ns: dict[str, float]
    """Of each of TERMS."""
    pass_ns: float
    """Of an object until the writer has put it into the page cache."""
    sync_ms: float
    """Of a checkpoint, beside its bytes."""

    def costs(self, design: Design, rate: int) -> Costs:
        """Returns the simulator's parameters at an update rate: they decide when checkpoints begin and end, and what is
        copied.
        """
        return _costs(self.machine, design, rate, pass_ns=self.pass_ns, sync_ms=self.sync_ms)

    def overhead_ms(self, work: pd.Series) -> float:
        """Returns what ticks of so much work take more, on average."""
        return sum(ns * float(work[name]) for name, ns in self.terms_ns.items()) / 1e6


def calibrate(machine: Machine, design: Design, found: pd.DataFrame) -> Calibrated:
    """Returns the terms that explain best what the algorithms do in `found`, trials of `design` (own_ms): least squares of the
    logarithm of model over real, each with 0.02 ms more, none below 0. TickdiskError when no trial says anything.
    """
    known = found[found["algorithm"].isin(checkpoint.ALGORITHMS) & found["own_ms"].notna()]
    if known.empty:
        raise TickdiskError("no trial says what an algorithm adds to a tick: give more time for checkpoints")
    # Of the lives of a point the median: one that the neighbours disturbed must not become what a checkpoint costs.
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
    """Least squares of relative errors, where it begins, would rather be too low: being twice as much counts more than half."""
    level = np.maximum(real_ms, 0) + _FLOOR_MS
    first, _ = nnls(work / level[:, None], real_ms / level)
    found = least_squares(
        lambda terms: np.log((work @ terms + _FLOOR_MS) / level),
        first + _FIRST_NS,
        bounds=(0, np.inf),
        x_scale="jac",
        max_nfev=10_000,
    )
    if not found.success:
        raise TickdiskError(f"the cost model does not settle on terms ({found.message}); give more lives")
    return np.asarray(found.x)


def predict(calibrated: Calibrated, design: Design, algorithms: Sequence[str]) -> pd.DataFrame:
    """Returns a row for each rate and algorithm that the model knows: rate, algorithm, model_ms (the paper's model with the
    paper's micro-benchmarks), calibrated_ms, model_s and calibrated_s (of a checkpoint); with the updates of the first life.
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
    """Returns the ticks of the whole checkpoints after the first ones, as real lives are counted, or of all if there are few."""
    begun = outcome.checkpoints["tick"].to_numpy()
    return slice(int(begun[SETTLING]) + 1, int(begun[-1]) + 1) if len(begun) > SETTLING + 1 else slice(None)


def checkpoint_s(outcome: Outcome) -> float:
    """Returns the time of a checkpoint after the first ones, on average; NaN when there is none."""
    settled = outcome.checkpoints.iloc[SETTLING:]
    return float((settled["end_s"] - settled["begin_s"]).mean())


def work(outcome: Outcome, design: Design, rate: int) -> "pd.Series[float]":
    """Returns the work of a tick, TERMS, on average over those that count."""
    counted = outcome.work[whole(outcome)]
    mean = counted.mean()
    mean["handed"] = rate if design.one_by_one else 1
    mean["marked"] = _IMAGES.get(outcome.run.algorithm, 0) * rate
    return mean


def _costs(machine: Machine, design: Design, rate: int, *, pass_ns: float, sync_ms: float = 0.0) -> Costs:
    own = machine.costs(tick_hz=design.tick_hz, object_bytes=design.state.object_bytes)
    logged = ACTION_BYTES * rate * design.tick_hz
    left = max(0.1 * machine.disk_bytes_per_s, machine.disk_bytes_per_s - logged)
    changes = {"disk_bandwidth": left / 1e6, "pass_ns": pass_ns, "sync_ms": sync_ms, "slot_bytes": SLOT_BYTES}
    return own.model_copy(update=changes)


def _simulated(design: Design, rate: int, name: checkpoint.Algorithm, costs: Costs, readings: Readings = REAL) -> Outcome:
    own = readings.model_copy(update={"full_every": design.full_every})
    return checkpoint.simulate(design.trace(rate), [Run(name, costs, own)], ticks=max(_TICKS, design.ticks))[0]
