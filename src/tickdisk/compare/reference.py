"""Reference runs, which are kept in the project so that every run can be compared with one of the same scale."""

import json
import subprocess
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from tickdisk.compare.comparison import ComparedClaim, Comparison, compare
from tickdisk.compare.side import load
from tickdisk.compare.words import summary
from tickdisk.config import Config
from tickdisk.experiment import OTHER_SERVERS, STUDIES
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text
from tickdisk.foundation.numbers import joined_list
from tickdisk.foundation.record import Record, plain, read, write
from tickdisk.project import read_plan
from tickdisk.studies.statement import CLAIMS, FACTS, MISSING, Claim, Fact, read_claims, read_facts

REFERENCES, KEPT = Path("data/reference"), Path("data/kept")
"""The folders of the references of scales, and of our results of studies that run alone, which the paper shows as ours.

Results are kept as STUDY, or as STUDY-NAME for a disk with a name. No study has a hyphen in its name.
"""
_ABOUT, _FIGURE, _CONFIDENCE = "about.json", "figure.svg", "setup.confidence"


class Reference(Record):
    """The content of about.json, which says where a reference comes from."""

    commit: str
    """The commit of the project that made the reference."""
    date: str
    """The day on which the reference was kept."""
    scale: str
    """The scale of the run."""


class KeptStudy(Record):
    """Our results of a study that runs alone and that a run lacks."""

    reference: Reference
    """The run that the results come from."""
    machine: str
    """The machine of that run."""
    study: str
    """The name of the study."""
    figure: str
    """The path of the study's main figure, from the folder of the project."""
    facts: dict[str, Fact]
    """The facts of the study, and the confidence of its intervals (`setup.confidence`), under their names."""
    claims: tuple[Claim, ...]
    """The claims of the study."""


class WithReference(Comparison):
    """The content of comparison.json for a run whose scale has a reference."""

    reference: Reference
    """The reference with which the run is compared."""
    summary: str
    """The comparison in a few sentences."""
    kept: dict[str, KeptStudy] = Field(default_factory=dict)
    """Our results of the studies that run alone and that the run lacks, by the names under which they are kept."""


class WithoutReference(Record):
    """The content of comparison.json for a run whose scale has no reference."""

    reference: None = None
    """This key is null, because no reference is kept."""
    summary: str
    """A sentence that says so."""
    rows: tuple[ComparedClaim, ...] = ()
    """The list is empty."""
    kept: dict[str, KeptStudy] = Field(default_factory=dict)
    """Our results of the studies that run alone and that the run lacks, by the names under which they are kept."""


def write_reference(results: Path, references: Path = REFERENCES, kept: Path = KEPT, *, left_out: Collection[str] = ()) -> Path:
    """Keeps the facts, the claims and the plan of a run as the reference of its scale, and returns the folder.

    The figure of the servers is kept beside them. A run of a study that runs alone is kept under the name of the study in the
    folder `kept`, with the study's main figure. If the run names its disk, the name of the folder is STUDY-NAME.
    `left_out` names the studies that the plan leaves out. The file about.json has the day and the commit. Raises TickdiskError if
    the project has changes that are not committed, because then nobody could make the run again, if another study is missing
    because a step failed, or if the facts are of another scale than the plan.
    """
    changed = _git("status", "--porcelain", "--untracked-files=no")
    if changed:
        raise TickdiskError(
            f"the project has changes that are not committed ({changed.splitlines()[0].strip()}, ...); commit them first"
        )
    plan = read_plan(results / "plan.json")
    failed = read(dict[str, str], results / MISSING).keys() - left_out
    if failed:
        raise TickdiskError(f"{results} is no whole run, because {', '.join(sorted(failed))} failed; run the workflow again")
    facts, folder, scale = read_facts(results), _folder(plan.config, references, kept), plan.config.scale
    stated = facts.get("setup.scale")
    if stated is None or stated.word != scale:
        found = "no scale" if stated is None else f"the scale {stated.word}"
        raise TickdiskError(f"{results / FACTS} is of {found}, and the plan beside it of {scale}; finish the run first")
    if folder.parent == kept and scale == "smoke":
        raise TickdiskError("a run at the scale smoke decides nothing and is not kept; run the study at another scale")
    for name, stated_in_run in ((FACTS, facts), (CLAIMS, list(read_claims(results).values()))):
        # Each fact and each claim has a line of its own, so that a diff shows what a new run changed.
        write_text(folder / name, _lines(plain(stated_in_run)))
    if folder.parent == kept:
        study = STUDIES[_study_of(folder)]
        drawn = results / "notebooks" / study.name / "figures" / f"{study.card.figure}.svg"
        write_text(folder / _FIGURE, drawn.read_text(encoding="utf-8"))
    else:
        write(folder / "plan.json", plan.kept())
        drawn = results / "notebooks" / OTHER_SERVERS.name / "figures" / f"{OTHER_SERVERS.card.figure}.svg"
        if drawn.exists():
            write_text(folder / _FIGURE, drawn.read_text(encoding="utf-8"))
    made = datetime.now(UTC).date().isoformat()
    write(folder / _ABOUT, Reference(commit=_git("rev-parse", "HEAD"), date=made, scale=scale))
    return folder


