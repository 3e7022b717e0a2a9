"""The entry of a study or of an experiment in the registry, and the types that designs are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, Literal, TypeVar

import numpy as np
from pydantic import Field

from tickdisk.experiment.arm import Arm, PositiveFor, Role
from tickdisk.experiment.life import PlannedLife
from tickdisk.foundation.record import Record

Need = Literal["devices", "captures", "networks"]
"""The kinds of studies that need rights: they mount emulated devices, capture servers, or make network namespaces."""
Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class Design(Record):
    """The sizes of a study at one scale. Unknown keys are errors."""


class Roaming(Design):
    """A design in which players roam, each on its own ground."""

    save_period_s: Seconds
    """Time between two periodic saves of the server's world."""
    players: Count
    """Number of connected players. Each has its own ground."""
    teleport_period_s: Seconds
    """Time of each player from one teleport to the next. A teleport goes to terrain that is stored but not loaded."""
    edit_period_s: Seconds
    """Time of each player from one place-and-dig to the next."""
    ping_period_s: Seconds
    """Time of each player from one chat ping to the next."""


class ShortSwitchbacks(Roaming):
    """A design in which players roam while the arm changes from epoch to epoch. Without blocks, a scale has no life of them."""

    blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks, in each of which every condition has one life, in a random order. `blocks` on the command line replaces
    it, but not 0, with which the experiment does not run."""
    warm_up_s: Seconds = 3.0
    """Time from the last join to the first epoch."""
    epoch_save_periods: Annotated[float, Field(ge=3)] = 3.0
    """Length of an epoch in save periods of the server. The first period is cut, so at least two are analysed."""
    save_period_s: Seconds = 2.0
    players: Count = 5
    teleport_period_s: Seconds = 2.0
    edit_period_s: Seconds = 2.0
    ping_period_s: Seconds = 1.0

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the time that is cut."""
        return round(self.save_period_s * 1e9)

    @property
    def epoch_s(self) -> float:
        """Length of an epoch."""
        return self.epoch_save_periods * self.save_period_s


DesignType = TypeVar("DesignType", bound=Design)


@dataclass(frozen=True)
class Card:
    """The introduction of a study on the page, which is the HTML summary of all results."""

    title: str
    """Heading of the card."""
    words: str
    """One or two sentences about the study."""
    figure: str
    """Name of the study's main figure, without `.svg`, among the figures of its notebook."""
    alt: str
    """Description of the figure for readers who do not see it."""


@dataclass(frozen=True)
class Block(Generic[DesignType]):
    """The inputs from which the server lives of one block are planned."""

    design: DesignType
    """Sizes of the experiment at the chosen scale."""
    arms: Sequence[Arm]
    """Arms of the experiment on one server."""
    number: int
    """Number of the block, from 0."""
    rng: Callable[[str, int], np.random.Generator]
    """Returns a generator of random numbers for a purpose, such as `order`, and a number.

    The number is that of the block, or of a Williams square (`balanced_order`). The same purpose and number give the same
    numbers.
    """

    @property
    def baseline(self) -> str:
        """The name of the arm with the role `baseline`."""
        return next(arm.arm for arm in self.arms if arm.role == "baseline")

    @property
    def trace_seed(self) -> int:
        """The seed of the block's player traces. All lives of a block have the same, so that their players do the same things."""
        return int(self.rng("trace", self.number).integers(2**31))


@dataclass(frozen=True)
class StudyEntry(Generic[DesignType]):
    """The entry of a study in the registry. A study is a part of the results that one notebook analyses.

    Its notebook is `notebooks/NAME.ipynb`, and its analysis is `tickdisk.studies.NAME`.
    """

    name: str
    """Name of the study in the configuration, in commands and in the names of its files, such as `join_burst`."""
    design: type[DesignType]
    """Class of the sizes of the study at one scale, which stand under its name in the configuration."""
    evidence: tuple[str, ...]
    """Paths of the result files that the notebook reads, without the manifests of an experiment's cells, which it reads, too."""
    parameters: Mapping[str, str]
    """Parameters with which the workflow renders the notebook: the path of a file or folder by the name of each parameter."""
    card: Card
    """Introduction of the study on the page."""
    stated: Mapping[str, str] = field(default_factory=dict)
    """Keys of the design whose values become facts for the paper, each with its unit."""
    needs: tuple[str, ...] = ()
    """Names of the experiments whose cells the study uses. If one of them has no arms, the study is left out."""
    compares: tuple[str, ...] = ()
    """Names of the experiments whose cells on all servers the notebook reads."""
    fewest_servers: int = 1
    """Number of servers that must have cells. With fewer, the study is left out."""
    runs_alone: bool = False
    """Whether the study runs only where the configuration names it as `study`. The default paper leaves it out, and shows our
    kept results of it."""
    rights: tuple[Need, ...] = ()
    """Rights that the study itself needs. Every experiment needs devices, and captures if one of its arms is captured."""
    lives_apart: Callable[[DesignType], tuple[int, float]] | None = None
    """Function that returns the number of lives that the study runs without cells, and the rough time that they take in s."""
    most_parts: Callable[[DesignType], int] | None = None
    """Function that returns into how many parts a cluster can divide the study. None if the study is not divided."""


@dataclass(frozen=True)
class Experiment(StudyEntry[DesignType]):
    """A study that runs game servers. Its server lives are planned, played and analysed in blocks.

    An experiment has arms, which are rows of `workflow/config/experiments.tsv`, and each of its blocks runs as one cell.
    """

    lives: Callable[[Block[DesignType]], tuple[PlannedLife, ...]] = field(kw_only=True)
    """Function that plans the server lives of a block, and returns them in the order in which they run."""
    behaviour: str = field(kw_only=True)
    """Name of the behaviour of the players, a key of `tickdisk.player.BEHAVIOURS`."""
    repeats: str = field(default="lives", kw_only=True)
    """Key of the design that has the number of blocks. `blocks` in the configuration replaces its value."""
    controls: tuple[Role, ...] = field(default=("baseline", "null", "sham"), kw_only=True)
    """Roles that the analysis needs: the experiment has exactly one arm with each. `check_arms` checks it."""
    positive: tuple[PositiveFor, ...] = field(default=("ticks", "actions"), kw_only=True)
    """Kinds of metrics for which the experiment has exactly one arm that is a positive control: it must make them worse."""
    divided: int = field(default=1, kw_only=True)
    """Number of lives of a block among which the other arms are divided evenly. The order of the arms of each is balanced."""
    apart: tuple[str, ...] = field(default=(), kw_only=True)
    """Names of the arms that have a life of their own in each block, and so no place in the order of the other arms."""
