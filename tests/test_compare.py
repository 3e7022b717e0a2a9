"""Two runs beside each other: what is the same, what differs, and what cannot be compared."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evidence_of import STUDIES as EVIDENT
from evidence_of import evidence_of
from records_of import plan_of
from typer.testing import CliRunner

from tickdisk import compare as room
from tickdisk.cli import app
from tickdisk.compare import reference
from tickdisk.config import arms_of_run, load_arms, load_config, parse_config
from tickdisk.device import load_devices
from tickdisk.experiment import STUDIES
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import read
from tickdisk.project import left_out, write_plan
from tickdisk.project.plan import KeptPlan
from tickdisk.studies.statement import Statement


def write(folder: Path, *, period_s: float = 5.3, lives: int = 8, scale: str = "paper", **changed: Any) -> Path:
    """Writes the results of a run whose switchback has the given design."""
    setup = Statement("setup")
    setup.fact("switchback.save_period_s", period_s, "s", source="plan")
    setup.fact("switchback.lives", lives, "lives", source="plan")
    setup.fact("margin", 0.2, "", source="plan")
    setup.word("scale", scale, source="plan")
    setup.word("arm.switchback.latency_6ms", "slow", source="plan")
    setup.word("processor", "one", source="calibration")
    evidence = evidence_of(**changed)
    facts = {**evidence.facts, **setup.facts}
    replace(evidence, facts=facts).save(folder)
    write_plan(folder / "plan.json", plan_of(load_config().model_copy(update={"scale": scale})))
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run")


def test_a_run_agrees_with_itself(run: Path) -> None:
    found = room.compare(room.load(run), room.load(run / "facts.json"))
    assert {row.compared for row in found.rows} == {"same"}
    assert {row.intervals for row in found.rows} == {"overlap", "none"}
    assert found.agrees
    assert found.is_one_run
    said = room.summary(found)
    assert said.startswith("Both runs hold the same numbers to the last digit")
    assert f"{len(found.rows)} of the {len(found.rows)} claims that both runs decide have the same" in said


def test_another_verdict_and_intervals_apart_are_named(run: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", comparison="equivalent", ratio=1.01)
    found = room.compare(room.load(run), room.load(other))
    row = next(row for row in found.rows if row.id == "switchback.latency_6ms.gap_max")
    assert (row.verdicts, row.compared, row.intervals) == (("different", "equivalent"), "other", "apart")
    assert not found.agrees
    assert not found.is_one_run
    text = "\n".join(room.lines(found, all_rows=False))
    assert row.id in text
    assert "calibration.faithful_p50" not in text
    assert "calibration.faithful_p50" in "\n".join(room.lines(found, all_rows=True))


def changed(run: Path, name: str, **ends: float) -> Path:
    """Returns a copy of a run in which a fact has other numbers."""
    other = run.parent / "changed"
    shutil.copytree(run, other, dirs_exist_ok=True)
    facts = json.loads((run / "facts.json").read_text())
    facts[name] |= ends
    (other / "facts.json").write_text(json.dumps(facts))
    return other


def test_a_bound_is_kept_or_missed_on_each_machine_by_itself(run: Path) -> None:
    """Two machines' medians of 100.6 and 101.2 us differ, and say nothing against each other."""
    other = changed(run, "replay.nvme_ssd.lag_p99", value=0.06, low=0.05, high=0.07)
    found = room.compare(room.load(run), room.load(other))
    row = next(row for row in found.rows if row.id == "replay.lag")
    assert row.effects[0] != ""
    assert (row.compared, row.intervals) == ("same", "none")
    assert found.agrees


@pytest.mark.parametrize(("factor", "intervals"), [(1.0, "overlap"), (1.19, "near"), (1 / 1.19, "near"), (1.21, "apart")])
def test_intervals_may_differ_by_the_margin(run: Path, factor: float, intervals: str) -> None:
    claim = "switchback.latency_6ms.gap_max"
    effect = room.load(run).claims[claim].effect
    fact = room.load(run).facts[effect]
    assert fact.low is not None
    assert fact.high is not None
    low, high = (fact.high * factor, fact.high * factor * 1.1) if factor >= 1 else (fact.low * factor * 0.9, fact.low * factor)
    found = room.compare(room.load(run), room.load(changed(run, effect, low=low, high=high)))
    assert next(row for row in found.rows if row.id == claim).intervals == intervals
    assert found.agrees == (intervals != "apart")
    assert ("within the margin" in room.summary(found)) == (intervals == "near")


