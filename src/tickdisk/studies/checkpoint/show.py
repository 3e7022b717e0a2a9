"""Makes the tables and figures of the checkpoint study."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any

import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number
from tickdisk.saving import checkpoint
from tickdisk.studies.algorithms import NAMES
from tickdisk.studies.checkpoint.compute import Results
from tickdisk.studies.checkpoint.state import QUANTITIES

_TITLES = {
    "overhead_ms": "Overhead per tick (ms)",
    "checkpoint_s": "Time to checkpoint (s)",
    "recovery_s": "Recovery time (s)",
}
_AXES = {"rate": "Updates per tick (log)", "skew": "Skew"}
_ORDER = [NAMES[name] for name in checkpoint.ALGORITHMS]


def setting(_: Results) -> pd.DataFrame:
    """Returns the table of the parameters of the simulation, with their values and meanings.

    They are those of the paper's cost model, and the default choices where the paper leaves something open.
    """
    rows = [
        (name, _value(getattr(model, name)), " ".join((field.description or "").split()))
        for model in (checkpoint.Costs(), checkpoint.Readings())
        for name, field in type(model).model_fields.items()
    ]
    return pd.DataFrame(rows, columns=["parameter", "value", "meaning"]).set_index("parameter")


def anchors(results: Results) -> pd.DataFrame:
    """Returns the table of the published numbers beside the simulated values: one row per anchor, and whether it is reached."""
    rows = [
        {
            "published finding": anchor.finding.said,
            "quantity": anchor.finding.quantity,
            "anchor": anchor.name,
            "published": anchor.finding.printed,
            "upheld": anchor.finding.criterion,
            "here": anchor.with_unit(anchor.value),
            "reached": "yes" if anchor.is_reached else "no",
        }
        for anchor in results.anchors
    ]
    return pd.DataFrame(rows).set_index("published finding")


def crossings(results: Results) -> pd.DataFrame:
    """Returns the table of the updates per tick from which an algorithm adds more time to a tick than Naive-Snapshot.

    Only algorithms with a published rate have a row.
    """
    rates = results.stated["rate"]
    none = f"none from {number(int(rates.min()))} to {number(int(rates.max()))}"
    rows = [
        (NAMES[name], number(anchor.finding.published), number(anchor.value) if isfinite(anchor.value) else none)
        for anchor in results.anchors
        for start, _, name in [anchor.name.partition(".")]
        if start == "crossing"
    ]
    return pd.DataFrame(rows, columns=["algorithm", "published", "here"]).set_index("algorithm")


def sensitivity(results: Results) -> pd.DataFrame:
    """Returns the table of the updates per tick from which two algorithms become slower than Naive-Snapshot, by reading.

    The readings differ in C, because one of every C checkpoints is full, and in O_mem, the time before each copy in memory.
    """
    tried = results.tried.rename(index=lambda name: name.removeprefix("crossing.")).T
    changed = {name: {*costs, *readings} for name, (costs, readings) in checkpoint.VARIANTS.items()}
    shown = [name for name in tried.index if name in changed and changed[name] <= {"full_every", "copy_start_ns"}]
    rows = tried.loc[shown, ["atomic_copy_dirty_objects", "partial_redo"]]
    return rows.map(lambda rate: "none" if pd.isna(rate) else number(rate)).rename(columns=NAMES).rename_axis("reading")


def readings(results: Results) -> pd.DataFrame:
    """Returns the table of the values of every anchor (row) under every reading (column), with the published numbers.

    Each reading changes one thing in the stated one. The simulations are over fewer ticks than those of the claims.
    """
    by_name = {anchor.name: anchor for anchor in results.anchors}
    tried = [by_name[str(name)] for name in results.tried.index]
    table = results.tried.map(number)
    table.insert(0, "published", [number(anchor.finding.published) for anchor in tried])
    units = ["" if anchor.finding.unit == "ratio" else f" ({anchor.finding.unit})" for anchor in tried]
    table.index = pd.Index([f"{anchor.name}{unit}" for anchor, unit in zip(tried, units, strict=True)], name="anchor")
    return table


def unreached(results: Results) -> pd.DataFrame:
    """Returns the table of the published numbers that the stated readings miss, with the nearest reading and the reason."""
    columns = ["published finding", "published", "here", "nearest other reading", "its value", "stated reading beside it", "why"]
    rows = []
    for anchor in [anchor for anchor in results.anchors if not anchor.is_reached]:
        nearest, other = results.nearest.get(anchor.name), ("none tried", "", "")
        if nearest is not None:
            other = (nearest.reading, anchor.with_unit(nearest.value), anchor.with_unit(nearest.stated))
        own = (anchor.finding.said, anchor.finding.printed, anchor.with_unit(anchor.value))
        rows.append((*own, *other, anchor.reason))
    return pd.DataFrame(rows, columns=columns).set_index("published finding")


def over(results: Results, axis: str, quantities: Sequence[str], theme: plot.Theme = plot.NOTEBOOK) -> Any:
    """Draws costs of every algorithm over the update rate or over the skew of the updates.

    `axis` is `rate` or `skew`, and each of `quantities` is `overhead_ms`, `checkpoint_s` or `recovery_s`.
    """
    is_rate = axis == "rate"
    fixed = f"skew {number(checkpoint.DEFAULT_SKEW)}" if is_rate else f"{number(checkpoint.DEFAULT_RATE)} updates per tick"
    return plot.checkpoint_costs(
        results.of(axis).assign(algorithm=lambda table: table["name"]).sort_values(axis),
        x=axis,
        x_title=_AXES[axis],
        quantities={quantity: _TITLES[quantity] for quantity in quantities},
        order=_ORDER,
        heading=" over ".join((_TITLES[quantities[0]].split(" (")[0], _AXES[axis].split(" (")[0].lower())),
        note=f"Zipf updates, {fixed}; {number(results.ticks)} ticks at each point",
        theme=theme,
    )


def game(results: Results) -> Any:
    """Draws overhead, time to checkpoint and recovery time of each algorithm for the game Knights and Archers."""
    rows = results.game.melt(id_vars="name", value_vars=list(QUANTITIES), var_name="quantity")
    table = rows.assign(algorithm=rows["name"], quantity=rows["quantity"].map(_TITLES))
    found = float(results.game["updates_per_tick"].iloc[0])
    note = f"{number(found)} updates per tick on average over {number(results.ticks)} ticks"
    return plot.checkpoint_game(table, order=_ORDER, heading="Knights and Archers", note=note)


def timeline(results: Results) -> Any:
    """Draws the simulated lengths of the ticks whose lengths were published. A dashed line is the limit of half a tick more."""
    shown, stated = results.published.half_tick, results.stated
    chosen = stated[stated["rate"] == shown.updates_per_tick].set_index("run")["name"]
    ticks = results.tick_lengths
    ticks = ticks[ticks["run"].isin(chosen.index) & ticks["tick"].between(shown.first_tick, shown.last_tick)]
    tick_ms = 1e3 / checkpoint.Costs().tick_hz
    note = (
        f"{number(shown.updates_per_tick)} updates per tick; bars begin at a tick's own {number(tick_ms)} ms; "
        "the dashed line is half a tick more"
    )
    table = ticks.assign(algorithm=ticks["run"].map(chosen))
    return plot.tick_lengths(table, limit_ms=1.5 * tick_ms, tick_ms=tick_ms, order=_ORDER, note=note)


def _value(value: float | str | None) -> str:
    """Returns the value of a parameter as a text. None means that it is switched off."""
    return "none" if value is None else value if isinstance(value, str) else number(value)


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    **{
        f"{quantity.rsplit('_', 1)[0]}_{axis}": partial(over, axis=axis, quantities=[quantity])
        for axis in _AXES
        for quantity in QUANTITIES
    },
    "game": game,
    "timeline": timeline,
    "paper_costs": partial(over, axis="rate", quantities=list(_TITLES), theme=plot.PAPER),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "setting": setting,
    "anchors": anchors,
    "crossings": crossings,
    "sensitivity": sensitivity,
    "unreached": unreached,
    "readings": readings,
}
