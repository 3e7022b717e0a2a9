"""Computes what power cuts lost: play that was acknowledged and is gone when a server has started again and players look."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from tickdisk import player, stats
from tickdisk.experiment import CUT
from tickdisk.foundation import table
from tickdisk.manifest import CutOutcome
from tickdisk.studies.runs import LifeTables

DROPPED, REORDERED = "dropped", "reordered"
KINDS: Mapping[str, str] = {
    DROPPED: "cuts that drop all that was not flushed",
    REORDERED: "cuts after which a random part of what was not flushed is on the disk",
}
"""The kinds of power cuts, each in words."""
_OF_LIFE = ["cut", "outcome", "keep_share", "pages_dropped", "pages_kept", "tries", "absent", "late_ns", "apart_ns"]
_COLUMNS = ["life", *_OF_LIFE, "kind", "edits", "lost", "not_seen", "lost_s"]


@dataclass(frozen=True)
class Losses:
    """The power cuts in the lives with one change."""

    cuts: pd.DataFrame
    """One row per planned cut: life (number of the block), cut, outcome, kind (a key of `KINDS`), edits (acknowledged before the
    cut), lost (of these, edits in whose place a player saw something else or was refused), not_seen (edits of which no player
    got an answer), and lost_s (time from the acknowledgement of the first lost edit to the cut, or 0). The last three are NaN if
    the world did not open. The columns keep_share, pages_dropped, pages_kept, tries, absent, late_ns and apart_ns
    are those of the cuts table."""
    seconds: stats.Mean
    """Mean of lost_s in s over lives, of which each counts with its mean."""

    @property
    def opened(self) -> int:
        """Number of cuts after which the world opened."""
        return len(self._opened)

    @property
    def _opened(self) -> pd.DataFrame:
        return self.cuts[self.cuts["outcome"] == CutOutcome.OPENED]

    def of_kind(self, kind: str) -> pd.DataFrame:
        """Returns the rows of `cuts` of one of the `KINDS`."""
        return self.cuts[self.cuts["kind"] == kind]

    def opened_ends(self, alpha: float) -> tuple[float, float]:
        """Returns the exact interval of the share of cuts after which the world opened (Clopper and Pearson 1934).

        The cuts count as independent of each other.
        """
        if not len(self.cuts):
            return float("nan"), float("nan")
        ends = binomtest(self.opened, len(self.cuts)).proportion_ci(1 - alpha, method="exact")
        return float(ends.low), float(ends.high)

    @property
    def lost(self) -> int:
        """Number of acknowledged edits that are gone, over all cuts after which the world opened."""
        return int(self._opened["lost"].sum())

    @property
    def not_seen(self) -> int:
        """Number of acknowledged edits of which no player got an answer. They are not among the lost ones."""
        return int(self._opened["not_seen"].sum())

    @property
    def edits(self) -> int:
        """Number of edits that were acknowledged before these cuts."""
        return int(self._opened["edits"].sum())

    @property
    def tried_again(self) -> int:
        """Number of cuts after which a server was started twice."""
        return int((self.cuts["tries"] > 1).sum())

    @property
    def absent(self) -> int:
        """Number of players who were to look and could not join, over all cuts after which the world opened."""
        return int(self._opened["absent"].sum())

    @property
    def unflushed(self) -> tuple[float, float]:
        """Median and largest number of pages that the device had not flushed at a cut, over all images. NaN without an image."""
        pages = self.cuts[["pages_dropped", "pages_kept"]].astype(float).sum(axis=1, min_count=2)
        return float(pages.median()), float(pages.max())

    @property
    def latest_ms(self) -> float:
        """Longest time in ms by which a cut came after its planned time. NaN if no cut was made."""
        return float(self.cuts["late_ns"].astype(float).max()) / 1e6

    @property
    def apart_ms(self) -> float:
        """Longest time in ms between the images of the two devices at one cut. NaN for one device."""
        return float(self.cuts["apart_ns"].astype(float).max()) / 1e6


def losses_of(lives: Sequence[LifeTables], names: Sequence[str], alpha: float) -> dict[str, Losses]:
    """Returns what the power cuts of lives lost, by the name of the life without its first part. Empty if no life has cuts.

    `alpha` is the level of the intervals.
    """
    found = {}
    for name in names:
        own = [life for life in lives if life.name == f"{CUT}{name}"]
        if own:
            found[name] = losses([(life.block, _read(life, "cuts"), _read(life, "remains")) for life in own], alpha)
    return found


def _read(life: LifeTables, kind: str) -> pd.DataFrame:
    return table.read(kind, life.folder / f"{kind}.parquet")


def losses(lives: Sequence[tuple[int, pd.DataFrame, pd.DataFrame]], alpha: float) -> Losses:
    """Returns what the power cuts of lives lost, of which each has the number of its block, its cuts table and its remains table.

    `alpha` is the level of the interval.
    """
    rows = pd.concat([_of_life(*life) for life in lives], ignore_index=True)
    return Losses(rows, stats.over_lives(rows.groupby("life")["lost_s"].mean().dropna(), alpha))


def _of_life(block: int, made: pd.DataFrame, remains: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of `Losses.cuts` of one life."""
    answered = remains["seen"].notna()
    found = remains.assign(gone=answered & (remains["seen"] != player.PLACED), not_seen=~answered)
    first_ns = found["acknowledged_ns"].where(found["gone"]).groupby(found["cut"]).min()
    counts = found.groupby("cut").agg(edits=("cut", "size"), lost=("gone", "sum"), not_seen=("not_seen", "sum"))
    rows = made[[*_OF_LIFE, "cut_ns"]].merge(counts.assign(first_ns=first_ns), how="left", left_on="cut", right_index=True)
    rows["edits"] = rows["edits"].fillna(0).astype(int)
    rows[["lost", "not_seen"]] = rows[["lost", "not_seen"]].fillna(0)
    rows["lost_s"] = ((rows["cut_ns"] - rows["first_ns"]).astype("Float64") / 1e9).fillna(0.0).astype(float)
    rows.loc[rows["outcome"] != CutOutcome.OPENED, ["lost", "not_seen", "lost_s"]] = np.nan
    kinds = np.where(rows["keep_share"] > 0, REORDERED, DROPPED)
    return rows.assign(life=block, kind=kinds)[_COLUMNS]
