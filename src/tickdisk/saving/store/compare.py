"""The comparison of real checkpoint algorithms with their simulation by the paper's cost model and by the calibrated model."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk.foundation import record, table, temporary
from tickdisk.saving import checkpoint
from tickdisk.saving.store.calibrated import Calibrated, calibrate, predict
from tickdisk.saving.store.machine import measure_machine
from tickdisk.saving.store.trial import TrialDesign, interleaved
from tickdisk.stats import Mean, over_lives, quantile

RATES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
"""Update rates of the paper, in updates per tick."""
FIT_RATES = (1_500, 6_000, 24_000, 96_000, 300_000)
"""Update rates at which the calibrated model is fitted, in updates per tick. None of them is among RATES, so RATES are a test."""
WITHIN = 0.3
"""Largest relative error of a prediction that counts as right."""
LEAST_MS = 0.01
"""Smallest overhead in ms that can be told from no overhead."""
_TABLES = {
    "fitted": "rate life algorithm own_ms",
    "tested": "rate life algorithm own_ms checkpoint_s slower model_ms calibrated_ms model_s calibrated_s",
}
"""Columns that the tables of a comparison must have."""


@dataclass(frozen=True)
class ModelComparison:
    """The overheads of real algorithms in trials on one machine, with the predictions of the paper's and the calibrated model."""

    calibrated: Calibrated
    fitted: pd.DataFrame
    """Trials that the calibrated model was fitted to, as `trials` returns them."""
    tested: pd.DataFrame
    """Trials at other rates, with the columns model_ms, calibrated_ms, model_s and calibrated_s of `predict`, which are NaN for
    algorithms that the cost model does not know.
    """

    def points(self, alpha: float) -> pd.DataFrame:
        """Returns the tested trials beside both predictions, with one row for each rate and algorithm that the cost model knows.

        Every column of the trials is the median over lives, as in the fit, because a life that other programs disturbed must not
        decide the cost of an algorithm. The columns are those of `tested` without life, and these: lives (number of lives with a
        known overhead), model and calibrated (overhead of each model over the real overhead; NaN where the real overhead is
        unknown or below 0.01 ms), low and high (interval of calibrated at confidence 1 - 2 alpha, by order statistics of the
        lives, so that each end is a bound at level alpha; NaN for too few lives).
        """
        own = self.tested[self.tested["algorithm"].isin(checkpoint.ALGORITHMS)]
        grouped = own.groupby(["rate", "algorithm"], sort=False)
        medians = grouped.median(numeric_only=True).drop(columns="life")
        real = medians["own_ms"].where(medians["own_ms"] >= LEAST_MS)
        least, most = np.transpose([_interval(lives, alpha) for _, lives in grouped["own_ms"]])
        return medians.assign(
            lives=grouped["own_ms"].count(),
            model=medians["model_ms"] / real,
            calibrated=medians["calibrated_ms"] / real,
            low=medians["calibrated_ms"] / np.maximum(most, LEAST_MS),
            high=medians["calibrated_ms"] / np.maximum(least, LEAST_MS),
        ).reset_index()

    def slower(self, alpha: float) -> Mean:
        """Returns the share by which updates of the shadow (see `trials`) take longer while a checkpoint is being written.

        It is the mean over the lives in which it is known, with an interval of confidence 1 - alpha.
        """
        return over_lives(self.tested["slower"], alpha)

    def summary(self, alpha: float) -> pd.DataFrame:
        """Sums up how well both models predict each algorithm, from `points`, with one row for each algorithm that they know.

        The columns are algorithm, ranks (Spearman's correlation of real and calibrated overhead over rates, NaN if one of the two
        is the same at all rates), varies (largest real overhead over the smallest), model_least and model_most (smallest and
        largest overhead of the paper's model over the real overhead), calibrated_least and calibrated_most (the same for the
        calibrated model), time_least and time_most (smallest and largest calibrated time of a checkpoint over the real time),
        rates (number of rates) and within (number of rates at which the calibrated overhead is within 30 % of the real overhead).
        """
        rows = []
        for name, own in self.points(alpha).groupby("algorithm", sort=False):
            time = own["calibrated_s"] / own["checkpoint_s"]
            rows.append(
                {
                    "algorithm": name,
                    "ranks": _ranks(own["own_ms"], own["calibrated_ms"]),
                    "varies": own["own_ms"].max() / max(LEAST_MS, own["own_ms"].min()),
                    "model_least": own["model"].min(),
                    "model_most": own["model"].max(),
                    "calibrated_least": own["calibrated"].min(),
                    "calibrated_most": own["calibrated"].max(),
                    "time_least": time.min(),
                    "time_most": time.max(),
                    "rates": len(own),
                    "within": int((abs(own["calibrated"] - 1) <= WITHIN).sum()),
                }
            )
        order = {name: number for number, name in enumerate(checkpoint.ALGORITHMS)}
        return pd.DataFrame(rows).sort_values("algorithm", key=lambda names: names.map(order), ignore_index=True)


