"""Computes the results of the checkpoint study from the tables of a sweep: each anchor under the stated and other readings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tickdisk import stats
from tickdisk.saving import checkpoint
from tickdisk.studies.algorithms import NAMES
from tickdisk.studies.checkpoint.anchors import ComparedAnchor, measure, measure_game
from tickdisk.studies.published import load_findings


@dataclass(frozen=True)
class Nearest:
    """The reading, other than the stated one, whose value fits a published number best."""

    reading: str
    """Name such as "C = 8"."""
    value: float
    stated: float
    """The value under the stated reading over as many ticks."""
    is_nearer: bool


@dataclass(frozen=True)
class Results:
    """The results of the checkpoint study: simulated costs of six algorithms, and the published numbers beside them.

    The stated readings are the default ones, with which the study decides. Other readings are tried for comparison.
    """

    published: checkpoint.PublishedCheckpoint
    runs: pd.DataFrame
    """One row per sweep, input, reading and algorithm (`checkpoint.Sweep.runs`), with the published `name` of the algorithm.

    An input is a series of updates of the game's state, at one update rate and skew or from a game.
    """
    tick_lengths: pd.DataFrame
    """One row per tick of the inputs under the stated readings, with run, tick, overhead_ms and length_ms."""
    ticks: int
    tried_ticks: int
    """Number of ticks over which other readings were tried, and the stated reading beside them."""
    anchors: tuple[ComparedAnchor, ...]
    """Anchors with their values under the stated readings."""
    tried: pd.DataFrame
    """Value of every anchor (row) under every reading (column). The stated reading is the first column."""
    nearest: Mapping[str, Nearest]
    """The best of the other readings, by anchor that was tried under them."""

    @property
    def is_long_enough(self) -> bool:
        """Whether every input has at least as many ticks as in the published study. Otherwise no claim is valid."""
        return self.ticks >= self.published.ticks

    @property
    def stated(self) -> pd.DataFrame:
        """The rows of `runs` under the stated readings, at all update rates and the default skew, each run once."""
        return _stated(self.runs)

    @property
    def game(self) -> pd.DataFrame:
        """The rows of `runs` for the game Knights and Archers."""
        return self.of("game")

    def of(self, sweep: str) -> pd.DataFrame:
        """Returns the rows of one sweep: `rate`, `skew`, `anchor` (the rates with a published number), `game` or `readings`."""
        return self.runs[self.runs["sweep"] == sweep]


def compute(sweep: str, *, published: str) -> Results:
    """Compares the simulated costs of six checkpoint algorithms with the published numbers.

    The costs are the overhead in ms per tick, the time to checkpoint in s, and the recovery time in s. `sweep` is the path of the
    folder that `tickdisk checkpoint sweep` wrote, and `published` that of the YAML file of numbers. Raises TickdiskError if a
    file is missing or cannot be read.
    """
    found = checkpoint.read_sweep(Path(sweep))
    printed = checkpoint.load_published(Path(published))
    runs = found.runs.assign(name=found.runs["algorithm"].map(NAMES))
    stated = _stated(runs)
    findings = load_findings(published)
    anchors = (*measure(stated, printed, findings), measure_game(runs[runs["sweep"] == "game"], findings))
    other = runs[runs["sweep"] == "readings"]
    tried = _tried(other, printed, findings)
    return Results(
        published=printed,
        runs=runs,
        tick_lengths=found.ticks,
        ticks=int(stated["ticks"].iloc[0]),
        tried_ticks=int(other["ticks"].iloc[0]),
        anchors=anchors,
        tried=tried,
        nearest={anchor.name: _nearest(anchor, tried) for anchor in anchors if anchor.name in tried.index},
    )


def _stated(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["sweep"].isin(["rate", "anchor"])].drop_duplicates("run")


def _tried(runs: pd.DataFrame, printed: checkpoint.PublishedCheckpoint, findings: Mapping[str, stats.Finding]) -> pd.DataFrame:
    columns = {
        str(reading): {anchor.name: anchor.value for anchor in measure(rows, printed, findings)}
        for reading, rows in runs.groupby("reading", sort=False)
    }
    table = pd.DataFrame(columns)
    return table[[checkpoint.STATED, *(name for name in table.columns if name != checkpoint.STATED)]]


def _nearest(anchor: ComparedAnchor, tried: pd.DataFrame) -> Nearest:
    """Returns the other reading that is nearest to the number or, for a limit, farthest on the right side of it."""
    others = [str(reading) for reading in tried.columns if reading != checkpoint.STATED]
    values = dict(zip(others, tried.loc[anchor.name, others].to_numpy(float).tolist(), strict=True))
    reading = min(values, key=lambda name: anchor.distance(values[name]))
    value, stated = values[reading], float(tried[checkpoint.STATED].to_dict()[anchor.name])
    return Nearest(reading, value, stated, anchor.distance(value) < anchor.distance(stated))
