"""The paper, the page that leads to everything, and the check that both are whole."""

import json
import re
from pathlib import Path
from typing import Any

import jinja2
import typst

from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, whole, write_json, write_text
from tickdisk.report.study import VERDICTS, display

RESULTS = Path("results")
_MINIMUM_FACTS = 3


def set_paper(template: Path, output: Path) -> None:
    """Sets the paper from `results/facts.json`, `claims.json`, `plan.json` and the figures; typst brings the fonts."""
    with whole(output) as partial:
        try:
            typst.compile(str(template), output=str(partial), root=".", format="pdf", ignore_system_fonts=True)
        except typst.TypstError as error:
            raise TickdiskError(f"{template}: {error}; correct the template or state the fact it asks for") from error


def _notebooks() -> list[dict[str, Any]]:
    found = []
    for folder in sorted(path.parent for path in (RESULTS / "notebooks").glob("*/facts.json")):
        figures = sorted((folder / "figures").glob("*.svg"))
        found.append(
            {
                "name": folder.name,
                "title": folder.name.replace("_", " "),
                "html": f"notebooks/{folder.name}.html",
                "ipynb": f"notebooks/{folder.name}.ipynb",
                "facts": read_json(folder / "facts.json"),
                "figures": [
                    {"name": figure.stem.replace("_", " "), "path": str(figure.relative_to(RESULTS))} for figure in figures
                ],
            }
        )
    return found


def write_page(template: Path, output: Path) -> None:
    """Writes the page; it asks no other host for anything."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["display"] = display
    plan = read_json(RESULTS / "plan.json")
    write_text(
        output,
        environment.from_string(template.read_text(encoding="utf-8")).render(
            notebooks=_notebooks(),
            claims=read_json(RESULTS / "claims.json"),
            facts=read_json(RESULTS / "facts.json"),
            scale=plan["config"]["scale"],
            cells=plan["cells"],
            binaries=plan["binaries"],
        ),
    )


_LOADED = re.compile(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//[^"'\s>]+|@import\s+url\(["']?https?:[^)"']+""")
_LINK = re.compile(r"<a\s[^>]*>")


def other_host(html: str) -> str | None:
    """Returns the first thing that a page would load from another host, None if there is none; links to follow do not count."""
    found = _LOADED.search(_LINK.sub("", html))
    return None if found is None else found.group(0)


def _problems(notebooks: list[dict[str, Any]], claims: list[dict[str, Any]]) -> list[str]:
    problems = []
    for notebook in notebooks:
        if not notebook["figures"]:
            problems.append(f"notebook {notebook['name']} has no figure")
        if len(notebook["facts"]) < _MINIMUM_FACTS:
            problems.append(f"notebook {notebook['name']} states {len(notebook['facts'])} facts, fewer than {_MINIMUM_FACTS}")
    problems += [f"claim {claim['id']} has verdict {claim['verdict']}" for claim in claims if claim["verdict"] not in VERDICTS]
    if not (RESULTS / "paper.pdf").read_bytes().startswith(b"%PDF"):
        problems.append("results/paper.pdf is not a PDF")
    for page in (RESULTS / "index.html", *(RESULTS / notebook["html"] for notebook in notebooks)):
        other = other_host(page.read_text(encoding="utf-8"))
        if other is not None:
            problems.append(f"{page} asks another host: {other[:80]}")
    return problems


def check_results(output: Path) -> list[str]:
    """Returns one line a claim and writes `output`; TickdiskError lists what is not whole."""
    notebooks, claims = _notebooks(), read_json(RESULTS / "claims.json")
    problems = _problems(notebooks, claims)
    if problems:
        raise TickdiskError(f"results are not whole: {'; '.join(problems)}; remove results/notebooks and run again")
    write_json(
        output,
        {
            "notebooks": [notebook["name"] for notebook in notebooks],
            "claims": len(claims),
            "facts": len(json.loads((RESULTS / "facts.json").read_text(encoding="utf-8"))),
        },
    )
    width = max(len(claim["verdict"]) for claim in claims)
    return [f"{claim['verdict']:{width}}  n={claim['n']:<3} {claim['statement']}" for claim in claims]
