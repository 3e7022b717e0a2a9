"""Describes published findings by quantity and tolerance, and decides whether a value of this project upholds them."""

from collections.abc import Mapping
from math import inf
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tickdisk.foundation.numbers import number, percent
from tickdisk.foundation.record import Record
from tickdisk.stats.causes import BoundWord

Outcome = Literal["upheld", "contradicted", "open", "not valid", ""]
"""The outcome of this project's measurement for a published finding. It is empty for a claim without a published finding."""
BOUND_WORDS: Mapping[Outcome, BoundWord] = {
    "upheld": "kept",
    "contradicted": "missed",
    "open": "inconclusive",
    "not valid": "not valid",
}
"""The verdict on a published number as a bound, by what becomes of the finding."""
Test = Literal["factor", "distance", "equivalence", "above", "below"]


class Finding(Record):
    """A published finding with its test, which stands in `data/published.yaml` before the runs.

    Each test says in which range our value must lie. `factor`: the published value over or times the tolerance. `distance`: the
    published value less or plus the tolerance. `equivalence`: a ratio that differs from 1 by at most the tolerance. `above` and
    `below`: any value on that side of the published one, which is a limit, or the value without an effect where the
    publication only gives a direction.
    """

    source: str
    """The publication, and its own name for the finding if it has one."""
    said: str
    """The finding in words."""
    quantity: str
    """The quantity that is tested, in words."""
    unit: str
    """The unit of the quantity: `ratio`, `share`, a unit such as ms, or the plural of the word for what is counted."""
    published: float
    """The published value, or the lower end of a published range."""
    to: float | None = None
    """The upper end of a published range."""
    test: Test
    tolerance: Annotated[float, Field(ge=0)] | None = None
    """The factor, or the distance in `unit`, that still counts. A limit or a direction has none."""
    is_direction: bool = False
    """Whether the publication gives a direction and no number."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.tolerance is None) != (self.test in ("above", "below")):
            raise ValueError(f"the test {self.test} needs {'no' if self.tolerance is not None else 'a'} tolerance")
        return self

    def about(self, quantity: str) -> "Finding":
        """Returns the finding with a more exact name of the tested quantity."""
        return self.model_copy(update={"quantity": quantity})

    @property
    def accepted(self) -> tuple[float, float]:
        """The ends of the range in which our value upholds the finding."""
        low, high, tolerance = self.published, self.published if self.to is None else self.to, self.tolerance or 0.0
        match self.test:
            case "factor":
                return low / tolerance, high * tolerance
            case "distance":
                return low - tolerance, high + tolerance
            case "equivalence":
                return low / (1 + tolerance), high * (1 + tolerance)
            case "above":
                return low, inf
            case "below":
                return -inf, high

    @property
    def printed(self) -> str:
        """The published value in words."""
        if self.is_direction:
            return "more" if self.test == "above" else "less"
        if self.test == "equivalence":
            return "no difference"
        ends = [number(100 * end if self.unit == "share" else end) for end in (self.published, self.to) if end is not None]
        unit = {"ratio": "times", "share": "%"}.get(self.unit, self.unit)
        limit = f"{self.test} " if self.test in ("above", "below") else ""
        return f"{limit}{' to '.join(ends)} {unit}"

    @property
    def criterion(self) -> str:
        """The range in which our value upholds the finding, in words."""
        tolerance = self.tolerance or 0.0
        match self.test:
            case "factor":
                return f"within a factor of {number(tolerance)}"
            case "distance":
                words = f"{number(100 * tolerance)} points" if self.unit == "share" else f"{number(tolerance)} {self.unit}"
                return f"within {words}" if tolerance else "exactly"
            case "equivalence":
                return f"within {percent(tolerance)}"
            case "above" | "below":
                return "the direction" if self.is_direction else "the limit"

    def outcome(self, low: float, high: float) -> Outcome:
        """Decides by our interval, whose ends are equal for a value without a sampling error.

        The finding is upheld only if the whole interval lies in the accepted range, and contradicted only if none of it does.
        """
        least, most = self.accepted
        if least <= low and high <= most:
            return "upheld"
        return "contradicted" if high < least or low > most else "open"


class HeldFinding(Record):
    """A published finding beside what this run found for it, as a claim has them."""

    said: str
    """The finding in words."""
    quantity: str
    """The quantity that was tested."""
    published: str
    """The published value in words."""
    criterion: str
    """The tolerance in words."""
    here: str
    """The value of this run, with its interval."""
