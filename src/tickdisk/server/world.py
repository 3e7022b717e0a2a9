"""Worlds: what they are made from, and a folder that appears whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record, Unit, read, write

WORLD_FILE = "world.json"
MARKERS, MARKERS_FOLDER = 64, "markers"
"""Number of small files in every world that nothing reads but the probe's marker command, each once, and their folder."""
_CHUNK_BLOCKS = 5


@dataclass(frozen=True)
class WorldSpec:
    """The settings that decide the terrain of a generated world."""

    seed: int
    """The seed of the terrain."""
    edge_blocks: Annotated[int, Unit("map blocks")]
    """Edge of the generated square in blocks of 16 nodes, rounded down to whole squares of five blocks."""

    @property
    def edge_chunks(self) -> int:
        """Edge in chunks of 5 by 5 blocks, each with a place in its middle for a player. Raises TickdiskError below 1."""
        edge = self.edge_blocks // _CHUNK_BLOCKS
        if edge < 1:
            raise TickdiskError(
                f"edge_blocks = {self.edge_blocks} is less than one square of {_CHUNK_BLOCKS} blocks; enlarge the world"
            )
        return edge


Places = tuple[tuple[int, int, int], ...]
MapBlocks = Annotated[int, Unit("map blocks")]


class Terrain(Record):
    """The facts about a terrain that a server has generated."""

    blocks_generated: MapBlocks
    """The number of map blocks (Luanti) or chunks (other servers) that were generated."""
    blocks_stored: MapBlocks
    """The number of them in the database."""
    block_bytes: int | None = Field(default=None, exclude_if=lambda size: size is None)
    """The size of all stored map blocks together. Only a world of Luanti has it."""
    map_bytes: int
    """The size of the files with the terrain."""
    map_sha256: str | None = Field(default=None, exclude_if=lambda digest: digest is None)
    """The SHA-256 of the database. Only a world of Luanti has it."""
    places: Annotated[Places, Unit("nodes")]
    """The places where a player can stand, as x, y and z, in the order in which traces use them."""


class WorldFacts(Terrain):
    """The content of the file that describes a generated world."""

    server: str
    """The name of the server that can read the world."""
    spec: WorldSpec
    """The settings that decide the terrain."""
    edge_chunks: Annotated[int, Unit("squares")]
    """The edge of the generated terrain, in squares of 5 by 5 blocks."""
    seconds: Annotated[float, Unit("s")]
    """The time that the generation took."""
    radius_blocks: MapBlocks
    """The distance in blocks of 16 nodes up to which the terrain around a player is sent and active."""


def read_world(world: Path) -> WorldFacts:
    """Reads the description of a world from its folder. Raises TickdiskError if it is not of this form."""
    return read(WorldFacts, world / WORLD_FILE, "remove the world or name another folder")


def write_world(world: Path, facts: WorldFacts) -> None:
    """Writes the description of a world into its folder, for `read_world`."""
    write(world / WORLD_FILE, facts)


def shuffled(places: Places, seed: int) -> Places:
    """Returns the places of a world in a random order that depends on `seed` alone, so that traces rarely use neighbours."""
    order = np.random.default_rng(np.random.SeedSequence([seed, 0x706C61636573])).permutation(len(places))
    return tuple(places[index] for index in order)


def corners_of(world: WorldFacts, region_chunks: int, radius_chunks: int) -> Places:
    """Returns the corners of regions of so many chunks that have generated terrain all around, up to the distance of a view.

    They lie above all places, so that a player there is in the air, or in a mountain in which it cannot move.
    """
    first = -(world.edge_chunks // 2) * _CHUNK_BLOCKS - _CHUNK_BLOCKS // 2
    last = first + world.edge_chunks * _CHUNK_BLOCKS - 1
    corners = [
        chunk
        for chunk in range(first, last + 1)
        if chunk % region_chunks == 0 and first <= chunk - radius_chunks and chunk + radius_chunks <= last
    ]
    height = max(y for _, y, _ in world.places)
    return tuple((16 * x + 8, height, 16 * z + 8) for z in corners for x in corners)


def copy_world(world: Path, target: Path) -> None:
    """Copies a world into the folder `target`, which may exist. A file of another account stays one, as a database needs it."""
    shutil.copytree(world, target, dirs_exist_ok=True)
    for path in world.rglob("*"):
        if (owner := path.stat()).st_uid != os.geteuid():
            os.chown(target / path.relative_to(world), owner.st_uid, owner.st_gid)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder beside `folder`, in which the block writes, so that `folder` appears whole or not at all.

    An empty `folder` is replaced, because Snakemake makes it beforehand. Temporary folders of processes that died are removed.
    Raises TickdiskError if the disk is full or `folder` holds something.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}.*.partial"):
        if not Path(f"/proc/{left.name.split('.')[-2]}").exists():
            shutil.rmtree(left, ignore_errors=True)
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        partial.rename(folder)
    except OSError as error:
        reason = error.strerror or error
        raise TickdiskError(f"cannot write {folder}: {reason}; remove what is there or free space, and run again") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
