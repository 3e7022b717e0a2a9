"""The study as the notebook calls it, on lives of the simulated server in run folders as the run room writes them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import records_of
from IPython.display import SVG, Markdown
from records_of import CAPTURE, LIFE, QUIET, changed, manifest_of, planned, usual_config
from test_accesses_simulated import COSTS, START_NS, play

from tickdisk import TickdiskError, accesses, studies
from tickdisk.config import PlannedCell, parse_config
from tickdisk.experiment import Epoch, PlannedLife
from tickdisk.foundation import table
from tickdisk.manifest import Attempt, write_manifest
from tickdisk.project import write_plan
from tickdisk.studies.accesses.compute import finite_logs

PUBLISHED = "data/published.yaml"
TABLES = ("files", "interactions", "form", "delayed", "routines", "predictions", "runs")
FIGURES = ("cumulative", "sizes", "offsets", "regions", "predicted")


def write_run(runs: Path, block: int, *, seconds: float, marked: tuple[str, ...] = ()) -> PlannedCell:
    """Writes a cell with one life of the simulated server; returns the cell's line of the plan."""
    requests, actions, phases, steps = play(block, seconds=seconds)
    cell = f"cell{block}"
    folder = runs / cell / "life"
    epochs = {"epoch": 0, "arm": "x", "device": "d", "setting": 1}
    epochs |= {"start_ns": START_NS, "steady_ns": START_NS, "end_ns": START_NS + 1}
    ticks = pd.DataFrame({"tick": range(len(steps)), "start_ns": steps, "end_ns": None, "thread": None})
    tables = {"requests": requests, "actions": actions, "ticks": ticks.assign(players=1), "epochs": pd.DataFrame([epochs])}
    for name, frame in tables.items():
        table.write(name, folder / f"{name}.parquet", frame)
    life = changed(
        LIFE,
        attempts=(Attempt(started_unix_s=0.0, load=replace(QUIET, other_programs_share=None), reasons=marked),),
        marked=marked,
        trace_events=len(actions),
        started_ns=START_NS,
        phases=tuple(phases),
        captures=(CAPTURE,),
        server=LIFE.server.model_copy(update={"settings": {"server_map_save_interval": "2"}}),
    )
    plan = (PlannedLife("life", "x", 0, 1.0, (Epoch("x", 0.0, 0.0, 1.0),)),)
    write_manifest(runs / cell, manifest_of("accesses", hash=cell, block=block, plan=plan, lives={"life": life}))
    return planned(cell, "accesses", block=block)


def plan_of(folder: Path, lives: int, **how) -> dict[str, str]:
    config = usual_config().model_dump(mode="json")
    config["scales"][config["scale"]]["accesses"]["lives"] = lives
    cells = [write_run(folder / "runs", block, **how) for block in range(lives)]
    write_plan(folder / "plan.json", records_of.plan_of(parse_config(config), cells))
    return {"plan": str(folder / "plan.json"), "runs": str(folder / "runs")}


def study_of(where: dict[str, str], **changed):
    return studies.accesses(**where, published=PUBLISHED, margin=None, bootstrap_samples=50, **{"seed": None} | changed)


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    return plan_of(tmp_path_factory.mktemp("accesses"), 7, seconds=70.0)


@pytest.fixture(scope="module")
def whole(where):
    return study_of(where)


def claims_of(study):
    return {claim.id.removeprefix("accesses."): claim for claim in study.statement.claims}


def test_facts_are_what_the_server_did(whole):
    value = {name.removeprefix("accesses."): fact.value for name, fact in whole.statement.facts.items()}
    assert (value["lives"], value["held_out_lives"], value["lost_events"]) == (7, 2, 0)
    assert value["reads"] == sum((life.accesses["op"] == "read").sum() for life in whole.results.lives)
    assert value["teleports.per_region"] == pytest.approx(40, rel=0.01)
    assert value["model.requests.player_update.player.write"] == pytest.approx(8, rel=0.1)
    assert value["model.bytes.player_update.player.write"] == pytest.approx(8 * 4096, rel=0.1)
    assert value["model.held_out_error"] < 0.05
    assert value["save_period_s"] == pytest.approx(2, rel=0.01)
    assert value["share_4_8_kib"] == 1
    assert whole.statement["lives"].text == "7 lives"


def test_no_interval_goes_where_the_quantity_cannot(whole):
    for name, fact in whole.statement.facts.items():
        if fact.unit == "share" and fact.low is not None:
            assert 0 <= fact.low <= fact.high, name


def test_the_model_never_saw_the_lives_that_it_is_checked_on(whole):
    results = whole.results
    assert [life.name for life in results.held_out] == ["life 6", "life 7"]
    pd.testing.assert_frame_equal(results.model.value, accesses.estimate(results.lives[:5]))
    assert results.errors["life"].tolist() == ["life 6", "life 7"]


def test_verdicts_follow_from_what_the_server_did(whole):
    claims = claims_of(whole)
    verdicts = {name: claim.verdict for name, claim in claims.items()}
    assert verdicts["linear.teleports"] == "equivalent"
    assert verdicts["flush_interval"] == "equivalent"
    assert verdicts["model"] == "kept"
    assert verdicts["random.reads"] == verdicts["random.writes"] == "different"
    assert verdicts["sizes"] == "different"
    assert verdicts["interaction.server_join.terrain.read"] == "different"
    assert verdicts["interaction.server_leave.player.write"] == "different"
    assert verdicts["interaction.server_leave.terrain.write"] == "inconclusive"
    assert not any(name.startswith(("interaction.player_attack", "interaction.player_kills")) for name in verdicts)
    assert claims["interaction.server_join.terrain.read"].statement == (
        "Number of terrain reads in windows of server join against quiet windows"
    )


