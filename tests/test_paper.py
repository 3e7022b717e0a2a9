"""The paper: every outcome can be set, every figure is referred to, and no number is typed into its prose."""

import json
import re
import shutil
import tomllib
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import typst
from evidence_of import ASKED, STUDIES, evidence_of
from records_of import plan_of

from tickdisk.compare import KeptStudy, Reference, compare, compare_with_reference, load
from tickdisk.config import load_config
from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import KeptPlan, write_plan
from tickdisk.report import publish, set_paper
from tickdisk.report.answers import Asked, answer
from tickdisk.report.evidence import Evidence
from tickdisk.stats import BelowFloor
from tickdisk.studies.statement import VERDICTS, Claim, Fact, Figures, Statement, read_claims, read_facts

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "workflow/paper"
RUNS = (ROOT / "tests/kept", ROOT / "data/reference/paper")
STUDIES_ALONE = ("backup", "bursts", "changes", "instances", "load", "memory", "predictions", "twin")
PROSE = sorted((TEMPLATES / "sections").glob("*.typ"))


def written(folder: Path, evidence: Evidence, document: str = "paper") -> Path:
    """Writes a project folder whose results are this evidence; returns the template of a document."""
    shutil.copytree(TEMPLATES, folder / "workflow/paper")
    shutil.copy(ROOT / "CITATION.cff", folder / "CITATION.cff")
    results = folder / "results"
    setup = Statement("setup")
    setup.word("scale", "paper", source="plan", note="the published experiments")
    facts = {**evidence.facts, **setup.facts}
    replace(evidence, facts=facts).save(results)
    record.write(results / "answers.json", answer(evidence, ASKED, "Luanti", {"hard disk": 6.0}, 0.2, {}))
    write_plan(results / "plan.json", plan_of(load_config()))
    (results / "comparison.json").write_text(json.dumps({"reference": None, "summary": "No reference is kept.", "rows": []}))
    return folder / f"workflow/paper/{document}.typ"


