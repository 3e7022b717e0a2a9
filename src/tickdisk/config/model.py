"""The types of `workflow/config/config.yaml`. Every key has a description, and unknown keys are errors."""

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, create_model, model_validator

from tickdisk.experiment import EXPERIMENTS, STUDIES, TWIN, Design, StudyEntry
from tickdisk.foundation.cores import Cores
from tickdisk.foundation.record import Record

Seconds = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
ScaleName = Literal["smoke", "paper", "full"]
FileSystem = Literal["ext4", "xfs", "btrfs"]
DesignType = TypeVar("DesignType", bound=Design)
_PLAIN = "[a-z0-9-]+"


def _one_of(names: Collection[str]) -> Callable[[str], str]:
    """Returns a validator of a text that has to be one of `names`."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"it has to be one of {', '.join(names)}")
        return name

    return check


def _full(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("it has to be the full path of a folder, such as /srv/minecraft")
    return path


def _plain(name: str) -> str:
    if not re.fullmatch(_PLAIN, name):
        raise ValueError("it has to consist of lower-case letters, digits and hyphens, such as slow-ssd")
    return name


PlainName = Annotated[str, AfterValidator(_plain), Field(json_schema_extra={"pattern": f"^{_PLAIN}$"})]
FullPath = Annotated[str, AfterValidator(_full), Field(json_schema_extra={"pattern": "^/"})]
ExperimentName = Annotated[str, AfterValidator(_one_of(EXPERIMENTS)), Field(json_schema_extra={"enum": list(EXPERIMENTS)})]
StudyName = Annotated[str, AfterValidator(_one_of(STUDIES)), Field(json_schema_extra={"enum": list(STUDIES)})]


class World(Record):
    """The world of a server, which is generated once per machine. Every run begins with a copy of it."""

    seed: int
    """Seed of the terrain."""
    edge_blocks: Annotated[int, Field(ge=10, le=1000)]
    """Edge of the square that is generated beforehand, in blocks of 16 nodes."""


class _OwnWorld(Record):
    """The sizes of one server that differ from the scale. Each experiment of the registry can have a key with its name."""

    world: World | None = None


if TYPE_CHECKING:
    OwnSizes = _OwnWorld
else:
    OwnSizes = create_model(
        "OwnSizes",
        __base__=_OwnWorld,
        __doc__=_OwnWorld.__doc__,
        **{name: (entry.design | None, None) for name, entry in EXPERIMENTS.items()},
    )


class Scale(Record):
    """The sizes of all studies at one scale. Each study of the registry has a key with its name."""

    description: str
    """The purpose of the scale."""
    world: World
    replacements: Annotated[int, Field(ge=0, le=2)]
    """Largest number of times that a life is replaced because something outside the system under test disturbed it."""
    servers: dict[str, OwnSizes] = Field({})
    """The sizes of single servers, by name. A key that a server leaves out in the file has the value of the scale."""

    def design(self, study: StudyEntry[DesignType], server: str | None = None) -> DesignType:
        """Returns the sizes of a study at this scale: those of the `server`, if it has its own, or else the scale's."""
        own: DesignType | None = getattr(self.servers[server], study.name) if server in self.servers else None
        found: DesignType = getattr(self, study.name)
        return found if own is None else own

    def world_of(self, server: str) -> World:
        """Returns the settings of the world of a server: its own, or else those of the scale."""
        own = self.servers[server].world if server in self.servers else None
        return self.world if own is None else own


if TYPE_CHECKING:
    AnyScale = Scale
else:
    AnyScale = create_model(
        "Scale",
        __base__=Scale,
        __doc__=Scale.__doc__,
        **{
            name: (entry.design, ... if any(key.is_required() for key in entry.design.model_fields.values()) else entry.design())
            for name, entry in STUDIES.items()
        },
    )


class Limits(Record):
    """The limits above which a server life is replaced, fixed before any run. A slow disk can cause none of them."""

    steal_share: Share
    """Share of processor time stolen by other machines, above which a life is replaced."""
    pressure_memory_share: Share
    """Share of time in which tasks waited for memory, above which a life is replaced."""
    other_programs_share: Share
    """Share of all cores' time that programs outside the testbed used, above which a life is replaced. It was fixed from
    pilots.
    """
    client_lag_ms: Annotated[float, Field(gt=0)]
    """99th percentile of the clients' lag behind their schedule, above which they were short of processor time. If that was so at
    the baseline, too, the life is replaced. If it was so only elsewhere, the results of those arms in the life are not valid."""


class Confirmatory(Record):
    """The few claims that are confirmatory. Every other claim belongs to a scan."""

    experiment: ExperimentName
    """The experiment that the claims belong to."""
    arm: str
    """The arm whose effect the claims are about."""
    tick_metric: str
    """A metric of ticks, such as gap_max_ms."""
    action: str
    """A kind of action. Its mean latency is the second metric."""


