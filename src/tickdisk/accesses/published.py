"""Published findings about storage accesses, as printed, with their source."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tickdisk.errors import TickdiskError
from tickdisk.yaml_file import read_yaml

Data = Literal["terrain", "player", "npc"]
Direction = Literal["R", "W"]
DIRECTIONS: dict[str, Direction] = {"read": "R", "write": "W"}


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PublishedInteraction(_Strict):
    """A row of the table of user interactions: which accesses it causes to which data."""

    interaction: str
    directions: list[Direction]
    data: list[Data]


class PublishedRoutine(_Strict):
    """A row of the table of routines."""

    routine: str
    accesses: str
    unique_files: str
    timing: Literal["immediate", "delayed"]
    directions: list[Direction]
    data: list[Data]
    note: str = ""


class Published(_Strict):
    """A published study of storage accesses."""

    source: str
    system: str
    interactions: list[PublishedInteraction]
    routines: list[PublishedRoutine]
    findings: dict[str, str]
    """Statements by short name."""


def load_published(path: Path) -> Published:
    """Returns the published findings in a YAML file; TickdiskError names the file and the key that is wrong."""
    values = read_yaml(path, "run from the project's folder")
    try:
        if isinstance(values, dict):
            values.pop("checkpoint", None)  # a study of its own, with a reader of its own
        return Published.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise TickdiskError(f"{path}, key {key}: {first['msg']}; correct it as the rows around it are written") from error