@pytest.mark.parametrize(
    ("comparison", "bound", "without"),
    [
        *product(("different", "equivalent"), ("kept",), ((),)),
        ("not valid", "not valid", ()),
        ("inconclusive", "missed", STUDIES),
    ],
)
def test_both_documents_are_set_whatever_came_out(
    comparison: str, bound: str, without: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = written(tmp_path, evidence_of(comparison=comparison, bound=bound, without=without))
    monkeypatch.chdir(tmp_path)
    for document, limit in publish.LIMITS.items():
        set_paper(template.with_name(f"{document}.typ"), Path(f"results/{document}.pdf"))
        assert Path(f"results/{document}.pdf").read_bytes().startswith(b"%PDF")
        found = publish.extent(template.with_name(f"{document}.typ"))
        assert 0 < found.body_pages <= limit.body_pages
        assert found.figures <= limit.figures


def test_the_paper_has_the_authors_of_the_citation_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = written(tmp_path, evidence_of())
    monkeypatch.chdir(tmp_path)
    people = "authors: [{given-names: Ada, family-names: Love}, {name: The Others}]"
    cited = re.sub(r"authors:\n  - .*", people, (ROOT / "CITATION.cff").read_text())
    Path("CITATION.cff").write_text(cited)
    set_paper(template, Path("results/paper.pdf"))
    assert b"Ada Love and The Others" in Path("results/paper.pdf").read_bytes()
    Path("CITATION.cff").write_text(cited.replace(people, ""))
    with pytest.raises(TickdiskError, match=r"^CITATION\.cff: key authors is missing; correct it as"):
        set_paper(template, Path("results/paper.pdf"))


def test_what_a_run_leaves_out_stands_there_as_our_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for without in ((), ("switchback",)):
        monkeypatch.chdir(ROOT)
        folder = tmp_path / str(len(without))
        template = written(folder, evidence_of(without=without))
        own, reference = load(folder / "results"), load(ROOT / "data/reference/paper")
        about = {"commit": "0123456789abcdef", "date": "2026-11-28", "scale": "paper"}
        found = {**record.plain(compare(own, reference)), "reference": about, "summary": "It was compared."}
        (folder / "results/comparison.json").write_text(json.dumps(found))
        monkeypatch.chdir(folder)
        said = typst.query(str(template), "heading.where(numbering: none)", field="body", root=".", ignore_system_fonts=True)
        assert ("Our reference results" in said) == bool(without)
        set_paper(template, Path("results/paper.pdf"))


def test_a_study_that_runs_alone_is_named_instead_of_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = written(tmp_path, evidence_of(without=("accesses", "replay")))
    write_plan(tmp_path / "results/plan.json", plan_of(load_config().model_copy(update={"study": "switchback"})))
    monkeypatch.chdir(tmp_path)
    said = typst.query(str(template), "heading", field="body", root=".", ignore_system_fonts=True)
    assert "The study of this copy" in said
    assert "What is missing in this copy" not in said


def test_each_kept_run_of_a_study_stands_under_its_name_with_its_own_confidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {}
    for disk, name, confidence in (("twin", "without a name", 0.8), ("twin-slow", "slow", 0.7)):
        setup, twin = Statement("setup"), Statement("twin")
        setup.fact("confidence", confidence, "share", source="plan")
        twin.word("disk_name", name, source="plan")
        twin.fact("flush_p50.ratio", 1.0, "ratio", source="lives")
        cause = BelowFloor(operation="flush", latency_ns=1000, floor_ns=2000, share=0.9)
        words = {"statement": "Effect of the twin on the median latency of flushes", "evidence": "", "causes": [cause]}
        twin.comparison("flush_p50", verdict="inconclusive", effect="flush_p50.ratio", n=6, counted="blocks", **words)
        figure = tmp_path / f"data/kept/{disk}/figure.svg"
        figure.parent.mkdir(parents=True)
        figure.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>')
        about = Reference(commit="0123456789abcdef", date="2026-11-28", scale="paper")
        kept[disk] = KeptStudy(
            reference=about,
            machine="a machine",
            study="twin",
            figure=str(figure.relative_to(tmp_path)),
            facts={**setup.facts, **twin.facts},
            claims=tuple(twin.claims),
        )
    template = written(tmp_path, evidence_of(), "companion")
    found = {"reference": None, "summary": "No reference is kept.", "rows": [], "kept": record.plain(kept)}
    (tmp_path / "results/comparison.json").write_text(json.dumps(found))
    monkeypatch.chdir(tmp_path)
    figures = [json.dumps(each) for each in json.loads(typst.query(str(template), "figure", root=".", ignore_system_fonts=True))]
    (table,) = (figure for figure in figures if "The twin and the wrong twin" in figure)
    assert re.findall(r'"(without a name|slow)"', table) == ["without a name", "slow"]
    assert table.count("cannot tell") == len(kept)
    (origins,) = (figure for figure in figures if "from which the results" in figure)
    assert re.findall(r"\d+ %", origins) == ["80 %", "70 %"]
    set_paper(template, Path("results/paper.pdf"))


def _kept(study: str) -> tuple[dict[str, Fact], dict[str, Claim]]:
    folder = ROOT / "data/kept" / study
    return read_facts(folder), read_claims(folder)


@pytest.mark.parametrize("study", [path.name for path in sorted((ROOT / "data/kept").iterdir()) if path.name in STUDIES_ALONE])
@pytest.mark.parametrize("outcome", [*VERDICTS["comparison"], "no claims", "few facts", "no figure"])
def test_a_study_that_this_run_measured_is_set_whatever_came_out(
    study: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, claims = _kept(study)
    words = {"different": "kept", "equivalent": "kept", "inconclusive": "missed", "not valid": "not valid"}
    if outcome in words:
        changed = {"comparison": outcome, "bound": words[outcome]}
        claims = {
            name: claim.model_copy(
                update={"verdict": changed[claim.kind], "direction": "higher" if changed[claim.kind] == "different" else ""}
            )
            for name, claim in claims.items()
        }
    elif outcome == "no claims":
        claims = {}
    elif outcome == "few facts":
        kept = (".title", "confidence", "disk_name", ".refaults.warm", ".tar.sata_ssd", "gap.slow.regions_80", "instances_2")
        claims = {name: claim for name, claim in claims.items() if claim.effect.endswith(kept)}
        facts = {name: fact for name, fact in facts.items() if name.endswith(kept)}
    figures: dict[str, Figures] = {study: {} if outcome == "no figure" else {f"paper_{study}": "it was not drawn"}}
    evidence = evidence_of()
    whole = Evidence({**evidence.facts, **facts}, {**evidence.claims, **claims}, {**evidence.figures, **figures}, {})
    template = written(tmp_path, whole, "companion")
    monkeypatch.chdir(tmp_path)
    set_paper(template, Path("results/companion.pdf"))


def test_the_documents_with_our_kept_runs_are_within_their_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = written(tmp_path, evidence_of(), "companion")
    for part in ("kept", "reference"):
        shutil.copytree(ROOT / "data" / part, tmp_path / "data" / part)
    monkeypatch.chdir(tmp_path)
    compare_with_reference(Path("results"), Path("results/comparison.json"))
    for document, limit in publish.LIMITS.items():
        found = publish.extent(template.with_name(f"{document}.typ"))
        assert found.pages <= limit.pages
        assert found.body_pages <= limit.body_pages
        assert found.figures <= limit.figures


def _text() -> str:
    return "\n".join(path.read_text() for path in [*PROSE, *TEMPLATES.glob("*.typ")])


def test_every_fact_and_claim_that_is_named_was_stated_by_a_run() -> None:
    """A name that ends in a dot or an underscore, or that the template adds to, is the beginning of one."""
    stated = {name for run in RUNS for name in (*read_facts(run), *read_claims(run))}
    studies = "|".join(sorted({name.partition(".")[0] for name in stated}))
    named = [
        (path.name, name, is_begun or name.endswith((".", "_")))
        for path in TEMPLATES.rglob("*.typ")
        for name, is_begun in re.findall(rf'"((?:{studies})\.[^"\s]*)"(\s*\+|, \[)?', path.read_text())
        if not name.endswith(".json")
    ]
    assert len(named) > 100
    for place, name, is_begun in named:
        assert name in stated or (is_begun and any(each.startswith(name) for each in stated)), (
            f"{place}: nothing is called {name}"
        )


def test_every_figure_and_table_is_referred_to_and_every_source_is_cited() -> None:
    text = _text()
    labels = set(re.findall(r"<([a-z][a-z-]*)>", text))
    figures = set(
        re.findall(r"(?:#plot|#claims-table|#main-figure|#titled|#figure)(?:(?!\n\n|\n#).|\n(?!\n|#))*?<([a-z][a-z-]*)>", text)
    )
    referred = set(re.findall(r"@([a-z][a-z0-9-]*)", text))
    sources = set(re.findall(r"^@\w+\{(\w+),", (TEMPLATES / "references.bib").read_text(), re.MULTILINE))
    assert len(figures) > 15
    assert figures <= referred
    assert referred - labels == sources


def test_sections_keep_their_budget_and_all_budgets_fit_the_paper() -> None:
    budget = tomllib.loads((TEMPLATES / "budget.toml").read_text())
    assert budget.keys() == publish.LIMITS.keys()
    of_section = {name: each for sections in budget.values() for name, each in sections.items()}
    for document, limit in publish.LIMITS.items():
        assert sum(each["pages"] for each in budget[document].values()) <= limit.body_pages
        assert sum(each["figures"] for each in budget[document].values()) <= limit.figures
        included = re.findall(r'include "sections/([a-z-]+)\.typ"', (TEMPLATES / f"{document}.typ").read_text())
        assert budget[document].keys() <= set(included)
    for path in PROSE:
        drawn = len(re.findall(r"^#(?:plot\(|main-figure\(|figure\(overview)", path.read_text(), re.MULTILINE))
        assert drawn == of_section.get(path.stem, {"figures": 0})["figures"], path


def test_no_measured_number_is_typed_into_prose() -> None:
    """Numbers of the text are counts of things that the text itself lists, requirements, or lengths in the layout."""
    for path in PROSE:
        prose = re.sub(
            r"#[a-z-]+\((?:[^()]|\([^()]*\))*\)|#[a-z.]+|@[a-z0-9-]+(\[[^\]]*\])?|\"[^\"]*\"|//.*", "", path.read_text()
        )
        if path.stem == "artifact":
            continue
        found = re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*\s*(?:ms|us|s|%|MB|GB|times|requests|lives)\b", prose)
        allowed = {"95 %", "80 %", "4 KiB", "99 %", "8 KiB"}
        assert not [each for each in found if each not in allowed and not each.startswith(("95", "80", "99"))], path


def test_the_abstract_has_at_most_180_words() -> None:
    """The abstract is counted with our reference, of which it has the longest sentences. Ends of intervals count as words."""
    folder = ROOT / "data/reference/paper"
    plan, facts = record.read(KeptPlan, folder / "plan.json"), read_facts(folder)
    evidence = Evidence(facts, read_claims(folder), {name.partition(".")[0]: {} for name in facts}, {})
    brief = answer(evidence, Asked.of(plan), "Luanti", {}, plan.config.decision.margin, {}).brief
    own = (TEMPLATES / "sections/abstract.typ").read_text().partition("#if")[0].partition("\n")[2]
    assert 100 < len(own.replace("#answers.brief", brief).split()) <= 180
