"""Computes the descriptions of loads, from traces or from the captured lives of every server of a run."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path

import pandas as pd

from tickdisk import characterise, formats, server, stats
from tickdisk.characterise import Description, Load, PublishedLoad
from tickdisk.experiment import ACCESSES, INSIDE_TICK
from tickdisk.formats import Trace
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number
from tickdisk.foundation.paths import stored
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.studies.published import load_findings
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import Runs

_CAPTURED = (ACCESSES.name, INSIDE_TICK.name)
"""Experiments with captured lives. The first of which a server has lives is described."""
_WORLD = ("terrain", "player", "npc")
PUBLISHED = "data/published.yaml"


@dataclass(frozen=True)
class Results:
    """Descriptions of loads, beside published loads."""

    descriptions: Sequence[Description]
    """The described loads. The first is drawn in detail."""
    source: str
    """Publication of the published loads."""
    references: Sequence[PublishedLoad]
    rules: stats.DecisionPlan | None
    """Rules that decide verdicts. None if the loads are not those of a planned run."""
    findings: Mapping[str, stats.Finding] = field(default_factory=dict)
    """Published findings that are tested if there are rules."""

    @property
    def shown(self) -> Description:
        """The description that figures show in detail."""
        return self.descriptions[0]


@dataclass(frozen=True)
class Given:
    """Traces of one load that a user has given."""

    traces: Sequence[Path]
    """Files and folders. Each is one run, unless `is_one_run`."""
    format_name: str | None = None
    """Format of the traces. None if it is to be recognised."""
    is_one_run: bool = False
    """Whether the traces are parts of one run, such as the volumes of a machine."""
    files: Path | None = None
    """Folder or list of the files that there are."""
    peak_mb_per_s: float | None = None
    """Bandwidth of the disk."""
    most_rejected: float = formats.MOST_REJECTED
    """Largest share of the lines of a trace that may be rejected."""
    rejects: Path | None = None
    """File for the lines that cannot be read. If None, they are only counted."""
    only: str | None = None
    """Folder to whose files the description is limited. If None, all requests are described."""


@dataclass(frozen=True)
class Replayed:
    """A simulated replay of a trace on another device."""

    device: str
    costs: pd.DataFrame
    """Times of requests as captured and on the device, as `replay.costs` returns them."""
    captured: int
    """Number of requests in the trace."""
    refused: Mapping[str, int]
    """Number of requests that cannot be replayed, by reason."""

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        every = self.costs.loc["all"].to_dict()
        captured_ms, here_ms, times = (float(every[name]) for name in ("captured_total_ms", "here_total_ms", "times"))
        before = "" if isnan(captured_ms) else f" instead of {number(captured_ms)} ms as captured"
        ratio = "" if isnan(times) else f", {number(times)} times as much"
        left_out = sum(self.refused.values())
        return (
            f"the program would wait {number(here_ms)} ms for its requests{before}{ratio}; {number(left_out)} of "
            f"{number(self.captured)} requests cannot be replayed."
        )


def describe_traces(
    given: Sequence[Given],
    *,
    published: Path = Path(PUBLISHED),
    alpha: float,
    progress: Callable[[Trace], None] = lambda _: None,
) -> tuple[Results, list[formats.Counts]]:
    """Describes each load, and returns with the results the counts of all traces in their order.

    `progress` is called again and again while a trace is read. Raises TickdiskError if a trace cannot be read, or has neither a
    read nor a write.
    """
    printed = characterise.references(published)
    counts = list[formats.Counts]()
    descriptions = list[Description]()
    for place, one in enumerate(given, 1):
        files = None if one.files is None else characterise.listing(one.files)
        descriptions.append(
            characterise.describe(
                _runs_of(one, counts, progress),
                key=f"load_{place}",
                title=_title(one, [reference.load for reference in printed.loads] + [made.title for made in descriptions]),
                known=printed.loads,
                alpha=alpha,
                files=files,
                peak_mb_per_s=one.peak_mb_per_s,
            )
        )
    return Results(descriptions, printed.source, printed.loads, None), counts


def _title(given: Given, taken: Sequence[str]) -> str:
    """Returns a name for a load that no other load has."""
    names = [os.fsencode(path.name).decode("utf-8", "replace") if str(path) != "-" else "standard input" for path in given.traces]
    title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    return next(name for name in (title, *(f"{title} ({number})" for number in range(2, len(taken) + 3))) if name not in taken)


def _runs_of(given: Given, counts: list[formats.Counts], progress: Callable[[Trace], None]) -> Iterator[Load]:
    runs = [list(given.traces)] if given.is_one_run else [[path] for path in given.traces]
    for run, paths in enumerate(runs, 1):
        rejects = given.rejects
        if rejects is not None and run > 1:
            rejects = rejects.with_name(f"{rejects.name}.{run}")
        requests, found = formats.read(
            paths, given.format_name, rejects=rejects, most_rejected=given.most_rejected, progress=progress
        )
        counts += found
        if given.only is not None:
            requests = _in_folder(requests, given.only)
        yield characterise.load_of(classified(requests), ", ".join(map(str, paths)))


def _in_folder(requests: pd.DataFrame, folder: str) -> pd.DataFrame:
    files, place = requests["file"].fillna(""), stored(os.fsencode(folder))
    inside = requests[(files == place) | files.str.startswith(place.rstrip("/") + "/")]
    if inside.empty or not folder:
        raise TickdiskError(
            f"no request of the trace is to a file in {folder or 'an empty name'}; name a folder as the trace does"
        )
    return inside


def classified(requests: pd.DataFrame) -> pd.DataFrame:
    """Returns requests with the type of data of each file. The types are null if no game server knows any of the files."""
    kinds = {name: server.classify(name) for name in requests["file"].dropna().unique()}
    moved = requests.loc[requests["op"].isin(characterise.OPS), "file"].dropna().unique()
    known = any(kinds[name] != "other" for name in moved)
    return requests.assign(data=requests["file"].map(kinds) if known else None)


def compute(plan: str, *, runs: str, published: str, traces: str | None, margin: float | None) -> Results:
    """Describes the loads of all servers of a run, or those of traces.

    `traces` has paths with a colon between two, and each is a run of one load. If it is None, the servers of the run are
    described. `margin` is a ratio less 1, and None stands for that of the plan; nothing is claimed about traces, so they have
    none. Raises TickdiskError if no captured life has run, or a trace cannot be read.
    """
    if traces is not None:
        if margin is not None:
            raise TickdiskError(
                "margin decides claims about a run, and nothing is claimed about traces; leave one of the two out"
            )
        given = [Given([Path(path) for path in traces.split(":")])]
        results, _ = describe_traces(given, published=Path(published), alpha=stats.ALPHA)
        return results
    planned = read_plan(Path(plan))
    main = planned.config.server
    printed = characterise.references(Path(published))
    have = {(cell.server, cell.experiment) for cell in planned.cells if has_run(Path(runs) / cell.hash)}
    captured = [(name, experiment) for experiment in _CAPTURED for name, found in sorted(have) if found == experiment]
    descriptions, rules = [], None
    for name in sorted({name for name, _ in captured}, key=lambda name: (name != main, name)):
        data = Runs(plan, runs, next(experiment for own, experiment in captured if own == name), name)
        rules = rules or decide_by(data.decision, len(data.planned), margin)
        title = data.manifests[0].server.title
        descriptions.append(
            characterise.describe(_lives(data, title), key=name, title=title, known=printed.loads, alpha=rules.alpha)
        )
    if not descriptions:
        raise TickdiskError(f"no captured life has run under {runs}; run `snakemake --cores all` first")
    return Results(descriptions, printed.source, printed.loads, rules, load_findings(published))


def _lives(data: Runs, title: str) -> Iterator[Load]:
    """Yields the load of each captured life on the files of the world, until the server is told to stop."""
    for life in data.lives:
        requests = table.read("requests", life.folder / "requests.parquet")
        started_ns, phases = life.manifest.started_ns, life.manifest.phases
        ends_ns = [int(life.epochs["end_ns"].max()), *(started_ns + round(phase.end_s * 1e9) for phase in phases)]
        chosen = requests["data"].isin(_WORLD) & (requests["start_ns"] <= max(ends_ns))
        yield characterise.load_of(requests[chosen], f"{title}, {life.title}")
