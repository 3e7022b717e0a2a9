"""Merges the facts and claims of all studies, sets the paper from them, and checks that the results of a run are complete."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated, Any

import typst

from tickdisk.citation import read_citation
from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import whole
from tickdisk.foundation.numbers import joined_list
from tickdisk.project import read_plan
from tickdisk.report.answers import ANSWERS, Asked, answer
from tickdisk.report.evidence import Evidence
from tickdisk.report.setup import state_setup
from tickdisk.server import SERVERS
from tickdisk.studies.statement import VERDICTS
from tickdisk.studies.tiers import tier_name

RESULTS = Path("results")
_MINIMUM_FACTS = 3
_EVIDENCE = ("facts", "claims", "figures", "missing", "answers", "comparison", "plan")
_NEEDED = (*(f"{name}.json" for name in _EVIDENCE), "index.html")
_MOST_NAMED = 5
"""Largest number of missing files that a message names."""


@dataclass(frozen=True)
class Extent:
    """The length of a document, or its limit."""

    body_pages: int
    """Pages before references and appendix."""
    pages: int
    figures: int
    """Figures that are images. Tables do not count."""


LIMITS = {"paper": Extent(body_pages=10, pages=12, figures=10), "companion": Extent(body_pages=10, pages=10, figures=9)}
"""Longest documents, by the name of the template in `workflow/paper` and of the PDF in `results`."""


class Checked(record.Record):
    """The content of checked.json, which is written when the results of a run were found to be whole."""

    notebooks: tuple[str, ...]
    """The studies whose notebooks are whole."""
    claims: Annotated[int, record.Unit("claims")]
    """The number of claims."""
    facts: Annotated[int, record.Unit("facts")]
    """The number of facts."""


def collect(folders: Sequence[Path], results: Path = RESULTS, *, missing: Mapping[str, str] | None = None) -> None:
    """Merges the facts, claims and figures of all studies, and answers the questions of the paper from them.

    Each of the `folders` was written by a notebook and has the name of its study. `missing` has the studies that this run lacks,
    each with the reason. `results` has plan.json, and may have the calibration and the run folders. The files facts.json,
    claims.json, figures.json, missing.json and answers.json are written there.
    """
    plan = read_plan(results / "plan.json")
    evidence = Evidence.collect(folders, [state_setup(plan, results)], missing)
    evidence.save(results)
    tiers = {tier_name(name): tier.read_latency_ns / 1e6 for name, tier in plan.tiers.items()}
    title, margin = SERVERS[plan.config.server].title, plan.config.decision.margin
    answers = answer(evidence, Asked.of(plan), title, tiers, margin, plan.classes)
    record.write(results / ANSWERS, answers)


def set_paper(template: Path, output: Path) -> None:
    """Sets the paper or its companion as a PDF from the merged results and the figures, with the fonts that come with typst.

    The template reads files relative to the current folder, which must be the project's, and is given the names of the authors.
    Raises TickdiskError if CITATION.cff does not name them, or if typst cannot set the paper, for example because no study states
    a fact that the template asks for.
    """
    given = {"authors": joined_list([author.full_name for author in read_citation().authors])}
    with whole(output) as partial:
        try:
            typst.compile(str(template), output=str(partial), root=".", format="pdf", ignore_system_fonts=True, sys_inputs=given)
        except (typst.TypstError, RuntimeError) as error:  # the second is of paths that typst cannot use
            raise TickdiskError(f"{template}: {error}; correct the template or state the fact it asks for") from error


def extent(template: Path) -> Extent:
    """Returns the length of the document that a typst template sets from the merged results."""

    def ask(selector: str) -> Any:
        return json.loads(typst.query(str(template), selector, field="value", root=".", ignore_system_fonts=True))

    counted = "selector(figure.where(kind: image)).before(<paper-end>)"
    figures = json.loads(typst.query(str(template), counted, field="kind", root=".", ignore_system_fonts=True))
    return Extent(ask("<body-end>")[0], ask("<paper-end>")[0], len(figures))


@dataclass(frozen=True)
class _Notebook:
    """A notebook that ran, with its number of facts and the paths of its files in the folder of the results."""

    name: str
    facts: int
    figures: Sequence[str]

    @property
    def html(self) -> str:
        return f"notebooks/{self.name}.html"

    @property
    def files(self) -> Sequence[str]:
        return [self.html, f"notebooks/{self.name}.ipynb", *self.figures]


def _notebooks(evidence: Evidence) -> list[_Notebook]:
    return [
        _Notebook(
            study,
            sum(name.startswith(f"{study}.") for name in evidence.facts),
            [f"notebooks/{study}/figures/{figure}.svg" for figure, lack in figures.items() if lack is None],
        )
        for study, figures in evidence.figures.items()
    ]


_LOADED = re.compile(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//[^"'\s>]+|@import\s+url\(["']?https?:[^)"']+""")
_LINK = re.compile(r"<a\s[^>]*>")


