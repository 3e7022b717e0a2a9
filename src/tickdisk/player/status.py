"""The status that the clients write at their end: how the actions ended, and how well the clients kept their schedule."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tickdisk.foundation.record import Record, Unit, read

_ALLOWED_SHARE = 0.01
"""Share of late timers above which the 99th percentile is above the limit."""
_ENOUGH = 100
"""Number of timers below which the 99th percentile cannot be estimated, so that one late timer is too many."""
_S = 1_000_000_000


class ActionCounts(Record):
    """The numbers of actions of one kind, by their ends."""

    offered: Annotated[int, Unit("actions")]
    """The number of actions in the trace."""
    completed: Annotated[int, Unit("actions")]
    """The number of actions that were completed."""
    timed_out: Annotated[int, Unit("actions")]
    """The number of actions that took longer than the clients wait."""
    failed: Annotated[int, Unit("actions")]
    """The number of actions that failed."""


class ScheduleLag(Record):
    """The time by which the clients' own timers were late. A percentile that too few samples tell is None."""

    samples: Annotated[int, Unit("timers")]
    """The number of timers."""
    p50_ms: float | None
    """The median. It is null if there was no timer."""
    p99_ms: float | None
    """The 99th percentile. It is null if too few timers tell it."""
    max_ms: float | None
    """The longest time. It is null if there was no timer."""


class LagSecond(Record):
    """The timers that were to fire in one second of the trace."""

    second: Annotated[int, Unit("s")]
    """The time from the start of the trace at which the second begins."""
    samples: Annotated[int, Unit("timers")]
    """The number of timers."""
    over: Annotated[int, Unit("timers")]
    """The number of timers that were later than the limit."""


class NetworkCounts(Record):
    """Counts of the traffic between the players and the server."""

    packets_sent: Annotated[int, Unit("packets")]
    """The number of packets that the players sent."""
    packets_received: Annotated[int, Unit("packets")]
    """The number of packets that the players received."""
    packets_dropped: Annotated[int, Unit("packets")]
    """The number of packets that the kernel dropped, because the buffer of a socket was full."""
    bytes_sent: Annotated[int, Unit("B")]
    """The number of bytes that the players sent."""
    bytes_received: Annotated[int, Unit("B")]
    """The number of bytes that the players received."""
    retransmissions: Annotated[int, Unit("packets")]
    """The number of packets that the players sent again."""
    duplicates: Annotated[int, Unit("packets")]
    """The number of packets that the players received again."""
    blocks_received: Annotated[int, Unit("map blocks")]
    """The number of pieces of terrain (map blocks or chunks) that the players received."""
    connection_errors: Annotated[int, Unit("errors")]
    """The number of errors of connections."""


class ClientStatus(Record):
    """The status of the clients at their end."""

    address: str
    """The address of the server."""
    start_ns: int
    """The time at which the player trace began."""
    end_ns: int
    """The time at which the clients ended."""
    interrupted: bool
    """Whether the clients were ended before all actions had ended."""
    players: Annotated[int, Unit("players")]
    """The number of players in the trace."""
    completion: str
    """A description of when each kind of action counts as completed."""
    actions: dict[str, ActionCounts]
    """The numbers of actions by their ends, for each kind of action."""
    backlog_max: Annotated[int, Unit("actions")]
    """The highest number of actions that were due and not yet begun."""
    schedule_lag: ScheduleLag
    """The time by which the clients' own timers were late."""
    lag_seconds: tuple[LagSecond, ...]
    """The timers of each second of the trace that has some."""
    max_lag_ms: float
    """The limit of that lag."""
    saturated: bool
    """Whether the lag shows that the clients were short of processor time."""
    cpu_s: float
    """The processor time that the clients used."""
    network: NetworkCounts
    """Counts of the traffic."""
    first_refusal: str | None = Field(default=None, exclude_if=lambda refusal: refusal is None)
    """The first reason with which the server refused a player. It is absent if none was refused."""

    def saturation(self, started_ns: int, windows: Sequence[tuple[int, int]] | None = None) -> str | None:
        """Returns in words that the clients were saturated, that is too slow for their own schedule, or None if they were not.

        They are saturated if more than 1 % of their timers fired later than the limit, or if a single one of fewer than 100 did.
        `windows` has the beginning and the end of each time that counts, in ns of CLOCK_MONOTONIC, and is None if all of the
        trace counts. A second belongs to the window in which its middle lies. The trace began at `started_ns`.
        """
        seconds = [
            second
            for second in self.lag_seconds
            if windows is None or any(begin <= started_ns + second.second * _S + _S // 2 < end for begin, end in windows)
        ]
        samples, over = sum(second.samples for second in seconds), sum(second.over for second in seconds)
        if over <= (_ALLOWED_SHARE * samples if samples >= _ENOUGH else 0):
            return None
        return f"client saturated: {over} of {samples} of its timers fired more than {self.max_lag_ms:g} ms late"


def read_status(path: Path) -> ClientStatus:
    """Reads the status that the clients wrote. Raises TickdiskError if there is none, or if it is not of this form."""
    return read(ClientStatus, path, "run again")
