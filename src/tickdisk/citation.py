"""Reads `CITATION.cff`, the one file that holds the names of the authors and says how the project is cited."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from tickdisk.foundation.record import Record, check
from tickdisk.foundation.yaml_file import read_yaml

CITATION = Path("CITATION.cff")
_CONFIG = ConfigDict(extra="ignore", alias_generator=lambda name: name.replace("_", "-"))
"""The format has more keys than are used here, and hyphens in their names."""


class Author(Record):
    """A person, who has `family-names` or `given-names`, or an organisation, which has a `name`."""

    model_config = _CONFIG

    name: str = ""
    given_names: str = ""
    name_particle: str = ""
    family_names: str = ""
    affiliation: str = ""
    orcid: Annotated[str, Field(pattern=r"^(https://orcid\.org/\d{4}-\d{4}-\d{4}-\d{3}[\dX])?$")] = ""
    website: str = ""

    @model_validator(mode="after")
    def _has_one_kind_of_name(self) -> Self:
        if bool(self.name) == self.is_person:
            raise ValueError("a person has `given-names` and `family-names`, and an organisation has a `name`")
        return self

    @property
    def is_person(self) -> bool:
        """Whether the author is a person, and not an organisation."""
        return bool(self.given_names or self.family_names)

    @property
    def full_name(self) -> str:
        """The name as it is printed."""
        return self.name or " ".join(filter(None, (self.given_names, self.name_particle, self.family_names)))


class Citation(Record):
    """The parts of the file that papers and crates use."""

    model_config = _CONFIG

    title: str
    abstract: str
    version: str
    license: str
    authors: Annotated[tuple[Author, ...], Field(min_length=1)]
    keywords: tuple[str, ...] = ()
    repository_code: str = ""


def read_citation(path: Path = CITATION) -> Citation:
    """Returns what the file says. Raises TickdiskError, which names the file and the key, if authors or another key are wrong."""
    values = read_yaml(path, "run from the project's folder")
    return check(Citation, values, str(path), "correct it as https://citation-file-format.github.io describes")
