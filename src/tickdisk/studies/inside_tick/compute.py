"""Computes the results of the study of the inside of ticks: blame of captured server lives, and its check by injected stalls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import pandas as pd

from tickdisk import blame, stats
from tickdisk.foundation.errors import TickdiskError
from tickdisk.studies.runs import Runs

_NAME = "inside_tick"
_COUNTED = {
    "device_stall": {"device_stalls.named": "named", "device_stalls.felt": "tick"},
    "cpu_stall": {
        "cpu_stalls.blamed": "blamed",
        "cpu_stalls.outweighed": "outweighed",
        "cpu_stalls.felt": "tick",
    },
}
"""The column of the checks that decides whether a stall counts, by kind of stall and name of the fact. A stall counts if the
column is true or, for the column `tick`, not null.
"""


@dataclass(frozen=True)
class Results:
    """The results of the study of the inside of ticks: the blame of captured lives, and its check by injected stalls."""

    data: Runs
    blames: Sequence[blame.Blame]
    obstacles: Sequence[stats.Obstacle]
    """Causes for which these lives cannot decide anything, such as an empty capture."""
    shares: pd.DataFrame
    """Rows of `blame.shares` over the ticks that no injected stall touched, with the names of files in the world. Late time is
    the part of a gap beyond the budget. Busy time is the part in which the tick thread was not asleep.
    """
    checks: pd.DataFrame
    """Rows of `blame.check_injections`, one per injected stall, with the life, which is the place in `blames`."""
    stalls: Mapping[str, blame.Count]
    """Numbers of injected stalls by name of the fact, such as `device_stalls.named`.

    A stall is felt if a tick was slow during it. A stall of the device is named if blame finds its request and file. A stall of
    the processor is blamed if blame puts it down to storage, and outweighed if the slow tick waited for storage for longer.
    """
    actions: pd.DataFrame
    """Rows of `blame.blame_actions`, one per action, with the time that the server waited for storage."""

    @property
    def latency_ms(self) -> float:
        """The nominal read latency of the device."""
        return self.data.latency_ms(self.data.role("baseline"))

    @property
    def untouched(self) -> pd.DataFrame:
        """The ticks that no injected stall touched, with the most late tick first. `life` is the place in `blames`."""
        ticks = [
            one.ticks[~blame.overlapping(one.ticks, injections(one))].assign(life=life) for life, one in enumerate(self.blames)
        ]
        return pd.concat(ticks).sort_values("late_ns", ascending=False, kind="stable")

    @property
    def knows_files(self) -> bool:
        """Whether the evidence of every life tells the file of a device's request."""
        return all(one.evidence.knows_files for one in self.blames)

    @property
    def counted_lives(self) -> str:
        """The number of captured lives in words."""
        return f"{len(self.blames)} captured {'life' if len(self.blames) == 1 else 'lives'}"


def compute(plan: str, *, runs: str, bootstrap_samples: int | None, seed: int | None) -> Results:
    """Explains the late time of captured server lives, and checks the explanations by injected stalls.

    The bootstrap draws samples of blocks of ticks and of lives. If their number or the seed is None, it is that of the plan.
    Raises TickdiskError if no cell of the experiment has run, if the cells ran on different kinds of machine, or if no wait of
    any life was captured.
    """
    data = Runs(plan, runs, _NAME)
    evidences = [evidence for folder in data.folders for evidence in blame.load_evidence(folder)]
    obstacles = list(dict.fromkeys(obstacle for evidence in evidences for obstacle in evidence.obstacles))
    blames = [blame.attribute(evidence) for evidence in evidences if not evidence.waits.empty]
    if not blames:
        why = "; ".join(obstacle.sentence for obstacle in obstacles) or "the captures are empty"
        raise TickdiskError(f"no wait was captured in {runs} ({why}); run the experiment again")
    shares = blame.shares(
        [_named(one) for one in blames],
        rng=stats.named_generator(data.config.seed if seed is None else seed, _NAME, "shares"),
        samples=data.decision.bootstrap_samples if bootstrap_samples is None else bootstrap_samples,
        alpha=data.decision.alpha,
        without=[one.evidence.injections for one in blames],
    )
    checks = pd.concat([blame.check_injections(one).assign(life=life) for life, one in enumerate(blames)], ignore_index=True)
    return Results(
        data=data,
        blames=blames,
        obstacles=obstacles,
        shares=shares,
        checks=checks,
        stalls=_count(checks, data.decision.alpha),
        actions=pd.concat([blame.blame_actions(one) for one in blames], ignore_index=True),
    )


def injections(one: blame.Blame) -> pd.DataFrame:
    """Returns start_ns and end_ns of the stalls that were injected into the life of a blame. The table may be empty."""
    found = one.evidence.injections
    return pd.DataFrame({"start_ns": [], "end_ns": []}) if found is None else found


def _named(one: blame.Blame) -> blame.Blame:
    """Returns the blame with the name of each file in the world, because the paths of one file differ between lives."""
    requests = one.evidence.requests
    folders = requests.loc[requests["data"] == "terrain", "file"].dropna().map(lambda path: str(PurePosixPath(path).parent))
    world = f"{folders.mode()[0]}/" if len(folders) else None
    names = {
        path: path.removeprefix(world) if world is not None and path.startswith(world) else PurePosixPath(path).name
        for path in one.links["file"].unique().tolist()
    }
    return replace(one, links=one.links.assign(file=one.links["file"].map(names)))


def _count(checks: pd.DataFrame, alpha: float) -> dict[str, blame.Count]:
    found = {}
    for kind, columns in _COUNTED.items():
        own = checks[checks["kind"] == kind]
        for name, column in columns.items():
            holds = own[column].notna() if column == "tick" else own[column].astype(bool)
            found[name] = blame.count(holds, alpha)
    return found
