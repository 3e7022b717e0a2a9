"""One side of a comparison: what a run states, and the design under which it means something."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk.errors import TickdiskError
from tickdisk.files import read_json

_SIZES = ("lives", "blocks", "rounds", "micro_rounds")
"""More of these make an interval narrower; they do not change what a number means."""
_GENERAL = ("margin", "alpha")


@dataclass(frozen=True)
class Side:
    """The facts by name and the claims by id of one run."""

    name: str
    facts: Mapping[str, Mapping[str, Any]]
    claims: Mapping[str, Mapping[str, Any]]

    def design(self, study: str) -> dict[str, Any]:
        """Returns what the numbers of a study depend on by plan: its arms and their meaning, its times and its players."""
        own = {
            name: (fact["value"], fact.get("word"), fact["note"])
            for name, fact in self.facts.items()
            if name.startswith((f"setup.{study}.", f"setup.arm.{study}.")) and name.rpartition(".")[2] not in _SIZES
        }
        return own | {name: self.facts[f"setup.{name}"]["value"] for name in _GENERAL if f"setup.{name}" in self.facts}

    def setup(self, name: str) -> str:
        """Returns a fact of the set-up as it is read; "not known" if the run did not state it."""
        return str(self.facts.get(f"setup.{name}", {"text": "not known"})["text"])


def load(path: Path) -> Side:
    """Returns the run whose facts.json and claims.json are in the folder `path`, or beside the file `path`.

    TickdiskError names the file that is missing or not of this form.
    """
    folder = path.parent if path.is_file() else path
    if not folder.is_dir():
        raise TickdiskError(f"{path} does not exist; name a folder with facts.json and claims.json, such as results")
    facts, claims = read_json(folder / "facts.json"), read_json(folder / "claims.json")
    if not isinstance(facts, dict) or not all(isinstance(each, dict) and "value" in each for each in facts.values()):
        raise TickdiskError(f"{folder / 'facts.json'}: not a set of facts by name; name a folder that `make paper` wrote")
    if not isinstance(claims, list) or not all(
        isinstance(each, dict) and {"id", "verdict", "effect"} <= each.keys() for each in claims
    ):
        raise TickdiskError(f"{folder / 'claims.json'}: not a list of claims of this version; run `make paper` again")
    return Side(str(path), facts, {claim["id"]: claim for claim in claims})
