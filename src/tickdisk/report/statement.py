"""The facts and claims that a study states, each fact with unit, interval, n and source, each claim with one verdict."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from tickdisk import numbers
from tickdisk.errors import TickdiskError
from tickdisk.files import write_json

OURS = "this project"
"""The source of a claim that was not published before."""
Kind = Literal["comparison", "bound"]
VERDICTS: dict[Kind, tuple[str, ...]] = {
    "comparison": ("different", "equivalent", "inconclusive", "not valid"),
    "bound": ("kept", "missed", "inconclusive", "not valid"),
}
"""Two conditions are compared; a bound is what an instrument must keep, or how near a published number must be reached."""
Finding = Literal["difference", "longer", "no difference"]
"""The finding of a published study; a bound needs none, as it says by itself what was found."""
_SYMBOLS = {"us": "µs"}
"""Units that are read otherwise than they are written in files."""
_NAME = re.compile(r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$")


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
    """The word, if the fact is one; it has no value then."""

    @property
    def text(self) -> str:
        """The fact as a person reads it: value, interval and unit; a share is read in %."""
        if self.word is not None:
            return self.word
        if self.unit == "share":
            value, low, high = (None if part is None else 100 * part for part in (self.value, self.low, self.high))
            text, unit = numbers.with_interval(value, low, high), "%"
        else:
            text, unit = numbers.with_interval(self.value, self.low, self.high), _SYMBOLS.get(self.unit, self.unit)
        has_unit = self.value is not None and unit not in ("", "ratio")
        return f"{text} {unit}" if has_unit else text

    @property
    def short(self) -> str:
        """The fact without its interval."""
        return Fact(self.value, self.unit, None, None, self.n, self.source, self.note, self.word).text

    def as_dict(self) -> dict[str, Any]:
        """Returns what facts.json holds: the fields, and the fact as it is read with and without its interval."""
        values = {name: value for name, value in asdict(self).items() if name != "word" or value is not None}
        return {**values, "text": self.text, "short": self.short}


@dataclass(frozen=True)
class Claim:
    """A question of this project or of a published study, and what this machine's runs say about it."""

    id: str
    kind: Kind
    source: str
    statement: str
    """The question in neutral words: an effect, or a bound."""
    verdict: str
    study: str
    """The outcome for a published finding: upheld, contradicted or open; empty for a claim of ours."""
    evidence: str
    effect: str
    """Name of the fact that says how large it is; empty if no single one does."""
    facts: list[str]
    n: int
    counted: str
    """The word for what n counts."""

    def as_dict(self) -> dict[str, Any]:
        """Returns what claims.json holds: the fields, and n as it is read."""
        counted = _of_one(self.counted) if self.n == 1 else self.counted
        return {**asdict(self), "n_text": f"{numbers.number(self.n)} {counted}"}


def upheld(verdict: str, finding: Finding | None, *, is_longer: bool = True) -> str:
    """Returns what a verdict makes of a published finding: upheld, contradicted or open.

    `finding` None: the claim is a bound, whose words say so themselves. A difference in the other direction contradicts
    "longer".
    """
    if verdict not in ("different", "equivalent", "kept", "missed"):
        return "open"
    if finding is None:
        return "upheld" if verdict == "kept" else "contradicted"
    if finding == "longer":
        return "upheld" if verdict == "different" and is_longer else "contradicted"
    return "upheld" if (verdict == "different") == (finding == "difference") else "contradicted"


