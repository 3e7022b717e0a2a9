"""States the facts of a sweep: the effects of its dose at every point, without a verdict on the sweep as a whole."""

from tickdisk.studies.statement import Statement, fact_name
from tickdisk.studies.sweep.compute import Results


def state(results: Results) -> Statement:
    """Returns the facts: the ratio of each metric at each point. The verdicts on a point are those of its own notebook."""
    statement = Statement("sweep")
    for each in results.outcomes:
        for metric, title in results.metrics.items():
            effect = each.ratios[metric]
            statement.fact(
                f"{each.point.name}.{fact_name(metric)}_ratio",
                effect.ratio,
                "ratio",
                interval=(effect.low, effect.high),
                n=effect.n,
                source="run folders of the switchback",
                note=f"{title}: {each.arm} over both baselines, geometric mean, interval simultaneous over the points",
            )
    return statement
