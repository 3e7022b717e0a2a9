"""The result of a replay, with one row per request that has its due time and its real times."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from tickdisk.foundation import table

COLUMNS = tuple(table.SCHEMAS["replay"].names)
"""Columns of the table of a replay.

Times are in ns of CLOCK_MONOTONIC. `expected` is the captured result: the bytes of a read or write, 0 for another call, or the
negative errno. `captured_ns` is the captured latency, and null if the trace does not have it. `lag_ns` and `lost_ns` are as in
`lateness`, and null where they are not known.
"""


@dataclass(frozen=True)
class ReplayResult:
    """The times of the requests of a replay, and how the replay was made."""

    timings: pd.DataFrame
    """One row per request, in the order of due times, with the columns COLUMNS."""
    is_real_time: bool
    """Whether the streams had real-time priority."""
    is_memory_locked: bool = False
    """Whether the memory of the process was locked, so that no page of it could be swapped out."""
    is_simulated: bool = False
    """Whether a model computed the times, without a device. They then count from 0."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of requests of the plan that the tool did not make or did not time, by reason."""
