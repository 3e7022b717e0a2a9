"""States quantiles of the latencies of requests as facts."""

from math import isfinite

from tickdisk.foundation.numbers import percent
from tickdisk.stats import Quantile
from tickdisk.studies.statement import Statement


def state_quantile(
    statement: Statement, name: str, found: Quantile | None, unit: str, *, n: int, source: str, note: str, confidence: float
) -> None:
    """States a quantile of n requests with its interval. It is None if the requests are too few for it."""
    has_interval = found is not None and isfinite(found.low)
    words = "too few requests" if found is None else "too few requests for an interval"
    statement.fact(
        name,
        None if found is None else found.value,
        unit,
        interval=None if found is None else (found.low, found.high),
        n=n,
        source=source,
        note=f"{note}; {f'{percent(confidence)} interval for independent requests' if has_interval else words}",
    )
