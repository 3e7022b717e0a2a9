"""Computes the effects of a dose of the switchback at each point of a sweep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tickdisk import stats
from tickdisk.project import POINTS, Point, read_plan, read_points
from tickdisk.studies.contrasts import Contrasts
from tickdisk.studies.switchback import study as switchback


@dataclass(frozen=True)
class Outcome:
    """The effects of the dose at one point."""

    point: Point
    arm: str
    effects: Contrasts
    ratios: Mapping[str, stats.Contrast]
    """Ratio of each metric to the baseline, with an interval that is simultaneous over the points."""

    @property
    def latency_ms(self) -> float:
        """The nominal latency of a read of the dose."""
        return self.effects.data.latency_ms(self.arm)


@dataclass(frozen=True)
class Results:
    """The results of a sweep."""

    outcomes: Sequence[Outcome]
    """The outcome of each point, in the order of the table."""
    metrics: Mapping[str, str]
    """Metrics with their names in prose."""
    margin: float
    alpha: float
    """Level of all intervals of a metric together."""

    @property
    def varied(self) -> list[str]:
        """The columns of the table of points that have more than one value, the one with the most values first."""
        columns = dict.fromkeys(key for each in self.outcomes for key in each.point.stated)
        values = {key: len({each.point.stated.get(key) for each in self.outcomes}) for key in columns}
        return sorted((key for key, count in values.items() if count > 1), key=lambda key: -values[key])


def compute(sweep: str, *, runs: str, tick_metric: str, action: str, margin: float | None, seed: int | None) -> Results:
    """Computes the effects at every point of the sweep in the folder `sweep`. The other parameters are those of the switchback.

    Intervals have the level of the plan for all points together (Bonferroni). Raises TickdiskError if a point has not run.
    """
    points, outcomes = read_points(Path(sweep) / POINTS), list[Outcome]()
    for point in points:
        plan = str(Path(sweep) / point.name / "plan.json")
        found = switchback.compute(
            plan, runs=runs, server=None, tick_metric=tick_metric, action=action, margin=margin, seed=seed
        ).contrasts
        arm = read_plan(Path(plan)).config.decision.confirmatory.arm
        ratios = {
            metric: found.data.contrast(
                found.outcome.logs[metric, arm], margin=found.margin, alpha=found.plan.alpha / len(points)
            )
            for metric in found.metrics
        }
        outcomes.append(Outcome(point, arm, found, ratios))
    first = outcomes[0].effects
    return Results(outcomes, first.metrics, first.margin, first.plan.alpha)
