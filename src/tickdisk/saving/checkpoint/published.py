"""The published numbers of the paper on checkpoint recovery, as printed, read from `data/published.yaml`."""

from pathlib import Path

from tickdisk.foundation.record import Record
from tickdisk.foundation.yaml_file import read_section
from tickdisk.saving.checkpoint.model import Algorithm


class Anchor(Record):
    """A published number that the simulator should reproduce. `value` is in `unit`."""

    name: str
    value: float
    unit: str
    statement: str


class Log(Record):
    """The published time of a checkpoint under the algorithms that write a partial log (`PARTIAL_LOG`), at one update rate."""

    updates_per_tick: int
    checkpoint_s: float
    times_faster: float
    """Time of a checkpoint under Naive-Snapshot over that under these algorithms."""


class CrossOver(Record):
    """The published update rate below which some algorithms add less time to a tick than Naive-Snapshot does."""

    updates_per_tick: int
    algorithms: list[Algorithm]


class CopyOnUpdateExtremes(Record):
    """The published extremes of the time that copy-on-update methods (`COPY_ON_UPDATE`) add to a tick, over all update rates.
    Both are relative to Naive-Snapshot at the same update rate.
    """

    most_gain: float
    """Largest factor by which they add less time to a tick than Naive-Snapshot."""
    most_cost: float
    """Largest factor by which they add more time to a tick than Naive-Snapshot."""


class HalfTick(Record):
    """The update rate and the ticks of the published figure that shows which algorithms lengthen a tick by more than half."""

    updates_per_tick: int
    first_tick: int
    last_tick: int


class GameSize(Record):
    """The published size of the game Knights and Archers, and its mean number of updates per tick."""

    units: int
    updates_per_tick: int


class Eager(Record):
    """The published overhead of an eager algorithm, which copies at the beginning of a checkpoint, at one high update rate."""

    algorithm: Algorithm
    updates_per_tick: int
    overhead_ms: float
    """Mean time that the algorithm adds to a tick."""


class PublishedCheckpoint(Record):
    """The printed numbers of Vaz Salles et al. (VLDB 2009), from the section `checkpoint` of `data/published.yaml`."""

    source: str
    ticks: int
    """Number of ticks of every published simulation."""
    constants: list[Anchor]
    """Numbers of Naive-Snapshot, which do not depend on the update rate."""
    log: Log
    crossovers: list[CrossOver]
    eager: Eager
    copy_on_update: CopyOnUpdateExtremes
    half_tick: HalfTick
    game: GameSize
    real_copy_on_update: float
    """Overhead of the paper's real implementation of Copy-on-Update over the overhead of its cost model."""


def load_published(path: Path = Path("data/published.yaml")) -> PublishedCheckpoint:
    """Reads the published numbers from the section `checkpoint` of a YAML file.

    Raises TickdiskError if the file does not exist, or a key is missing, unknown or wrong. The message names the key.
    """
    return read_section(PublishedCheckpoint, path, "checkpoint")
