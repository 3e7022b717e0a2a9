"""The facts and claims that a study states.

A fact has a unit, an interval, n and a source. A claim has one verdict, and names the facts that the verdict rests on.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import pandas as pd
from pydantic import Field

from tickdisk.foundation import numbers, record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.stats import AnyWord, BoundWord, Cause, Finding, HeldFinding, NotShown, Outcome, Word

FACTS, CLAIMS, MISSING = "facts.json", "claims.json", "missing.json"
THIS_PROJECT = "this project"
"""Source of a claim that no published study makes."""
Kind = Literal["comparison", "bound"]
VERDICTS: dict[Kind, tuple[AnyWord, ...]] = {"comparison": get_args(Word), "bound": get_args(BoundWord)}
"""The verdicts of each kind of claim.

A bound is a limit that an instrument must keep, or a range in which a published number must be reached.
"""
UNDECIDED: tuple[AnyWord, ...] = ("inconclusive", "not valid")
"""The verdicts of a claim that is not decided, which has causes."""
Direction = Literal["higher", "lower", ""]
"""The direction of a difference: whether the first condition of a comparison has the higher or the lower value."""
MustBe = Literal["", "different", "equivalent"]
"""The verdict that a control must have. It is empty for a claim that is no control."""
Figures = dict[str, str | None]
"""The content of figures.json of a study: by name, the reason why a figure was not drawn, or None for one that was drawn."""
_SYMBOLS = {"us": "µs"}
"""Units that a person reads in another spelling than the one in files."""
_SHORT_TIMES = ((1e-3, 1e6, "ns"), (1e-2, 1e3, "µs"))
"""For times whose value and interval are below a limit in ms: the limit, and the factor and the unit in which they are read."""
_NAME = re.compile(r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$")


class Fact(record.Record):
    """A number or a word that a study states, under a full name such as `switchback.lives`."""

    value: float | int | None
    """The value. It is null for a word, and for a value that could not be estimated."""
    unit: str
    """The unit of value, low and high, or the word for what is counted. It is empty for a plain number and for a word."""
    low: float | None
    """The lower end of the interval. It is null without an interval, and for an end that is not finite."""
    high: float | None
    """The upper end of the interval. It is null without an interval, and for an end that is not finite."""
    n: int | None
    """The number of lives, requests or other things that the value rests on. It is null where the value is no estimate."""
    source: str
    """The file, table or study that the value comes from."""
    note: str
    """A remark; it may be empty."""
    word: str | None = Field(default=None, exclude_if=lambda word: word is None)
    """The word, if the fact is a word. The key is absent otherwise."""
    text: str
    """The fact as a person reads it, with value, interval and unit. A share is written in %."""
    short: str
    """The fact as a person reads it, without its interval."""


class Claim(record.Record):
    """A question of this project or of a published study, with the verdict of the runs on this machine."""

    id: str
    """The name of the claim: the study, a dot, and a name in the study."""
    kind: Kind
    """Whether the claim compares two conditions or is a bound that must be kept."""
    source: str
    """The published study that the question comes from, or `this project`."""
    statement: str
    """The question in neutral words, as an effect or a bound."""
    verdict: AnyWord
    """The decision. For a comparison it is different, equivalent, inconclusive or not valid; for a bound it is kept, missed,
    inconclusive or not valid."""
    direction: Direction = ""
    """The direction of a difference. It is empty for another verdict."""
    must_be: MustBe = ""
    """The verdict that a control must have, so that the experiment counts. It is empty for a claim that is no control."""
    study: Outcome
    """The outcome for a published finding: upheld, contradicted, open or not valid. It is empty for a claim of ours."""
    finding: HeldFinding | None = None
    """The published finding with its quantity and tolerance, beside the value of this run. It is null for a claim of ours."""
    evidence: str
    """The reason for the verdict, in words."""
    causes: tuple[Cause, ...]
    """The causes for which the verdict is inconclusive or not valid. The list is empty for another verdict."""
    effect: str
    """The name of the fact that says how large the effect is. It is empty if there is no such fact."""
    facts: list[str]
    """The names of the facts that the claim rests on."""
    n: int
    """The number of lives, requests or other things that decided."""
    counted: str
    """The word for what n counts, in the plural."""
    n_text: str
    """The number n with the word for what it counts, such as "12 lives"."""


def count_text(n: int, counted: str) -> str:
    """Returns a number of things in words. `counted` is the plural of the word for them.

    Examples
    --------
    >>> count_text(1, "lives"), count_text(12, "update rates")
    ('1 life', '12 update rates')
    """
    return f"{numbers.number(n)} {singular(counted) if n == 1 else counted}"


def fact_name(metric: str) -> str:
    """Returns the part of a fact's name that stands for a metric: its column without the unit, because ratios have none."""
    return metric.removesuffix("_ms")


