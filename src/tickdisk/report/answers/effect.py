"""Sentences about effects: one whole English sentence for every verdict, for one server or several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tickdisk.numbers import percent

NOT_RUN = "not run"


@dataclass(frozen=True)
class Effect:
    """An effect in words; `cause` and `quantity` are parts of a sentence."""

    cause: str
    """Such as "6 ms of storage latency instead of 0.1 ms"."""
    quantity: str
    """Such as "the longest tick gap"."""
    margin: float
    """The margin of equivalence, as a ratio less 1."""


@dataclass(frozen=True)
class Told:
    """A claim and the size of its effect, as one server has it; both None where the experiment did not run."""

    server: str
    claim: Mapping[str, Any] | None
    fact: Mapping[str, Any] | None

    @property
    def outcome(self) -> str:
        """The verdict, with the direction of a difference, or "not run"."""
        if self.claim is None or self.fact is None:
            return NOT_RUN
        verdict = str(self.claim["verdict"])
        if verdict != "different":
            return verdict
        return "longer" if self.fact["value"] > 1 else "shorter"


_SENTENCES = {
    "longer": "{cause} makes {quantity} {sizes} times as long.",
    "shorter": "{cause} makes {quantity} only {sizes} times as long.",
    "equivalent": "{cause} leaves {quantity} within {margin} of what it was (ratio {sizes}).",
    "inconclusive": "it is not known whether {cause} changes {quantity} (ratio {sizes}).",
    "not valid": "the effect of {cause} on {quantity} was not decided, because {reason}.",
    NOT_RUN: "the effect of {cause} on {quantity} was not measured in this run.",
}


def sentences(effect: Effect, told: Sequence[Told], *, names_servers: bool = True) -> str:
    """Returns a sentence for each outcome, which names the servers that it holds for.

    `names_servers` False leaves the names out, where the sentence before has named the only one.
    """
    said = []
    for outcome, sentence in _SENTENCES.items():
        own = [each for each in told if each.outcome == outcome]
        if own:
            words = "On {servers}, " + sentence if names_servers else sentence
            said.append(
                words.format(
                    servers=listed([each.server for each in own]),
                    cause=effect.cause,
                    quantity=effect.quantity,
                    margin=percent(effect.margin),
                    sizes=listed([str(each.fact["text"]) for each in own if each.fact is not None]),
                    reason=listed(list(dict.fromkeys(reason(each.claim) for each in own if each.claim is not None))),
                )
            )
    return " ".join(each[0].upper() + each[1:] for each in said)


def reason(claim: Mapping[str, Any]) -> str:
    """Returns the clause that says why a claim was not decided."""
    evidence = str(claim["evidence"])
    if "lives that a verdict needs" in evidence or "planned lives" in evidence:
        count = f"{claim['n']} {'life is' if claim['n'] == 1 else 'lives are'}"
        return f"{count} fewer than a verdict needs"
    if "control" in evidence:
        return "a control of the experiment did not come out as it must"
    if "would decide" in evidence:
        return f"{claim['n']} {claim['counted']} are too few to decide"
    return "the clients were short of processor time"


def listed(words: Sequence[str]) -> str:
    """Returns words as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')

    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
