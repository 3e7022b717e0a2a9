"""Finds the arms in which the clients themselves were too slow, from the timers of their own schedule."""

from collections.abc import Iterable, Sequence

from tickdisk.player import ClientStatus
from tickdisk.run.play import PlayedEpoch


def saturated_arms(
    clients: Sequence[ClientStatus], epochs: Sequence[PlayedEpoch], arms: Iterable[str], started_ns: int
) -> dict[str, str]:
    """Returns the arms in whose steady parts clients were saturated (`ClientStatus.saturation`), each with a sentence.

    If the life has one arm only, the whole life counts. The start of the trace is `started_ns` on CLOCK_MONOTONIC.
    """
    names = list(arms)
    saturated = {}
    for arm in names:
        steady = None if len(names) == 1 else [(row.steady_ns, row.end_ns) for row in epochs if row.arm == arm]
        sentences = [said for client in clients if (said := client.saturation(started_ns, steady)) is not None]
        if sentences:
            saturated[arm] = sentences[0]
    return saturated
