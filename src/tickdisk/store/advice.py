"""Which algorithm to take, from trials of all of them."""

from dataclasses import dataclass

import pandas as pd

from tickdisk.errors import TickdiskError

_AS_GOOD_MS = 0.05
_AS_GOOD = 1.1


@dataclass(frozen=True)
class Advice:
    """An algorithm, and why."""

    algorithm: str
    keeps: bool
    """Whether it made no tick longer than the limit."""
    why: str
    """One sentence."""


def advise(found: pd.DataFrame, *, limit_ms: float, memory_bytes: float | None = None) -> Advice:
    """Returns the algorithm to take, from trials at one rate (see `trials`).

    Of those that made no tick longer by more than `limit_ms`, and took no more memory than `memory_bytes`, the one that adds the
    least on average; among those that add about as little, the one that recovers soonest. If none keeps the limit, the one that
    broke it the least. A limit that all break, or a memory that none fits into, is said.
    """
    found = found[found["longest_ms"].notna()]
    if found.empty:
        raise TickdiskError(
            "no trial says what an algorithm adds to a tick: checkpoints take too long for its length; give longer ones"
        )
    fits = found if memory_bytes is None else found[found["memory_bytes"] <= memory_bytes]
    if fits.empty:
        least = found.sort_values("memory_bytes").iloc[0]
        return Advice(
            str(least["algorithm"]),
            keeps=bool(least["longest_ms"] <= limit_ms),
            why=f"none fits into the memory; this one takes the least, {least['memory_bytes'] / 1e6:,.0f} MB",
        )
    kept = fits[fits["longest_ms"] <= limit_ms]
    if kept.empty:
        best = fits.sort_values("longest_ms").iloc[0]
        why = f"none keeps ticks within {limit_ms:.1f} ms; this one comes nearest, with {best['longest_ms']:.1f} ms"
        return Advice(str(best["algorithm"]), keeps=False, why=why)
    least_ms = max(0.0, float(kept["added_ms"].min()))
    as_good = kept[kept["added_ms"] <= max(_AS_GOOD * least_ms, least_ms + _AS_GOOD_MS)]
    best = as_good.sort_values("recovery_s").iloc[0]
    soonest = f"; of {len(as_good)} that add about as little it recovers soonest, in {best['recovery_s']:.2f} s"
    # What adds next to nothing can come out below zero: the memory's speed drifts.
    added = f"{best['added_ms']:.3f} ms" if best["added_ms"] > 0 else "nothing that shows"
    why = (
        f"it adds {added} to a tick on average and {best['longest_ms']:.2f} ms at the most"
        f"{soonest if len(as_good) > 1 else ', the least'}; "
        f"{len(kept)} of {len(fits)} keep every tick within {limit_ms:.1f} ms"
    )
    return Advice(str(best["algorithm"]), keeps=True, why=why)