def test_a_published_finding_is_upheld_contradicted_or_open(whole):
    claims = claims_of(whole)
    study = {name: claim.study for name, claim in claims.items()}
    assert study["linear.teleports"] == study["sizes"] == study["interaction.server_join.terrain.read"] == "upheld"
    assert study["interaction.server_leave.terrain.write"] == "open"
    assert study["flush_interval"] == study["model"] == ""
    for name in ("writes", "random.reads", "random.writes"):
        ratio = whole.statement[f"{name}_ratio"].value
        assert claims[name].verdict == "different"
        assert study[name] == ("upheld" if ratio > 1 else "contradicted")


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_there(whole, name):
    found = whole.table(name)
    assert len(found) > 0
    assert "nan" not in found.to_string().replace("NaN", "")


def test_the_table_of_routines_stands_beside_the_published_one(whole):
    routines = whole.table("routines")
    assert set(routines.index.get_level_values("routine")) == set(COSTS) | {"npc update"}
    assert routines.loc[("npc update", "", ""), "requests each"] == "no such event here"
    assert routines.loc[("player load", "player", "read"), "published"] == "1 per player, immediate R"


def test_what_was_published_and_what_was_found(whole):
    rows = whole.table("interactions")
    assert rows.loc[("server join", "terrain", "read"), "published"] == "yes"
    assert rows.loc[("player attack", "player", "write"), "found"] == "not seen alone"
    assert rows.loc[("position change", "player", "write"), "published"] == "no"


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_drawn(whole, name):
    assert set(whole.figures) >= set(FIGURES)
    assert isinstance(whole.figure(name), SVG)


def test_what_is_stated_does_not_depend_on_what_is_shown(whole, where, tmp_path):
    other = study_of(where)
    for name in reversed(TABLES):
        other.table(name)
    shown = {name: other.figure(name).data for name in reversed(FIGURES)}
    assert "facts" in whole.save(str(tmp_path / "first"))
    other.save(str(tmp_path / "second"))
    for file in ("facts.json", "claims.json", "figures.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    assert shown == {name: (tmp_path / f"first/figures/{name}.svg").read_text() for name in FIGURES}
    facts = json.loads((tmp_path / "first" / "facts.json").read_text())
    assert all(fact["unit"] and fact["source"] for fact in facts.values())


def test_each_fit_draws_by_itself(whole, where):
    one, other = whole.results, study_of(where, seed=1).results
    assert not one.model.low.equals(other.model.low)
    assert one.model.value.equals(other.model.value)
    # Every request is of 4 KiB, so that with the same draws the intervals would be the same but for the unit.
    requests, moved = ((of.high - of.value).fillna(0.0) for of in (one.model, one.model_bytes))
    written = ("player", "write")
    assert requests[written].max() > 0
    assert not np.allclose(moved[written], 4096 * requests[written])


def test_few_lives_decide_nothing(tmp_path):
    study = study_of(plan_of(tmp_path, 2, seconds=26.0))
    assert {claim.verdict for claim in study.statement.claims} == {"not valid"}
    assert {claim.study for claim in study.statement.claims if "PokeSto" in claim.source} == {"not valid"}
    assert len(study.results.held_out) == 1
    assert all(isinstance(study.figure(name), SVG) for name in FIGURES)


def test_one_life_is_described_and_predicts_nothing(tmp_path):
    study = study_of(plan_of(tmp_path, 1, seconds=26.0))
    assert (study.results.held_out, study.statement["model.held_out_error"].value) == ([], None)
    assert study.statement["lives"].text == "1 life"
    assert isinstance(study.figure("predicted"), Markdown)
    assert len(study.table("predictions")) == 0
    assert "figures" in study.save(str(tmp_path / "out"))
    reasons = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert {name for name, reason in reasons.items() if reason} == {"predicted", "paper_accesses"}


def test_marked_lives_count_and_every_claim_says_how_many_they_are(tmp_path):
    study = study_of(plan_of(tmp_path, 6, seconds=26.0, marked=("steal 20 % above 10 %",)))
    assert "not valid" not in {claim.verdict for claim in study.statement.claims}
    said = "6 of 6 lives were disturbed from outside even in their last replacement"
    assert all(claim.evidence.endswith(said) for claim in study.statement.claims)


def test_published_findings_name_their_source():
    published = accesses.load_published(Path(PUBLISHED))
    assert "PokeSto" in published.source
    assert {row.routine for row in published.routines} >= {"region load", "region flush", "player load", "player update"}
    assert {row.interaction for row in published.interactions} >= {"server join", "server leave", "position change"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "line 1: not YAML"),
        ("network: {}", "key accesses is missing"),
        ("accesses: {source: x}", "key accesses: key interactions is missing"),
        ("accesses: {source: x, interactions: [], routines: [], more: 1}", "key accesses: unknown key more"),
        ("accesses: {source: x, interactions: [{interaction: a, directions: [X], data: []}], routines: []}",
         r"interactions.0.directions.0 = 'X' is not acceptable: Input should be 'R' or 'W'"),
    ],
)  # fmt: skip
def test_published_findings_that_are_wrong_are_named(tmp_path, text, message):
    path = tmp_path / "published.yaml"
    path.write_text(text)
    with pytest.raises(TickdiskError, match=message):
        accesses.load_published(path)
    with pytest.raises(TickdiskError, match="does not exist"):
        accesses.load_published(tmp_path / "none.yaml")


def test_log_ratios_without_a_side_are_left_out():
    assert finite_logs(pd.Series([1.0, np.e, 0.0, np.inf, np.nan])).tolist() == [0.0, 1.0]
