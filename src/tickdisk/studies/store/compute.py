"""Computes the results of the store study from its tables: real lives beside both cost models, and the trials on each game."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.project import read_plan
from tickdisk.saving import store
from tickdisk.studies.algorithms import NAMES
from tickdisk.studies.published import load_findings

FEWEST_RATES = 5
"""Least number of update rates for a verdict."""
VARIES = 2.0
"""Least factor by which an overhead must change over the update rates, so that there is an order that a model could find."""


@dataclass(frozen=True)
class GameCosts:
    """The costs of every algorithm on one game, which is a size of the state with a rate and a skew of updates.

    They come from lives, each of which is a process that plays the game's ticks and saves its state, without a game server.
    """

    name: str
    state_bytes: float
    limit_ms: float
    """Longest time in ms that an algorithm may add to a tick, which is half a tick."""
    algorithms: pd.DataFrame
    """One row per algorithm: the means over lives of added_ms, checkpoint_s, recovery_s, bytes (per checkpoint) and memory_bytes,
    the largest longest_ms of all lives, and lives (their number).
    """
    advice: store.Advice

    @property
    def kept(self) -> int:
        """The number of algorithms that lengthened no tick of their lives by more than `limit_ms`."""
        return int((self.algorithms["longest_ms"] <= self.limit_ms).sum())


@dataclass(frozen=True)
class Ranks:
    """The rank correlations of real and calibrated overhead over update rates.

    A correlation is near 1 if the calibrated model orders the update rates by overhead as the real lives do.
    """

    least: float | None
    """Lowest rank correlation of the judged algorithms. None if none is judged, and NaN if one has no correlation."""
    algorithm: str
    """Name of the algorithm with the lowest correlation. It is empty if none is judged."""
    judged: int
    left_out: tuple[str, ...]
    """Names of the algorithms whose overhead is not known to change at least VARIES-fold."""


@dataclass(frozen=True)
class Results:
    """The results of the store study.

    The overhead is the time in ms that an algorithm adds to a tick. It is measured in lives, and predicted by the paper's model
    and by the calibrated model.
    """

    finding: stats.Finding
    """Published ratio of the real overhead of Copy-on-Update to that of the paper's model."""
    comparison: store.ModelComparison
    points: pd.DataFrame
    """Rows of `store.ModelComparison.points`. A point is an algorithm of the model at an update rate."""
    summary: pd.DataFrame
    """Rows of `store.ModelComparison.summary`, one per algorithm of the cost model."""
    ranks: Ranks
    games: tuple[GameCosts, ...]
    alpha: float
    """Level of every test. Intervals have confidence 1 - alpha, and those that decide on a bound 1 - 2 alpha."""

    @property
    def bound_confidence(self) -> float:
        """Confidence of the intervals of points, of which each end is a bound at level alpha."""
        return 1 - 2 * self.alpha

    @property
    def known(self) -> pd.DataFrame:
        """The rows of `points` whose real overhead is at least `store.LEAST_MS`, so that it can be told from no overhead."""
        return self.points.dropna(subset="calibrated")

    @property
    def lives(self) -> int:
        """The number of lives that all points together rest on."""
        return int(self.points["lives"].sum())

    @property
    def is_inside(self) -> "pd.Series[bool]":
        """Whether the whole interval of calibrated over real overhead is within `store.WITHIN`, by row of `known`."""
        return (self.known["low"] >= 1 - store.WITHIN) & (self.known["high"] <= 1 + store.WITHIN)

    @property
    def is_outside(self) -> "pd.Series[bool]":
        """Whether the whole interval of calibrated over real overhead is outside `store.WITHIN`, by row of `known`."""
        return (self.known["low"] > 1 + store.WITHIN) | (self.known["high"] < 1 - store.WITHIN)

    @property
    def few(self) -> list[stats.TooFew]:
        """The causes for which there can be no verdict: too few update rates, or too few lives at the point with the fewest."""
        rates, lives = int(self.points["rate"].nunique()), int(self.points["lives"].min())
        found = [
            stats.TooFew(n=rates, needed=FEWEST_RATES, counted="update rates"),
            stats.TooFew(n=lives, needed=stats.minimum_n_interval(0.5, self.bound_confidence), counted="lives"),
        ]
        return [each for each in found if each.n < each.needed]

    def real_over_model(self, algorithm: str) -> pd.DataFrame:
        """Returns the real overhead over that of the paper's model, at each update rate where both are known.

        The columns are ratio, low and high (its interval at `bound_confidence`).
        """
        own = self.points[(self.points["algorithm"] == algorithm) & (self.points["model"] > 0)]
        ends = {end: own["calibrated"] / own[other] / own["model"] for end, other in (("low", "high"), ("high", "low"))}
        return pd.DataFrame({"ratio": 1 / own["model"], **ends})

    def most_off(self, kind: str) -> float | None:
        """Returns the factor, at least 1, by which `kind` is above or below the real overhead at its worst point.

        `kind` is `model` for the paper's model, or `calibrated`. The factor is None if no point is known.
        """
        over = self.known[kind]
        worst = float(np.maximum(over, 1 / over).max())
        return worst if isfinite(worst) else None


def compute(plan: str, *, tables: str, published: str) -> Results:
    """Compares the time that real algorithms add to a tick with two cost models, and chooses an algorithm for each game.

    `tables` is the folder that `tickdisk checkpoint study` wrote, and `published` is the YAML file of published numbers. Raises
    TickdiskError if a file is missing or cannot be read.
    """
    alpha, found = read_plan(Path(plan)).config.decision.alpha, store.read_study(Path(tables))
    points, summary = found.comparison.points(alpha), found.comparison.summary(alpha)
    return Results(
        finding=load_findings(published)["store.real_over_model"],
        comparison=found.comparison,
        points=points,
        summary=summary,
        ranks=_ranks(summary),
        games=tuple(_game(str(name), own) for name, own in found.games.groupby("game", sort=False)),
        alpha=alpha,
    )


def _ranks(summary: pd.DataFrame) -> Ranks:
    is_judged = summary["varies"] >= VARIES
    judged = summary[is_judged].sort_values("ranks", na_position="first")
    left_out = tuple(NAMES[name] for name in summary.loc[~is_judged, "algorithm"])
    if judged.empty:
        return Ranks(None, "", 0, left_out)
    return Ranks(float(judged["ranks"].iloc[0]), NAMES[judged["algorithm"].iloc[0]], len(judged), left_out)


def _game(name: str, own: pd.DataFrame) -> GameCosts:
    """Sums up the trials of one game over lives, and chooses an algorithm."""
    means = store.costs_over_lives(own).set_index("algorithm")
    means = means.loc[[algorithm for algorithm in NAMES if algorithm in means.index]].reset_index()
    limit_ms = 1e3 / float(own["tick_hz"].iloc[0]) / 2
    return GameCosts(name, float(own["state_bytes"].iloc[0]), limit_ms, means, store.advise(own, limit_ms=limit_ms))