def _interval(values: "pd.Series[float]", alpha: float) -> tuple[float, float]:
    interval = quantile(values.dropna(), 0.5, level=1 - 2 * alpha)
    return (interval.low, interval.high) if interval else (math.nan, math.nan)


def _ranks(real: pd.Series, model: pd.Series) -> float:
    is_flat = real.max() == real.min() or model.max() == model.min()
    return math.nan if is_flat else float(real.corr(model, method="spearman"))


def compare(design: TrialDesign, *, fit_rates: Sequence[int], say: Callable[[str], None] = print) -> ModelComparison:
    """Plays trials of real algorithms, and compares them with the paper's cost model and with the calibrated model.

    The calibrated model is fitted to trials at `fit_rates` (updates per tick), which have another seed. The lives of both sets of
    trials are played in one random order, in a temporary folder below `design.folder`, so that both see the same drift of the
    machine. `say` is given a line after each life. Raises TickdiskError if the folder cannot be written, a life fails, or the
    trials have too few checkpoints for a fit.
    """
    design.folder.mkdir(parents=True, exist_ok=True)
    with temporary.folder(design.folder) as own:
        design = replace(design, folder=own)
        machine = measure_machine(design.state, design.folder)
        fit = replace(design, rates=fit_rates, seed=design.seed + 1, algorithms=checkpoint.ALGORITHMS)
        fitted, tested = interleaved([fit, design], say)
    calibrated = calibrate(machine, fit, fitted)
    predicted = predict(calibrated, design, design.algorithms)
    return ModelComparison(calibrated, fitted, tested.merge(predicted, on=["rate", "algorithm"], how="left"))


def lines(comparison: ModelComparison, alpha: float) -> Iterator[str]:
    """Yields a summary of a comparison for the screen: a line for each algorithm and for each fitted term, and two about the
    writer. The interval has confidence 1 - alpha.
    """
    for row in comparison.summary(alpha).itertuples():
        yield (
            f"{row.algorithm:28} rank correlation {row.ranks:5.2f}; overhead over the real one: paper's model "
            f"{row.model_least:.2f} to {row.model_most:.2f}, calibrated {row.calibrated_least:.2f} to {row.calibrated_most:.2f}, "
            f"within {WITHIN:.0%} at {row.within} of {row.rates} rates; "
            f"time of a checkpoint over the real one {row.time_least:.2f} to {row.time_most:.2f}"
        )
    for name, ns in comparison.calibrated.terms_ns.items():
        yield f"{name:16} {ns:12.2f} ns"
    share = comparison.slower(alpha)
    ends = f"[{share.low:+.1%}, {share.high:+.1%}] ({1 - alpha:.0%} interval)"
    yield f"updates of the shadow take {share.value:+.1%} {ends} longer during a checkpoint, by {share.n} lives"
    model = comparison.calibrated
    yield f"the writer passes an object in {model.pass_ns:.0f} ns, and a sync takes {model.sync_ms:.1f} ms"


def write_comparison(comparison: ModelComparison, folder: Path) -> None:
    """Writes `fitted.parquet`, `tested.parquet` and, at last, `calibrated.json` to a folder, each only when it is whole."""
    table.write_tables(folder, {name: getattr(comparison, name) for name in _TABLES})
    record.write(folder / "calibrated.json", comparison.calibrated)


def read_comparison(folder: Path) -> ModelComparison:
    """Reads a comparison that `write_comparison` wrote. Raises TickdiskError if a file is missing, or has other columns."""
    advice = f"run `tickdisk checkpoint compare --output {folder}`"
    return ModelComparison(
        record.read(Calibrated, folder / "calibrated.json", advice), **table.read_tables(folder, _TABLES, advice)
    )
