"""Whether players, probe and device read the same clock: all three see a marker, one inside the other."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Agreement:
    """How well the instruments' clocks agree over the markers of a life that the players got an answer to."""

    disagreement_ns: int | None
    """By how much they contradict each other at the most; None when no marker was seen by all."""
    unseen: int
    """Markers that were answered, and that the probe or the device did not see."""


def clock_agreement(actions: pd.DataFrame, markers: pd.DataFrame, requests: pd.DataFrame) -> Agreement:
    """Returns how well the clocks agree; a marker without an answer says nothing, because a slow disk may be the cause.

    A player asks for a marker, the probe reads a file that nothing has read before, the device sees that read, the player hears
    the answer. Each must lie inside the one around it, and the time by which it does not is the
    disagreement. Among the reads of the probe, the one with the least disagreement is taken as the read for the marker.
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
