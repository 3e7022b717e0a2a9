"""The comparison of two runs, claim by claim."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tickdisk.compare.side import Side
from tickdisk.stats import AnyWord
from tickdisk.studies.statement import UNDECIDED

Stated = AnyWord | Literal["not stated"]
Verdicts = Literal["same", "other", "undecided in one", "undecided in both", "other plan", "only in one"]
Intervals = Literal["overlap", "apart", "none"]


@dataclass(frozen=True)
class Row:
    """One claim with its verdict and its effect in each of the two runs that are compared."""

    id: str
    statement: str
    verdicts: tuple[Stated, Stated]
    """The verdict in each run; "not stated" where the run has no such claim."""
    effects: tuple[str, str]
    """The effect in each run as it is read; empty where the claim has none."""
    compared: Verdicts
    """Relation of the two verdicts. A verdict is undecided if it is inconclusive or not valid."""
    intervals: Intervals
    """Whether the intervals of the two effects overlap or are apart; "none" if an interval is missing or the plans differ."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of all claims of two runs of the project, as `compare` makes it."""

    first: str
    """Path of the results of the run that is compared."""
    second: str
    """Path of the results of the run that it is compared with."""
    rows: tuple[Row, ...]
    """One row for each claim of either run."""
    plans: tuple[str, ...]
    """The studies whose plans differ, so that their claims are not compared."""
    machines: tuple[str, str]
    """Processor, cores, kernel and game server of each run, in words."""
    is_one_run: bool
    """Whether all estimates that both runs hold are the same to the last digit, as those of a run and itself are."""

    def count(self, compared: Verdicts) -> int:
        """Returns the number of claims whose two verdicts have a given relation."""
        return sum(row.compared == compared for row in self.rows)

    @property
    def agrees(self) -> bool:
        """Whether no claim has another verdict and no two intervals are apart."""
        return not any(row.compared == "other" or row.intervals == "apart" for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Returns the comparison as an object that can be written as JSON: the fields, with `rows` as objects, and `agrees`."""
        return {**asdict(self), "agrees": self.agrees}


def compare(first: Side, second: Side) -> Comparison:
    """Compares two runs, claim by claim. Claims of a study are compared only if its `Side.design` is equal in both."""
    ids = list(dict.fromkeys([*first.claims, *second.claims]))
    studies = list(dict.fromkeys(name.partition(".")[0] for name in ids))
    other_plans = tuple(study for study in studies if first.design(study) != second.design(study))
    rows = tuple(_row(name, first, second, is_comparable=name.partition(".")[0] not in other_plans) for name in ids)
    machines = (_machine(first), _machine(second))
    return Comparison(first.name, second.name, rows, other_plans, machines, _is_one_run(first, second))


def _is_one_run(first: Side, second: Side) -> bool:
    estimates = [name for name, fact in first.facts.items() if fact["low"] is not None and name in second.facts]
    return bool(estimates) and all(first.facts[name]["value"] == second.facts[name]["value"] for name in estimates)


def _row(name: str, first: Side, second: Side, *, is_comparable: bool) -> Row:
    claims = [side.claims.get(name) for side in (first, second)]
    stated = [claim for claim in claims if claim is not None]
    verdicts: list[Stated] = ["not stated" if claim is None else claim.verdict for claim in claims]
    facts = [
        None if claim is None or not claim.effect else side.facts.get(claim.effect)
        for side, claim in zip((first, second), claims, strict=True)
    ]
    effects = tuple("" if fact is None else str(fact["text"]) for fact in facts)
    compared: Verdicts = (
        "only in one" if len(stated) == 1 else "other plan" if not is_comparable else _compared(verdicts[0], verdicts[1])
    )
    intervals: Intervals = "none" if not is_comparable else _intervals(facts[0], facts[1])
    return Row(name, stated[0].statement, (verdicts[0], verdicts[1]), (effects[0], effects[1]), compared, intervals)


def _compared(first: Stated, second: Stated) -> Verdicts:
    undecided = sum(word in UNDECIDED for word in (first, second))
    if undecided:
        return "undecided in both" if undecided == 2 else "undecided in one"  # noqa: PLR2004 - of two
    return "same" if first == second else "other"


def _intervals(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> Intervals:
    if first is None or second is None:
        return "none"
    ends = [(fact["low"], fact["high"]) for fact in (first, second)]
    if any(end is None for pair in ends for end in pair):
        return "none"
    (low, high), (other_low, other_high) = ends
    return "overlap" if low <= other_high and other_low <= high else "apart"


def _machine(side: Side) -> str:
    return f"{side.setup('processor')}, {side.setup('cores')}, kernel {side.setup('kernel')}, {side.setup('server')}"
