"""The published setting of the paper on checkpoint recovery, read from `data/published.yaml`."""

from pathlib import Path

from tickdisk.foundation.record import Record
from tickdisk.foundation.yaml_file import read_section


class HalfTick(Record):
    """The update rate and the ticks of the published figure that shows which algorithms lengthen a tick by more than half."""

    updates_per_tick: int
    first_tick: int
    last_tick: int


class PublishedCheckpoint(Record):
    """The setting of Vaz Salles et al. (VLDB 2009), from the section `checkpoint` of `data/published.yaml`.

    Its findings are in the section `findings`, which only studies read.
    """

    source: str
    ticks: int
    """Number of ticks of every published simulation."""
    rates: list[int]
    """Update rates at which a number was published, in updates per tick."""
    log_rate: int
    """Rate at which the time of a checkpoint was published for the algorithms that write a partial log (`PARTIAL_LOG`)."""
    eager_rate: int
    """Rate at which the time that Atomic-Copy-Dirty-Objects adds to a tick was published."""
    half_tick: HalfTick
    game_units: int
    """Number of units of the game Knights and Archers."""


def load_published(path: Path = Path("data/published.yaml")) -> PublishedCheckpoint:
    """Reads the published setting from the section `checkpoint` of a YAML file.

    Raises TickdiskError if the file does not exist, or a key is missing, unknown or wrong. The message names the key.
    """
    return read_section(PublishedCheckpoint, path, "checkpoint")
