"""Documents lead to files that exist, name commands that exist with options that they have, and show commands that work."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from typer.main import get_command

from tickdisk.cli import app
from tickdisk.foundation import record
from tickdisk.project import KeptPlan
from tickdisk.report.answers import Asked, answer
from tickdisk.report.evidence import Evidence
from tickdisk.rights import RIGHTS
from tickdisk.studies.statement import read_claims, read_facts
from tickdisk.studies.tiers import tier_name

pytestmark = pytest.mark.prose

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
WRITTEN_BY_PROGRAMS = {"build", "target", "results"}
RUN_HERE = "sh test"
"""A block with this info string is run by a test."""
PATIENCE_S = 120

FENCE = re.compile(r"^ *```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
SCHEME = re.compile(r"[a-z]+:")
SUBSTITUTION = re.compile(r"\$\([^)]*\)")


def documents() -> list[Path]:
    """Returns every Markdown file of the project, relative to it."""
    found = [Path("results/README.md")]
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in WRITTEN_BY_PROGRAMS]
        found += [Path(folder).relative_to(ROOT) / name for name in names if name.endswith(".md")]
    return sorted(found)


def read(document: Path) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: Path, info: str | None = None) -> list[str]:
    """Returns the fenced blocks of a document, or those with this info string."""
    return [block for found, block in FENCE.findall(read(document)) if info in (None, found.strip())]


def prose(document: Path) -> str:
    return FENCE.sub("", read(document))


def slug(heading: str) -> str:
    """Returns the anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(document: Path) -> set[str]:
    return {slug(heading) for heading in HEADING.findall(prose(document))}


def shown(program: str) -> list[tuple[Path, str]]:
    """Returns the commands of a program that stand in blocks, each with its document."""
    return [
        (document, line)
        for document in DOCUMENTS
        for block in blocks(document)
        for line in map(str.strip, block.replace("\\\n", " ").splitlines())
        if line.startswith(f"{program} ")
    ]


def mentioned(program: str) -> list[tuple[Path, str]]:
    """Returns the commands of a program that stand in sentences, each with its document; `program ...` stands for any."""
    return [
        (document, line)
        for document in DOCUMENTS
        for line in (" ".join(code.split()) for code in CODE.findall(prose(document)))
        if line.startswith(f"{program} ") and line != f"{program} ..."
    ]


def words_of(line: str) -> list[str]:
    """Returns the words of a command; what the shell would put in is a number, which every option takes."""
    return shlex.split(SUBSTITUTION.sub("1", line), comments=True)


def resolve(words: Sequence[str]) -> tuple[Any, str, list[str]]:
    """Returns the command that the words name, its name, and the words that are left for it."""
    command, name, rest = get_command(app), words[0], list(words[1:])
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"`{name}` has no command {rest[0]}"
        command, name, rest = command.commands[rest[0]], f"{name} {rest[0]}", rest[1:]
    return command, name, rest


