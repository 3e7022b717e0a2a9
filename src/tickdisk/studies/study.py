"""The parts of a study, and what a notebook has of it: its results, the statement made from them, its figures and tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import pandas as pd
from IPython.display import SVG, Markdown

from tickdisk import plot
from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text
from tickdisk.studies.display import show_tables_as_html
from tickdisk.studies.parameters import check_parameters
from tickdisk.studies.statement import Figures, Statement

if TYPE_CHECKING:
    import altair as alt

Parameters = ParamSpec("Parameters")
Results = TypeVar("Results")


@dataclass(frozen=True)
class Study(Generic[Results]):
    """The analysis of one experiment, which a notebook shows part by part and then saves.

    Displaying a figure or a table changes nothing. `save` writes the same facts, claims and figures whatever a notebook displays.
    """

    results: Results
    statement: Statement
    figures: Mapping[str, Callable[[Results], "alt.TopLevelMixin"]]
    """Functions that draw the figures, by name. Each raises TickdiskError if the results do not have its figure."""
    tables: Mapping[str, Callable[[Results], pd.DataFrame]]
    """Functions that make the tables, by name. Each raises TickdiskError if the results lack its table."""
    _drawn: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The figures that were drawn, as the texts of SVG files, because a notebook saves each figure and also shows it."""

    def __post_init__(self) -> None:
        """Shows the tables of a notebook with all of their texts, and with numbers as people write them."""
        pd.set_option("display.max_colwidth", None)
        show_tables_as_html()

    def figure(self, name: str) -> SVG | Markdown:
        """Draws a figure for display, or returns a sentence that says why these results do not have it.

        Raises TickdiskError if the study has no figure of this name.
        """
        draw = _one(self.figures, name, "figure")
        try:
            return SVG(data=self._svg(name, draw))  # type: ignore[no-untyped-call]
        except TickdiskError as error:
            return Markdown(f"No figure: {error}")  # type: ignore[no-untyped-call]

    def table(self, name: str) -> pd.DataFrame | Markdown:
        """Makes a table for display, or returns a sentence that says why these results do not have it.

        Raises TickdiskError if the study has no table of this name.
        """
        make = _one(self.tables, name, "table")
        try:
            table: pd.DataFrame = make(self.results)
        except TickdiskError as error:
            return Markdown(f"No table: {error}")  # type: ignore[no-untyped-call]
        return table

    def outcome(self) -> Markdown:
        """Returns in a few sentences what came out, as `Statement.outcome` does."""
        return Markdown(f"**{self.statement.outcome() or 'This study makes no claims here.'}**")  # type: ignore[no-untyped-call]

    def verdicts(self) -> pd.DataFrame:
        """Returns the claims with their verdicts, as `Statement.verdicts` does."""
        return self.statement.verdicts()

    def save(self, output: str | None) -> str:
        """Writes facts.json, claims.json, figures.json and every figure into a folder, or nothing if `output` is None.

        figures.json has the reason for each figure that these results do not have, and null for each figure that was drawn.
        Returns one line with the numbers of figures, facts and claims.
        """
        counts = f"{len(self.figures)} figures, {len(self.statement.facts)} facts, {len(self.statement.claims)} claims"
        if output is None:
            return f"{counts}, not written (output is None)"
        folder, lacking = Path(output), dict.fromkeys(self.figures, "")
        for name, draw in self.figures.items():
            path = folder / "figures" / f"{name}.svg"
            try:
                write_text(path, self._svg(name, draw))
            except TickdiskError as error:
                path.unlink(missing_ok=True)
                lacking[name] = str(error)
        figures: Figures = {name: reason or None for name, reason in lacking.items()}
        record.write(folder / "figures.json", figures)
        self.statement.save(folder)
        return f"{counts} in {folder}"

    def _svg(self, name: str, draw: Callable[[Results], "alt.TopLevelMixin"]) -> str:
        if name not in self._drawn:
            self._drawn[name] = plot.to_svg(draw(self.results))
        return self._drawn[name]


@dataclass(frozen=True)
class Analysis(Generic[Parameters, Results]):
    """The parts of a study. A notebook calls it with its parameters, and gets the `Study`."""

    compute: Callable[Parameters, Results]
    """Function that computes the results. Its parameters are those of the notebook."""
    state: Callable[[Results], Statement]
    figures: Mapping[str, Callable[[Results], "alt.TopLevelMixin"]]
    tables: Mapping[str, Callable[[Results], pd.DataFrame]]

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Study[Results]:
        """Computes and states the results. Raises TickdiskError as `compute` does, or if a parameter is wrong."""
        check_parameters(**signature(self.compute).bind(*args, **kwargs).arguments)
        results = self.compute(*args, **kwargs)
        return Study(results, self.state(results), self.figures, self.tables)


def _one(known: Mapping[str, Any], name: str, kind: str) -> Any:
    if name not in known:
        raise TickdiskError(f"there is no {kind} {name}; this study has {', '.join(known)}")
    return known[name]
