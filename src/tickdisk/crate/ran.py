"""Reads from the records of a run when, on which machines and with which programs it was made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tickdisk.calibrate import Calibration, load_calibration
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json
from tickdisk.foundation.host import MachineKind
from tickdisk.manifest import Manifest, has_run, read_manifest
from tickdisk.project import Plan, read_plan

_SITES = {
    "Luanti": "https://www.luanti.org/",
    "Dragonfly": "https://github.com/df-mc/dragonfly",
    "Minestom": "https://minestom.net/",
    "Rust": "https://www.rust-lang.org/",
    "Go": "https://go.dev/",
    "Python": "https://www.python.org/",
    "fio": "https://github.com/axboe/fio",
}


@dataclass(frozen=True)
class Machine:
    """A machine that ran cells."""

    kind: MachineKind
    node: str | None
    """The name of the machine. None in the records of an older version."""


@dataclass(frozen=True)
class Program:
    """A program that the run used."""

    name: str
    version: str
    site: str
    """The address of the program's own page, or empty."""


@dataclass(frozen=True)
class RanCell:
    """A cell that ran."""

    hash: str
    title: str
    machine: Machine
    started_unix_s: float
    ended_unix_s: float


@dataclass(frozen=True)
class Ran:
    """A run, as its records tell it."""

    plan: Plan
    cells: tuple[RanCell, ...]
    programs: tuple[Program, ...]
    started_unix_s: float
    """The time at which the first step began, among those that record it."""
    ended_unix_s: float
    """The time at which the last step ended, among those that record it."""

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machines, each once, in the order in which the plan uses them first."""
        return tuple(dict.fromkeys(cell.machine for cell in self.cells))


def read_run(results: Path, notebooks: Iterable[Path]) -> Ran:
    """Reads the plan, the calibration, the manifests of the plan's cells, and when each of the notebooks was rendered."""
    plan, calibration = read_plan(results / "plan.json"), load_calibration(results / "calibration.json")
    folders = [results / "runs" / cell.hash for cell in plan.cells]
    cells = tuple(_cell(read_manifest(folder)) for folder in folders if has_run(folder))
    spans = [(calibration.started_unix_s, calibration.started_unix_s + calibration.wall_s)]
    spans += [(cell.started_unix_s, cell.ended_unix_s) for cell in cells]
    spans += [_rendered(path) for path in notebooks]
    begins, ends = zip(*spans, strict=True)
    return Ran(plan, cells, tuple(_programs(plan.binaries.values(), calibration)), min(begins), max(ends))


def _cell(manifest: Manifest) -> RanCell:
    attempts = [attempt for life in manifest.lives.values() for attempt in life.attempts]
    return RanCell(
        manifest.hash,
        f"{manifest.experiment} on {manifest.server.name}, block {manifest.block + 1}",
        Machine(manifest.machine, manifest.node),
        min(attempt.started_unix_s for attempt in attempts),
        max(attempt.started_unix_s + attempt.load.seconds for attempt in attempts),
    )


def _rendered(notebook: Path) -> tuple[float, float]:
    """Returns when papermill began and ended to execute a notebook, which it writes into the notebook itself."""
    try:
        said = read_json(notebook)["metadata"]["papermill"]
        begin, end = (datetime.fromisoformat(said[key]).timestamp() for key in ("start_time", "end_time"))
    except (KeyError, TypeError, ValueError) as error:
        raise TickdiskError(f"{notebook} does not say when papermill rendered it; remove it and run again") from error
    return begin, end


def _programs(binaries: Iterable[Mapping[str, str]], calibration: Calibration) -> Iterable[Program]:
    """Yields the game servers, the compilers, Python and fio, each once."""
    versions = {"Python": calibration.machine.python, "fio": calibration.fio.removeprefix("fio-")}
    for binary in binaries:
        name, version = binary["server"].split()[:2]
        versions |= {name: version, "Rust": binary["rustc"].split()[1], "Go": binary["go"].split()[2].removeprefix("go")}
    yield from (Program(name, version, _SITES.get(name, "")) for name, version in sorted(versions.items()))


def iso(unix_s: float) -> str:
    """Returns a time as a crate states it: in UTC and in whole seconds."""
    return datetime.fromtimestamp(int(unix_s), UTC).isoformat()
