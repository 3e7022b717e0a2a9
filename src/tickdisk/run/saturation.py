"""The clients themselves may be too slow: the timers of their own schedule tell it, arm by arm."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_ALLOWED_SHARE = 0.01
"""More late timers than that are a p99 above the limit."""
_ENOUGH = 100
"""Timers below which p99 is not estimable; one late timer is too many then."""
_S = 1_000_000_000


def saturated_arms(
    client: Mapping[str, Any], epochs: Sequence[Mapping[str, Any]], arms: Iterable[str], started_ns: int
) -> dict[str, str]:
    """Returns by arm in which words the clients were saturated; arms in which they were not are left out.

    `client` is their status, whose `lag_seconds` count timers by second of the trace, `epochs` the rows of the epochs table. A
    second belongs to the epoch in whose steady part its middle lies. Where the life has one of `arms` only, all of it counts.
    """
    wanted, limit_ms = list(arms), client["max_lag_ms"]
    found = {}
    for arm in wanted:
        steady = [(row["steady_ns"], row["end_ns"]) for row in epochs if row["arm"] == arm]
        seconds = [
            second
            for second in client["lag_seconds"]
            if len(wanted) == 1 or any(begin <= started_ns + second["second"] * _S + _S // 2 < end for begin, end in steady)
        ]
        samples, over = sum(second["samples"] for second in seconds), sum(second["over"] for second in seconds)
        if over > (_ALLOWED_SHARE * samples if samples >= _ENOUGH else 0):
            found[arm] = f"client saturated: {over} of {samples} of its timers fired more than {limit_ms:g} ms late"
    return found