class Decision(Record):
    """The rules by which the experiments decide, fixed before any run."""

    alpha: Share
    """Two-sided level of every test. Intervals have the level 1 - alpha. Holm's method keeps it for the confirmatory claims
    together, and the procedure of Benjamini and Hochberg keeps the share of false discoveries of a scan below it."""
    margin: Share
    """Margin of equivalence. Ratios to the baseline between 1/(1 + margin) and 1 + margin count as equivalent."""
    control_minimum_lives: Annotated[int, Field(ge=3)]
    """Number of lives below which the positive control is not tested."""
    minimum_lives: Annotated[int, Field(ge=6)]
    """Number of lives below which every other verdict is `not valid`."""
    planned_life_sd: Annotated[float, Field(gt=0)]
    """Standard deviation of a life's contrast on the log scale, from a pilot. The simulated power depends on it."""
    enough_requests: Count
    """Smallest number of requests of the server to the device in an epoch, as the median over lives, with which an arm counts as
    tested."""
    confirmatory: Confirmatory
    bootstrap_samples: Annotated[int, Field(ge=200)]
    """Number of samples of every bootstrap interval."""

    @property
    def confidence(self) -> float:
        """Confidence of every interval."""
        return 1 - self.alpha


class Dose(Record):
    """A dose of the switchback that a sweep adds to the table of experiments."""

    device: str
    """A device of data/devices.yaml, or a file with one device."""
    latency_ms: Annotated[float, Field(gt=0)] | None = None
    """Latency of every operation. Null for the device's own."""


class Config(Record):
    """`workflow/config/config.yaml` after the command line's `--config` has been merged into it."""

    scale: ScaleName
    """Scale that runs. smoke is for continuous integration, paper has the published experiments, and full has more lives."""
    blocks: Annotated[int, Field(ge=1)] | None = None
    """Number of lives or blocks of every experiment instead of the scale's own numbers. Runs accumulate."""
    seed: int
    """Seed of every random choice, such as traces, orders and bootstraps."""
    server: str
    """The server that the studies are about. The other servers of the table of experiments are compared with it."""
    port: Annotated[int, Field(ge=1024, le=65535)]
    """Port of the server on 127.0.0.1."""
    device_size_mib: Annotated[int, Field(ge=64)]
    """Size of the emulated device. Memory is taken only for what is written."""
    file_system: FileSystem
    """File system on the emulated device in live cells, calibration and replay. The backend tree is a file system itself and has
    no other on it."""
    cores: Cores | None = Field(default=None, exclude_if=lambda cores: cores is None)
    """Numbers of the cores of the server, the clients and the emulator. Without it, the server has the first half of the cores.
    The others have the rest, which they do not share if it is more than one core."""
    study: StudyName | None = Field(default=None, exclude_if=lambda study: study is None)
    """The only study that runs. Without it, all studies run but those that run alone."""
    disk: FullPath | None = Field(default=None, exclude_if=lambda disk: disk is None)
    """Full path of a folder on the real disk that the study `twin` compares with its emulated twin. A file is made in it."""
    disk_name: PlainName | None = Field(default=None, exclude_if=lambda name: name is None)
    """Name of that disk, by which the paper tells it from other disks and under which `tickdisk reference` keeps the run. Without
    it, the run is kept as that of the usual disk."""
    leave_out: list[StudyName] = Field([])
    """Studies that do not run. The paper and the page are made without them and say so."""
    doses: tuple[Dose, ...] = Field(default=(), exclude_if=lambda doses: not doses)
    """Doses of a sweep. If there are any, only the switchback runs, with its controls and these doses."""
    limits: Limits
    decision: Decision
    scales: dict[ScaleName, AnyScale]

    @model_validator(mode="after")
    def _scale_is_described(self) -> "Config":
        if self.scale not in self.scales:
            raise ValueError(f"scale {self.scale} is not under scales; add it or choose one of {', '.join(self.scales)}")
        return self

    @model_validator(mode="after")
    def _disk_is_studied(self) -> "Config":
        if self.study == TWIN.name and self.disk is None:
            raise ValueError(f"study {TWIN.name} needs a folder on the disk; give one, such as disk=/srv/minecraft")
        if self.disk is not None and self.study != TWIN.name:
            raise ValueError(f"only the study {TWIN.name} uses disk; give study={TWIN.name}, too, or leave disk out")
        if self.disk_name is not None and self.disk is None:
            raise ValueError("disk_name names a disk, and there is none; give disk, too, or leave disk_name out")
        return self

    @property
    def chosen(self) -> Scale:
        """The sizes of the scale that runs. If `blocks` is set, every experiment has that many blocks instead of its own."""
        scale = self.scales[self.scale]
        if self.blocks is None:
            return scale

        def repeated(sizes: Record) -> dict[str, Any]:
            designs = {name: getattr(sizes, name) for name in EXPERIMENTS}
            return {
                name: design.model_copy(update={EXPERIMENTS[name].repeats: self.blocks})
                for name, design in designs.items()
                if design is not None and getattr(design, EXPERIMENTS[name].repeats)
            }

        servers = {name: sizes.model_copy(update=repeated(sizes)) for name, sizes in scale.servers.items()}
        return scale.model_copy(update={**repeated(scale), "servers": servers})
