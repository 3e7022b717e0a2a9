"""Collects the facts, claims and figures of all studies of a run, and names the studies that are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.studies.statement import MISSING, Claim, Fact, Figures, Statement, read_claims, read_facts, write_statement


@dataclass(frozen=True)
class Evidence:
    """Everything that the studies of a run state. The answers, the paper and the page are made from it."""

    facts: Mapping[str, Fact]
    """Facts by their full name, such as `switchback.lives`."""
    claims: Mapping[str, Claim]
    """Claims by their id."""
    figures: Mapping[str, Figures]
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
        facts: dict[str, Fact] = {}
        claims: dict[str, Claim] = {}
        figures: dict[str, Figures] = {}
        for folder in folders:
            facts |= read_facts(folder)
            claims |= read_claims(folder)
            figures[folder.name] = record.read(Figures, folder / "figures.json")
        for statement in also:
            facts |= statement.facts
        return cls(facts, claims, figures, dict(missing or {}))

    @classmethod
    def load(cls, results: Path) -> "Evidence":
        """Returns the evidence that `save` wrote into the folder of the results."""
        return cls(
            read_facts(results),
            read_claims(results),
            record.read(dict[str, Figures], results / "figures.json"),
            record.read(dict[str, str], results / MISSING),
        )

    def save(self, results: Path) -> None:
        """Writes facts.json, claims.json, figures.json and missing.json into the folder of the results."""
        write_statement(results, self.facts, self.claims.values())
        record.write(results / "figures.json", self.figures)
        record.write(results / MISSING, self.missing)

    def has(self, study: str) -> bool:
        """Returns whether the run has results of a study."""
        return study in self.figures

    def text(self, name: str) -> str:
        """Returns a fact with its interval and unit. Raises TickdiskError if no study states it, as the methods below do."""
        return self._fact(name).text

    def short(self, name: str) -> str:
        """Returns a fact without its interval."""
        return self._fact(name).short

    def value(self, name: str) -> float | None:
        """Returns the value of a fact, or None if it was not estimable."""
        value = self._fact(name).value
        return None if value is None else float(value)

    def n(self, name: str) -> int:
        """Returns the number of lives or other things that a fact rests on, or 0 if the fact has no such number."""
        return self._fact(name).n or 0

    def _fact(self, name: str) -> Fact:
        if name not in self.facts:
            raise TickdiskError(f"no study states the fact {name}; correct the name, or state it")
        return self.facts[name]
