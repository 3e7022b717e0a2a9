"""One side of a comparison: the facts and claims of a run, and the design that gives its numbers their meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record, read
from tickdisk.stats import AnyWord
from tickdisk.studies.statement import CLAIMS, FACTS, Fact, Kind

_SIZES = ("lives", "blocks", "rounds", "micro_rounds")
"""Facts of the set-up that are numbers of lives or rounds. They change the width of an interval, but not what it means."""
_GENERAL = ("margin", "alpha")
_ARM = "setup.arm."
"""Facts of the arms begin with this. Their notes say what an arm means, and so count as a part of the design."""


class Compared(Record):
    """The part of a claim that is compared. Other keys may be those of another version."""

    model_config = ConfigDict(extra="ignore")

    id: str
    kind: Kind
    statement: str
    verdict: AnyWord
    effect: str
    """Name of the fact with the effect. It is empty if there is none."""


@dataclass(frozen=True)
class Side:
    """One of the two runs of a comparison."""

    name: str
    """Path from which the run was read."""
    facts: Mapping[str, Fact]
    """Facts by their full name, such as `switchback.lives`."""
    claims: Mapping[str, Compared]
    """Claims by their id."""

    def design(self, study: str) -> Mapping[str, object]:
        """Returns the facts that must be equal in two runs if the numbers of a study are to mean the same.

        These are the facts of the set-up about the study and its arms, except numbers of lives, blocks and rounds, and the notes
        of the arms, the margin and the level.
        """
        own: dict[str, object] = {
            name: (fact.value, fact.word, fact.note if name.startswith(_ARM) else None)
            for name, fact in self.facts.items()
            if name.startswith((f"setup.{study}.", f"{_ARM}{study}.")) and name.rpartition(".")[2] not in _SIZES
        }
        return own | {name: self.facts[f"setup.{name}"].value for name in _GENERAL if f"setup.{name}" in self.facts}

    @property
    def margin(self) -> float:
        """The margin within which two effects are the same in practice. It is 0 if the run states none."""
        fact = self.facts.get("setup.margin")
        return 0 if fact is None or fact.value is None else fact.value

    def setup(self, name: str) -> str:
        """Returns the text of the fact `setup.NAME` about how the run was made, or "not known"."""
        fact = self.facts.get(f"setup.{name}")
        return "not known" if fact is None else fact.text


def load(path: Path) -> Side:
    """Reads facts.json and claims.json of a folder, or beside a file. Raises TickdiskError if one is missing or
    not of this form.
    """
    folder = path.parent if path.is_file() else path
    if not folder.is_dir():
        raise TickdiskError(f"{path} does not exist; name a folder with facts.json and claims.json, such as results")
    advice = "name a folder that `make paper` of this version wrote"
    facts, claims = read(dict[str, Fact], folder / FACTS, advice), read(list[Compared], folder / CLAIMS, advice)
    return Side(str(path), facts, {claim.id: claim for claim in claims})
