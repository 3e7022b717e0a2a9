"""The entry of a study or of an experiment in the registry, and the types that designs are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tickdisk.experiment.arm import Arm, PositiveFor, Role
from tickdisk.experiment.life import Life

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class Design(BaseModel):
    """The sizes of a study at one scale. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


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


DesignType = TypeVar("DesignType", bound=Design)


@dataclass(frozen=True)
class Card:
    """The introduction of a study on the page: a title, a few words, and the study's main figure with a description."""

    title: str
    words: str
    figure: str
    alt: str


@dataclass(frozen=True)
class Block(Generic[DesignType]):
    """One block of an experiment, from which its server lives are planned."""

    design: DesignType
    arms: Sequence[Arm]
    number: int
    """Number of the block, from 0."""
    rng: Callable[[str, int], np.random.Generator]
    """Returns the generator of random numbers for a purpose and a number, which is that of the block or of a square of orders."""

    @property
    def baseline(self) -> str:
        """The name of the baseline arm."""
        return next(arm.arm for arm in self.arms if arm.role == "baseline")

    @property
    def trace_seed(self) -> int:
        """The seed of the block's player traces."""
        return int(self.rng("trace", self.number).integers(2**31))


@dataclass(frozen=True)
class Study(Generic[DesignType]):
    """A study: a part of the results that one notebook analyses.

    Its notebook is `notebooks/NAME.ipynb`, and its analysis is `tickdisk.report.NAME`.
    """

    name: str
    design: type[DesignType]
    """The sizes of the study at one scale, which stand under its name in the configuration."""
    evidence: tuple[str, ...]
    """Result files that the notebook reads. The manifests of an experiment's cells are read, too."""
    parameters: Mapping[str, str]
    """Parameters of the notebook with which the workflow renders it."""
    card: Card
    stated: Mapping[str, str] = field(default_factory=dict)
    """Values of the design that the paper names, each with its unit."""
    needs: tuple[str, ...] = ()
    """Experiments whose cells the study uses. Without their arms, the study is left out."""
    compares: tuple[str, ...] = ()
    """Experiments whose cells on all servers the notebook reads. With one server only, the study is left out."""


@dataclass(frozen=True)
class Experiment(Study[DesignType]):
    """A study of server lives, which are planned, played and analysed in blocks."""

    lives: Callable[[Block[DesignType]], tuple[Life, ...]] = field(kw_only=True)
    """Plans the server lives of a block, in the order in which they run."""
    behaviour: str = field(kw_only=True)
    """Behaviour of the players, one of `tickdisk.player.BEHAVIOURS`."""
    repeats: str = field(default="lives", kw_only=True)
    """Key of the design that has the number of blocks. The option `blocks` replaces it."""
    controls: tuple[Role, ...] = field(default=("baseline", "null", "sham"), kw_only=True)
    """Roles of which the experiment has exactly one arm each."""
    positive: tuple[PositiveFor, ...] = field(default=("ticks", "actions"), kw_only=True)
    """Kinds of metrics for which the experiment has exactly one arm that is a positive control."""
