"""All studies on a run that is kept in `tests/kept` state the same facts, claims and answers as when it was made.

`run.tar.zst` has the files of a run of the scale smoke that studies read, with every twentieth request of the calibration.
The JSON files beside it are what the run stated. A change that is meant to alter a number or a sentence changes them, and the
difference can be read there:

    TICKDISK_KEEP=1 pytest tests/test_kept_run.py

If studies read other files or a plan has other experiments, the run is made again and kept: `make paper SCALE=smoke`, then
`python tests/kept_run.py`, and then the line above.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kept_run import KEPT, ROOT, study, unpack

from tickdisk.calibrate import load_calibration, load_fidelity
from tickdisk.experiment import STUDIES
from tickdisk.foundation import record, table
from tickdisk.manifest import LifeRecord, read_manifest
from tickdisk.project import KeptPlan, read_plan
from tickdisk.replay import read_replays
from tickdisk.report import collect
from tickdisk.report.answers import Asked, answer
from tickdisk.report.evidence import Evidence
from tickdisk.studies.statement import read_claims, read_facts
from tickdisk.studies.tiers import tier_name

STATED = ("facts", "claims", "answers")
TOLERANCE = 1e-12
ALONE = {name for name, entry in STUDIES.items() if entry.runs_alone}
"""Studies that the kept run does not have, because they run only where they are asked for. Their sizes have default values."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project's folder with the kept run, which is the current folder."""
    folder = tmp_path_factory.mktemp("kept")
    unpack(folder)
    with contextlib.chdir(folder):
        yield folder


def differences(kept: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yields a line for each place at which two JSON values differ. Numbers may differ by one in 1e12."""
    if isinstance(kept, dict) and isinstance(now, dict):
        yield from (f"{place}{key}: only in the kept run" for key in kept.keys() - now.keys())
        yield from (f"{place}{key}: new" for key in now.keys() - kept.keys())
        for key in kept.keys() & now.keys():
            yield from differences(kept[key], now[key], f"{place}{key}: ")
    elif isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        for number, (one, other) in enumerate(zip(kept, now, strict=True)):
            yield from differences(one, other, f"{place}{number}: ")
    elif isinstance(kept, float | int) and isinstance(now, float | int) and not isinstance(kept, bool):
        if abs(kept - now) > TOLERANCE * max(abs(kept), abs(now)):
            yield f"{place}{kept!r} became {now!r}"
    elif kept != now:
        yield f"{place}{kept!r} became {now!r}"


def test_a_kept_run_states_the_same_as_when_it_was_made(project: Path) -> None:
    figures = json.loads((KEPT / "figures.json").read_text())
    assert figures.keys() == STUDIES.keys() - ALONE
    folders = []
    for name in (name for name in STUDIES if name in figures):
        folders.append(project / "results/notebooks" / name)
        study(name).statement.save(folders[-1])
        (folders[-1] / "figures.json").write_text(json.dumps(figures[name]))
    collect(folders, project / "results")
    if os.environ.get("TICKDISK_KEEP"):
        for name in STATED:
            (KEPT / f"{name}.json").write_bytes((project / f"results/{name}.json").read_bytes())
    for name in STATED:
        kept, now = (json.loads(path.read_text()) for path in (KEPT / f"{name}.json", project / f"results/{name}.json"))
        assert not list(differences(kept, now)), f"{name}.json of the kept run changed"


def test_its_records_are_written_again_as_they_were(project: Path) -> None:
    """The manifests hold what the clients in Go and the emulator in Rust wrote."""
    results, lives = project / "results", list[LifeRecord]()
    for name, read in (
        ("plan.json", read_plan),
        ("calibration.json", load_calibration),
        ("fidelity.json", load_fidelity),
        ("replay/replay.json", read_replays),
    ):
        changes = differences(json.loads((results / name).read_text()), record.plain(read(results / name)))
        of_others = [line for line in changes if not (line.endswith(": new") and ALONE & set(line.split(": ")))]
        assert not of_others, "a study that runs alone, or one of its sizes, is newer than this run"
    for path in results.glob("runs/*/manifest.json"):
        manifest = read_manifest(path.parent)
        assert record.plain(manifest) == json.loads(path.read_text())
        lives += manifest.lives.values()
    assert {tool for life in lives for tool in (capture.tool for capture in life.captures)} >= {"bpftrace", "strace"}
    assert min(len(life.client.actions) for life in lives) > 0
    assert min(sum(life.device.requests.values()) for life in lives) > 0


def test_lives_have_the_numbers_of_players_that_were_planned(project: Path) -> None:
    for cell in (cell for cell in read_plan(project / "results/plan.json").cells if cell.experiment == "players"):
        planned = {life.name: life for life in read_manifest(project / "results/runs" / cell.hash).plan}
        assert len({life.players for life in planned.values()}) > 1
        for name, life in planned.items():
            folder = project / "results/runs" / cell.hash / name
            ticks, epochs = (table.read(kind, folder / f"{kind}.parquet") for kind in ("ticks", "epochs"))
            assert ticks["players"].max() == life.players
            assert sorted(epochs["arm"]) == ["latency_6ms", "ssd_100us", "ssd_100us_again"]


def test_our_run_at_paper_scale_gets_the_same_answers() -> None:
    """The reference run decides what a run of the scale smoke leaves open."""
    folder = ROOT / "data/reference/paper"
    plan, facts, claims = record.read(KeptPlan, folder / "plan.json"), read_facts(folder), read_claims(folder)
    ran: dict[str, dict[str, str | None]] = {name.partition(".")[0]: {} for name in facts}
    evidence = Evidence(facts, claims, ran, {})
    tiers = {tier_name(name): tier.read_latency_ns / 1e6 for name, tier in plan.tiers.items()}
    now = record.plain(answer(evidence, Asked.of(plan), "Luanti", tiers, facts["setup.margin"].value or 0, plan.classes))
    if os.environ.get("TICKDISK_KEEP"):
        (KEPT / "paper_answers.json").write_text(json.dumps(now, indent=2, sort_keys=True) + "\n")
    assert not list(differences(json.loads((KEPT / "paper_answers.json").read_text()), now))


def test_a_difference_is_seen() -> None:
    assert list(differences({"a": [1.0, "x"]}, {"a": [1.0 + 1e-11, "x"]})) == ["a: 0: 1.0 became 1.00000000001"]
    assert list(differences({"a": 1, "b": [1]}, {"b": [1, 2], "c": 2})) == [
        "a: only in the kept run",
        "c: new",
        "b: [1] became [1, 2]",
    ]
    assert not list(differences({"a": 1}, {"a": 1.0}))
