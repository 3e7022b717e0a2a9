"""Reads the published tables about storage accesses, as they were printed, with their source."""

from pathlib import Path
from typing import Literal

from tickdisk.foundation.record import Record
from tickdisk.foundation.yaml_file import read_section

Data = Literal["terrain", "player", "npc"]
Direction = Literal["R", "W"]
DIRECTIONS: dict[str, Direction] = {"read": "R", "write": "W"}
"""Published letter of a direction, by the name of the operation in tables."""


class PublishedInteraction(Record, strict=True):
    """A row of the published table of interactions, which says which accesses an interaction of a player causes."""

    interaction: str
    directions: list[Direction]
    """Whether the interaction causes reads (R), writes (W) or both."""
    data: list[Data]


class PublishedRoutine(Record, strict=True):
    """A row of the published table of routines, which are the activities of a server that access files."""

    routine: str
    accesses: str
    """Number of accesses in words, such as "1 per player"."""
    timing: Literal["immediate", "delayed"]
    """Whether the accesses happen at once or wait for the next save."""
    directions: list[Direction]
    data: list[Data]
    note: str = ""
    """Remark of this project on the row."""


class PublishedAccesses(Record, strict=True):
    """The tables of PokeSto, a published study of the storage accesses of a Minecraft server."""

    source: str
    interactions: list[PublishedInteraction]
    routines: list[PublishedRoutine]
    """Routines of the published generative model."""


def load_published(path: Path) -> PublishedAccesses:
    """Reads the tables of PokeSto, with which measured accesses are compared, from `data/published.yaml`.

    Raises TickdiskError, which names the file and the key, if the file cannot be read, or a key or a value is wrong.
    """
    return read_section(PublishedAccesses, path, "accesses")
