"""How long a plan takes on the nodes of a cluster, from the time that its steps took on this machine."""

import base64
import binascii
import heapq
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from tickdisk.config import Cell, life_seconds
from tickdisk.experiment import STUDIES
from tickdisk.project.project import RESULTS, Project

RUNS, CALIBRATION_PATH = RESULTS / "runs", RESULTS / "calibration.json"
METADATA = Path(".snakemake/metadata")
"""Folder in which Snakemake keeps when each output was made, relative to the project's folder."""
JOB_OVERHEAD_S = 20.0
"""Time for which a job holds a node beside its step, in which Snakemake starts twice. It was 14 to 24 s for the cells of
`make test-cluster` on two cores."""


@dataclass(frozen=True)
class Step:
    """A step of the workflow that has a node to itself."""

    name: str
    seconds: float
    is_cell: bool = False
    after: str | None = None
    """Name of the step that it waits for, which comes before it in a list of steps. None if it waits for nothing."""
    most_parts: int = 1
    """Number of equal parts into which a cluster can divide it."""

    def divided(self, nodes: int) -> list["Step"]:
        """Returns the parts into which a cluster of some nodes divides it."""
        parts = min(nodes, self.most_parts)
        return (
            [self]
            if parts == 1
            else [replace(self, name=f"{self.name}, {part}", seconds=self.seconds / parts) for part in range(parts)]
        )


@dataclass(frozen=True)
class OnNodes:
    """The time that steps take on some nodes."""

    nodes: int
    seconds: float
    """Time from the start to the end of the last step."""
    busy_s: float
    """Sum of the times for which nodes are taken."""
    lives: int

    @property
    def sentence(self) -> str:
        """The time in words."""
        hours = self.busy_s / 3600
        word = "node" if self.nodes == 1 else "nodes"
        each = f"{self.lives / max(hours, 1e-9):.0f} server lives in each of them"
        return f"on {self.nodes} {word}: {_time(self.seconds)}, {hours:.3g} node-hours, {each}"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"  # noqa: PLR2004 - two hours are many minutes


def on_nodes(
    steps: Sequence[Step], nodes: int, *, calibration_s: float, lives: int, overhead_s: float = JOB_OVERHEAD_S
) -> OnNodes:
    """Computes how long steps take if each starts, in their order, on the node that is free first.

    A step that can be divided has a part for each node. A node is calibrated before its first cell. `lives` is the number of
    server lives in the steps.
    """
    free = [(0.0, node) for node in range(nodes)]
    ended: dict[str, float] = {}
    calibrated: set[int] = set()
    busy_s = 0.0
    for step in (part for whole in steps for part in whole.divided(nodes)):
        at, node = heapq.heappop(free)
        begins = max(at, ended.get(step.after or "", 0.0))
        takes = overhead_s + step.seconds
        if step.is_cell and node not in calibrated:
            calibrated.add(node)
            takes += calibration_s
        ended[step.name] = begins + takes
        busy_s += takes
        heapq.heappush(free, (begins + takes, node))
    return OnNodes(nodes, max(ended.values(), default=0.0), busy_s, lives)


def measured(root: Path = Path()) -> dict[str, float]:
    """Returns how many seconds each output of the workflow took to be made here, by its path, as Snakemake has noted it.

    Outputs of a run on a cluster are left out, because their time includes the time for which their job waited.
    """
    found = {}
    for path in (root / METADATA).glob("*"):
        try:
            output = base64.urlsafe_b64decode(path.name.removeprefix("@")).decode()
            noted = json.loads(path.read_text(encoding="utf-8"))
            if noted["external_jobid"] is None:
                found[output] = float(noted["endtime"]) - float(noted["starttime"])
        except (OSError, ValueError, KeyError, TypeError, binascii.Error):
            continue  # Snakemake writes it, and it is no part of the results.
    return found


