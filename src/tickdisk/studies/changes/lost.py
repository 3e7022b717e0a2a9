"""Computes what power cuts lost: play that was acknowledged and is gone when a server has started again and players look."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from tickdisk import stats
from tickdisk.experiment import CUT
from tickdisk.foundation import table
from tickdisk.studies.runs import LifeTables

OPENED = "opened"
"""Outcome of a cut after which the server started, and players joined and looked to the end."""


@dataclass(frozen=True)
class Losses:
    """The power cuts in the lives with one change."""

    cuts: pd.DataFrame
    """One row per cut: life (number of the block), cut, outcome, edits (acknowledged before the cut), lost (of these, edits that
    no player saw afterwards), and lost_s (time from the acknowledgement of the first lost edit to the cut, or 0). The last two
    are NaN if the world did not open."""
    planned: int
    """Number of cuts that were planned. Cuts after the end of a server that ended by itself were not made."""
    seconds: stats.Mean
    """Mean of lost_s in s over lives, of which each counts with its mean."""
    unseen: int
    """Number of edits that were not answered when players looked. They count as lost."""

    @property
    def opened(self) -> int:
        """Number of cuts after which the world opened."""
        return int((self.cuts["outcome"] == OPENED).sum())

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
        return int(self.cuts["lost"].sum())

    @property
    def edits(self) -> int:
        """Number of edits that were acknowledged before these cuts."""
        return int(self.cuts.loc[self.cuts["outcome"] == OPENED, "edits"].sum())


def losses_of(lives: Sequence[LifeTables], names: Sequence[str], alpha: float) -> dict[str, Losses]:
    """Returns what the power cuts of lives lost, by the name of the life without its first part. Empty if no life has cuts.

    `alpha` is the level of the intervals.
    """
    found = {}
    for name in names:
        own = [life for life in lives if life.name == f"{CUT}{name}"]
        if own:
            found[name] = _losses(own, alpha)
    return found


def _losses(lives: Sequence[LifeTables], alpha: float) -> Losses:
    cuts, unseen = [], 0
    for life in lives:
        made, remains = (table.read(kind, life.folder / f"{kind}.parquet") for kind in ("cuts", "remains"))
        opened = set(made.loc[made["outcome"] == OPENED, "cut"])
        unseen += int(remains.loc[remains["cut"].isin(opened), "seen"].isna().sum())
        for cut, cut_ns, outcome in made[["cut", "cut_ns", "outcome"]].itertuples(index=False):
            edits = remains[remains["cut"] == cut]
            gone = edits[edits["seen"].fillna("") != "placed"]
            is_open = cut in opened
            lost_s = (cut_ns - gone["acknowledged_ns"].min()) / 1e9 if len(gone) else 0.0
            cuts.append(
                {
                    "life": life.block,
                    "cut": cut,
                    "outcome": outcome,
                    "edits": len(edits),
                    "lost": len(gone) if is_open else np.nan,
                    "lost_s": lost_s if is_open else np.nan,
                }
            )
    columns = ["life", "cut", "outcome", "edits", "lost", "lost_s"]
    rows = pd.DataFrame(cuts, columns=columns)
    planned = sum(len(life.planned.cuts_s) for life in lives)
    return Losses(rows, planned, stats.over_lives(rows.groupby("life")["lost_s"].mean().dropna(), alpha), unseen)