def test_a_claim_that_one_run_cannot_decide_is_neither_the_same_nor_another(run: Path, tmp_path: Path) -> None:
    found = room.compare(room.load(run), room.load(write(tmp_path / "few", comparison="not valid")))
    assert found.count("undecided in one") > 0
    assert found.count("other") == 0
    both = room.compare(room.load(tmp_path / "few"), room.load(tmp_path / "few"))
    assert both.count("undecided in both") == found.count("undecided in one")


def test_studies_are_compared_only_where_their_plans_mean_the_same(run: Path, tmp_path: Path) -> None:
    more = room.compare(room.load(run), room.load(write(tmp_path / "more", lives=24)))
    assert more.plans == ()
    other = room.compare(room.load(run), room.load(write(tmp_path / "other", period_s=1.0)))
    assert other.plans == ("switchback",)
    assert {row.compared for row in other.rows if row.id.startswith("switchback.")} == {"other plan"}
    assert {row.compared for row in other.rows if row.id.startswith("calibration.")} == {"same"}
    assert "The plans differ in switchback, so that claims of these studies are not compared." in room.summary(other)


def test_a_study_that_one_run_lacks_is_told(run: Path, tmp_path: Path) -> None:
    found = room.compare(room.load(run), room.load(write(tmp_path / "less", without=["replay"])))
    assert {row.verdicts[1] for row in found.rows if row.id.startswith("replay.")} == {"not stated"}
    assert found.count("only in one") == 3


def test_the_command_prints_tables_and_json_and_is_strict_when_asked(run: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", comparison="equivalent", ratio=1.01)
    call = CliRunner().invoke
    assert call(app, ["compare", str(run), str(run), "--strict"]).exit_code == 0
    assert call(app, ["compare", str(run), str(other)]).exit_code == 0
    assert call(app, ["compare", str(run), str(other), "--strict"]).exit_code == 1
    told = json.loads(call(app, ["compare", str(run), str(other), "--json"]).stdout)
    assert not told["agrees"]
    assert {row["id"] for row in told["rows"]} == set(room.load(run).claims)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("facts.json", "[]", "facts.json: Input should be an object; name a folder"),
        ("facts.json", '{"a.b": {"value": 1}}', "facts.json: key a.b.unit is missing"),
        ("claims.json", "[{}]", "key 0.id is missing.*; name a folder that `make paper` of this version wrote"),
        ("claims.json", "{", "not JSON"),
    ],
)
def test_a_folder_of_something_else_is_refused(run: Path, name: str, text: str, words: str) -> None:
    (run / name).write_text(text)
    with pytest.raises(TickdiskError, match=words):
        room.load(run)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"nowhere does not exist; name a folder"):
        room.load(tmp_path / "nowhere")


def test_a_reference_holds_what_a_comparison_needs_and_says_where_it_is_from(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"status": "", "rev-parse": "0123456789abcdef"}
    monkeypatch.setattr(reference, "_git", lambda *words: answers[words[0]])
    references = tmp_path / "reference"
    assert "No reference of scale paper is kept" in room.compare_with_reference(run, tmp_path / "c.json", references)
    assert json.loads((tmp_path / "c.json").read_text())["rows"] == []
    assert room.write_reference(run, references) == references / "paper"
    assert json.loads((references / "paper" / "about.json").read_text())["commit"] == "0123456789abcdef"
    found = room.compare(room.load(run), room.load(references / "paper"))
    assert found.agrees
    assert "commit 0123456789ab" in room.compare_with_reference(run, tmp_path / "c.json", references)
    plan = plan_of(load_config().model_copy(update={"scale": "paper", "leave_out": ["netcode"]}))
    (run / "missing.json").write_text('{"store": "a step that it needs failed", "netcode": "the configuration leaves it out"}')
    with pytest.raises(TickdiskError, match=r"run is no whole run, because store failed; run the workflow again"):
        room.write_reference(run, references, left_out=left_out(plan.config, plan.arms, {}))
    (run / "missing.json").write_text('{"netcode": "the configuration leaves it out"}')
    room.write_reference(run, references, left_out=left_out(plan.config, plan.arms, {}))
    write_plan(run / "plan.json", plan_of(load_config().model_copy(update={"scale": "smoke"})))
    (run / "missing.json").write_text("{}")
    with pytest.raises(TickdiskError, match=r"facts.json is of the scale paper, and the plan beside it of smoke; finish the run"):
        room.write_reference(run, references)
    write_plan(run / "plan.json", plan)
    answers["status"] = " M README.md"
    with pytest.raises(TickdiskError, match=r"changes that are not committed \(M README.md, \.\.\.\); commit them first"):
        room.write_reference(run, references)


