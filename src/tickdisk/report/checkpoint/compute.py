"""The published numbers in simulation, and what each reading makes of them, computed once from the sweep's tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tickdisk import checkpoint
from tickdisk.report.algorithms import NAMES
from tickdisk.report.checkpoint.anchors import Anchor, crossings, measure, measure_game


@dataclass(frozen=True)
class Nearest:
    """The reading other than the stated one under which a published number comes out best."""

    reading: str
    value: float
    stated: float
    """The value under the stated reading over as many ticks."""
    is_nearer: bool
    """Whether the value comes nearer than the stated one."""


@dataclass(frozen=True)
class Results:
    """The simulated runs, and the published numbers as found in them."""

    published: checkpoint.PublishedCheckpoint
    runs: pd.DataFrame
    """A row for each input, reading and algorithm (see `checkpoint.Sweep`), and the algorithm's published `name`."""
    tick_lengths: pd.DataFrame
    """A row for each tick of the inputs under the stated readings: run, tick, overhead_ms, length_ms."""
    ticks: int
    """The number of ticks of every input under the stated readings."""
    tried_ticks: int
    """The number of ticks over which the other readings, and the stated one beside them, were tried."""
    anchors: tuple[Anchor, ...]
    tried: pd.DataFrame
    """The value of every anchor (row) under every reading (column), the stated one first."""
    nearest: Mapping[str, Nearest]
    """For each anchor that was tried under other readings, the best of these."""
    crossings: Mapping[str, float]
    """The updates per tick from which each algorithm adds more than Naive-Snapshot; NaN where there is no such rate."""
    tried_crossings: pd.DataFrame
    """The same under every reading (row) for each algorithm (column), interpolated between the rates of the anchors."""

    @property
    def is_long_enough(self) -> bool:
        """Whether every input has as many ticks as the published study."""
        return self.ticks >= self.published.ticks

    @property
    def stated(self) -> pd.DataFrame:
        """The runs on Zipf updates of the default skew under the stated readings, each once."""
        return _stated(self.runs)

    @property
    def game(self) -> pd.DataFrame:
        """The runs of Knights and Archers."""
        return self.of("game")

    def of(self, sweep: str) -> pd.DataFrame:
        """Returns the runs of one sweep: rate, skew, anchor, game or readings."""
        return self.runs[self.runs["sweep"] == sweep]


def compute(sweep: str, *, published: str) -> Results:
    """Computes the results; see `study` for the parameters."""
    found = checkpoint.read_sweep(Path(sweep))
    printed = checkpoint.load_published(Path(published))
    runs = found.runs.assign(name=found.runs["algorithm"].map(NAMES))
    stated = _stated(runs)
    anchors = (*measure(stated, printed), measure_game(runs[runs["sweep"] == "game"], printed))
    other = runs[runs["sweep"] == "readings"]
    tried = _tried(other, printed)
    return Results(
        published=printed,
        runs=runs,
        tick_lengths=found.ticks,
        ticks=int(stated["ticks"].iloc[0]),
        tried_ticks=int(other["ticks"].iloc[0]),
        anchors=anchors,
        tried=tried,
        nearest={anchor.name: _nearest(anchor, tried) for anchor in anchors if anchor.name in tried.index},
        crossings=crossings(stated),
        tried_crossings=pd.DataFrame({str(name): crossings(rows) for name, rows in other.groupby("reading", sort=False)}).T,
    )


def _stated(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["sweep"].isin(["rate", "anchor"])].drop_duplicates("run")


def _tried(runs: pd.DataFrame, printed: checkpoint.PublishedCheckpoint) -> pd.DataFrame:
    """Measures the anchors under each reading; one thing is changed at a time."""
    columns = {
        str(reading): {anchor.name: anchor.value for anchor in measure(rows, printed)}
        for reading, rows in runs.groupby("reading", sort=False)
    }
    table = pd.DataFrame(columns)
    return table[[checkpoint.STATED, *(name for name in table.columns if name != checkpoint.STATED)]]


def _nearest(anchor: Anchor, tried: pd.DataFrame) -> Nearest:
    others = [str(reading) for reading in tried.columns if reading != checkpoint.STATED]
    values = dict(zip(others, tried.loc[anchor.name, others].to_numpy(float).tolist(), strict=True))
    reading = min(values, key=lambda name: anchor.distance(values[name]))
    value, stated = values[reading], float(tried[checkpoint.STATED].to_dict()[anchor.name])
    return Nearest(reading, value, stated, anchor.distance(value) < anchor.distance(stated))
