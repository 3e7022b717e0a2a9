"""The checkpoint notebook: six algorithms in simulation, the published numbers, and which readings reach them."""

from pathlib import Path

import pandas as pd
from IPython.display import SVG

from tickdisk import checkpoint, plot
from tickdisk.report.checkpoint_anchors import CONSTANT, NAMES, Measured, crossings, measure, within
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import Study, display

_QUANTITIES = {
    "overhead_ms": "Overhead per tick (ms)",
    "checkpoint_s": "Time to checkpoint (s)",
    "recovery_s": "Recovery time (s)",
}
_AXES = {"rate": "Updates per tick", "skew": "Skew"}
_ORDER = list(NAMES.values())


class CheckpointStudy(Study):
    """Overhead, checkpoint time and recovery time over update rate, skew and for a game; the anchors; the readings."""

    def __init__(self, sweep: str, *, published: str = "data/published.yaml", output: str | None = None) -> None:
        check_parameters()
        super().__init__("checkpoint", output)
        self.sweep = checkpoint.read_sweep(Path(sweep))
        self.published = checkpoint.load_published(Path(published))
        self.runs = self.sweep.runs.assign(name=self.sweep.runs["algorithm"].map(NAMES))
        self._ticks = int(self.runs.loc[self.runs["sweep"] == "rate", "ticks"].iloc[0])
        self._source = f"simulation, {self._ticks} ticks an input"
        self._state_setting()
        stated = self.runs[self.runs["sweep"].isin(["rate", "anchor"])].drop_duplicates("run")
        self.anchors = measure(stated, self.published)
        tried = self.readings()
        self._nearest = {one.name: _nearest(tried, one) for one in self.anchors}
        for anchor in self.anchors:
            self._state_anchor(anchor)
        for name, rate in crossings(stated).items():
            note = "updates per tick from which it adds more than Naive-Snapshot, interpolated between simulated rates"
            self.fact(f"crossing.{name}", rate, "updates", n=self._ticks, source=self._source, note=note)
        self._state_game()

    def _state_setting(self) -> None:
        """States what is simulated, for prose."""
        state, costs = checkpoint.State(), checkpoint.Costs()
        self.fact("state_cells", state.rows * state.columns, "cells", source="as published")
        self.fact("object_bytes", state.object_bytes, "B", source="as published")
        self.fact("disk_bandwidth", costs.disk_bytes_per_s / 1e6, "MB/s", source="as published")
        rate = self.published.half_tick.updates_per_tick
        self.fact("half_tick.updates_per_tick", rate, "updates", source=self.published.source)

    def _verdict(self, *, is_reached: bool) -> tuple[str, str]:
        """Returns the verdict on a published number, and what the evidence must add: too short an input decides nothing."""
        if self._ticks < self.published.ticks:
            return "not valid", f"; {self._ticks} ticks of the {self.published.ticks:,} that were published"
        return ("equivalent" if is_reached else "different"), ""

    def _state_anchor(self, anchor: Measured) -> None:
        note = f"published: {anchor.published:g} {anchor.unit}".strip()
        self.fact(anchor.name, anchor.value, anchor.unit, n=self._ticks, source=self._source, note=note)
        self.fact(f"{anchor.name}.published", anchor.published, anchor.unit, source=self.published.source)
        reading, value = self._nearest[anchor.name]
        verdict, short = self._verdict(is_reached=anchor.is_reached)
        other = "" if anchor.is_reached else f"; nearest under another reading ({reading}): {value:.3g}"
        self.claim(
            anchor.name,
            source="Vaz Salles et al. 2009",
            statement=anchor.statement,
            verdict=verdict,
            evidence=f"simulated {display(self.facts[f'checkpoint.{anchor.name}'])}; {anchor.criterion}{other}{short}",
            facts=[anchor.name, f"{anchor.name}.published"],
            n=self._ticks,
        )

    def _state_game(self) -> None:
        game, size = self.runs[self.runs["sweep"] == "game"], self.published.game
        found = float(game["updates_per_tick"].iloc[0])
        self.fact("game.updates_per_tick", found, "updates", n=self._ticks, source=self._source, note="by the rules of the game")
        self.fact("game.updates_per_tick.published", float(size.updates_per_tick), "updates", source=self.published.source)
        verdict, short = self._verdict(is_reached=within(found, size.updates_per_tick, CONSTANT))
        self.claim(
            "game.updates_per_tick",
            source="Vaz Salles et al. 2009",
            statement=f"Knights and Archers updates {size.updates_per_tick:,} cells per tick on average",
            verdict=verdict,
            evidence=f"played {found:,.0f}; reached within {CONSTANT:.0%}{short}",
            facts=["game.updates_per_tick", "game.updates_per_tick.published"],
            n=self._ticks,
        )
        for row in game.to_dict("records"):
            for quantity in _QUANTITIES:
                word, unit = quantity.rsplit("_", 1)
                self.fact(f"game.{row['algorithm']}.{word}", row[quantity], unit, n=self._ticks, source=self._source)

    def stated_readings(self) -> pd.DataFrame:
        """Returns the readings that the figures rest on: parameter, value, what it means."""
        rows = []
        for model in (checkpoint.Costs(), checkpoint.Readings()):
            fields = type(model).model_fields
            rows += [(name, getattr(model, name), field.description or "") for name, field in fields.items()]
        return pd.DataFrame(rows, columns=["parameter", "value", "meaning"]).set_index("parameter")

    def anchor_table(self) -> pd.DataFrame:
        """Returns the published numbers beside the simulated ones."""
        rows = [(one.statement, one.published, one.value, one.unit, one.criterion, one.is_reached) for one in self.anchors]
        return pd.DataFrame(rows, columns=["published", "value", "here", "unit", "criterion", "reached"]).set_index("published")

    def crossings(self) -> pd.DataFrame:
        """Returns the updates per tick from which each algorithm adds more than Naive-Snapshot, published and here."""
        printed = {name: crossing.updates_per_tick for crossing in self.published.crossovers for name in crossing.algorithms}
        rows = [(NAMES[name], rate, display(self.facts[f"checkpoint.crossing.{name}"])) for name, rate in printed.items()]
        return pd.DataFrame(rows, columns=["algorithm", "published", "here"]).set_index("algorithm")

    def readings(self) -> pd.DataFrame:
        """Returns every anchor (row) under every reading (column), one thing changed at a time, over fewer ticks."""
        tried = self.runs[self.runs["sweep"] == "readings"]
        columns = {}
        for reading, rows in tried.groupby("reading", sort=False):
            columns[str(reading)] = {one.name: one.value for one in measure(rows, self.published)}
        table = pd.DataFrame(columns)
        table.insert(0, "published", pd.Series({one.name: one.published for one in self.anchors}))
        return table[["published", checkpoint.STATED, *(name for name in table.columns[1:] if name != checkpoint.STATED)]]

    def unreached(self) -> pd.DataFrame:
        """Returns the published numbers that the stated readings do not reach: nearest reading tried, its value, and why."""
        missed = [anchor for anchor in self.anchors if not anchor.is_reached]
        rows = [(one.name, one.published, one.value, *self._nearest[one.name], one.reason) for one in missed]
        columns = ["anchor", "published", "here", "nearest reading tried", "its value", "why"]
        return pd.DataFrame(rows, columns=columns).set_index("anchor")

    def over(self, axis: str, quantity: str) -> SVG:
        """Returns `overhead_ms`, `checkpoint_s` or `recovery_s` over `rate` or `skew`."""
        rows = self.runs[self.runs["sweep"] == axis].assign(algorithm=lambda table: table["name"])
        fixed = f"skew {checkpoint.DEFAULT_SKEW:g}" if axis == "rate" else f"{checkpoint.DEFAULT_RATE:,} updates per tick"
        chart = plot.checkpoint_cost(
            rows.sort_values(axis),
            x=axis,
            y=quantity,
            order=_ORDER,
            titles=(_AXES[axis], _QUANTITIES[quantity]),
            heading=f"{_QUANTITIES[quantity].rsplit(' (', 1)[0]} over {_AXES[axis].lower()}",
            note=f"Zipf updates, {fixed}; {self._ticks} ticks a point",
        )
        return self.figure(f"{quantity.rsplit('_', 1)[0]}_{axis}", chart)

    def game(self) -> SVG:
        """Returns the three quantities for Knights and Archers."""
        rows = self.runs[self.runs["sweep"] == "game"].melt(id_vars="name", value_vars=list(_QUANTITIES), var_name="quantity")
        table = rows.assign(algorithm=rows["name"], quantity=rows["quantity"].map(_QUANTITIES))
        found = self.runs.loc[self.runs["sweep"] == "game", "updates_per_tick"].iloc[0]
        note = f"{found:,.0f} updates per tick on average, {self._ticks} ticks"
        return self.figure("game", plot.checkpoint_game(table, order=_ORDER, heading="Knights and Archers", note=note))

    def timeline(self) -> SVG:
        """Returns the lengths of the ticks whose lengths were published, with the limit of half a tick."""
        shown = self.published.half_tick
        chosen = self.runs[(self.runs["sweep"] == "rate") & (self.runs["rate"] == shown.updates_per_tick)].set_index("run")[
            "name"
        ]
        ticks = self.sweep.ticks[self.sweep.ticks["run"].isin(chosen.index)]
        ticks = ticks[ticks["tick"].between(shown.first_tick, shown.last_tick)]
        table = ticks.assign(algorithm=ticks["run"].map(chosen))
        tick_ms = 1e3 / checkpoint.Costs().tick_hz
        note = (
            f"{shown.updates_per_tick:,} updates per tick; bars begin at a tick's own {tick_ms:.1f} ms; dashed: half a tick more"
        )
        return self.figure("timeline", plot.tick_lengths(table, limit_ms=1.5 * tick_ms, tick_ms=tick_ms, order=_ORDER, note=note))


def _nearest(tried: pd.DataFrame, anchor: Measured) -> tuple[str, float]:
    """The reading under which an anchor comes nearest to its published value, and what it is there."""
    row = tried.drop(columns="published").to_dict("index")[anchor.name]
    values = {str(reading): float(value) for reading, value in row.items()}
    return min(values.items(), key=lambda item: abs(item[1] - anchor.published))
