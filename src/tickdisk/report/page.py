"""The page `index.html`, which shows the answers, experiments and claims of a run and links to all of its results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from tickdisk.compare import read_summary
from tickdisk.experiment import STUDIES
from tickdisk.foundation import record
from tickdisk.foundation.files import write_text
from tickdisk.foundation.numbers import joined_list, percent
from tickdisk.manifest import has_run
from tickdisk.project import read_plan
from tickdisk.report.answers import ANSWERS, Answers, Asked, has_too_few
from tickdisk.report.evidence import Evidence
from tickdisk.report.front import front, reference_front
from tickdisk.studies.statement import Claim, singular, verdict_text

_STYLE = "vendor/pico.classless.min.css"


_SETUP_LABELS = {
    "processor": "Processor",
    "cores": "Cores",
    "memory": "Memory",
    "kernel": "Kernel",
    "server": "Server",
    "players": "Clients (digest of their sources)",
    "rust": "Compiler of the emulator",
    "go": "Compiler of the clients",
    "fio": "fio",
    "python": "Python",
    "cells": "Live cells",
    "planned_minutes": "Planned time of live cells",
    "seed": "Seed",
    "lives": "Server lives of all experiments",
    "replaced_lives": "Run again because they were disturbed",
    "marked_lives": "Still disturbed after that",
    "load.other_programs_share": "Other programs, at most",
    "load.steal_share": "Time taken by the hypervisor, at most",
    "load.pressure_memory_share": "Memory pressure, at most",
}
_FILES = {
    "facts.json": "facts",
    "claims.json": "claims",
    "answers.json": "answers",
    "calibration.json": "calibration",
    "fidelity.json": "fidelity",
    "plan.json": "plan",
    "comparison.json": "comparison",
}


def write_page(template: Path, results: Path, output: Path) -> None:
    """Writes the page `index.html` of a run. It contains its style sheet, and loads nothing from another host.

    The style sheet lies in the folder `vendor` beside the Jinja `template`. The folder `results` has plan.json, answers.json,
    comparison.json and the files that `collect` writes.
    """
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    plan, evidence = read_plan(results / "plan.json"), Evidence.load(results)
    claims = [_claim(claim, evidence) for claim in evidence.claims.values()]
    scale, answers, asked = plan.config.scale, record.read(Answers, results / ANSWERS), Asked.of(plan)
    own = front(answers, evidence, asked, "this run")
    text = environment.from_string(template.read_text(encoding="utf-8")).render(
        style=(template.parent / _STYLE).read_text(encoding="utf-8"),
        scale=scale,
        is_smoke=scale == "smoke",
        date=evidence.text("setup.date") if "setup.date" in evidence.facts else "",
        alone=plan.config.study,
        cards=[_card(study, evidence) for study in STUDIES if evidence.has(study)],
        claims=claims,
        confidence=percent(plan.config.decision.confidence),
        margin=percent(plan.config.decision.margin),
        baseline=_baseline(asked, evidence),
        verdicts=list(dict.fromkeys(claim.verdict for claim in evidence.claims.values())),
        studies=list(dict.fromkeys(claim.experiment for claim in claims)),
        sources=_sources(claims),
        made=[_made(name, words, evidence) for name, words in _SETUP_LABELS.items() if f"setup.{name}" in evidence.facts],
        cells=plan.cells,
        ran={cell.hash for cell in plan.cells if has_run(results / "runs" / cell.hash)},
        files={file: words for file, words in _FILES.items() if (results / file).exists()},
        comparison=read_summary(results / "comparison.json"),
        front=own,
        reference=None if own.is_decided else reference_front(),
        **{**dict(answers), "missing": _missing(answers.missing, plan.config.study)},
    )
    write_text(output, text)


def _missing(missing: Mapping[str, str], asked: str | None) -> dict[str, str]:
    """Returns the studies that are missing. A study that runs alone is missing only in a run that was asked for one study."""
    return {study: reason for study, reason in missing.items() if asked is not None or not STUDIES[study].runs_alone}


def _baseline(asked: Asked, evidence: Evidence) -> str:
    """Returns the latency of the baseline in words."""
    name = "" if asked.baseline is None else f"{asked.baseline.experiment}.latency.{asked.baseline.arm}"
    return evidence.short(name) if name in evidence.facts else "the baseline"


def _made(name: str, words: str, evidence: Evidence) -> tuple[str, str, str]:
    """Returns a row of the table on how the run was made: a label, the text of the fact, and its limit (empty if it has none)."""
    limit = evidence.facts.get(f"setup.limit.{name.removeprefix('load.')}")
    return words, evidence.facts[f"setup.{name}"].text, "" if limit is None else limit.text


class _Shown(Claim):
    """A claim with what the page shows beside its fields."""

    here: str
    """The size of the effect in words."""
    experiment: str
    publication: str
    said: str
    """The verdict in words, with the direction of a difference, and with what it must be for a control."""
    mark: str
    """The class of the mark beside the verdict: a verdict, `as-it-must-be` or `too-few`."""


@dataclass(frozen=True)
class _Card:
    """A card of the page about a study. `figure` is the path of its figure, or empty if that was not drawn."""

    study: str
    title: str
    words: str
    figure: str
    alt: str
    verdicts: str
    html: str
    ipynb: str


def _claim(claim: Claim, evidence: Evidence) -> _Shown:
    """Returns a claim with the size of its effect in words, which is "COUNT of N" if it counts the same things as n."""
    fact = evidence.facts.get(claim.effect)
    here = "" if fact is None else fact.text
    if fact is not None and fact.unit in (claim.counted, singular(claim.counted)):
        here = f"{fact.short.removesuffix(' ' + fact.unit)} of {claim.n_text}"
    publication, said, mark = (
        claim.source.partition(":")[0].partition(",")[0],
        verdict_text(claim),
        claim.verdict.replace(" ", "-"),
    )
    if claim.verdict == "not valid" and has_too_few(claim, claim.counted):
        said, mark = f"too few {claim.counted}", "too-few"
    elif claim.must_be == claim.verdict:
        said, mark = f"{said}, as it must be", "as-it-must-be"
    elif claim.must_be:
        said += f", but must be {claim.must_be}"
    return _Shown(**dict(claim), here=here, experiment=claim.id.partition(".")[0], publication=publication, said=said, mark=mark)


def _sources(claims: Sequence[_Shown]) -> list[str]:
    """Returns the options of the filter by source: each publication, alone and with each outcome of its findings."""
    published = [claim for claim in claims if claim.study]
    return sorted({option for claim in published for option in (claim.publication, f"{claim.publication} {claim.study}")})


def _card(study: str, evidence: Evidence) -> _Card:
    card, figures = STUDIES[study].card, evidence.figures[study]
    is_drawn = card.figure in figures and figures[card.figure] is None
    return _Card(
        study=study,
        title=card.title,
        words=card.words,
        figure=f"notebooks/{study}/figures/{card.figure}.svg" if is_drawn else "",
        alt=card.alt,
        verdicts=_verdicts(study, evidence.claims),
        html=f"notebooks/{study}.html",
        ipynb=f"notebooks/{study}.ipynb",
    )


def _verdicts(study: str, claims: Mapping[str, Claim]) -> str:
    counts = Counter(claim.verdict for name, claim in claims.items() if name.startswith(f"{study}."))
    number = sum(counts.values())
    said = joined_list([f"{count} {word}" for word, count in counts.most_common()])
    return f"{number} {'claim' if number == 1 else 'claims'}: {said}." if number else "It makes no claims."