def _number(value: float | None) -> float | int | None:
    """Returns a number, or None for NaN and infinities, because they are no estimates."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, int) else float(value)


def _written(value: float | None, unit: str, low: float | None = None, high: float | None = None, *, short: bool = False) -> str:
    """Returns a number with its interval and its unit. A share is written in %, and a very short time in µs or ns.

    The short text has no interval, and the same unit.
    """
    factor, symbol = (100.0, "%") if unit == "share" else (1.0, _SYMBOLS.get(unit, unit))
    if unit == "ms":
        longest = max(abs(part) for part in (value, low, high, 0.0) if part is not None)
        factor, symbol = next(((by, word) for limit, by, word in _SHORT_TIMES if 0 < longest < limit), (1.0, unit))
    if factor != 1:
        value, low, high = (None if part is None else factor * part for part in (value, low, high))
    text = numbers.number(value) if short else numbers.with_interval(value, low, high)
    return text if value is None or symbol in ("", "ratio") else f"{text} {symbol}"


def singular(unit: str) -> str:
    """Returns the singular of a word for what is counted, or of a rate such as requests/s. The units s and ms stay as they are.

    >>> singular("captured lives"), singular("requests/s"), singular("searches"), singular("ms")
    ('captured life', 'request/s', 'search', 'ms')
    """
    counted, per, time = unit.partition("/")
    one = (
        f"{counted[:-5]}life"
        if counted.endswith("lives")
        else counted[:-2]
        if counted.endswith("ches")
        else counted[:-1]
        if counted.endswith("s") and len(counted) > len("ms")
        else counted
    )
    return f"{one}{per}{time}"


class Statement:
    """Collects the facts and claims of a study in the order in which they are stated. Their names begin with the study's name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts: dict[str, Fact] = {}
        self.claims: list[Claim] = []

    def part(self, name: str) -> "Statement":
        """Returns a view of this statement in which the names of facts and claims begin with `STUDY.name`."""
        view = Statement(f"{self.name}.{name}")
        view.facts, view.claims = self.facts, self.claims
        return view

    def __getitem__(self, name: str) -> Fact:
        """Returns the fact that was stated as `STUDY.name`, where STUDY is the name of the study."""
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
        """States a fact that is a number, under the full name `STUDY.name`.

        `name` has lower-case words, digits and underscores, in parts that dots separate. `value` is in `unit`, and None, NaN and
        infinities mean that it is not estimable. `unit` may be the plural of the word for what is counted. It is empty for a
        plain number, and "share" is read in %. `interval` has both ends in `unit`. `n` is the number of lives, requests or other
        things that the value rests on, or None if the value is no estimate. `source` is a file, a table or a study. Raises
        TickdiskError if the name is taken or has other characters.
        """
        low, high = interval if interval is not None else (None, None)
        unit = singular(unit) if value == 1 and isinstance(value, int) else unit
        value, low, high = _number(value), _number(low), _number(high)
        text, short = (_written(value, unit, low, high, short=is_short) for is_short in (False, True))
        fact = Fact(value=value, unit=unit, low=low, high=high, n=n, source=source, note=note, text=text, short=short)
        return self._state(name, fact)

    def word(self, name: str, word: str, *, source: str, note: str = "") -> Fact:
        """States a fact that is a word or a few words, as `fact` does for a number. Its value is None."""
        empty: dict[str, None] = dict.fromkeys(("value", "low", "high", "n"))
        return self._state(name, Fact(**empty, unit="", source=source, note=note, word=word, text=word, short=word))

    def _state(self, name: str, fact: Fact) -> Fact:
        full = f"{self.name}.{name}"
        if full in self.facts or not _NAME.match(full):
            raise TickdiskError(
                f"fact {full} is stated twice, or has characters beside a-z, 0-9, _ and dots; give it another name"
            )
        self.facts[full] = fact
        return fact

    def comparison(
        self,
        name: str,
        *,
        source: str = THIS_PROJECT,
        statement: str,
        verdict: Word,
        evidence: str,
        causes: Sequence[Cause] = (),
        effect: str,
        facts: Sequence[str] = (),
        n: int,
        counted: str,
        finding: Finding | None = None,
        tested: str = "",
        is_same: bool = True,
        must_be: MustBe = "",
    ) -> None:
        """States a claim that compares two conditions.

        `evidence` is the reason for the verdict in words. `causes` are given for a verdict of `UNDECIDED`, and for no other. An
        inconclusive verdict without a given cause gets the cause `NotShown`. `effect` names the fact with the effect as a ratio,
        and is empty if no single fact holds it. `facts` names further facts that the claim rests on. `n` things decided, and
        `counted` is the plural of the word for them. `finding` is None if the claim is not about a published finding. `tested`
        names the fact with the quantity that was published, if that is not the effect. The finding stays open if not `is_same`,
        because this run measured under other conditions than the published ones. `must_be` is the verdict that a control must
        have. Raises TickdiskError if the verdict is not one of a comparison, if it does not fit the causes, or if a fact is not
        stated.
        """
        study, held = self._held(finding, verdict, tested or effect, None, "")
        # An adjusted test that asks the same question is the stricter one.
        is_open = finding is not None and verdict == "inconclusive" and not tested and finding.test in ("above", "equivalence")
        study = "open" if study and verdict != "not valid" and (is_open or not is_same) else study
        source, more = source if finding is None else finding.source, [*facts, *([tested] if tested else [])]
        self._claim(
            name, "comparison", source, statement, verdict, study, evidence, causes, effect, more, n, counted, held, must_be
        )

    def bound(
        self,
        name: str,
        *,
        source: str = THIS_PROJECT,
        statement: str,
        verdict: BoundWord,
        evidence: str,
        causes: Sequence[Cause] = (),
        effect: str = "",
        facts: Sequence[str] = (),
        n: int,
        counted: str,
        finding: Finding | None = None,
        found: tuple[float, float] | None = None,
        here: str = "",
        is_fitted: bool = False,
    ) -> None:
        """States a claim that an instrument, a model or a published number keeps a bound.

        The parameters and errors are those of `comparison`, but `effect` names the fact that is held against the bound. `found`
        has the ends between which the tested value is known to lie and `here` says so in words, if these are not those of the
        fact. If `is_fitted`, a free parameter was chosen so that the published number is reached, and a bound that is kept leaves
        the finding open.
        """
        study, held = self._held(finding, verdict, effect, found, here)
        source, study = source if finding is None else finding.source, "open" if is_fitted and study == "upheld" else study
        self._claim(name, "bound", source, statement, verdict, study, evidence, causes, effect, facts, n, counted, held)

    def _held(
        self, finding: Finding | None, verdict: AnyWord, tested: str, found: tuple[float, float] | None, here: str
    ) -> tuple[Outcome, HeldFinding | None]:
        """Returns the outcome for a published finding, and the finding beside the value of this run."""
        if finding is None:
            return "", None
        fact = self[tested]
        if found is None:
            found = _ends(fact)
        held = HeldFinding(
            said=finding.said,
            quantity=finding.quantity,
            published=finding.printed,
            criterion=finding.criterion,
            here=here or fact.text,
        )
        return "not valid" if verdict == "not valid" else finding.outcome(*found), held

    def _claim(
        self,
        name: str,
        kind: Kind,
        source: str,
        statement: str,
        verdict: AnyWord,
        study: Outcome,
        evidence: str,
        causes: Sequence[Cause],
        effect: str,
        facts: Sequence[str],
        n: int,
        counted: str,
        held: HeldFinding | None,
        must_be: MustBe = "",
    ) -> None:
        full = [f"{self.name}.{fact}" for fact in dict.fromkeys([*([effect] if effect else []), *facts])]
        missing = [fact for fact in full if fact not in self.facts]
        if verdict not in VERDICTS[kind] or missing:
            raise TickdiskError(
                f"claim {self.name}.{name} has an unknown verdict {verdict!r} or unknown facts {missing}; state the facts first"
            )
        if verdict == "inconclusive" and not causes:
            causes = [NotShown(n=n, counted=counted)]
        if bool(causes) != (verdict in UNDECIDED):
            raise TickdiskError(
                f"claim {self.name}.{name} is {verdict} and has {len(causes)} causes; give causes to a claim that is not "
                "decided, and to no other"
            )
        self.claims.append(
            Claim(
                id=f"{self.name}.{name}",
                kind=kind,
                source=source,
                statement=statement,
                verdict=verdict,
                direction=self._direction(effect) if verdict == "different" else "",
                must_be=must_be,
                study=study,
                finding=held,
                evidence=evidence,
                causes=tuple(causes),
                effect=f"{self.name}.{effect}" if effect else "",
                facts=full,
                n=n,
                counted=counted,
                n_text=count_text(n, counted),
            )
        )

    def _direction(self, effect: str) -> Direction:
        fact = self[effect] if effect else None
        if fact is None or fact.value is None:
            return ""
        return "higher" if fact.value > (1 if fact.unit == "ratio" else 0) else "lower"

    def outcome(self) -> str:
        """Says in a few sentences what came out: the largest difference, the verdicts of all claims, and the controls."""
        controls = [claim for claim in self.claims if claim.must_be]
        others = [claim for claim in self.claims if not claim.must_be]
        counts = Counter(claim.verdict for claim in others)
        said = numbers.joined_list([f"{count} {'is' if count == 1 else 'are'} {word}" for word, count in counts.most_common()])
        sentences = [f"Of {count_text(len(others), 'claims')}, {said}."] if others else []
        if controls:
            right = sum(claim.must_be == claim.verdict for claim in controls)
            sentences.append(
                f"Of {count_text(len(controls), 'controls')}, {right} came out as {'it' if right == 1 else 'they'} must."
            )
        largest = max(others, key=self._distance, default=None)
        if largest is not None and self._distance(largest):
            effect = self.facts[largest.effect].text
            sentences.insert(0, f"The largest difference is in this claim: {largest.statement}, with a ratio of {effect}.")
        return " ".join(sentences)

    def _distance(self, claim: Claim) -> float:
        """Returns how far the ratio of a claim is from 1 on a log scale, or 0 for a claim that shows no difference of a ratio."""
        fact = self.facts.get(claim.effect)
        if claim.verdict != "different" or fact is None or fact.unit != "ratio" or not fact.value or fact.value < 0:
            return 0.0
        return abs(math.log(fact.value))

    def verdicts(self) -> pd.DataFrame:
        """Returns a table for display with one row per claim, indexed by its statement.

        Where there are published findings, further columns have the source, the tested quantity, the published value, the
        tolerance, our value, and the outcome.
        """
        rows = [
            (claim.statement, self._size(claim), claim.n_text, verdict_text(claim), *_shown(claim), claim.evidence)
            for claim in self.claims
        ]
        table = pd.DataFrame(rows, columns=["claim", "here", "n", "verdict", *_SHOWN, "evidence"]).set_index("claim")
        return table if any(claim.study for claim in self.claims) else table.drop(columns=list(_SHOWN))

    def _size(self, claim: Claim) -> str:
        """Returns the size of a claim's effect in words, which is that of the tested quantity if it is about a finding."""
        if claim.finding is not None:
            return claim.finding.here
        return self.facts[claim.effect].text if claim.effect else ""

    def save(self, folder: Path) -> None:
        """Writes facts.json and claims.json into a folder."""
        write_statement(folder, self.facts, self.claims)


