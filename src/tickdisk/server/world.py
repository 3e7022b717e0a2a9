"""Worlds: what they are made from, and a folder that appears whole or not at all."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import getpid
from pathlib import Path

import numpy as np

from tickdisk.foundation.errors import TickdiskError

WORLD_FILE = "world.json"
MARKERS = 64
"""Number of small files in every world that nothing reads but the probe's marker command, each once."""
_CHUNK_BLOCKS = 5


@dataclass(frozen=True)
class WorldSpec:
    """The settings that decide the terrain of a generated world."""

    seed: int
    """Seed of the terrain."""
    edge_blocks: int
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


def shuffled(places: list[list[int]], seed: int) -> list[list[int]]:
    """Returns the places of a world in a random order that depends on `seed` alone, so that traces rarely use neighbours."""
    order = np.random.default_rng(np.random.SeedSequence([seed, 0x706C61636573])).permutation(len(places))
    return [places[index] for index in order]


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
    partial = folder.with_name(f".{folder.name}.{getpid()}.partial")
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
