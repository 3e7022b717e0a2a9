"""The stalls that were injected, at the times that the device and the probe recorded."""

from collections.abc import Sequence

import pandas as pd

from tickdisk.experiment import Injection


def injections_table(
    planned: Sequence[Injection], started_ns: int, stalls: Sequence[Sequence[int]], markers: pd.DataFrame
) -> pd.DataFrame:
    """Returns a row for each stall that was made on purpose and took place in a server life, in order of due time.

    The columns are kind, due_ns, start_ns and end_ns, with times of CLOCK_MONOTONIC. The `planned` due times count from
    `started_ns`, the start of the player trace. `stalls` are begin and end of each stall as the device recorded them, and
    `markers` is `Ticks.markers` of the probe. A stall belongs to the last planned one of its kind that was due before it began. A
    stall of the device does not take place if no request arrives before the next one is due.
    """
    burns = markers[markers["name"] == "burn"]
    stalls_of: dict[str, list[tuple[int, int]]] = {
        "device_stall": [(int(begin), int(end)) for begin, end in stalls],
        "cpu_stall": list(zip(burns["before_ns"].tolist(), burns["after_ns"].tolist(), strict=True)),
    }
    rows: list[tuple[str, int, int, int]] = []
    for kind, times in stalls_of.items():
        dues = sorted(started_ns + round(injection.due_s * 1e9) for injection in planned if injection.kind == kind)
        for begin_ns, end_ns in times:
            before = [due_ns for due_ns in dues if due_ns <= begin_ns]
            if before:
                rows.append((kind, before[-1], begin_ns, end_ns))
    return pd.DataFrame(rows, columns=["kind", "due_ns", "start_ns", "end_ns"]).sort_values("due_ns", ignore_index=True)
