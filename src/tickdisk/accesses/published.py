"""Reads the published findings about storage accesses, as they were printed, with their source."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.yaml_file import read_yaml

Data = Literal["terrain", "player", "npc"]
Direction = Literal["R", "W"]
DIRECTIONS: dict[str, Direction] = {"read": "R", "write": "W"}
"""Published letter of a direction, by the name of the operation in tables."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PublishedInteraction(_Strict):
    """A row of the published table of interactions, which says which accesses an interaction of a player causes."""

    interaction: str
    directions: list[Direction]
    """Whether the interaction causes reads (R), writes (W) or both."""
    data: list[Data]


class PublishedRoutine(_Strict):
    """A row of the published table of routines, which are the activities of a server that access files."""

    routine: str
    accesses: str
    """Number of accesses in words, such as "1 per player"."""
    unique_files: str
    timing: Literal["immediate", "delayed"]
    """Whether the accesses happen at once or wait for the next save."""
    directions: list[Direction]
    data: list[Data]
    note: str = ""
    """Remark of this project on the row."""


class Published(_Strict):
    """The findings of PokeSto, a published study of the storage accesses of a Minecraft server."""

    source: str
    system: str
    """The server and the machine that the study measured."""
    interactions: list[PublishedInteraction]
    routines: list[PublishedRoutine]
    """Routines of the published generative model."""
    findings: dict[str, str]
    """Findings as sentences, by short name."""


def load_published(path: Path) -> Published:
    """Reads the findings of PokeSto, with which measured accesses are compared, from `data/published.yaml`.

    Raises TickdiskError, which names the file and the key, if the file cannot be read, or a key or a value is wrong.
    """
    values = read_yaml(path, "run from the project's folder")
    try:
        if isinstance(values, dict):
            for other in ("checkpoint", "games", "network", "shape"):  # Other studies read these keys by themselves.
                values.pop(other, None)
        return Published.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise TickdiskError(f"{path}, key {key}: {first['msg']}; correct it as the rows around it are written") from error
