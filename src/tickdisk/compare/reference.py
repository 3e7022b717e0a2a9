"""Reference runs, which are kept in the project so that every run can be compared with one of the same scale."""

import json
import subprocess
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tickdisk.compare.comparison import ComparedClaim, Comparison, compare
from tickdisk.compare.side import load
from tickdisk.compare.words import summary
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text
from tickdisk.foundation.record import Record, plain, read, write
from tickdisk.project import read_plan
from tickdisk.studies.statement import CLAIMS, FACTS, MISSING, read_claims, read_facts

REFERENCES = Path("data/reference")
_ABOUT = "about.json"


class Reference(Record):
    """The content of about.json, which says where a reference comes from."""

    commit: str
    """The commit of the project that made the reference."""
    date: str
    """The day on which the reference was kept."""
    scale: str
    """The scale of the run."""


class WithReference(Comparison):
    """The content of comparison.json for a run whose scale has a reference."""

    reference: Reference
    """The reference with which the run is compared."""
    summary: str
    """The comparison in a few sentences."""


class WithoutReference(Record):
    """The content of comparison.json for a run whose scale has no reference."""

    reference: None = None
    """This key is null, because no reference is kept."""
    summary: str
    """A sentence that says so."""
    rows: tuple[ComparedClaim, ...] = ()
    """The list is empty."""


def write_reference(results: Path, references: Path = REFERENCES, *, left_out: Collection[str] = ()) -> Path:
    """Keeps the facts, the claims and the plan of a run as the reference of its scale, and returns the folder.

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
    facts, folder = read_facts(results), references / plan.config.scale
    stated = facts.get("setup.scale")
    if stated is None or stated.word != folder.name:
        found = "no scale" if stated is None else f"the scale {stated.word}"
        raise TickdiskError(f"{results / FACTS} is of {found}, and the plan beside it of {folder.name}; finish the run first")
    for name, kept in ((FACTS, facts), (CLAIMS, list(read_claims(results).values()))):
        # Each fact and each claim has a line of its own, so that a diff shows what a new run changed.
        write_text(folder / name, _lines(plain(kept)))
    write(folder / "plan.json", plan.kept())
    made = datetime.now(UTC).date().isoformat()
    write(folder / _ABOUT, Reference(commit=_git("rev-parse", "HEAD"), date=made, scale=folder.name))
    return folder


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


def compare_with_reference(results: Path, output: Path, references: Path = REFERENCES) -> str:
    """Compares a run with the reference of its scale, writes the comparison as JSON, and returns it in a few sentences.

    If there is no reference of this scale, the summary says so, and the comparison has no rows.
    """
    scale = read_plan(results / "plan.json").config.scale
    folder = references / scale
    if not (folder / _ABOUT).exists():
        said = f"No reference of scale {scale} is kept in {references}, so this run is not compared with one of ours."
        write(output, WithoutReference(summary=said))
        return said
    about, comparison = read(Reference, folder / _ABOUT), compare(load(results), load(folder))
    said = f"This run against our reference of {about.date} (commit {about.commit[:12]}): {summary(comparison)}"
    write(output, WithReference(reference=about, summary=said, **dict(comparison)))
    return said


def read_summary(path: Path) -> str:
    """Returns the sentences of `comparison.json` that sum it up."""
    form: Any = WithReference | WithoutReference
    comparison: WithReference | WithoutReference = read(form, path)
    return comparison.summary
