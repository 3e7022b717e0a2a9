"""Reads the published findings about storage accesses, as they were printed, with their source."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tickdisk.errors import TickdiskError
from tickdisk.yaml_file import read_yaml

Data = Literal["terrain", "player", "npc"]
Direction = Literal["R", "W"]
DIRECTIONS: dict[str, Direction] = {"read": "R", "write": "W"}
"""Published letter of a direction, by the name of the operation in tables."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PublishedInteraction(_Strict):
    """A row of the published table of interactions, with the directions and data types of the accesses that it causes."""

    interaction: str
    directions: list[Direction]
    data: list[Data]


class PublishedRoutine(_Strict):
    """A row of the published table of routines, which are the activities of a server that access files."""

    routine: str
    accesses: str
    """Number of accesses in words, such as "1 per player"."""
    unique_files: str
    """Number of files in words."""
    timing: Literal["immediate", "delayed"]
    directions: list[Direction]
    data: list[Data]
    note: str = ""


class Published(_Strict):
    """The findings of a published study of storage accesses."""

    source: str
    """The publication."""
    system: str
    """The server and the machine that the study measured."""
    interactions: list[PublishedInteraction]
    routines: list[PublishedRoutine]
    findings: dict[str, str]
    """Findings as sentences, by short name."""


def load_published(path: Path) -> Published:
    """Reads published findings from a YAML file.

    Parameters
    ----------
    path
        The file, such as `data/published.yaml`.

    Returns
    -------
    Published
        The findings.

    Raises
    ------
    TickdiskError
        If the file cannot be read, or a key or a value is wrong. The message names the file and the key.
    """
    values = read_yaml(path, "run from the project's folder")
    try:
        if isinstance(values, dict):
            values.pop("checkpoint", None)  # The study of checkpoints reads this key by itself.
        return Published.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise TickdiskError(f"{path}, key {key}: {first['msg']}; correct it as the rows around it are written") from error
