"""Computes the results of the study of the inside of ticks: blame of captured server lives, and its check by injected stalls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import pandas as pd

from tickdisk import blame, stats
from tickdisk.errors import TickdiskError
from tickdisk.report.runs import Runs

_NAME = "inside_tick"
_COUNTED = {
    "device_stall": {"device_stalls.named": "named", "device_stalls.felt": "tick"},
    "cpu_stall": {
        "cpu_stalls.blamed": "blamed",
        "cpu_stalls.outweighed": "outweighed",
        "cpu_stalls.felt": "tick",
    },
}
"""Counts of each kind of stall, by name, with the column of the checks that decides whether a stall counts.

A stall counts if the column is true. For the column `tick` it counts if the column is not null.
"""


@dataclass(frozen=True)
class Results:
    """The results of the study of the inside of ticks: the blame of captured lives, and its check by injected stalls."""

    data: Runs
    """Cells of the experiment that have run."""
    blames: Sequence[blame.Blame]
    """The blame of each captured life."""
    obstacles: Sequence[str]
    """Reasons for which these lives cannot decide anything, such as an empty capture."""
    shares: pd.DataFrame
    """One row per part of busy or late time, as `blame.shares` returns them, over ticks that no injected stall touched.

    Late time is the part of a tick's gap beyond the budget, and busy time is the part in which the tick thread was not asleep.
    Files have their names in the world.
    """
    checks: pd.DataFrame
    """One row per injected stall, as `blame.check_injections` returns them, and life, which is the place in `blames`."""
    stalls: Mapping[str, blame.Count]
    """Numbers of injected stalls by name of the fact, such as `device_stalls.named`.

    A stall is felt if a tick was slow during it. A stall of the device is named if blame finds its request and file. A stall of
    the processor is blamed if blame puts it down to storage, and outweighed if the slow tick waited for storage for longer than
    the stall lasted.
    """
    actions: pd.DataFrame
    """One row per action of a player, with the time that the server waited for storage, as `blame.blame_actions` returns them."""

    @property
    def latency_ms(self) -> float:
        """The nominal read latency of the device in ms."""
        return self.data.latency_ms(self.data.role("baseline"))

    @property
    def untouched(self) -> pd.DataFrame:
        """The captured ticks that no injected stall touched, in the order of their late time. The most late tick is first.

        The column `life` is the place in `blames`.
        """
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
        """The number of captured lives in words, such as "3 captured lives"."""
        return f"{len(self.blames)} captured {'life' if len(self.blames) == 1 else 'lives'}"


def compute(plan: str, *, runs: str, bootstrap_samples: int | None, seed: int | None) -> Results:
    """Computes the results of the study of the inside of ticks from the run folders of captured server lives.

    `inside_tick.study` describes the parameters. Raises TickdiskError if no wait of any life was captured.
    """
    data = Runs(plan, runs, _NAME)
    evidences = [evidence for folder in data.folders for evidence in blame.load_evidence(folder)]
    obstacles = list(dict.fromkeys(reason for evidence in evidences for reason in evidence.reasons))
    blames = [blame.attribute(evidence) for evidence in evidences if not evidence.waits.empty]
    if not blames:
        raise TickdiskError(
            f"no wait was captured in {runs} ({'; '.join(obstacles) or 'the captures are empty'}); run the experiment again"
        )
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
        stalls=_count(checks),
        actions=pd.concat([blame.blame_actions(one) for one in blames], ignore_index=True),
    )


def injections(one: blame.Blame) -> pd.DataFrame:
    """Returns the times of the stalls that were injected into the life of a blame, with the columns start_ns and end_ns.

    The table is empty if there were none.
    """
    found = one.evidence.injections
    return pd.DataFrame({"start_ns": [], "end_ns": []}) if found is None else found


def _named(one: blame.Blame) -> blame.Blame:
    """Returns the blame with the name of each file in the world instead of its path.

    The paths of one file differ between lives, because the device of each life has a folder of its own. A file outside the world
    gets its last name.
    """
    requests = one.evidence.requests
    folders = requests.loc[requests["data"] == "terrain", "file"].dropna().map(lambda path: str(PurePosixPath(path).parent))
    world = f"{folders.mode()[0]}/" if len(folders) else None
    names = {
        path: path.removeprefix(world) if world is not None and path.startswith(world) else PurePosixPath(path).name
        for path in one.links["file"].unique().tolist()
    }
    return replace(one, links=one.links.assign(file=one.links["file"].map(names)))


def _count(checks: pd.DataFrame) -> dict[str, blame.Count]:
    """Counts the injected stalls as `_COUNTED` says."""
    found = {}
    for kind, columns in _COUNTED.items():
        own = checks[checks["kind"] == kind]
        for name, column in columns.items():
            found[name] = blame.count(own[column].notna() if column == "tick" else own[column].astype(bool))
    return found