def machine_of(facts: Mapping[str, Fact]) -> str:
    """Returns the machine of a run in words, from the facts about its set-up."""
    known = [facts[name].text for name in ("setup.processor", "setup.cores", "setup.memory") if name in facts]
    return f"a machine with {joined_list(known)}" if known else "a machine that is not known"


def read_about(folder: Path) -> Reference:
    """Returns where a kept run comes from. Raises TickdiskError if its folder has no about.json, or one of another form."""
    return read(Reference, folder / _ABOUT)


def _folder(config: Config, references: Path, kept: Path) -> Path:
    """Returns the folder of the reference of a run: that of its study, if this runs alone, or else that of its scale."""
    study = config.study
    if study is None or not STUDIES[study].runs_alone:
        return references / config.scale
    return kept / (study if config.disk_name is None else f"{study}-{config.disk_name}")


def _study_of(folder: Path) -> str:
    """Returns the name of the study whose results a folder in `data/kept` holds."""
    return folder.name.partition("-")[0]


def _lines(value: Any) -> str:
    items = (
        [f"{json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in value.items()]
        if isinstance(value, dict)
        else [json.dumps(each, sort_keys=True) for each in value]
    )
    start, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return f"{start}\n" + ",\n".join(items) + f"\n{end}\n"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, errors="replace", check=False)  # noqa: S603, S607
    if done.returncode:
        raise TickdiskError(f"git {' '.join(words)}: {done.stderr.strip() or 'failed'}; a reference needs the project's history")
    return done.stdout.strip()


def compare_with_reference(results: Path, output: Path, references: Path = REFERENCES, kept: Path = KEPT) -> str:
    """Compares a run with the reference of its scale, writes the comparison as JSON, and returns it in a few sentences.

    A study that runs alone has a reference of its own. If there is none of this scale, the summary says so, and the comparison
    has no rows.
    """
    config = read_plan(results / "plan.json").config
    folder = _folder(config, references, kept)
    about = read_about(folder) if (folder / _ABOUT).exists() else None
    if about is None or about.scale != config.scale:
        said = f"No reference of scale {config.scale} is kept in {folder.parent}, so this run is not compared with one of ours."
        write(output, WithoutReference(summary=said, kept=_kept(results, kept)))
        return said
    comparison = compare(load(results), load(folder))
    said = f"This run against our reference of {about.date} (commit {about.commit[:12]}): {summary(comparison)}"
    write(output, WithReference(reference=about, summary=said, kept=_kept(results, kept), **dict(comparison)))
    return said


def _kept(results: Path, folder: Path) -> dict[str, KeptStudy]:
    """Returns our results of the studies that run alone and that a run lacks, by the names under which they are kept."""
    own, found = read_facts(results), dict[str, KeptStudy]()
    for at in sorted(about.parent for about in folder.glob(f"*/{_ABOUT}")):
        study, start = _study_of(at), f"{_study_of(at)}."
        if not any(fact.startswith(start) for fact in own):
            facts = read_facts(at)
            found[at.name] = KeptStudy(
                reference=read_about(at),
                machine=machine_of(facts),
                study=study,
                figure=str(at / _FIGURE),
                facts={name: fact for name, fact in facts.items() if name.startswith(start) or name == _CONFIDENCE},
                claims=tuple(claim for claim in read_claims(at).values() if claim.id.startswith(start)),
            )
    return found


def read_summary(path: Path) -> str:
    """Returns the sentences of `comparison.json` that sum it up."""
    form: Any = WithReference | WithoutReference
    comparison: WithReference | WithoutReference = read(form, path)
    return comparison.summary
