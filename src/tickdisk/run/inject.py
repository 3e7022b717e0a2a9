"""Stalls that were injected, as they were: the device says when it stalled, the probe when it kept the processor busy."""

from collections.abc import Sequence

import pandas as pd

from tickdisk.experiment import Injection


def injections_table(
    planned: Sequence[Injection], started_ns: int, stalls: Sequence[Sequence[int]], markers: pd.DataFrame
) -> pd.DataFrame:
    """Returns kind, due_ns, start_ns, end_ns of every stall that took place, in order of due time.

    `stalls` are begin and end of the device's, `markers` the probe's. A stall belongs to the last planned one of its kind that
    was due before it began; one that no request met before the next was due did not take place.
    """
    burns = markers[markers["name"] == "burn"]
    made: dict[str, list[tuple[int, int]]] = {
        "device_stall": [(int(begin), int(end)) for begin, end in stalls],
        "cpu_stall": list(zip(burns["before_ns"].tolist(), burns["after_ns"].tolist(), strict=True)),
    }
    rows: list[tuple[str, int, int, int]] = []
    for kind, times in made.items():
        dues = sorted(started_ns + round(injection.due_s * 1e9) for injection in planned if injection.kind == kind)
        for begin_ns, end_ns in times:
            before = [due_ns for due_ns in dues if due_ns <= begin_ns]
            if before:
                rows.append((kind, before[-1], begin_ns, end_ns))
    return pd.DataFrame(rows, columns=["kind", "due_ns", "start_ns", "end_ns"]).sort_values("due_ns", ignore_index=True)
