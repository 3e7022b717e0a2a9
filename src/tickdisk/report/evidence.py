"""Collects the facts, claims and figures of all studies of a run, and names the studies that are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json, write_json
from tickdisk.studies.statement import Claim, Statement


@dataclass(frozen=True)
class Evidence:
    """Everything that the studies of a run state. The answers, the paper and the page are made from it."""

    facts: Mapping[str, Mapping[str, Any]]
    """Facts by their full name, such as `switchback.lives`, as plain JSON values."""
    claims: Mapping[str, Claim]
    """Claims by their id."""
    figures: Mapping[str, Mapping[str, str | None]]
    """Figures of each study by name. The value is the reason for which a figure was not drawn, or None if it was drawn."""
    missing: Mapping[str, str]
    """Studies that this run lacks, each with the reason."""

    @classmethod
    def collect(
        cls, folders: Sequence[Path], also: Sequence[Statement] = (), missing: Mapping[str, str] | None = None
    ) -> "Evidence":
        """Merges what `Study.save` wrote into each of the `folders`, which have the names of their studies.

        `also` adds the facts of further statements, but not their claims.
        """
        facts: dict[str, Any] = {}
        claims: dict[str, Claim] = {}
        figures: dict[str, Any] = {}
        for folder in folders:
            facts |= read_json(folder / "facts.json")
            claims |= _claims(folder)
            figures[folder.name] = read_json(folder / "figures.json")
        for statement in also:
            facts |= {name: fact.as_dict() for name, fact in statement.facts.items()}
        return cls(facts, claims, figures, dict(missing or {}))

    @classmethod
    def load(cls, results: Path) -> "Evidence":
        """Returns the evidence that `save` wrote into the folder of the results."""
        return cls(
            read_json(results / "facts.json"),
            _claims(results),
            read_json(results / "figures.json"),
            read_json(results / "missing.json"),
        )

    def save(self, results: Path) -> None:
        """Writes facts.json, claims.json, figures.json and missing.json into the folder of the results."""
        write_json(results / "facts.json", dict(self.facts))
        record.write(results / "claims.json", list(self.claims.values()))
        write_json(results / "figures.json", dict(self.figures))
        write_json(results / "missing.json", dict(self.missing))

    def has(self, study: str) -> bool:
        """Returns whether the run has results of a study."""
        return study in self.figures

    def text(self, name: str) -> str:
        """Returns a fact with its interval and unit. Raises TickdiskError if no study states it, as the methods below do."""
        return str(self._fact(name)["text"])

    def short(self, name: str) -> str:
        """Returns a fact without its interval."""
        return str(self._fact(name)["short"])

    def value(self, name: str) -> float | None:
        """Returns the value of a fact, or None if it was not estimable."""
        value = self._fact(name)["value"]
        return None if value is None else float(value)

    def n(self, name: str) -> int:
        """Returns the number of lives or other things that a fact rests on, or 0 if the fact has no such number."""
        return int(self._fact(name)["n"] or 0)

    def _fact(self, name: str) -> Mapping[str, Any]:
        if name not in self.facts:
            raise TickdiskError(f"no study states the fact {name}; correct the name, or state it")
        return self.facts[name]


def _claims(folder: Path) -> dict[str, Claim]:
    """Returns the claims of a folder by their ids. An unknown key, verdict or kind of cause is a TickdiskError."""
    return {claim.id: claim for claim in record.read(list[Claim], folder / "claims.json")}