def cell_seconds(cells: Iterable[Cell], seconds: Mapping[str, float], runs: Path) -> dict[str, float]:
    """Returns how many seconds each cell takes, by its hash.

    A cell that has run takes as long as it took. Another one takes its planned time, times the median ratio of both times in the
    cells of its experiment on its server that have run, or of all cells if none has.
    """
    from tickdisk.manifest import read_manifest  # noqa: PLC0415 - the command line starts without what it imports

    ratios: dict[tuple[str, str], list[float]] = {}
    known = {name: seconds[str(path)] for name, path in _manifests(runs) if str(path) in seconds}
    for name, took_s in known.items():
        manifest = read_manifest(runs / name)
        planned_s = sum(map(life_seconds, manifest.plan))
        ratios.setdefault((manifest.experiment, manifest.server.name), []).append(took_s / planned_s)
    every = [ratio for own in ratios.values() for ratio in own]
    usual = median(every) if every else 1.0
    return {
        cell.hash: known.get(cell.hash, cell.seconds * median(ratios.get((cell.experiment, cell.server), [usual])))
        for cell in cells
    }


@dataclass(frozen=True)
class Work:
    """The work of a plan, with the seconds that it took here."""

    steps: list[Step]
    """Steps that have a node to themselves, in the order of the workflow."""
    notebooks_s: tuple[float, ...]
    """Time of each notebook, which takes one core."""
    calibration_s: float
    """Time of the calibration of a node."""
    lives: int
    """Number of server lives."""
    unknown: tuple[str, ...]
    """Files whose step has not run here, and counts with no time."""

    def on(self, nodes: int, cores: int) -> OnNodes:
        """Returns the time on some nodes with so many cores each. The notebooks come after all other steps."""
        live = on_nodes(self.steps, nodes, calibration_s=self.calibration_s, lives=self.lives)
        total_s = sum(self.notebooks_s) + JOB_OVERHEAD_S * len(self.notebooks_s)
        last_s = max(max(self.notebooks_s, default=0.0) + JOB_OVERHEAD_S, total_s / (nodes * cores)) if self.notebooks_s else 0.0
        return replace(live, seconds=live.seconds + last_s, busy_s=live.busy_s + total_s / cores)


def work_of(project: Project, seconds: Mapping[str, float]) -> Work:
    """Returns the work of a plan. `seconds` is what `measured` returns."""
    unknown: list[str] = []

    def took(path: Path | str, planned_s: float | None = None) -> float:
        if str(path) not in seconds and planned_s is None:
            unknown.append(str(path))
        return seconds.get(str(path), planned_s or 0.0)

    calibration, worlds = str(CALIBRATION_PATH), {name: project.world(name) / "world.json" for name in project.identity.servers}
    cells = cell_seconds(project.cells, seconds, RUNS)
    studies = {name: study for name, study in STUDIES.items() if name not in project.left_out}
    apart: dict[str, Step] = {}
    for study in studies.values():
        own = [path for path in study.evidence if path != calibration and Path(path).is_relative_to(RESULTS)][:1]
        design = project.config.chosen.design(study)
        planned_s = None if study.lives_apart is None else study.lives_apart(design)[1]
        most_parts = 1 if study.most_parts is None else study.most_parts(design)
        apart |= {path: Step(path, took(path, planned_s), most_parts=most_parts) for path in own}
    steps = [
        *(Step(str(path), took(path)) for path in worlds.values()),
        *(Step(cell.hash, cells[cell.hash], is_cell=True, after=str(worlds[cell.server])) for cell in project.cells),
        *apart.values(),
    ]
    notebooks_s = tuple(took(f"results/notebooks/{name}.html") for name in studies)
    lives = sum(len(cell.lives) for cell in project.cells)
    return Work(steps, notebooks_s, took(calibration), lives, tuple(unknown))


def _manifests(runs: Path) -> Iterable[tuple[str, Path]]:
    from tickdisk.manifest import has_run  # noqa: PLC0415 - the command line starts without what it imports

    return [(path.parent.name, path) for path in sorted(runs.glob("[!.]*/manifest.json")) if has_run(path.parent)]