_SHOWN = ("source", "tested", "published", "upheld", "finding")
"""Columns of the table of claims about published findings."""


def _shown(claim: Claim) -> tuple[str, ...]:
    held = claim.finding
    return ("",) * len(_SHOWN) if held is None else (claim.source, held.quantity, held.published, held.criterion, claim.study)


def verdict_text(claim: Claim) -> str:
    """Returns the verdict of a claim with the direction of a difference, such as "different, lower"."""
    return f"{claim.verdict}, {claim.direction}" if claim.direction else claim.verdict


def _ends(fact: Fact) -> tuple[float, float]:
    """Returns the ends of the interval of a fact. A value without an interval has no sampling error, and is both ends.

    A value that rests on one thing may be anything, because one thing has no spread.
    """
    if fact.n == 1 and fact.low is None and fact.high is None:
        return -math.inf, math.inf
    if fact.low is None and fact.high is None:
        value = math.nan if fact.value is None else fact.value
        return value, value
    return -math.inf if fact.low is None else fact.low, math.inf if fact.high is None else fact.high


def write_statement(folder: Path, facts: Mapping[str, Fact], claims: Iterable[Claim]) -> None:
    """Writes facts.json and claims.json into a folder."""
    record.write(folder / FACTS, facts)
    record.write(folder / CLAIMS, list(claims))


def read_facts(folder: Path) -> dict[str, Fact]:
    """Returns the facts of a folder by their full names. TickdiskError is raised for a file that is missing or has other keys."""
    return record.read(dict[str, Fact], folder / FACTS)


def read_claims(folder: Path) -> dict[str, Claim]:
    """Returns the claims of a folder by their ids. An unknown key, verdict or kind of cause is a TickdiskError."""
    return {claim.id: claim for claim in record.read(list[Claim], folder / CLAIMS)}
