"""Real lives of the store beside both cost models, and all algorithms on each game, computed once from the study's tables."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import checkpoint, store
from tickdisk.report.algorithms import NAMES

FEWEST_RATES, FEWEST_LIVES = 5, 5
"""A correlation of ranks over fewer update rates says little, and fewer lives at a point have no 90 % interval."""
VARIES = 2.0
"""An overhead that changes by a smaller factor over the update rates has no order that a model could find."""


@dataclass(frozen=True)
class Game:
    """All algorithms on one game."""

    name: str
    state_bytes: float
    limit_ms: float
    """Half a tick: the most that an algorithm may add to one."""
    algorithms: pd.DataFrame
    """A row an algorithm: means over lives of added_ms, checkpoint_s, recovery_s, bytes (per checkpoint) and memory_bytes, the
    longest_ms of all lives, and how many lives there are."""
    advice: store.Advice

    @property
    def kept(self) -> int:
        """The number of algorithms that made no tick longer by more than the limit."""
        return int((self.algorithms["longest_ms"] <= self.limit_ms).sum())


@dataclass(frozen=True)
class Ranks:
    """Whether real and calibrated overhead have the same order over update rates."""

    least: float | None
    """The lowest rank correlation of the judged algorithms; None if none is judged, NaN if one has no correlation."""
    algorithm: str
    """The algorithm that it belongs to; empty if none is judged."""
    judged: int
    left_out: tuple[str, ...]
    """The algorithms whose overhead is not known to change by a factor of VARIES over the update rates."""


@dataclass(frozen=True)
class Results:
    """The real lives, both cost models, and the games."""

    published: checkpoint.PublishedCheckpoint
    comparison: store.Comparison
    points: pd.DataFrame
    """A row for each point: an algorithm that the cost model knows at an update rate (see `store.Comparison.points`)."""
    summary: pd.DataFrame
    """A row for each of these algorithms (see `store.Comparison.summary`)."""
    ranks: Ranks
    games: tuple[Game, ...]

    @property
    def known(self) -> pd.DataFrame:
        """The points whose real overhead is large enough to be told from none."""
        return self.points.dropna(subset="calibrated")

    @property
    def lives(self) -> int:
        """The number of lives that all points rest on."""
        return int(self.points["lives"].sum())

    @property
    def is_inside(self) -> "pd.Series[bool]":
        """For each known point, whether the whole 90 % interval of calibrated over real keeps the bound."""
        return (self.known["low"] >= 1 - store.WITHIN) & (self.known["high"] <= 1 + store.WITHIN)

    @property
    def is_outside(self) -> "pd.Series[bool]":
        """For each known point, whether the whole 90 % interval misses the bound."""
        return (self.known["low"] > 1 + store.WITHIN) | (self.known["high"] < 1 - store.WITHIN)

    @property
    def is_small(self) -> bool:
        """Whether there are too few update rates, or too few lives at a point, for a verdict."""
        return bool(self.points["rate"].nunique() < FEWEST_RATES or self.points["lives"].min() < FEWEST_LIVES)

    def real_over_model(self, algorithm: str) -> "pd.Series[float]":
        """Returns the real overhead over the one that the paper's model says, at the update rates where both are known."""
        own = self.points[self.points["algorithm"] == algorithm]
        return 1 / own.loc[own["model"] > 0, "model"]

    def most_off(self, kind: str) -> float | None:
        """Returns by which factor a model (`model` or `calibrated`) is off at its worst point; None if no point is known."""
        over = self.known[kind]
        worst = float(np.maximum(over, 1 / over).max())
        return worst if isfinite(worst) else None


def compute(tables: str, *, published: str) -> Results:
    """Computes the results; see `study` for the parameters."""
    found = store.read_study(Path(tables))
    points, summary = found.comparison.points(), found.comparison.summary()
    return Results(
        published=checkpoint.load_published(Path(published)),
        comparison=found.comparison,
        points=points,
        summary=summary,
        ranks=_ranks(summary),
        games=tuple(_game(str(name), own) for name, own in found.games.groupby("game", sort=False)),
    )


def _ranks(summary: pd.DataFrame) -> Ranks:
    is_judged = summary["varies"] >= VARIES
    judged = summary[is_judged].sort_values("ranks", na_position="first")
    left_out = tuple(NAMES[name] for name in summary.loc[~is_judged, "algorithm"])
    if judged.empty:
        return Ranks(None, "", 0, left_out)
    return Ranks(float(judged["ranks"].iloc[0]), NAMES[judged["algorithm"].iloc[0]], len(judged), left_out)


def _game(name: str, own: pd.DataFrame) -> Game:
    columns = ["added_ms", "checkpoint_s", "recovery_s", "bytes", "memory_bytes"]
    grouped = own.groupby("algorithm", sort=False)
    means = grouped[columns].mean().assign(longest_ms=grouped["longest_ms"].max(), lives=grouped.size())
    means = means.loc[[algorithm for algorithm in NAMES if algorithm in means.index]].reset_index()
    limit_ms = 1e3 / float(own["tick_hz"].iloc[0]) / 2
    return Game(name, float(own["state_bytes"].iloc[0]), limit_ms, means, store.advise(means, limit_ms=limit_ms))
