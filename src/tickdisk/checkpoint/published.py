"""The published numbers of the paper on checkpoint recovery, as printed, read from `data/published.yaml`."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tickdisk.checkpoint.model import Algorithm
from tickdisk.errors import TickdiskError
from tickdisk.yaml_file import read_yaml


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Anchor(_Strict):
    """A published number that the simulator should reproduce."""

    name: str
    value: float
    unit: str
    statement: str


class Log(_Strict):
    """The time of a checkpoint of the algorithms that write a partial log, at a low update rate."""

    updates_per_tick: int
    checkpoint_s: float
    times_faster: float
    """Time of a checkpoint of Naive-Snapshot over that of these algorithms."""


class CrossOver(_Strict):
    """The update rate below which some algorithms add less time to a tick than Naive-Snapshot."""

    updates_per_tick: int
    algorithms: list[Algorithm]


class CopyOnUpdateExtremes(_Strict):
    """The extreme overheads of the copy-on-update methods over all update rates, relative to Naive-Snapshot."""

    most_gain: float
    """Largest factor by which they add less time to a tick than Naive-Snapshot."""
    most_cost: float
    """Largest factor by which they add more time to a tick than Naive-Snapshot."""


class HalfTick(_Strict):
    """The ticks and the update rate of the published figure that shows the limit of half a tick."""

    updates_per_tick: int
    first_tick: int
    last_tick: int


class GameSize(_Strict):
    """The published size of the game Knights and Archers, and its mean number of updates per tick."""

    units: int
    updates_per_tick: int


class Eager(_Strict):
    """The overhead of an eager algorithm, which copies at the beginning of a checkpoint, at an extreme update rate."""

    algorithm: Algorithm
    updates_per_tick: int
    overhead_ms: float


class PublishedCheckpoint(_Strict):
    """The published numbers of the paper, as in the section `checkpoint` of `data/published.yaml`."""

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
    """Reads the published numbers of the paper.

    Parameters
    ----------
    path
        YAML file with a section `checkpoint`.

    Returns
    -------
    PublishedCheckpoint
        The numbers.

    Raises
    ------
    TickdiskError
        If the file does not exist, or a key is missing, unknown or wrong. The message names the key.
    """
    published = read_yaml(path, "run from the project's folder")
    try:
        return PublishedCheckpoint.model_validate(published["checkpoint"])
    except (KeyError, TypeError) as error:
        raise TickdiskError(
            f"{path} has no section `checkpoint` that can be read ({error}); restore the file from the repository"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise TickdiskError(f"{path}, key checkpoint.{key}: {first['msg']}; correct that entry") from error
