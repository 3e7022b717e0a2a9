"""Makes notebooks, documents and page again from the raw lives of an archive, and compares what they state with it."""

import contextlib
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path

from tickdisk import compare
from tickdisk.experiment import STUDIES
from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.report.page import write_page
from tickdisk.report.publish import LIMITS, RESULTS, collect, set_paper
from tickdisk.studies.statement import MISSING, Fact, read_claims, read_facts

_PROJECT = ("notebooks", "data", "workflow/paper", "CITATION.cff", "Snakefile")
"""Parts of the project that the analysis reads beside the results. A notebook knows the folder by its Snakefile."""
_TEMPLATES = Path("workflow/paper")
_TOLERANCE = 1e-12
_NUMBERS = {"value", "low", "high"}
_EMPTY_URLS = ("mathjax_url", "require_js_url", "jupyter_widgets_base_url", "mermaid_js_url")
_TO_HTML = ("jupyter", "nbconvert", "--log-level", "WARN", "--to", "html", *(f"--HTMLExporter.{name}=" for name in _EMPTY_URLS))
_ARCHIVED = "archived"


@dataclass(frozen=True)
class Analysed:
    """The outcome of an analysis."""

    studies: tuple[str, ...]
    facts: int
    claims: int
    other: tuple[str, ...]
    """Names of the facts and claims that are not those of the archive.

    A value and the ends of its interval may differ by 1e-12 of it, and all words are the same.
    """


def analyse(archive: Path, folder: Path, project: Path) -> Iterator[str | Analysed]:
    """Analyses the lives of an archive in a new folder. Yields the name of each study that is done, and the outcome at the end.

    It needs neither root nor a server. `project` is the folder of the sources. Raises TickdiskError if the archive has no
    results, or if a notebook cannot be rendered.
    """
    _unpack(archive, folder)
    for part in _PROJECT:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        source = project / part
        shutil.copytree(source, folder / part) if source.is_dir() else shutil.copy2(source, folder / part)
    with contextlib.chdir(folder):
        studies = sorted(path.parent.name for path in RESULTS.glob("notebooks/*/facts.json"))
        shutil.move(RESULTS / "notebooks", _ARCHIVED)
        archived = Path(_ARCHIVED)
        for study in studies:
            _render(study)
            yield study
        folders = [RESULTS / "notebooks" / study for study in studies]
        collect(folders, RESULTS, missing=record.read(dict[str, str], RESULTS / MISSING))
        compare.compare_with_reference(RESULTS, RESULTS / "comparison.json")
        for document in LIMITS:
            set_paper(_TEMPLATES / f"{document}.typ", RESULTS / f"{document}.pdf")
        write_page(_TEMPLATES / "page.html.j2", RESULTS, RESULTS / "index.html")
        facts, claims = 0, 0
        other: list[str] = []
        for study in studies:
            own_facts, own_claims = read_facts(RESULTS / "notebooks" / study), read_claims(RESULTS / "notebooks" / study)
            old_facts, old_claims = read_facts(archived / study), read_claims(archived / study)
            facts, claims = facts + len(own_facts), claims + len(own_claims)
            other += [
                name for name in own_facts.keys() | old_facts.keys() if not is_same(own_facts.get(name), old_facts.get(name))
            ]
            other += [name for name in own_claims.keys() | old_claims.keys() if own_claims.get(name) != old_claims.get(name)]
    yield Analysed(tuple(studies), facts, claims, tuple(sorted(other)))


def _unpack(archive: Path, folder: Path) -> None:
    """Writes the files of the folder `results` of an archive into a new folder."""
    folder.mkdir(parents=True)
    try:
        with tarfile.open(archive) as files:
            for member in files:
                parts, content = Path(member.name).parts, files.extractfile(member)
                if content is None or len(parts) < 2 or parts[1] != RESULTS.name or ".." in parts:  # noqa: PLR2004 - a folder
                    continue
                path = folder.joinpath(*parts[1:])
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        shutil.rmtree(folder)
        raise TickdiskError(f"{archive} cannot be read: {error}; take an archive of `make artifact`") from error
    if not (folder / RESULTS / "plan.json").exists():
        shutil.rmtree(folder)
        raise TickdiskError(f"{archive} has no results/plan.json; take an archive of `make artifact`")


def _render(study: str) -> None:
    """Renders a notebook in the current folder, as the workflow does it."""
    target = RESULTS / "notebooks" / study
    target.mkdir(parents=True)
    notebook, page = target.with_suffix(".ipynb"), target.with_suffix(".html").name
    given = [word for name, value in STUDIES[study].parameters.items() for word in ("-p", name, str(value))]
    run: list[str | Path] = [
        "papermill",
        f"notebooks/{study}.ipynb",
        notebook,
        "--no-progress-bar",
        "--kernel",
        "python3",
        *given,
    ]
    _call([*run, "-p", "output", target], study)
    _call([*_TO_HTML, "--output", page, notebook], study)


def _call(words: Sequence[str | Path], study: str) -> None:
    program = str(Path(sys.executable).with_name(str(words[0])))
    done = subprocess.run([program, *map(str, words[1:])], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise TickdiskError(f"notebooks/{study}.ipynb could not be rendered: {last}")


def is_same(one: Fact | None, other: Fact | None) -> bool:
    """Returns whether two facts are the same. Their numbers may differ by 1e-12 of their size."""
    if one is None or other is None:
        return one is other
    numbers = [(getattr(one, name), getattr(other, name)) for name in sorted(_NUMBERS)]
    are_close = all(
        mine == its or (mine is not None and its is not None and isclose(mine, its, rel_tol=_TOLERANCE)) for mine, its in numbers
    )
    return are_close and one.model_dump(exclude=_NUMBERS) == other.model_dump(exclude=_NUMBERS)
