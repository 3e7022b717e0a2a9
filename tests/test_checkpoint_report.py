"""The checkpoint study: anchors measured on a made-up table, and the whole on a short sweep."""

import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving import checkpoint, store
from tickdisk.studies import Study
from tickdisk.studies import checkpoint as study
from tickdisk.studies.algorithms import NAMES
from tickdisk.studies.checkpoint import Results
from tickdisk.studies.checkpoint.anchors import crossings, measure, measure_game
from tickdisk.studies.published import load_findings

PUBLISHED_PATH = "data/published.yaml"
PUBLISHED = checkpoint.load_published()
FINDINGS = load_findings(PUBLISHED_PATH)
RATES = (1_000, 8_000, 10_000, 64_000, 256_000)


def made_up(**changed: float) -> pd.DataFrame:
    """Runs that are as published in everything, but for what is changed: ALGORITHM__COLUMN__RATE."""
    rows = {}
    for rate in RATES:
        for name in checkpoint.ALGORITHMS:
            eager = name not in checkpoint.COPY_ON_UPDATE
            log = name.endswith("partial_redo") and rate == 1_000
            crosses = 0 if name == "naive_snapshot" else 10_000 if eager else 8_000
            rows[name, rate] = {
                "overhead_ms": 0.85 * (1 + 0.1 * int(np.sign(rate - crosses)) * bool(crosses)),
                "longest_ms": 17.0 if eager else 12.0,
                "checkpoint_s": 0.1 if log else 0.68,
                "recovery_s": 1.4,
            }
    rows["copy_on_update", 1_000]["overhead_ms"] = 0.85 / 5
    rows["copy_on_update", 64_000]["overhead_ms"] = 0.85 * 2.7
    rows["atomic_copy_dirty_objects", 256_000]["overhead_ms"] = 1.4
    for key, value in changed.items():
        name, column, rate = key.split("__")
        rows[name, int(rate)][column] = value
    return pd.DataFrame([{"algorithm": name, "rate": rate, **values} for (name, rate), values in rows.items()])


def reached(table: pd.DataFrame) -> dict[str, bool]:
    return {one.name: one.is_reached for one in measure(table, PUBLISHED, FINDINGS)}


def test_what_is_as_published_is_reached() -> None:
    assert all(reached(made_up()).values())
    values = {one.name: one.value for one in measure(made_up(), PUBLISHED, FINDINGS)}
    assert values["copy_on_update.most_gain"] == pytest.approx(5)
    assert values["log.partial_redo.times_faster"] == pytest.approx(6.8)


def test_a_claim_says_the_published_number_and_how_near_it_must_be_reached() -> None:
    statements = {one.name: one.statement for one in measure(made_up(), PUBLISHED, FINDINGS)}
    said = "Naive-Snapshot adds 0.85 ms per tick on average, within a factor of 1.05"
    assert statements["naive.overhead"] == said
    assert statements["half_tick.eager"].endswith("by more than half a tick at 64,000 updates per tick")


def test_each_algorithm_has_one_name() -> None:
    assert tuple(NAMES) == store.ALGORITHMS
    assert len(set(NAMES.values())) == len(NAMES)


@pytest.mark.parametrize(("updates", "is_reached"), [(35_590, True), (34_000, True), (33_000, False), (np.nan, False)])
def test_a_game_is_as_large_as_published_within_5_percent(updates: float, is_reached: bool) -> None:
    found = measure_game(pd.DataFrame({"updates_per_tick": [updates] * 6}), FINDINGS)
    assert found.is_reached == is_reached


def test_a_crossing_is_interpolated() -> None:
    table = made_up(copy_on_update__overhead_ms__1000=0.425, copy_on_update__overhead_ms__8000=0.425)
    table.loc[(table["algorithm"] == "copy_on_update") & (table["rate"] == 10_000), "overhead_ms"] = 1.7
    found = crossings(table)
    assert found["copy_on_update"] == pytest.approx(np.sqrt(8_000 * 10_000)), "half and double are as far from 1"
    assert found["partial_redo"] == pytest.approx(10_000)
    never = made_up()
    never.loc[never["algorithm"] == "naive_snapshot", "overhead_ms"] = 100.0
    assert np.isnan(crossings(never)["partial_redo"])
    assert not reached(never)["crossing.partial_redo"]