def other_host(html: str) -> str | None:
    """Returns the part of a page that would load a file from another host, or None. Links for the reader do not count."""
    match = _LOADED.search(_LINK.sub("", html))
    return None if match is None else match.group(0)


def _problems(notebooks: Sequence[_Notebook], evidence: Evidence) -> list[str]:
    problems = []
    for notebook in notebooks:
        if not notebook.figures:
            problems.append(f"notebook {notebook.name} has no figure")
        if notebook.facts < _MINIMUM_FACTS:
            problems.append(f"notebook {notebook.name} states {notebook.facts} facts, fewer than {_MINIMUM_FACTS}")
    problems += [
        f"claim {name} has verdict {claim.verdict}"
        for name, claim in evidence.claims.items()
        if claim.verdict not in VERDICTS[claim.kind]
    ]
    for document in LIMITS:
        if not (RESULTS / f"{document}.pdf").read_bytes().startswith(b"%PDF"):
            problems.append(f"results/{document}.pdf is not a PDF")
    for page in (RESULTS / "index.html", *(RESULTS / notebook.html for notebook in notebooks)):
        other = other_host(page.read_text(encoding="utf-8"))
        if other is not None:
            problems.append(f"{page} loads a file from another host: {other[:80]}")
    return problems


def check_results(output: Path) -> list[str]:
    """Checks that the results of a run are complete, and writes the counts of its notebooks, claims and facts to `output`.

    Returns one line per claim with its verdict and n, and a last line with the counts. Raises TickdiskError if a file is missing
    or a check fails. The message lists all failures, or the first missing files.
    """
    _check_there([RESULTS / name for name in (*_NEEDED, *(f"{document}.pdf" for document in LIMITS))])
    evidence = Evidence.load(RESULTS)
    notebooks = _notebooks(evidence)
    _check_there([RESULTS / part for notebook in notebooks for part in notebook.files])
    problems = _problems(notebooks, evidence)
    if problems:
        raise TickdiskError(f"results are not whole: {'; '.join(problems)}; remove results/notebooks and run again")
    checked = Checked(
        notebooks=tuple(notebook.name for notebook in notebooks), claims=len(evidence.claims), facts=len(evidence.facts)
    )
    record.write(output, checked)
    width = max((len(claim.verdict) for claim in evidence.claims.values()), default=0)
    lines = [f"{claim.verdict:{width}}  n={claim.n:<3} {claim.statement}" for claim in evidence.claims.values()]
    return [
        *lines,
        *_too_long(),
        f"whole: {len(notebooks)} notebooks, {len(evidence.facts)} facts, {len(evidence.claims)} claims, documents and page",
    ]


def _too_long() -> list[str]:
    """Returns a line for each length of a document beyond its limit, because the words of a run decide how long it gets."""
    lines = []
    for document, limit in LIMITS.items():
        found = astuple(extent(Path(f"workflow/paper/{document}.typ")))
        counted = zip(found, ("pages of text", "pages", "figures"), astuple(limit), strict=True)
        lines += [
            f"the {document} has {length} {what}, more than the planned {most}" for length, what, most in counted if length > most
        ]
    return lines


def _check_there(files: Sequence[Path]) -> None:
    missing = [str(file) for file in files if not file.exists()]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        raise TickdiskError(
            f"the results lack {', '.join(missing[:_MOST_NAMED])}{more}; run `snakemake`, which makes these files"
        )
