"""The analysis of an archive: a whole one, which facts count as the same, and an archive that cannot be read."""

import contextlib
import tarfile
from pathlib import Path

import numpy as np
import pytest
from kept_run import ROOT, study, unpack

from tickdisk.foundation.errors import TickdiskError
from tickdisk.report.analyse import Analysed, analyse, is_same
from tickdisk.studies.statement import MISSING, Fact, Statement, write_statement


def _fact(value: float = 4.0, low: float = 3.0, note: str = "") -> Fact:
    return Statement("s").fact("x", value, "ms", interval=(low, 5.0), n=6, source="lives", note=note)


def test_numbers_may_differ_in_their_last_digits_only() -> None:
    assert is_same(_fact(), _fact(4.0 * (1 + 1e-14), 3.0 * (1 - 1e-14)))
    for other in (_fact(4.0 * (1 + 1e-9)), _fact(low=3.0 * (1 + 1e-9)), _fact(note="another"), None):
        assert not is_same(_fact(), other)


def test_an_archive_states_its_facts_again_and_another_one_is_named(tmp_path: Path) -> None:
    project, archive, again = tmp_path / "project", tmp_path / "a.tar", tmp_path / "again"
    project.mkdir()
    unpack(project)
    with contextlib.chdir(project):
        stated = study("replay").statement
    changed = "replay.captured"
    fact = stated.facts[changed]
    altered = fact.model_copy(update={"value": fact.value + 1})
    write_statement(project / "results/notebooks/replay", stated.facts | {changed: altered}, stated.claims)
    (project / "results" / MISSING).write_text("{}")
    with tarfile.open(archive, "w") as files:
        files.add(project / "results", "tickdisk-1/results")
    assert list(analyse(archive, again, ROOT)) == [
        "replay",
        Analysed(("replay",), len(stated.facts), len(stated.claims), (changed,)),
    ]
    made = ("notebooks/replay.html", "notebooks/replay/figures/lateness.svg", "paper.pdf", "companion.pdf", "index.html")
    assert all((again / "results" / name).stat().st_size > 0 for name in made)


@pytest.mark.parametrize("kind", ["truncated", "no archive", "no results"])
def test_an_archive_that_cannot_be_read_leaves_no_folder(kind: str, tmp_path: Path) -> None:
    archive, plan = tmp_path / "a.tar.gz", tmp_path / "plan.json"
    plan.write_bytes(np.random.default_rng(1).bytes(30_000))
    with tarfile.open(archive, "w:gz") as files:
        files.add(plan, "tickdisk-1/other/plan.json" if kind == "no results" else "tickdisk-1/results/plan.json")
    if kind == "truncated":
        archive.write_bytes(archive.read_bytes()[:15_000])
    elif kind == "no archive":
        archive.write_text("no archive")
    with pytest.raises(TickdiskError, match="make artifact"):
        list(analyse(archive, tmp_path / "new", tmp_path))
    assert not (tmp_path / "new").exists()
