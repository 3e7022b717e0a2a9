"""Checks that players, probe and device read the same clock. All three see a marker, and each sees it inside another."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Agreement:
    """The agreement of the clocks of players, probe and device in one server life."""

    disagreement_ns: int | None
    """Longest time by which they contradict the order of events at a marker. None if no marker was seen by all three."""
    unseen: int
    """Number of markers that the server answered but that the probe or the device did not see."""


def clock_agreement(actions: pd.DataFrame, markers: pd.DataFrame, requests: pd.DataFrame) -> Agreement:
    """Compares the clocks of players, probe and device over the markers of a server life, to check that all are the same.

    A player asks for a marker, the probe reads a file that nothing has read before, the device sees that read, and the player
    receives the answer. Each event must lie inside the one around it, and the time by which it does not is the disagreement.
    Among the reads of the probe, the one with the least disagreement counts as the read for the marker. A marker without an
    answer says nothing, because a slow disk may be the cause. `actions` is the actions table, `markers` is `Ticks.markers` of the
    probe, and `requests` is the log of the device. All times are ns of CLOCK_MONOTONIC.
    """
    answered = actions[(actions["action"] == "marker") & (actions["outcome"] == "completed")].sort_values("due_ns")
    reads = requests.loc[requests["op"] == "read", "arrival_ns"].to_numpy()
    readings = markers[markers["name"].str.startswith("read")]
    left = list(zip(readings["before_ns"].tolist(), readings["after_ns"].tolist(), strict=True)) if len(reads) else []
    worst, unseen = None, 0
    for issued, completed in zip(answered["issued_ns"].tolist(), answered["completed_ns"].tolist(), strict=True):
        outside = [
            max(0, issued - before, after - completed, int(np.maximum(before - reads, reads - after).min()))
            for before, after in left
        ]
        if not outside:
            unseen += 1
            continue
        left.pop(int(np.argmin(outside)))
        worst = max(worst or 0, min(outside))
    return Agreement(worst, unseen)