@pytest.mark.parametrize(
    ("change", "value", "lost"),
    [
        ("naive_snapshot__overhead_ms__256000", 0.90, {"naive.overhead"}),
        ("naive_snapshot__recovery_s__8000", 1.3, {"naive.recovery"}),
        ("partial_redo__checkpoint_s__1000", 0.11, {"log.partial_redo.checkpoint", "log.partial_redo.times_faster"}),
        ("atomic_copy_dirty_objects__overhead_ms__10000", 0.5, {"crossing.atomic_copy_dirty_objects"}),
        ("atomic_copy_dirty_objects__overhead_ms__256000", 1.2, {"eager.overhead"}),
        ("copy_on_update__overhead_ms__1000", 0.85 / 6, {"copy_on_update.most_gain"}),
        ("copy_on_update__overhead_ms__64000", 0.85 * 3.2, {"copy_on_update.most_cost"}),
        ("partial_redo__longest_ms__64000", 16.0, {"half_tick.eager"}),
        ("dribble_and_copy_on_update__longest_ms__64000", 16.8, {"half_tick.copy_on_update"}),
    ],
)
def test_what_is_not_is_found_out(change: str, value: float, lost: set[str]) -> None:
    assert {name for name, ok in reached(made_up(**{change: value})).items() if not ok} == lost


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    made = checkpoint.cases(
        rates=[1_000, 64_000],
        skews=[0.0, 0.8],
        units=40 * 128,
        ticks=120,
        readings_ticks=41,
        anchors=[1_000, 8_000, 10_000, 256_000],
        seed=1,
    )
    lines: list[str] = []
    checkpoint.write_sweep(checkpoint.sweep(made, cores=2, say=lines.append), folder)
    assert "million updates" in lines[-1]
    return folder


def test_parts_that_are_put_together_are_the_whole(tmp_path: Path) -> None:
    made = checkpoint.cases(rates=[500, 1_000], skews=[0.8], units=1280, ticks=41, readings_ticks=41, anchors=[1_000], seed=1)
    whole = checkpoint.sweep(made, cores=2, say=lambda _: None)
    for part in (1, 2):
        tables = checkpoint.sweep(made, cores=1, say=lambda _: None, part=part, parts=2)
        checkpoint.write_sweep(tables, tmp_path / str(part))
    together = checkpoint.gather([tmp_path / "2", tmp_path / "1"])
    for name in ("ticks", "checkpoints"):
        pd.testing.assert_frame_equal(getattr(together, name), getattr(whole, name))
    timed = "updates_per_s"
    pd.testing.assert_frame_equal(together.runs.drop(columns=timed), whole.runs.drop(columns=timed))
    with pytest.raises(TickdiskError, match="there is no part 3 of 2; there can be 1 to 4 parts"):
        checkpoint.sweep(made, cores=1, say=lambda _: None, part=3, parts=2)


def as_long(swept: Path, folder: Path) -> Study[Results]:
    """The study of a sweep, held against published inputs of 120 ticks."""
    published = folder / "published.yaml"
    published.write_text(Path(PUBLISHED_PATH).read_text().replace("ticks: 1000 #", "ticks: 120 #"))
    return study(str(swept), published=str(published))


def test_too_short_a_sweep_decides_nothing(swept: Path) -> None:
    claims = study(str(swept), published=PUBLISHED_PATH).statement.claims
    assert {(claim.verdict, claim.study) for claim in claims} == {("not valid", "not valid")}
    assert all("120 ticks were simulated, and 1,000, as published, would decide" in claim.evidence for claim in claims)


