"""The real algorithms against their simulation, over update rates: the paper's validation, and the model calibrated on other
rates.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from tickdisk import checkpoint
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, whole, write_json
from tickdisk.store.calibrated import Calibrated, calibrate, predict
from tickdisk.store.machine import measure_machine
from tickdisk.store.trial import Design, trials

RATES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)
"""As the paper has them."""
FIT_RATES = (1_500, 6_000, 24_000, 96_000, 300_000)
WITHIN = 0.3
"""A model is right when it is off by no more."""


@dataclass(frozen=True)
class Comparison:
    """What was measured in one run on one machine."""

    calibrated: Calibrated
    fitted: pd.DataFrame
    """The trials that the terms rest on (see `trials`)."""
    tested: pd.DataFrame
    """Trials at other rates, with model_ms, calibrated_ms, model_s and calibrated_s where the cost model knows the algorithm."""

    def means(self) -> pd.DataFrame:
        """Returns the tested trials, each column the mean over lives: a row for each rate and algorithm."""
        return self.tested.groupby(["rate", "algorithm"], as_index=False, sort=False).mean()

    def summary(self) -> pd.DataFrame:
        """Returns a row for each algorithm that the model knows: ranks (Spearman's correlation over rates; of what does not
        depend on the rate it says nothing), varies (the largest overhead of the calibrated model over its smallest), model_least
        and model_most (of the model over the real), calibrated_least, calibrated_most, rates, within (of how many the calibrated
        is within 30 %).
        """
        rows = []
        for name in checkpoint.ALGORITHMS:
            own = self.means()
            own = own[own["algorithm"] == name]
            if own.empty:
                continue
            model, after = own["model_ms"] / own["added_ms"], own["calibrated_ms"] / own["added_ms"]
            rows.append(
                {
                    "algorithm": name,
                    "varies": own["calibrated_ms"].max() / own["calibrated_ms"].min(),
                    "ranks": own["added_ms"].corr(own["calibrated_ms"], method="spearman"),
                    "model_least": model.min(),
                    "model_most": model.max(),
                    "calibrated_least": after.min(),
                    "calibrated_most": after.max(),
                    "rates": len(own),
                    "within": int((abs(after - 1) <= WITHIN).sum()),
                }
            )
        return pd.DataFrame(rows)


def compare(design: Design, *, fit_rates: Sequence[int], say: Callable[[str], None] = print) -> Comparison:
    """Returns trials of `design` beside both models; the calibrated one rests on trials at `fit_rates`, with another seed."""
    design.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="tickdisk-compare-", dir=design.folder) as own:
        design = replace(design, folder=Path(own))
        machine = measure_machine(design.state, design.folder)
        fit = replace(design, rates=fit_rates, seed=design.seed + 1, algorithms=checkpoint.ALGORITHMS)
        fitted = trials(fit, say)
        tested = trials(design, say)
    calibrated = calibrate(machine, fit, fitted)
    predicted = predict(calibrated, design, design.algorithms)
    return Comparison(calibrated, fitted, tested.merge(predicted, on=["rate", "algorithm"], how="left"))


def lines(found: Comparison) -> Iterator[str]:
    """Yields what is to be said of a comparison, a line at a time."""
    for row in found.summary().itertuples():
        yield (
            f"{row.algorithm:28} rank correlation {row.ranks:5.2f}; over the real: the paper's model {row.model_least:.2f} to "
            f"{row.model_most:.2f}, calibrated {row.calibrated_least:.2f} to {row.calibrated_most:.2f}, "
            f"within {WITHIN:.0%} at {row.within} of {row.rates} rates"
        )
    for name, ns in found.calibrated.terms_ns.items():
        yield f"{name:16} {ns:12.2f} ns"
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