def _number(value: float | None) -> float | int | None:
    """NaN and infinities are not estimates: they are stated as null."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, int) else float(value)


def _of_one(unit: str) -> str:
    """A count of one has its word in the singular; ms and s are no counts."""
    return "life" if unit == "lives" else unit[:-1] if unit.endswith("s") and len(unit) > len("ms") else unit


class Statement:
    """Collects the facts and claims of a study, in the order in which they are stated."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts: dict[str, Fact] = {}
        self.claims: list[Claim] = []

    def __getitem__(self, name: str) -> Fact:
        """Returns the fact that was stated as `STUDY.name`."""
        return self.facts[f"{self.name}.{name}"]

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
    ) -> Fact:
        """States a fact under `STUDY.name` and returns it; TickdiskError when the name is taken or not of lower-case words."""
        low, high = interval if interval is not None else (None, None)
        unit = _of_one(unit) if value == 1 and isinstance(value, int) else unit
        return self._state(name, Fact(_number(value), unit, _number(low), _number(high), n, source, note))

    def word(self, name: str, word: str, *, source: str, note: str = "") -> Fact:
        """States a fact that is a word; TickdiskError as `fact`."""
        return self._state(name, Fact(None, "", None, None, None, source, note, word))

    def _state(self, name: str, fact: Fact) -> Fact:
        full = f"{self.name}.{name}"
        if full in self.facts or not _NAME.match(full):
            raise TickdiskError(f"fact {full}: stated twice, or not of lower-case words, digits and dots; give it another name")
        self.facts[full] = fact
        return fact

    def comparison(
        self,
        name: str,
        *,
        source: str,
        statement: str,
        verdict: str,
        evidence: str,
        effect: str,
        facts: Sequence[str] = (),
        n: int,
        counted: str,
        finding: Finding | None = None,
    ) -> None:
        """States a claim that compares two conditions.

        `effect` names the ratio or difference, `finding` is what the published study found, if the claim is about one, `counted`
        is the word for what n counts. TickdiskError if the verdict is no comparison's, or a fact was not stated.
        """
        value = self.facts[f"{self.name}.{effect}"].value if effect else None
        study = "" if finding is None else upheld(verdict, finding, is_longer=value is None or value > 1)
        self._claim(name, "comparison", source, statement, verdict, study, evidence, effect, facts, n, counted)

    def bound(
        self,
        name: str,
        *,
        source: str,
        statement: str,
        verdict: str,
        evidence: str,
        effect: str = "",
        facts: Sequence[str] = (),
        n: int,
        counted: str,
        is_fitted: bool = False,
    ) -> None:
        """States whether a bound is kept that an instrument, a model or a published number must keep; errors as `comparison`.

        `is_fitted`: a free parameter was chosen so that the published number is reached, so that reaching it leaves it open.
        """
        study = "" if source == OURS else "open" if is_fitted and verdict == "kept" else upheld(verdict, None)
        self._claim(name, "bound", source, statement, verdict, study, evidence, effect, facts, n, counted)

    def _claim(
        self,
        name: str,
        kind: Kind,
        source: str,
        statement: str,
        verdict: str,
        study: str,
        evidence: str,
        effect: str,
        facts: Sequence[str],
        n: int,
        counted: str,
    ) -> None:
        full = [f"{self.name}.{fact}" for fact in dict.fromkeys([*([effect] if effect else []), *facts])]
        missing = [fact for fact in full if fact not in self.facts]
        if verdict not in VERDICTS[kind] or missing:
            raise TickdiskError(
                f"claim {self.name}.{name}: verdict {verdict!r} or facts {missing} unknown; state facts before claims"
            )
        named = f"{self.name}.{effect}" if effect else ""
        self.claims.append(
            Claim(f"{self.name}.{name}", kind, source, statement, verdict, study, evidence, named, full, n, counted)
        )

    def verdicts(self) -> pd.DataFrame:
        """Returns the claims as a table."""
        rows = [
            (claim.statement, claim.source, claim.verdict, claim.study, claim.as_dict()["n_text"], claim.evidence)
            for claim in self.claims
        ]
        return pd.DataFrame(rows, columns=["claim", "source", "verdict", "study", "n", "evidence"]).set_index("claim")

    def save(self, folder: Path) -> None:
        """Writes facts.json and claims.json into the folder."""
        write_json(folder / "facts.json", {name: fact.as_dict() for name, fact in self.facts.items()})
        write_json(folder / "claims.json", [claim.as_dict() for claim in self.claims])