def targets() -> Iterator[str]:
    return (found[1] for found in re.finditer(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


DOCUMENTS = documents()


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(document: Path) -> None:
    broken = []
    for link in LINK.findall(CODE.sub("", prose(document))):
        if SCHEME.match(link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize(("document", "line"), [*shown("tickdisk"), *mentioned("tickdisk")], ids=str)
def test_every_command_exists_with_its_options(document: Path, line: str) -> None:
    command, name, rest = resolve(words_of(line))
    known = {"--help"} | {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    own = rest[: rest.index("--")] if "--" in rest else rest
    unknown = [word for word in own if word.startswith("-") and word.partition("=")[0] not in known]
    assert not unknown, f"{document}: `{name}` has no option {unknown[0]}"


@pytest.mark.parametrize("line", [line for _, line in shown("tickdisk")])
def test_a_command_in_a_block_is_whole(line: str) -> None:
    command, name, rest = resolve(words_of(line))
    if not hasattr(command, "commands"):
        command.make_context(name, rest)  # raises if an argument is missing, or an option does not take its value


@pytest.mark.parametrize(("document", "line"), [*shown("make"), *mentioned("make")], ids=str)
def test_every_target_and_variable_of_make_exists(document: Path, line: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for word in words_of(line)[1:]:
        variable, is_given, _ = word.partition("=")
        assert f"({variable})" in makefile if is_given else word in set(targets()), f"{document}: {word} is not in the Makefile"


@pytest.mark.parametrize(("document", "line"), shown("papermill"), ids=str)
def test_every_parameter_of_a_notebook_exists(document: Path, line: str) -> None:
    words = words_of(line)
    cells = json.loads((ROOT / words[1]).read_text(encoding="utf-8"))["cells"]
    declared = "".join("".join(cell["source"]) for cell in cells if "parameters" in cell["metadata"].get("tags", []))
    given = [words[place + 1] for place, word in enumerate(words) if word == "-p"]
    assert given, document
    for name in given:
        assert re.search(rf"^{name} = ", declared, re.MULTILINE), f"{document}: {words[1]} has no parameter {name}"


@pytest.mark.parametrize("block", [block for document in DOCUMENTS for block in blocks(document, RUN_HERE)])
def test_commands_of_a_marked_block_work(block: str, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    done = subprocess.run(
        ["sh", "-eu", "-c", block],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.strip()


def test_the_tests_find_commands_to_check() -> None:
    assert len(shown("tickdisk")) > 20
    assert len(mentioned("tickdisk")) > 10
    assert len([block for document in DOCUMENTS for block in blocks(document, RUN_HERE)]) > 3


def test_the_rights_of_a_container_are_those_that_doctor_tries() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `(--?\w[^|`]*)` \|$", read(Path("docs/reproduce.md")), re.MULTILINE)
    assert rows == [(right.name, right.without, " ".join(right.arguments)) for right in RIGHTS]


def test_what_is_cited_is_this_version() -> None:
    cited = yaml.safe_load(read(Path("CITATION.cff")))
    project = tomllib.loads(read(Path("pyproject.toml")))["project"]
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    assert all(cited[key] for key in ("title", "abstract", "authors"))


def test_what_the_readme_says_came_out_is_what_our_reference_says() -> None:
    folder = ROOT / "data/reference/paper"
    plan, facts, claims = record.read(KeptPlan, folder / "plan.json"), read_facts(folder), read_claims(folder)
    studies: dict[str, dict[str, str | None]] = {name.partition(".")[0]: {} for name in facts}
    evidence = Evidence(facts, claims, studies, {})
    tiers = {tier_name(name): tier.read_latency_ns / 1e6 for name, tier in plan.tiers.items()}
    advice = answer(evidence, Asked.of(plan), "Luanti", tiers, facts["setup.margin"].value or 0, plan.classes).advice
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"our run at paper scale: {advice[0].lower()}{advice[1:]}" in text


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a Markdown text, without headings, cells of tables and code."""
    plain = CODE.sub("x", FENCE.sub("", text))
    lines = (line for line in plain.splitlines() if not line.lstrip().startswith(("#", "|")))
    for paragraph in re.split(r"\n\s*\n|\n(?= *[-*] )|\n(?= *\d+\. )", "\n".join(lines)):
        yield from re.split(r"(?<=[.!?]) ", re.sub(r"^[-*>\d. ]+", "", " ".join(paragraph.split())))


def texts() -> Iterator[tuple[str, str]]:
    """Yields the name and the text of every document, and of the prose of every notebook."""
    for document in documents():
        yield str(document), read(document)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        yield path.name, "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def test_no_sentence_of_a_document_begins_without_its_subject() -> None:
    """A sentence that begins with one of these words and is no question makes its reader wait for what it is about."""
    opening = re.compile(r"(Who|What|Of|That)\b.*[^?]$")
    assert not [f"{name}: {sentence}" for name, text in texts() for sentence in sentences(text) if opening.match(sentence)]


def test_documents_use_the_words_of_the_glossary() -> None:
    rows = re.findall(r"^\| (?!Word|---)[^|]+\|[^|]+\| ([^|]+?) \|$", read(Path("docs/glossary.md")), re.MULTILINE)
    assert len(rows) > 20
    forbidden = re.compile(rf"\b({'|'.join(map(re.escape, rows))})\b", re.IGNORECASE)
    found = {name: forbidden.findall(CODE.sub("x", FENCE.sub("", text))) for name, text in texts() if name != "docs/glossary.md"}
    assert not {name: words for name, words in found.items() if words}
