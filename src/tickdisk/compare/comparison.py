"""The comparison of two runs, claim by claim."""

from typing import Literal

from tickdisk.compare.side import Side
from tickdisk.foundation.record import Record
from tickdisk.stats import AnyWord
from tickdisk.studies.statement import UNDECIDED, Fact

Stated = AnyWord | Literal["not stated"]
Verdicts = Literal["same", "other", "undecided in one", "undecided in both", "other plan", "only in one"]
Intervals = Literal["overlap", "near", "apart", "none"]


class ComparedClaim(Record):
    """One claim with its verdict and its effect in each of the two runs that are compared."""

    id: str
    """The name of the claim."""
    statement: str
    """The question of the claim."""
    verdicts: tuple[Stated, Stated]
    """The verdict in each run; `not stated` where the run has no such claim."""
    effects: tuple[str, str]
    """The effect in each run as it is read; empty where the claim has none."""
    compared: Verdicts
    """The relation of the two verdicts. A verdict is undecided if it is inconclusive or not valid."""
    intervals: Intervals
    """Whether the intervals of the two effects overlap or are apart. They are near if they do not overlap but the higher one
    begins above the other by at most the margin. It is `none` if an interval is missing, if the plans differ, or for a bound,
    which is kept or missed on each machine by itself."""


class Comparison(Record):
    """The comparison of all claims of two runs of the project, as `compare` makes it."""

    first: str
    """The folder of the first run. In `results/comparison.json` it is this run."""
    second: str
    """The folder of the second run. In `results/comparison.json` it is the reference."""
    rows: tuple[ComparedClaim, ...]
    """The claims of both runs."""
    plans: tuple[str, ...]
    """The studies whose plans differ, so that their claims are not compared."""
    machines: tuple[str, str]
    """The machines of both runs in words: processor, cores, kernel and game server."""
    is_one_run: bool
    """Whether all estimates that both runs hold are the same to the last digit, as those of a run and itself are."""
    agrees: bool
    """Whether no claim has another verdict and no two intervals are apart, of claims that compare two conditions."""

    def count(self, compared: Verdicts) -> int:
        """Returns the number of claims whose two verdicts have a given relation."""
        return sum(row.compared == compared for row in self.rows)


def compare(first: Side, second: Side) -> Comparison:
    """Compares two runs, claim by claim. Claims of a study are compared only if its `Side.design` is equal in both."""
    ids = list(dict.fromkeys([*first.claims, *second.claims]))
    studies = list(dict.fromkeys(name.partition(".")[0] for name in ids))
    other_plans = tuple(study for study in studies if first.design(study) != second.design(study))
    rows = tuple(_row(name, first, second, is_comparable=name.partition(".")[0] not in other_plans) for name in ids)
    return Comparison(
        first=first.name,
        second=second.name,
        rows=rows,
        plans=other_plans,
        machines=(_machine(first), _machine(second)),
        is_one_run=_is_one_run(first, second),
        agrees=not any(row.compared == "other" or row.intervals == "apart" for row in rows),
    )


def _is_one_run(first: Side, second: Side) -> bool:
    estimates = [name for name, fact in first.facts.items() if fact.low is not None and name in second.facts]
    return bool(estimates) and all(first.facts[name].value == second.facts[name].value for name in estimates)


def _row(name: str, first: Side, second: Side, *, is_comparable: bool) -> ComparedClaim:
    claims = [side.claims.get(name) for side in (first, second)]
    stated = [claim for claim in claims if claim is not None]
    verdicts: list[Stated] = ["not stated" if claim is None else claim.verdict for claim in claims]
    facts = [
        None if claim is None or not claim.effect else side.facts.get(claim.effect)
        for side, claim in zip((first, second), claims, strict=True)
    ]
    effects = ["" if fact is None else fact.text for fact in facts]
    compared: Verdicts = (
        "only in one" if len(stated) == 1 else "other plan" if not is_comparable else _compared(verdicts[0], verdicts[1])
    )
    is_bound = any(claim.kind == "bound" for claim in stated)
    intervals: Intervals = "none" if is_bound or not is_comparable else _intervals(facts[0], facts[1], first.margin)
    return ComparedClaim(
        id=name,
        statement=stated[0].statement,
        verdicts=(verdicts[0], verdicts[1]),
        effects=(effects[0], effects[1]),
        compared=compared,
        intervals=intervals,
    )


def _compared(first: Stated, second: Stated) -> Verdicts:
    undecided = sum(word in UNDECIDED for word in (first, second))
    if undecided:
        return "undecided in both" if undecided == 2 else "undecided in one"  # noqa: PLR2004 - of two
    return "same" if first == second else "other"


def _intervals(first: Fact | None, second: Fact | None, margin: float) -> Intervals:
    if first is None or second is None:
        return "none"
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return "none"
    end, begin = (second.high, first.low) if first.low > second.high else (first.high, second.low)
    if begin <= end:
        return "overlap"
    return "near" if begin - end <= margin * min(abs(begin), abs(end)) else "apart"


def _machine(side: Side) -> str:
    return f"{side.setup('processor')}, {side.setup('cores')}, kernel {side.setup('kernel')}, {side.setup('server')}"
