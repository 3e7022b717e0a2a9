"""Finds the arms in which the clients themselves were too slow, from the timers of their own schedule."""

from collections.abc import Iterable, Sequence

from tickdisk.player import ClientStatus
from tickdisk.run.play import PlayedEpoch

_ALLOWED_SHARE = 0.01
"""Share of late timers above which the 99th percentile is above the limit."""
_ENOUGH = 100
"""Number of timers below which the 99th percentile cannot be estimated, so that one late timer is too many."""
_S = 1_000_000_000


def saturated_arms(client: ClientStatus, epochs: Sequence[PlayedEpoch], arms: Iterable[str], started_ns: int) -> dict[str, str]:
    """Returns the arms in which the clients were saturated, which means too slow for their own schedule, each with a sentence.

    This is so if more than 1 % of their timers fired later than the limit, or if a single one of fewer than 100 did. A second
    belongs to the epoch in whose steady part its middle lies. If the life has one arm only, the whole life counts. The start of
    the trace is `started_ns` on CLOCK_MONOTONIC.
    """
    names = list(arms)
    saturated = {}
    for arm in names:
        steady = [(row.steady_ns, row.end_ns) for row in epochs if row.arm == arm]
        seconds = [
            second
            for second in client.lag_seconds
            if len(names) == 1 or any(begin <= started_ns + second.second * _S + _S // 2 < end for begin, end in steady)
        ]
        samples, over = sum(second.samples for second in seconds), sum(second.over for second in seconds)
        if over > (_ALLOWED_SHARE * samples if samples >= _ENOUGH else 0):
            saturated[arm] = f"client saturated: {over} of {samples} of its timers fired more than {client.max_lag_ms:g} ms late"
    return saturated
