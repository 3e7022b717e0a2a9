"""Makes the tables and figures of the store study."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, percent
from tickdisk.saving import checkpoint, store
from tickdisk.studies.algorithms import NAMES
from tickdisk.studies.store.compute import Results

_KINDS = {"own_ms": "real", "model_ms": "the paper's model", "calibrated_ms": "the calibrated model"}
"""Columns of the points with an overhead, and their names in the figure."""
_TERMS = {
    "begun": "beginning a checkpoint and handing it to the writer",
    "copied": "copying an object when a checkpoint begins",
    "groups": "beginning the copy of a contiguous group of objects",
    "tested": "testing at an update whether the old value must be saved",
    "touched": "the first tested update of an object in a tick",
    "locked": "the first update of an object in a checkpoint, which takes a lock",
    "saved": "saving an old value",
    "changed_beside": "the first change of an object in a tick while a checkpoint is written",
    "handed": "handing an update to the store",
    "marked": "setting a dirty bit",
}
"""Terms of the calibrated model in words."""


def models(results: Results) -> Any:
    """Draws the time that each algorithm adds to a tick over the update rate: real, and as both models predict it."""
    rows = results.points.melt(["algorithm", "rate"], list(_KINDS), var_name="kind", value_name="ms").dropna()
    table = rows.assign(kind=rows["kind"].map(_KINDS), algorithm=rows["algorithm"].map(NAMES), added_ms=rows["ms"])
    lives = int(results.comparison.tested["life"].nunique())
    note = f"real: {'one life' if lives == 1 else f'the median of {number(lives)} lives'}; less than 0.001 ms is drawn there"
    return plot.modelled_and_measured(table, order=list(NAMES.values()), kinds=list(_KINDS.values()), note=note)


def models_table(results: Results) -> pd.DataFrame:
    """Returns one row per algorithm with the smallest and the largest ratio of a model to the real value over update rates."""
    rows = [
        {
            "algorithm": NAMES[row["algorithm"]],
            "paper's model over real": _span(row["model_least"], row["model_most"]),
            "calibrated over real": _span(row["calibrated_least"], row["calibrated_most"]),
            "rank correlation": number(row["ranks"]),
            "a checkpoint's time, calibrated over real": _span(row["time_least"], row["time_most"]),
            f"calibrated within {percent(store.WITHIN)}": f"{row['within']} of {row['rates']}",
        }
        for row in results.summary.to_dict("records")
    ]
    return pd.DataFrame(rows).set_index("algorithm")


def _span(least: float, most: float) -> str:
    ends = dict.fromkeys(number(end, trailing_zeros=True) for end in (least, most))
    return " to ".join(ends)


def terms(results: Results) -> pd.DataFrame:
    """Returns the costs in ns of the calibrated model, as fitted to lives and, alone, as micro-benchmarks measure them here."""
    calibrated, object_bytes = results.comparison.calibrated, checkpoint.State().object_bytes
    # None of these costs depends on the tick rate.
    plain = calibrated.machine.costs(tick_hz=checkpoint.Costs().tick_hz, object_bytes=object_bytes)
    copy_ns = object_bytes / plain.memory_bytes_per_s * 1e9
    alone_ns = {
        "groups": plain.copy_start_ns,
        "copied": copy_ns,
        "tested": plain.bit_ns,
        "locked": plain.lock_ns,
        "saved": plain.copy_start_ns + copy_ns,
    }
    rows = [
        {
            "what": words,
            "alone (ns)": number(alone_ns[name]) if name in alone_ns else "not in the paper's model",
            "in a life (ns)": number(round(calibrated.terms_ns[name], 3)),
        }
        for name, words in _TERMS.items()
    ]
    return pd.DataFrame(rows).set_index("what")


def which(results: Results) -> Any:
    """Draws the mean and the longest time that each algorithm adds to a tick, for each game."""
    return _overhead(results, len(results.games), plot.NOTEBOOK)


def paper_methods(results: Results) -> Any:
    """Draws the time that each algorithm adds to the ticks of the first game, for the paper."""
    return _overhead(results, 1, plot.PAPER)


def _overhead(results: Results, games: int, theme: plot.Theme) -> Any:
    table = pd.concat([game.algorithms.assign(game=game.name, limit_ms=game.limit_ms) for game in results.games[:games]])
    note = "dot: mean over ticks; mark: longest in a tick; dashed line: half a tick"
    return plot.overhead_by_game(table.assign(algorithm=table["algorithm"].map(NAMES)), note=note, theme=theme)


def games(results: Results) -> pd.DataFrame:
    """Returns the costs of every algorithm on every game, with one row for each pair."""
    rows = [
        {
            "game": game.name,
            "algorithm": NAMES[row["algorithm"]],
            "added (ms)": number(row["added_ms"]),
            "longest (ms)": number(row["longest_ms"]),
            "checkpoint (s)": number(row["checkpoint_s"]),
            "recovery (s)": number(row["recovery_s"]),
            "written per checkpoint (MB)": number(row["bytes"] / 1e6),
            "memory (MB)": number(row["memory_bytes"] / 1e6),
        }
        for game in results.games
        for row in game.algorithms.to_dict("records")
    ]
    return pd.DataFrame(rows).set_index(["game", "algorithm"])


def advice(results: Results) -> pd.DataFrame:
    """Returns the table of the recommended algorithm for each game, with the reason."""
    rows = [(game.name, NAMES[game.advice.algorithm], game.advice.why) for game in results.games]
    return pd.DataFrame(rows, columns=["game", "take", "why"]).set_index("game")


FIGURES: Mapping[str, Callable[[Results], Any]] = {"models": models, "which": which, "paper_methods": paper_methods}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "advice": advice,
    "games": games,
    "models": models_table,
    "terms": terms,
}