def test_the_study_of_a_sweep(swept: Path, tmp_path: Path) -> None:
    own = as_long(swept, tmp_path)
    assert own.statement["naive.checkpoint"].value == pytest.approx(2 / 3 + 0.0169, rel=1e-3)
    claims = {claim.id.removeprefix("checkpoint."): claim for claim in own.statement.claims}
    assert list(claims) == [one.name for one in own.results.anchors]
    assert {claim.kind for claim in claims.values()} == {"bound"}
    for name in ("naive.overhead", "half_tick.copy_on_update"):
        assert (claims[name].verdict, claims[name].study) == ("kept", "upheld")
    game = claims["game.updates_per_tick"]
    assert (game.verdict, game.study) == ("missed", "contradicted"), "a small game has fewer updates"
    assert not any(re.search(r"\d ratio", claim.evidence) for claim in claims.values()), "a ratio has no unit"
    tried = own.results.tried
    assert set(tried.columns) == {*checkpoint.PLACES, *checkpoint.VARIANTS}
    assert tried.loc["naive.pause", "GB/s and MB/s"] == pytest.approx(18.2, rel=0.01), "2.2 GB/s"
    assert np.isfinite(tried.to_numpy(float)).all()


def test_another_reading_is_named_only_where_it_comes_nearer(swept: Path, tmp_path: Path) -> None:
    own = as_long(swept, tmp_path)
    missed = {one.name: one for one in own.results.anchors if not one.is_reached and one.name in own.results.nearest}
    assert missed
    for claim in own.statement.claims:
        name = claim.id.removeprefix("checkpoint.")
        said = "over 41 ticks the nearest other reading" in claim.evidence
        assert said == (name in missed and own.results.nearest[name].is_nearer)
        assert checkpoint.STATED not in claim.evidence
    for name, one in missed.items():
        others = own.results.tried.loc[name].drop(checkpoint.STATED)
        assert own.results.nearest[name].stated == own.results.tried.loc[name, checkpoint.STATED]
        assert min(map(one.distance, others)) == one.distance(own.results.nearest[name].value)


def test_what_is_stated_does_not_depend_on_what_is_shown(swept: Path, tmp_path: Path) -> None:
    first, second = (as_long(swept, tmp_path) for _ in range(2))
    code = [cell.source for cell in nbformat.read("notebooks/checkpoint.ipynb", as_version=4).cells if cell.cell_type == "code"]
    shown = [line for source in code for line in source.splitlines() if line.startswith("study.") and "save" not in line]
    for line in reversed(shown):
        assert eval(line, {"study": second}) is not None  # noqa: S307 - the notebook's own cells
    figures = {f'study.figure("{name}")' for name in second.figures if not name.startswith("paper_")}
    assert set(shown) == {*figures, *(f'study.table("{name}")' for name in second.tables), "study.outcome()", "study.verdicts()"}
    for own, name in ((first, "first"), (second, "second")):
        own.save(str(tmp_path / name))
    for file in ("facts.json", "claims.json", "figures.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    assert set(json.loads((tmp_path / "first" / "figures.json").read_text()).values()) == {None}
    assert len(figures) == 8
    assert (tmp_path / "first/figures/timeline.svg").exists()


def test_sweeps_share_inputs_and_keep_every_tick(swept: Path) -> None:
    found = checkpoint.read_sweep(swept)
    shared = found.runs[
        (found.runs["rate"] == 64_000) & (found.runs["skew"] == 0.8) & (found.runs["reading"] == checkpoint.STATED)
    ]
    both = shared[shared["sweep"].isin(["rate", "skew"])]
    assert both["run"].nunique() == 6
    assert len(both) == 12
    assert (found.ticks.groupby("run").size() == 120).all()
    assert found.checkpoints["run"].isin(found.ticks["run"]).all()


def test_a_missing_or_old_table_is_named(swept: Path, tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"checkpoints.parquet is missing; run `tickdisk checkpoint sweep`"):
        checkpoint.read_sweep(tmp_path)
    for name in ("runs", "ticks", "checkpoints"):
        pd.read_parquet(swept / f"{name}.parquet").drop(columns="run").to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(TickdiskError, match=r"lacks the column run; run `tickdisk checkpoint sweep`"):
        checkpoint.read_sweep(tmp_path)


def test_a_wrong_published_value_is_named(tmp_path: Path) -> None:
    text = Path("data/published.yaml").read_text()
    (tmp_path / "p.yaml").write_text(text.replace("game_units: 400128", "game_units: many"))
    with pytest.raises(TickdiskError, match=r"p.yaml, key checkpoint: game_units = 'many' is not acceptable"):
        checkpoint.load_published(tmp_path / "p.yaml")
