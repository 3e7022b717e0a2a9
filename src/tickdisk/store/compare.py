"""The real algorithms against their simulation, over update rates: the paper's validation, and the model calibrated on other
rates.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy.stats import t as student

from tickdisk import checkpoint
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, whole, write_json
from tickdisk.stats import quantile
from tickdisk.store.calibrated import Calibrated, calibrate, predict
from tickdisk.store.machine import measure_machine
from tickdisk.store.trial import Design, interleaved

RATES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
"""As the paper has them."""
FIT_RATES = (1_500, 6_000, 24_000, 96_000, 300_000)
WITHIN = 0.3
"""A model is right when it is off by no more."""
LEAST_MS = 0.01
"""An overhead below is not told from none."""


@dataclass(frozen=True)
class Comparison:
    """What was measured in one run on one machine."""

    calibrated: Calibrated
    fitted: pd.DataFrame
    """The trials that the terms rest on (see `trials`)."""
    tested: pd.DataFrame
    """Trials at other rates, with model_ms, calibrated_ms, model_s and calibrated_s where the cost model knows the algorithm."""

    def points(self) -> pd.DataFrame:
        """Returns a row for each rate and algorithm that the model knows, each column the median over lives: one that the
        neighbours disturbed must not become what an algorithm costs, as little as in the fit. Also lives (of which an overhead is
        known), model and calibrated (each over the real; NaN where the real is below 0.01 ms or unknown), and low and high (90 %
        interval of calibrated, from the order of the lives; NaN below five).
        """
        own = self.tested[self.tested["algorithm"].isin(checkpoint.ALGORITHMS)]
        grouped = own.groupby(["rate", "algorithm"], sort=False)
        medians = grouped.median(numeric_only=True).drop(columns="life")
        real = medians["own_ms"].where(medians["own_ms"] >= LEAST_MS)
        least, most = np.transpose([_interval(lives) for _, lives in grouped["own_ms"]])
        return medians.assign(
            lives=grouped["own_ms"].count(),
            model=medians["model_ms"] / real,
            calibrated=medians["calibrated_ms"] / real,
            low=medians["calibrated_ms"] / np.maximum(most, LEAST_MS),
            high=medians["calibrated_ms"] / np.maximum(least, LEAST_MS),
        ).reset_index()

    def slower(self) -> tuple[float, float, float, int]:
        """Returns the share by which updates that nobody keeps take longer while a checkpoint is written: the mean over all lives
        in which that is known, of whichever rate and algorithm, its 95 % interval (NaN for one life), and how many they are.
        """
        shares = self.tested["slower"].dropna()
        half = shares.sem() * student.ppf(0.975, max(1, len(shares) - 1))
        return float(shares.mean()), float(shares.mean() - half), float(shares.mean() + half), len(shares)

    def summary(self) -> pd.DataFrame:
        """Returns a row for each algorithm that the model knows: ranks (Spearman's correlation of real and calibrated overhead
        over rates; NaN where one of them is the same at all), varies (the largest real overhead over the smallest), model_least
        and model_most (of the model over the real), calibrated_least, calibrated_most, time_least and time_most (of a checkpoint,
        calibrated over real), rates, within (at how many of them the calibrated overhead is within 30 %).
        """
        rows = []
        for name, own in self.points().groupby("algorithm", sort=False):
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


def _interval(values: "pd.Series[float]") -> tuple[float, float]:
    found = quantile(values.dropna(), 0.5, level=0.9)
    return (found.low, found.high) if found else (math.nan, math.nan)


def _ranks(real: pd.Series, model: pd.Series) -> float:
    is_flat = real.max() == real.min() or model.max() == model.min()
    return math.nan if is_flat else float(real.corr(model, method="spearman"))


def compare(design: Design, *, fit_rates: Sequence[int], say: Callable[[str], None] = print) -> Comparison:
    """Returns trials of `design` beside both models; the calibrated one rests on trials at `fit_rates`, with another seed, which
    are played between them.
    """
    design.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="tickdisk-compare-", dir=design.folder) as own:
        design = replace(design, folder=Path(own))
        machine = measure_machine(design.state, design.folder)
        fit = replace(design, rates=fit_rates, seed=design.seed + 1, algorithms=checkpoint.ALGORITHMS)
        fitted, tested = interleaved([fit, design], say)
    calibrated = calibrate(machine, fit, fitted)
    predicted = predict(calibrated, design, design.algorithms)
    return Comparison(calibrated, fitted, tested.merge(predicted, on=["rate", "algorithm"], how="left"))


def lines(found: Comparison) -> Iterator[str]:
    """Yields what is to be said of a comparison, a line at a time."""
    for row in found.summary().itertuples():
        yield (
            f"{row.algorithm:28} rank correlation {row.ranks:5.2f}; over the real: the paper's model {row.model_least:.2f} to "
            f"{row.model_most:.2f}, calibrated {row.calibrated_least:.2f} to {row.calibrated_most:.2f}, "
            f"within {WITHIN:.0%} at {row.within} of {row.rates} rates; its time {row.time_least:.2f} to {row.time_most:.2f}"
        )
    for name, ns in found.calibrated.terms_ns.items():
        yield f"{name:16} {ns:12.2f} ns"
    share, low, high, lives = found.slower()
    yield f"updates that nobody keeps, while a checkpoint is written: {share:+.1%} [{low:+.1%}, {high:+.1%}], {lives} lives"
    yield f"pass {found.calibrated.pass_ns:.0f} ns an object, sync {found.calibrated.sync_ms:.1f} ms"


def write_comparison(found: Comparison, folder: Path) -> None:
    """Writes `fitted.parquet`, `tested.parquet` and, last, `calibrated.json`, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("fitted", "tested"):
        with whole(folder / f"{name}.parquet") as partial:
            getattr(found, name).to_parquet(partial)
    write_json(folder / "calibrated.json", found.calibrated.model_dump(mode="json"))


def read_comparison(folder: Path) -> Comparison:
    """Returns what is in a folder; TickdiskError names what is missing."""
    path = folder / "calibrated.json"
    if not path.exists():
        raise TickdiskError(f"{path} is missing; run `tickdisk checkpoint compare --output {folder}`")
    fitted, tested = (pd.read_parquet(folder / f"{name}.parquet") for name in ("fitted", "tested"))
    return Comparison(Calibrated.model_validate(read_json(path)), fitted, tested)
