"""The published numbers of the study of checkpoint recovery, as printed."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tickdisk.checkpoint.model import Algorithm
from tickdisk.errors import TickdiskError
from tickdisk.yaml_file import read_yaml


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Anchor(_Strict):
    """A number that the simulator should reach."""

    name: str
    value: float
    unit: str
    statement: str


class Log(_Strict):
    """Of the log-based dirty-object methods, at a low update rate."""

    updates_per_tick: int
    checkpoint_s: float
    times_faster: float


class CrossOver(_Strict):
    """The update rate below which algorithms add less per tick than Naive-Snapshot."""

    updates_per_tick: int
    algorithms: list[Algorithm]


class CopyOnUpdateExtremes(_Strict):
    """By how many times the copy-on-update methods gain and cost at the most, beside Naive-Snapshot."""

    most_gain: float
    most_cost: float


class HalfTick(_Strict):
    """Where the limit of half a tick is shown."""

    updates_per_tick: int
    first_tick: int
    last_tick: int


class GameSize(_Strict):
    """Knights and Archers as published."""

    units: int
    updates_per_tick: int


class Eager(_Strict):
    """The overhead of an eager method at an extreme update rate."""

    algorithm: Algorithm
    updates_per_tick: int
    overhead_ms: float


class PublishedCheckpoint(_Strict):
    """The section `checkpoint` of `data/published.yaml`."""

    source: str
    ticks: int
    constants: list[Anchor]
    log: Log
    crossovers: list[CrossOver]
    eager: Eager
    copy_on_update: CopyOnUpdateExtremes
    half_tick: HalfTick
    game: GameSize
    real_copy_on_update: float


def load_published(path: Path = Path("data/published.yaml")) -> PublishedCheckpoint:
    """Returns the published numbers; TickdiskError names the file and the key that is wrong."""
    published = read_yaml(path, "run from the project's folder")
    try:
        return PublishedCheckpoint.model_validate(published["checkpoint"])
    except (KeyError, TypeError) as error:
        raise TickdiskError(
            f"{path}: no section `checkpoint` that can be read ({error}); take it back from the repository"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise TickdiskError(f"{path}, key checkpoint.{key}: {first['msg']}; correct it as it is described there") from error
