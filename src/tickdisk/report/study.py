"""A study as a notebook holds it: results that were computed once, what they state, and the ways to show them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pandas as pd
from IPython.display import SVG, Markdown

from tickdisk import plot
from tickdisk.errors import TickdiskError
from tickdisk.files import write_json
from tickdisk.report.statement import Statement

if TYPE_CHECKING:
    import altair as alt

Results = TypeVar("Results")


@dataclass(frozen=True)
class Study(Generic[Results]):
    """Results, computed once from files; the statement that was made from them; figures and tables by name.

    Showing changes nothing: `save` writes the same facts, claims and figures, whatever a notebook displays, and in which order.
    """

    results: Results
    statement: Statement
    figures: Mapping[str, Callable[[Results], "alt.TopLevelMixin"]]
    tables: Mapping[str, Callable[[Results], pd.DataFrame]]

    def __post_init__(self) -> None:
        """Lets pandas show sentences in tables to their end."""
        pd.set_option("display.max_colwidth", None)

    def figure(self, name: str) -> SVG | Markdown:
        """Returns a figure for display, or the sentence that says why these results have none."""
        draw = _one(self.figures, name, "figure")
        try:
            return SVG(data=plot.to_svg(draw(self.results)))  # type: ignore[no-untyped-call]
        except TickdiskError as error:
            return Markdown(f"No figure: {error}")  # type: ignore[no-untyped-call]

    def table(self, name: str) -> pd.DataFrame:
        """Returns a table for display."""
        table: pd.DataFrame = _one(self.tables, name, "table")(self.results)
        return table

    def verdicts(self) -> pd.DataFrame:
        """Returns the claims with their verdicts."""
        return self.statement.verdicts()

    def save(self, output: str | None) -> str:
        """Writes facts.json, claims.json, figures.json and every figure into the folder `output`; None writes nothing.

        figures.json holds null for each figure that was drawn, and the reason for each that these results do not have. Returns
        one line that says how many there are.
        """
        counts = f"{len(self.figures)} figures, {len(self.statement.facts)} facts, {len(self.statement.claims)} claims"
        if output is None:
            return f"{counts}, not written (output is None)"
        folder, lacking = Path(output), dict.fromkeys(self.figures, "")
        for name, draw in self.figures.items():
            path = folder / "figures" / f"{name}.svg"
            try:
                plot.save_svg(draw(self.results), path)
            except TickdiskError as error:
                path.unlink(missing_ok=True)
                lacking[name] = str(error)
        write_json(folder / "figures.json", {name: reason or None for name, reason in lacking.items()})
        self.statement.save(folder)
        return f"{counts} in {folder}"


def _one(known: Mapping[str, Any], name: str, kind: str) -> Any:
    if name not in known:
        raise TickdiskError(f"no {kind} {name}; this study has {', '.join(known)}")
    return known[name]
