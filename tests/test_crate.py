"""The crate of a run passes its validator, and `CITATION.cff` is the one file with the names of the authors."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kept_run import ROOT, unpack

from tickdisk.citation import CITATION, read_citation
from tickdisk.crate import write_crate
from tickdisk.foundation.errors import TickdiskError

CRATE = Path("results/ro-crate-metadata.json")
VALIDATOR = ROOT / "build/validator"
PEOPLE = [
    {
        "given-names": "Ada",
        "name-particle": "van der",
        "family-names": "Love",
        "affiliation": "A University",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
    },
    {"name": "The Tickdisk developers", "website": "https://tickdisk.example.org/"},
]
OPEN = {
    "process-run-crate-0.5_5.1": "the names of software are addresses, and a workflow's name is that of its file",
    "ro-crate-1.1_22.3": "a run has no publisher",
    "ro-crate-1.1_31.2": "CITATION.cff has no place for the address of an affiliation",
}
"""The recommendations that a crate does not follow, with the reasons."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project's folder with the kept run, which is the current folder."""
    folder = tmp_path_factory.mktemp("crate")
    unpack(folder)
    for name in ("Snakefile", "results/README.md"):
        shutil.copy(ROOT / name, folder / name)
    with contextlib.chdir(folder):
        yield folder


def cite(authors: Any, **more: Any) -> None:
    values = yaml.safe_load((ROOT / CITATION).read_text())
    CITATION.write_text(yaml.safe_dump(values | {"authors": authors} | more))


def crate() -> dict[str, Any]:
    """Writes the crate of the kept run, and returns its entities by their names."""
    results = Path("results")
    kinds = ("calibration", "notebooks", "plan.json", "replay")
    files = [path for path in results.rglob("*") if path.is_file() and path.parts[1] in kinds]
    rules = sorted(Path("workflow/rules").glob("*.smk"))
    write_crate(
        files, [Path("Snakefile"), CITATION, *rules], [Path("workflow/config/config.yaml"), Path("data/devices.yaml")], CRATE
    )
    return {entity["@id"]: entity for entity in json.loads(CRATE.read_text())["@graph"]}


def found() -> dict[str, set[str]]:
    """Returns the checks that fail, by their severity."""
    assert VALIDATOR.is_dir(), "run `python envs/setup.py --test`, which installs the validator"
    done = subprocess.run(
        [sys.executable, ROOT / "tests/crate_validator.py", "results"],
        env={**os.environ, "PYTHONPATH": str(VALIDATOR)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    issues = json.loads(done.stdout)
    return {kind: {check for severity, check, _ in issues if severity == kind} for kind in ("REQUIRED", "RECOMMENDED")}


@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_the_crate_of_a_run_passes_its_validator() -> None:
    cite(PEOPLE, **{"repository-code": "https://tickdisk.example.org/code"})
    entities = crate()
    checks = found()
    assert not checks["REQUIRED"]
    assert checks["RECOMMENDED"] == OPEN.keys()
    assert entities["https://orcid.org/0000-0002-1825-0097"]["name"] == "Ada van der Love"
    run = entities["#run"]
    assert "2026-11-29" == run["startTime"][:10] == run["endTime"][:10]
    assert run["startTime"] < run["endTime"]
    assert {"@id": "#value-scale"} in run["object"]
    assert entities["#value-scale"]["value"] == "smoke"
    assert sum(part["@id"].startswith("runs/") for part in entities["./"]["hasPart"]) == len(list(Path("results/runs").iterdir()))


@pytest.mark.usefixtures("project")
def test_a_crate_is_the_same_whenever_it_is_written() -> None:
    shutil.copy(ROOT / CITATION, CITATION)
    crate()
    before = CRATE.read_bytes()
    assert crate()["./"]["author"] == {"@id": "#The-Tickdisk-developers"}
    assert CRATE.read_bytes() == before


@pytest.mark.usefixtures("project")
def test_a_crate_says_when_notebooks_were_rendered() -> None:
    notebook = Path("results/notebooks/replay.ipynb")
    notebook.parent.mkdir()
    times = {"start_time": "2026-11-30T08:00:00+00:00", "end_time": "2026-11-30T08:00:09.5+00:00"}
    notebook.write_text(json.dumps({"metadata": {"papermill": times}}))
    assert crate()["#run"]["endTime"] == "2026-11-30T08:00:09+00:00"
    notebook.write_text("{}")
    with pytest.raises(TickdiskError, match=r"config\.yaml is not in the crate, which is the folder results; name results"):
        write_crate([Path("workflow/config/config.yaml")], [Path("Snakefile")], [], CRATE)
    with pytest.raises(TickdiskError, match=r"replay\.ipynb does not say when papermill rendered it; remove it and run again"):
        crate()


@pytest.mark.parametrize(
    ("authors", "said"),
    [
        (None, "authors = None is not acceptable"),
        ([], "key authors: Tuple should have at least 1 item"),
        ([{"alias": "ada"}], "key authors.0: a person has `given-names` and `family-names`, and an organisation has a `name`"),
        ([{"name": "A", "family-names": "B"}], "key authors.0: a person has"),
        ([{"family-names": "B", "orcid": "0000"}], "authors.0.orcid = '0000' is not acceptable"),
    ],
)
def test_authors_that_are_wrong_are_one_sentence(
    authors: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cite(authors)
    with pytest.raises(TickdiskError) as caught:
        read_citation()
    message = str(caught.value)
    assert message.startswith("CITATION.cff: ")
    assert said in message
