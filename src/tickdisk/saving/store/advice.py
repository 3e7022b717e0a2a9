"""The choice of a checkpoint algorithm from trials of several algorithms on one game."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from tickdisk.foundation.errors import TickdiskError

_AS_GOOD = 1.1
_AS_GOOD_MS, _AS_GOOD_LONGEST_MS = 0.05, 0.5
_MEANS = ("added_ms", "checkpoint_s", "recovery_s", "bytes", "memory_bytes")


@dataclass(frozen=True)
class Advice:
    """The checkpoint algorithm that `advise` recommends for a game, with the reason."""

    algorithm: str
    keeps: bool
    """Whether the algorithm lengthened no tick by more than `limit_ms` in the trials."""
    why: str
    """One sentence, which is to be read after the name of the algorithm."""
    by_lives: Mapping[str, int] = field(default_factory=dict)
    """Number of lives of each algorithm that would each alone lead to an algorithm, by its name."""

    @property
    def is_decided(self) -> bool:
        """Whether every life of the algorithms would alone lead to the same algorithm."""
        return len(self.by_lives) == 1


def costs_over_lives(trials: pd.DataFrame) -> pd.DataFrame:
    """Sums trials up with one row per algorithm: means over lives, the largest `longest_ms`, and lives (their number)."""
    grouped = trials.groupby("algorithm", sort=False)
    means = grouped[[name for name in _MEANS if name in trials]].mean()
    return means.assign(longest_ms=grouped["longest_ms"].max(), lives=grouped.size()).reset_index()


def advise(trials: pd.DataFrame, *, limit_ms: float, memory_bytes: float | None = None) -> Advice:
    """Chooses the checkpoint algorithm for a game, from trials of several algorithms at the game's update rate.

    An algorithm is eligible if it lengthened no tick by more than `limit_ms` and needed at most `memory_bytes` (no limit if
    None). Eligible algorithms count as equally good if their mean added time exceeds the smallest by at most 10 % or 0.05 ms,
    whichever is more, and if the longest time that they added to a tick then exceeds the shortest of these by at most 10 % or
    0.5 ms. The choice is the algorithm among these that recovers soonest. If every algorithm that fits into the memory
    breaks the limit, the choice is the algorithm that exceeds the limit least. If no algorithm fits into the memory, the choice
    is the algorithm that needs the least memory. In both cases the reason says so.

    `trials` has the columns algorithm, life, added_ms, longest_ms, recovery_s and memory_bytes of the table of the same name, and
    one row per algorithm and life. Raises TickdiskError if `longest_ms` is NaN in every row, because checkpoints took too long.
    """
    by_lives = [
        _choose(own, limit_ms, memory_bytes).algorithm for _, own in trials.groupby("life") if own["longest_ms"].notna().any()
    ]
    counts = {name: by_lives.count(name) for name in dict.fromkeys(by_lives)}
    return replace(_choose(costs_over_lives(trials), limit_ms, memory_bytes), by_lives=counts)


def _choose(algorithms: pd.DataFrame, limit_ms: float, memory_bytes: float | None) -> Advice:
    algorithms = algorithms[algorithms["longest_ms"].notna()]
    if algorithms.empty:
        raise TickdiskError(
            "no trial shows what an algorithm adds to a tick, because its checkpoints take too long; give them more time"
        )
    fits = algorithms if memory_bytes is None else algorithms[algorithms["memory_bytes"] <= memory_bytes]
    if fits.empty:
        least = algorithms.sort_values("memory_bytes").iloc[0]
        return Advice(
            str(least["algorithm"]),
            keeps=bool(least["longest_ms"] <= limit_ms),
            why=f"no algorithm fits into the memory; this one needs the least, {least['memory_bytes'] / 1e6:,.0f} MB",
        )
    kept = fits[fits["longest_ms"] <= limit_ms]
    if kept.empty:
        best = fits.sort_values("longest_ms").iloc[0]
        why = f"no algorithm adds at most {limit_ms:.1f} ms to every tick; this one is nearest, with {best['longest_ms']:.1f} ms"
        return Advice(str(best["algorithm"]), keeps=False, why=why)
    least_ms = max(0.0, float(kept["added_ms"].min()))
    as_good = kept[kept["added_ms"] <= max(_AS_GOOD * least_ms, least_ms + _AS_GOOD_MS)]
    shortest_ms = float(as_good["longest_ms"].min())
    as_good = as_good[as_good["longest_ms"] <= max(_AS_GOOD * shortest_ms, shortest_ms + _AS_GOOD_LONGEST_MS)]
    best = as_good.sort_values("recovery_s").iloc[0]
    soonest = (
        f"; among {len(as_good)} algorithms that add about as little it recovers soonest, in {1e3 * best['recovery_s']:.3g} ms"
    )
    # A very small added time can come out below zero, because the speed of the memory drifts.
    added = f"{best['added_ms']:.3f} ms" if best["added_ms"] > 0 else "no measurable time"
    why = (
        f"it adds {added} to a tick on average and {best['longest_ms']:.2f} ms at the most"
        f"{soonest if len(as_good) > 1 else ', with the smallest mean'}; "
        f"{len(kept)} of {len(fits)} algorithms add at most {limit_ms:.1f} ms to every tick"
    )
    return Advice(str(best["algorithm"]), keeps=True, why=why)
