"""Says in whole English sentences what an experiment found about an effect, for every verdict and on one server or several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import joined_list, percent
from tickdisk.report.answers.why import reasons
from tickdisk.studies.statement import Claim, Fact

Outcome = Literal["longer", "shorter", "equivalent", "inconclusive", "not valid", "not run"]


@dataclass(frozen=True)
class Effect:
    """The words for an effect, as parts of a sentence, from which `sentences` makes whole sentences."""

    cause: str
    """Cause of the effect, such as "6 ms of storage latency instead of 0.1 ms"."""
    quantity: str
    """Quantity that changes, such as "the longest tick gap"."""
    margin: float
    """Margin of equivalence, as a ratio less 1."""


@dataclass(frozen=True)
class ServerResult:
    """The claim and the fact about one effect on one server. Both are None if the experiment did not run."""

    server: str
    claim: Claim | None
    fact: Fact | None

    @property
    def outcome(self) -> Outcome:
        """The verdict of the claim, with "longer" or "shorter" instead of "different", or "not run"."""
        if self.claim is None or self.fact is None:
            return "not run"
        match self.claim.verdict:
            case "different":
                return "longer" if (self.fact.value or 0) > 1 else "shorter"
            case "equivalent" | "inconclusive" | "not valid" as verdict:
                return verdict
            case "kept" | "missed":
                raise TickdiskError(f"the claim {self.claim.id} is a bound and no effect; ask for a comparison")
            case unknown:
                assert_never(unknown)


_SENTENCES: Mapping[Outcome, str] = {
    "longer": "{cause} makes {quantity} {sizes} times as long.",
    "shorter": "{cause} makes {quantity} shorter, {sizes} times as long, which is an improvement.",
    "equivalent": "{cause} leaves {quantity} within {margin} of what it was (ratio {sizes}).",
    "inconclusive": "it is not known whether {cause} changes {quantity} (ratio {sizes}).",
    "not valid": "the effect of {cause} on {quantity} was not decided, because {reason}.",
    "not run": "the effect of {cause} on {quantity} was not measured in this run.",
}


_BESIDE: Mapping[Outcome, str] = {
    "longer": "on {servers} it is {sizes} times as long",
    "shorter": "on {servers} it is shorter, {sizes} times as long",
    "equivalent": "on {servers} it stays within {margin} of what it was",
    "inconclusive": "on {servers} it is not known whether it changes",
    "not valid": "on {servers} this was not decided",
    "not run": "on {servers} this was not measured",
}


def sentence_beside(effect: Effect, told: Sequence[ServerResult]) -> str:
    """Says in one short sentence what became of the same effect on other servers, or nothing if there are none."""
    clauses = []
    for outcome, clause in _BESIDE.items():
        own = [each for each in told if each.outcome == outcome]
        if own:
            servers, sizes = (joined_list(words) for words in ([each.server for each in own], _sizes(own)))
            clauses.append(clause.format(servers=servers, sizes=sizes, margin=percent(effect.margin)))
    said = joined_list(clauses)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _sizes(told: Sequence[ServerResult]) -> list[str]:
    return [each.fact.text for each in told if each.fact is not None]


def sentences(effect: Effect, told: Sequence[ServerResult], *, names_servers: bool = True) -> str:
    """Says what was found about an effect on each server, in one sentence for each outcome that occurred.

    `names_servers` is False for a text that has named its only server before.
    """
    said = []
    for outcome, sentence in _SENTENCES.items():
        own = [each for each in told if each.outcome == outcome]
        if own:
            words = "On {servers}, " + sentence if names_servers else sentence
            said.append(
                words.format(
                    servers=joined_list([each.server for each in own]),
                    cause=effect.cause,
                    quantity=effect.quantity,
                    margin=percent(effect.margin),
                    sizes=joined_list(_sizes(own)),
                    reason=reasons(each.claim for each in own if each.claim is not None),
                )
            )
    return " ".join(each[0].upper() + each[1:] for each in said)
