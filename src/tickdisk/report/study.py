"""What every notebook leaves: figures, facts and claims, each fact with unit, interval, n and where it comes from."""

import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from IPython.display import SVG

from tickdisk import plot
from tickdisk.errors import TickdiskError
from tickdisk.files import write_json

if TYPE_CHECKING:
    import altair as alt

_NAME = re.compile(r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$")
OURS = "this project"
"""The source of a claim that was not published before."""
VERDICTS = ("different", "equivalent", "inconclusive", "not valid")


@dataclass(frozen=True)
class Fact:
    """A number, or a word, that prose, tables and claims refer to by name."""

    value: float | int | None
    unit: str
    low: float | None
    high: float | None
    n: int | None
    source: str
    note: str
    word: str | None = None
    """Of a fact that is a word; it has no value then."""


@dataclass(frozen=True)
class Claim:
    """A statement of this project or of a published study, and what this machine's runs say about it."""

    id: str
    source: str
    statement: str
    verdict: str
    evidence: str
    facts: list[str]
    n: int


def _number(value: float | None) -> float | int | None:
    """NaN and infinities are not estimates: they are stated as null."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, int) else float(value)


def _of_one(unit: str) -> str:
    """A count of one has its word in the singular; ms and s are no counts."""
    return "life" if unit == "lives" else unit[:-1] if unit.endswith("s") and len(unit) > len("ms") else unit


def _as_dict(fact: Fact) -> dict[str, Any]:
    """A number says nothing of words."""
    return {name: value for name, value in asdict(fact).items() if name != "word" or value is not None}


class Study:
    """Collects a notebook's figures, facts and claims and writes them beside it; `output` None keeps them in memory."""

    def __init__(self, name: str, output: str | None) -> None:
        pd.set_option("display.max_colwidth", None)  # a sentence in a table is there to be read to its end
        self.name = name
        self._folder = Path(output) if output is not None else None
        self.facts: dict[str, Fact] = {}
        self.claims: list[Claim] = []
        self.figures: list[str] = []

    def fact(
        self,
        name: str,
        value: float | None,
        unit: str,
        *,
        interval: tuple[float, float] | None = None,
        n: int | None = None,
        source: str,
        note: str = "",
    ) -> None:
        """States a fact under `STUDY.name`; TickdiskError when the name is taken or not of lower-case words and dots."""
        low, high = interval if interval is not None else (None, None)
        unit = _of_one(unit) if value == 1 and isinstance(value, int) else unit
        self._state(name, Fact(_number(value), unit, _number(low), _number(high), n, source, note))

    def word(self, name: str, word: str, *, source: str, note: str = "") -> None:
        """States a fact that is a word; TickdiskError as `fact`."""
        self._state(name, Fact(None, "", None, None, None, source, note, word))

    def _state(self, name: str, fact: Fact) -> None:
        full = f"{self.name}.{name}"
        if full in self.facts or not _NAME.match(full):
            raise TickdiskError(f"fact {full}: stated twice, or not of lower-case words, digits and dots; give it another name")
        self.facts[full] = fact

    def claim(self, name: str, *, source: str, statement: str, verdict: str, evidence: str, facts: list[str], n: int) -> None:
        """States a claim; its verdict is one of VERDICTS and its facts must have been stated."""
        full = [f"{self.name}.{fact}" for fact in facts]
        missing = [fact for fact in full if fact not in self.facts]
        if verdict not in VERDICTS or missing:
            raise TickdiskError(
                f"claim {self.name}.{name}: verdict {verdict!r} or facts {missing} unknown; state facts before claims"
            )
        self.claims.append(Claim(f"{self.name}.{name}", source, statement, verdict, evidence, full, n))

    def verdicts_table(self) -> pd.DataFrame:
        """Returns the claims as a table."""
        rows = [(claim.statement, claim.source, claim.verdict, claim.n, claim.evidence) for claim in self.claims]
        return pd.DataFrame(rows, columns=["claim", "source", "verdict", "n", "evidence"]).set_index("claim")

    def figure(self, name: str, chart: "alt.TopLevelMixin") -> SVG:
        """Returns the chart as SVG for display, and keeps it as `figures/NAME.svg`."""
        svg = plot.to_svg(chart)
        if self._folder is not None:
            plot.save_svg(chart, self._folder / "figures" / f"{name}.svg")
        self.figures.append(name)
        return SVG(data=svg)  # type: ignore[no-untyped-call]

    def save(self) -> str:
        """Writes facts.json and claims.json and returns one line that says how many there are."""
        if self._folder is not None:
            write_json(self._folder / "facts.json", {name: _as_dict(fact) for name, fact in self.facts.items()})
            write_json(self._folder / "claims.json", [asdict(claim) for claim in self.claims])
        where = f" in {self._folder}" if self._folder is not None else ", not written (output is None)"
        return f"{len(self.figures)} figures, {len(self.facts)} facts, {len(self.claims)} claims{where}"


def _digits(value: float) -> str:
    """Three significant digits, and all of those before the point."""
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004


def display(fact: Fact | dict[str, Any]) -> str:
    """Returns a fact as a person reads it: value, interval, unit, with three significant digits."""
    values = asdict(fact) if isinstance(fact, Fact) else fact
    if values.get("word") is not None:
        return str(values["word"])
    if values["value"] is None:
        return "not estimable"
    text = _digits(values["value"])
    if values["low"] is not None or values["high"] is not None:
        # An end that is null beside one that is not lies beyond all that was tried.
        ends = (
            "-∞" if values["low"] is None else _digits(values["low"]),
            "∞" if values["high"] is None else _digits(values["high"]),
        )
        text += f" [{', '.join(ends)}]"
    return f"{text} {values['unit']}".strip()