def test_runs_of_a_study_on_two_disks_are_kept_under_two_names_with_their_own_confidence(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "_git", lambda *words: {"status": "", "rev-parse": "0123456789abcdef"}[words[0]])
    kept, alone = tmp_path / "kept", tmp_path / "alone"
    values = load_config().model_dump(mode="json") | {"scale": "paper", "study": "twin", "disk": "/var/tmp"}
    for name, blocks, confidence in ((None, 6, 0.95), ("slow", 7, 0.9)):
        setup, twin = Statement("setup"), Statement("twin")
        setup.word("scale", "paper", source="plan")
        setup.fact("confidence", confidence, "share", source="plan")
        twin.fact("blocks", blocks, "blocks", source="manifests")
        replace(evidence_of(without=EVIDENT), facts={**setup.facts, **twin.facts}, missing={}).save(alone)
        write_plan(alone / "plan.json", plan_of(parse_config(values | {"disk_name": name})))
        drawn = alone / "notebooks/twin/figures/paper_twin.svg"
        drawn.parent.mkdir(parents=True, exist_ok=True)
        drawn.write_text(f"<svg>{name}</svg>")
        assert room.write_reference(alone, tmp_path / "reference", kept) == kept / ("twin" if name is None else "twin-slow")
    room.compare_with_reference(run, tmp_path / "c.json", tmp_path / "reference", kept)
    found = json.loads((tmp_path / "c.json").read_text())["kept"]
    assert [(name, each["study"], each["facts"]["twin.blocks"]["value"]) for name, each in found.items()] == [
        ("twin", "twin", 6),
        ("twin-slow", "twin", 7),
    ]
    assert [each["facts"]["setup.confidence"]["value"] for each in found.values()] == [0.95, 0.9]
    assert [Path(each["figure"]).read_text() for each in found.values()] == ["<svg>None</svg>", "<svg>slow</svg>"]
    said = room.compare_with_reference(alone, tmp_path / "c.json", tmp_path / "reference", kept)
    assert "This run against our reference" in said, "the run on the slow disk has that one as its reference"
    assert json.loads((tmp_path / "c.json").read_text())["kept"] == {}


@pytest.mark.parametrize("scale", [path.name for path in sorted(reference.REFERENCES.iterdir())])
def test_the_plan_of_a_reference_is_that_of_the_configuration(scale: str) -> None:
    """If it fails, another run can no longer be compared with the reference: make it again (CONTRIBUTING.md, Release)."""
    folder = reference.REFERENCES / scale
    config, kept = load_config().model_copy(update={"scale": scale}), read(KeptPlan, folder / "plan.json")
    assert kept.config.model_dump(exclude={"scales"}) == config.model_dump(exclude={"scales"})
    # The sizes of studies that run alone are not those of this run.
    alone = {name for name, study in STUDIES.items() if study.runs_alone}
    left = {"description": True, "servers": {"__all__": alone}, **dict.fromkeys(alone, True)}
    assert kept.chosen.model_dump(exclude=left) == config.chosen.model_dump(exclude=left)
    assert list(kept.arms) == arms_of_run(load_arms(), None)
    devices = load_devices(Path("data/devices.yaml"))
    assert {name: tier.read_latency_ns for name, tier in kept.tiers.items()} == {
        name: model.latency_ns[0] for name, model in devices.items() if model.tier
    }
