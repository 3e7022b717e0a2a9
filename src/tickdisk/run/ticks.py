"""Reads the record of a tick probe, also of a server that was killed or ended by itself."""

from pathlib import Path

import pandas as pd

from tickdisk import server
from tickdisk.foundation import clock, table
from tickdisk.foundation.errors import TickdiskError


def ticks_of(path: Path, samples: pd.DataFrame, budget_ns: int, *, in_order: bool) -> server.Ticks:
    """Reads the record of a tick probe, whose times become CLOCK_MONOTONIC by the clock `samples`.

    A server that did not end `in_order` may not have got as far as writing a tick. The result then has empty tables and counts of
    0, where otherwise a TickdiskError is raised.
    """
    try:
        return server.read_ticks(path, lambda ns, name: clock.to_monotonic(ns, name, samples), budget_ns)
    except TickdiskError:
        if in_order:
            raise
    return server.Ticks(
        pd.DataFrame(columns=table.SCHEMAS["ticks"].names),
        pd.DataFrame(columns=["name", "before_ns", "after_ns"]),
        pd.DataFrame(columns=table.SCHEMAS["saves"].names),
        pd.DataFrame(columns=table.SCHEMAS["pauses"].names),
        server.TickCounts.model_validate(dict.fromkeys(server.TickCounts.model_fields, 0)),
        (),
    )
