"""Reference runs, which are kept in the project so that every run can be compared with one of the same scale."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tickdisk.compare.comparison import compare
from tickdisk.compare.side import load
from tickdisk.compare.words import summary
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json, write_json, write_text
from tickdisk.foundation.record import write
from tickdisk.project import read_plan

REFERENCES = Path("data/reference")
_KEPT = ("facts.json", "claims.json")


def write_reference(results: Path, references: Path = REFERENCES) -> Path:
    """Keeps the facts, the claims and the plan of a run as the reference of its scale, and returns the folder.

    The file about.json has the day and the commit. Raises TickdiskError if the project has changes that are not committed,
    because then nobody could make the run again.
    """
    changed = _git("status", "--porcelain", "--untracked-files=no")
    if changed:
        raise TickdiskError(
            f"the project has changes that are not committed ({changed.splitlines()[0].strip()}, ...); commit them first"
        )
    plan = read_plan(results / "plan.json")
    folder = references / plan.config.scale
    load(results)
    for name in _KEPT:
        # Each fact and each claim has a line of its own, so that a diff shows what a new run changed.
        write_text(folder / name, _lines(read_json(results / name)))
    write(folder / "plan.json", plan.kept())
    made = datetime.now(UTC).date().isoformat()
    write_json(folder / "about.json", {"commit": _git("rev-parse", "HEAD"), "date": made, "scale": folder.name})
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
    found = subprocess.run(["git", *words], capture_output=True, text=True, check=False)  # noqa: S603, S607
    if found.returncode:
        raise TickdiskError(f"git {' '.join(words)}: {found.stderr.strip() or 'failed'}; a reference needs the project's history")
    return found.stdout.strip()


def compare_with_reference(results: Path, output: Path, references: Path = REFERENCES) -> str:
    """Compares a run with the reference of its scale, writes the comparison as JSON, and returns it in a few sentences.

    If there is no reference of this scale, the summary says so, and the comparison has no rows.
    """
    scale = read_plan(results / "plan.json").config.scale
    folder = references / scale
    if not (folder / "about.json").exists():
        said = f"No reference of scale {scale} is kept in {references}, so this run is not compared with one of ours."
        write_json(output, {"reference": None, "summary": said, "rows": []})
        return said
    about, found = read_json(folder / "about.json"), compare(load(results), load(folder))
    said = f"This run against our reference of {about['date']} (commit {about['commit'][:12]}): {summary(found)}"
    write_json(output, {"reference": about, "summary": said, **found.as_dict()})
    return said
