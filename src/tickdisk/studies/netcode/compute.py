"""Computes the results of the study of network stacks from its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tickdisk import netcode, stats
from tickdisk.experiment import NETCODE
from tickdisk.foundation.record import Record
from tickdisk.foundation.yaml_file import read_section
from tickdisk.project import read_plan
from tickdisk.studies.netcode.crossed import Crossed, compute_crossed
from tickdisk.studies.published import load_findings
from tickdisk.studies.rules import decide_by


class Library(Record):
    """A published network library, as `data/published.yaml` has it."""

    stack: str
    """Stack of this project that is built alike."""
    library: str
    rtt_20_ms: float
    rtt_200_ms: float
    """Published round-trip times with 20 and with 200 players."""


class Published(Record):
    """The setting of Net-Celerity, as `data/published.yaml` has it."""

    source: str
    thresholds_ms: tuple[float, ...]
    """Round-trip times in ms that players notice."""
    stacks: tuple[Library, ...]
    """Libraries that were compared."""
    crossed_ms: float
    """Round-trip time in ms that is crossed."""
    players: tuple[int, int]
    """Smallest and largest number of players that was tried."""

    def library(self, stack: str) -> Library | None:
        """Returns the library that is built like a stack of this project, or None."""
        return next((library for library in self.stacks if library.stack == stack), None)


_TITLES = {"tcp": "TCP", "kcp": "KCP", "quic": "QUIC"}


def title(stack: str) -> str:
    """Returns the name of a stack as it stands in a sentence."""
    return _TITLES.get(stack, stack)


@dataclass(frozen=True)
class Results:
    """The results of the study of network stacks."""

    findings: netcode.StackFindings
    stacks: tuple[str, ...]
    """Stacks in the order of the configuration."""
    idle_players: tuple[int, ...]
    """Numbers of players who stand still."""
    active_players: tuple[int, ...]
    """Numbers of players who act."""
    control: str
    """Stack of the controls."""
    has_far: bool
    """Whether stacks were compared on a link with a delay and losses."""
    rules: stats.DecisionPlan
    published: Published
    published_findings: Mapping[str, stats.Finding]
    """Findings of all published studies by name."""
    crossed: Sequence[Crossed]
    """Pings of the game servers on disks of different latency."""

    @property
    def cells(self) -> list[tuple[str, str, int]]:
        """The arm, stack and number of players of every cell with players, sorted."""
        steps = self.findings.steps
        known = steps[steps["players"] > 0][["arm", "stack", "players"]].drop_duplicates()
        cells = [(str(arm), str(stack), int(players)) for arm, stack, players in known.itertuples(index=False)]
        return sorted(cells, key=lambda cell: (cell[0], cell[2], cell[1]))

    def steps(self, arm: str, stack: str, players: int) -> pd.DataFrame:
        """Returns the steps of one arm, stack and number of players, one of each run."""
        steps = self.findings.steps
        return steps[(steps["arm"] == arm) & (steps["stack"] == stack) & (steps["players"] == players)]

    def values(self, column: str, arm: str, stack: str, players: int) -> pd.Series:
        """Returns a column of the steps, by run. Steps that are not valid have NaN."""
        own = self.steps(arm, stack, players)
        return own.set_index("run")[column].astype(float).where(own.set_index("run")["reason"] == "").sort_index()

    def faults(self, arm: str, stack: str, players: int) -> list[stats.StepsNotValid]:
        """Returns the causes for which steps of one arm, stack and number of players are missing or not valid."""
        lives = self.findings.lives
        of_cell = (lives["arm"] == arm) & (lives["stack"] == stack) & lives["players"].map(lambda own: players in own)
        failed = lives.loc[of_cell & (lives["failed"] != ""), "failed"]
        steps = self.steps(arm, stack, players)
        counts = pd.concat([failed, steps.loc[steps["reason"] != "", "reason"]]).value_counts(sort=False)
        planned, name = int(of_cell.sum()), title(stack)
        return [
            stats.StepsNotValid(players=players, stack=name, detail=str(detail), n=int(n), lives=planned)
            for detail, n in counts.items()
        ]

    def contrast(self, above: pd.Series, below: pd.Series) -> stats.Contrast:
        """Tests the ratio of two columns, from each run in which both are known and the ratio is positive.

        If the runs were on several nodes of a cluster, their difference is tested, too. All lives of a run are on one node.
        """
        ratios = (above / below).replace([np.inf, -np.inf], np.nan).dropna()
        ratios = ratios[ratios > 0]
        lives = self.findings.lives
        nodes = dict(zip(lives["run"], lives["node"], strict=True)) if "node" in lives else {}
        of_each = [nodes[run] for run in ratios.index] if len(set(nodes.values())) > 1 else None
        return stats.contrast(np.log(ratios.to_numpy(float)), margin=self.rules.margin, alpha=self.rules.alpha, nodes=of_each)


def load_published(path: Path) -> Published:
    """Reads the setting of the study of network libraries. Raises TickdiskError if the file cannot be read, or has other keys."""
    return read_section(Published, path, "network")


def compute(plan: str, *, tables: str, runs: str, published: str, margin: float | None) -> Results:
    """Compares network stacks: round-trip times, ages of updates, processor time, memory and bytes.

    The switchbacks in `runs` tell whether a slow disk shows in the round-trip time of the game servers. `margin` is a ratio less
    1, and None stands for the plan's. Raises TickdiskError if a file cannot be read.
    """
    config = read_plan(Path(plan)).config
    design = config.chosen.design(NETCODE)
    rules = decide_by(config.decision, design.runs, margin)
    return Results(
        netcode.read_study(Path(tables)),
        tuple(design.stacks),
        tuple(design.idle_players),
        tuple(design.active_players),
        design.control,
        design.has_far,
        rules,
        load_published(Path(published)),
        load_findings(published),
        compute_crossed(plan, runs=runs, margin=margin),
    )
