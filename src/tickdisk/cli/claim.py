"""The command `tickdisk claim`, which shows a claim of a run with all that it rests on."""

import difflib
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tickdisk.foundation.errors import TickdiskError


def claim(
    name: Annotated[str, typer.Argument(help="Id of the claim, such as switchback.latency_6ms.gap_max, as the page shows it.")],
    results: Annotated[Path, typer.Option(help="A folder with facts.json and claims.json, such as data/reference/paper.")] = Path(
        "results"
    ),
) -> None:
    """Prints a claim with its verdict, its evidence, its facts and its figure, and the commands that compute it again."""
    from tickdisk.experiment import STUDIES
    from tickdisk.studies.statement import read_claims, read_facts

    claims, facts = read_claims(results), read_facts(results)
    if name not in claims:
        near = difflib.get_close_matches(name, claims, n=3, cutoff=0.3)
        advice = f"the nearest are {', '.join(near)}" if near else "the page lists all claims"
        raise TickdiskError(f"{results} has no claim {name}; {advice}")
    found, study = claims[name], name.partition(".")[0]
    entry = STUDIES[study]
    print(f"{found.statement}: {found.verdict}, n = {found.n_text}")
    print(f"source: {found.source}{f', {found.study}' if found.study else ''}")
    print(f"evidence: {found.evidence}")
    for fact in found.facts:
        print(f"fact {fact}: {facts[fact].text} ({facts[fact].source})")
    figure = results / f"notebooks/{study}/figures/{entry.card.figure}.svg"
    print(f"figure: {figure if figure.exists() else f'none; {results} has no {figure.relative_to(results)}'}")
    values = [word for parameter, value in entry.parameters.items() for word in ("-p", parameter, value)]
    words = ["papermill", f"notebooks/{study}.ipynb", f"build/{study}.ipynb", *values, "-p", "output", f"build/{study}"]
    print(f"analyse again: {shlex.join(words)}")
    if "setup.scale" in facts:
        print(f"run again: make paper STUDY={study} SCALE={facts['setup.scale'].text}")
