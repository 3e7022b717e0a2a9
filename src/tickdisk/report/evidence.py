"""Collects the facts, claims and figures of all studies of a run, and names the studies that are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, write_json
from tickdisk.report.statement import Statement


@dataclass(frozen=True)
class Evidence:
    """The facts by name, the claims by id, the figures by study, and the studies that are missing, each with a reason."""

    facts: Mapping[str, Mapping[str, Any]]
    claims: Mapping[str, Mapping[str, Any]]
    figures: Mapping[str, Mapping[str, str | None]]
    """For each study its figures, each with the reason for which it was not drawn, or None."""
    missing: Mapping[str, str]

    @classmethod
    def collect(
        cls, folders: Sequence[Path], also: Sequence[Statement] = (), missing: Mapping[str, str] | None = None
    ) -> "Evidence":
        """Returns the evidence of the studies in `folders`, each named like its study, and of further statements.

        `missing` has the studies that are not there, and why.
        """
        facts: dict[str, Any] = {}
        claims: dict[str, Any] = {}
        figures: dict[str, Any] = {}
        for folder in folders:
            facts |= read_json(folder / "facts.json")
            claims |= {claim["id"]: claim for claim in read_json(folder / "claims.json")}
            figures[folder.name] = read_json(folder / "figures.json")
        for statement in also:
            facts |= {name: fact.as_dict() for name, fact in statement.facts.items()}
        return cls(facts, claims, figures, dict(missing or {}))

    @classmethod
    def load(cls, results: Path) -> "Evidence":
        """Returns the evidence that `save` wrote into the folder."""
        claims = {claim["id"]: claim for claim in read_json(results / "claims.json")}
        return cls(
            read_json(results / "facts.json"),
            claims,
            read_json(results / "figures.json"),
            read_json(results / "missing.json"),
        )

    def save(self, results: Path) -> None:
        """Writes facts.json, claims.json, figures.json and missing.json into the folder."""
        write_json(results / "facts.json", dict(self.facts))
        write_json(results / "claims.json", list(self.claims.values()))
        write_json(results / "figures.json", dict(self.figures))
        write_json(results / "missing.json", dict(self.missing))

    def has(self, study: str) -> bool:
        """Returns whether a study is there."""
        return study in self.figures

    def text(self, name: str) -> str:
        """Returns a fact as it is read; TickdiskError if it was not stated."""
        return str(self._fact(name)["text"])

    def short(self, name: str) -> str:
        """Returns a fact without its interval."""
        return str(self._fact(name)["short"])

    def value(self, name: str) -> float | None:
        """Returns the value of a fact; None where it was not estimable."""
        value = self._fact(name)["value"]
        return None if value is None else float(value)

    def n(self, name: str) -> int:
        """Returns the n of a fact, 0 where it has none."""
        return int(self._fact(name)["n"] or 0)

    def _fact(self, name: str) -> Mapping[str, Any]:
        if name not in self.facts:
            raise TickdiskError(f"no study states the fact {name}; correct the name, or state it")
        return self.facts[name]
