"""docs/columns.md is what `tickdisk describe` prints, and every column and key in it is one that the code writes."""

import ast
import doctest
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from records_of import manifest_of, plan_of
from typer.testing import CliRunner

from tickdisk import compare, config, describe, device, manifest, project, studies
from tickdisk.calibrate import measure as calibrate_measure
from tickdisk.cli import app
from tickdisk.describe import entry
from tickdisk.describe import keys as keys_module
from tickdisk.describe.entry import DescribedTable, unit_of, written
from tickdisk.describe.keys import Key, column_kind, keys_of_class, keys_of_table, kind_of
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json
from tickdisk.foundation.process import Child
from tickdisk.foundation.record import plain
from tickdisk.project.identity import Identity
from tickdisk.saving import checkpoint, store
from tickdisk.saving.store.study import study
from tickdisk.saving.store.trial import life_summary

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = {one.name: one for section in describe.SECTIONS for one in section.entries}
LIFE = "results/runs/CELL/LIFE"
MANIFEST = "results/runs/CELL/manifest.json"


def blocks(name: str) -> dict[str, describe.DescribedTable]:
    """Returns the blocks of an entry, by title."""
    return {block.title: block for block in ENTRIES[name].blocks}


def keys(name: str, title: str = "") -> list[str]:
    """Returns the keys of the only block of an entry whose title begins so."""
    (found,) = [block for own, block in blocks(name).items() if own.startswith(title)]
    return [key.name for key in found.keys]


def columns(name: str) -> list[tuple[str, str]]:
    """Returns the columns of a table with their types, whether or not they may be null."""
    (block,) = ENTRIES[name].blocks
    return [(key.name, key.kind.removesuffix(" or null")) for key in block.keys]


def columns_of(path: Path) -> list[tuple[str, str]]:
    return [(column.name, column_kind(column.type)) for column in pq.read_schema(path)]


def dicts_in(function: Callable[..., Any]) -> Iterator[list[str]]:
    """Yields the keys of every dict that is written out in a function, outer ones first."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Dict):
            yield [str(key.value) for key in node.keys if isinstance(key, ast.Constant)]


def dict_with(function: Callable[..., Any], name: str) -> set[str]:
    """Returns the keys of the first dict in a function that has this one."""
    return set(next(found for found in dicts_in(function) if name in found))


def test_the_document_is_the_file() -> None:
    assert describe.document() == (ROOT / "docs/columns.md").read_text(), "run `tickdisk describe > docs/columns.md`"


def test_the_command_prints_the_document() -> None:
    done = CliRunner().invoke(app, ["describe"])
    assert done.exit_code == 0, done.output
    assert done.output == describe.document()


def test_the_example_runs_on_tables_of_a_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/data.md").read_text(), re.DOTALL)
    assert len([line for line in example.splitlines() if line]) == 5
    ms = 1_000_000
    starts = [0, 90, 180, 280, 400, 490, 790, 880, 970]
    ticked = pd.DataFrame(
        {"tick": range(1, 10), "start_ns": [start * ms for start in starts], "end_ns": None, "players": 3, "thread": 7}
    )
    rows = [(0, "fast", "ssd", 1, 0, 90 * ms, 300 * ms), (1, "slow", "hdd", 2, 300 * ms, 390 * ms, 900 * ms)]
    folder = tmp_path / "results/runs/CELL/LIFE"
    folder.mkdir(parents=True)
    table.write("ticks", folder / "ticks.parquet", ticked)
    table.write("epochs", folder / "epochs.parquet", pd.DataFrame(rows, columns=table.SCHEMAS["epochs"].names))
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/data.md", "exec"), {})  # noqa: S102 - the text is in this project
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    # The ticks at 90, 180 and 280 ms belong to the first epoch, those at 400, 490, 790 and 880 ms to the second.
    assert ["fast", "3", "103.333333", "120.0"] in lines
    assert ["slow", "4", "142.500000", "300.0"] in lines


def test_every_column_has_a_description_and_every_description_a_column() -> None:
    key = Key("start_ns", "integer")
    assert [row.unit for row in DescribedTable("", (key,), {"start_ns": "The start."}).rows("a.json")] == ["ns"]
    with pytest.raises(TickdiskError, match=r"^a\.json: start_ns: no description; add one to tickdisk\.describe$"):
        DescribedTable("", (key,), {}).rows("a.json")
    with pytest.raises(
        TickdiskError, match=r"^a\.json: end_ns: described, but the file has no such key; remove it from tickdisk\.describe$"
    ):
        DescribedTable("", (key,), {"start_ns": "The start.", "end_ns": "The end."}).rows("a.json")
    with pytest.raises(TickdiskError, match="end: described, but the file has no such key"):
        DescribedTable("", (key,), {"start_ns": "The start."}, {"end": "ns"}).rows("a.json")


def test_descriptions_are_whole_sentences() -> None:
    for name, described in ENTRIES.items():
        for row in (row for block in described.blocks for row in block.rows(name)):
            assert re.match(r"^[A-Z`].*\.$", row.sentence), f"{name}, {row.name}: {row.sentence}"
        assert described.sentence.endswith("."), name


class Thing(BaseModel):
    """A model with and without docstrings."""

    length_bytes: int | None
    """The length
    of the thing."""
    kind: Literal["one", "other"]


@dataclass(frozen=True)
class Other:
    """A dataclass, whose docstrings count only in this package."""

    things: tuple[Thing, ...]
    rate: float | int

    @property
    def doubled(self) -> float:
        """Twice the rate."""
        return 2 * self.rate


def test_keys_come_from_the_types() -> None:
    assert keys_of_class(Thing) == (Key("length_bytes", "integer or null"), Key("kind", "`one` or `other`"))
    assert keys_of_class(Other, "doubled") == (
        Key("things", "list of objects"),
        Key("rate", "number"),
        Key("doubled", "number", "Twice the rate."),
    )
    said = {key.name: key.docstring for key in keys_of_class(device.DeviceModel)}
    assert said["source"] == "The source of the values."
    assert not said["read_latency_ns"]
    assert [key.kind for key in keys_of_table(table.SCHEMAS["ticks"])] == [
        "int64",
        "int64",
        "int64 or null",
        "int64",
        "int64 or null",
    ]


@given(st.sampled_from([int, float, str, bool]), st.integers(1, 3))
def test_lists_in_lists_have_words(element: type, depth: int) -> None:
    hint: Any = element
    for _ in range(depth):
        hint = list[hint]
    assert kind_of(hint).count("list") == depth


def test_the_examples_in_docstrings_run() -> None:
    for module in (entry, keys_module):
        found = doctest.testmod(module)
        assert found.attempted > 0
        assert found.failed == 0


def test_units_come_from_names() -> None:
    found = {
        unit_of(name) for name in ("started_unix_s", "memory_bytes", "pressure_io_share", "iops", "cpu_ns_per_request", "tick")
    }
    assert found == {"s", "B", "share", "requests/s", "ns", ""}
    assert written("", {"a_ms": ("integer", "A.")}).rows("x")[0].unit == "ms"


def test_every_table_of_the_code_is_described() -> None:
    named = {Path(name).stem: name for name in ENTRIES if name.startswith(f"{LIFE}/")}
    elsewhere = {"micro": "results/capture_micro.parquet", "replay": "results/replay/TOOL_DEVICE.parquet"}
    elsewhere |= {"latencies": "results/disks/DIGEST/latencies.parquet"}
    for name, schema in table.SCHEMAS.items():
        assert keys((named | elsewhere)[name]) == schema.names


def test_tables_of_replay_and_calibration_are_as_described() -> None:
    for name, schema in (
        ("results/replay/TOOL_DEVICE.parquet", table.SCHEMAS["replay"]),
        ("results/calibration/requests.parquet", calibrate_measure._REQUESTS),
    ):
        assert columns(name) == [(column.name, column_kind(column.type)) for column in schema]
    kinds = {key.name: key.kind for key in ENTRIES["results/replay/TOOL_DEVICE.parquet"].blocks[0].keys}
    assert {name for name, kind in kinds.items() if kind.endswith("or null")} == {
        field.name for field in table.SCHEMAS["replay"] if field.nullable
    }


def test_tables_of_the_sweep_are_as_described(tmp_path: Path) -> None:
    made = checkpoint.cases(rates=[1_000], skews=[0.8], units=1_280, ticks=60, readings_ticks=41, anchors=[1_000], seed=1)
    checkpoint.write_sweep(checkpoint.sweep(made, cores=2, say=lambda _: None), tmp_path)
    for name in ("runs", "ticks", "checkpoints"):
        assert columns_of(tmp_path / f"{name}.parquet") == columns(f"results/checkpoint/{name}.parquet")


def test_files_of_the_store_are_as_described(tmp_path: Path) -> None:
    """A real life of a tenth of a second, and what the study adds to its row."""
    algorithm = "copy_on_update"
    design = store.TrialDesign(
        tmp_path, checkpoint.State(rows=10_000), [100], [algorithm], tick_hz=200, warm_up_s=0.1, save_s=0.3, rest_s=0.1, cycles=1
    )
    machine = store.CostParameters(
        state_bytes=400_384, copy_all_ns=80_000, copy_random_ns=150, lock_ns=3, bit_ns=0.5, disk_bytes_per_s=20e6
    )
    calibrated = store.Calibrated(machine=machine, terms_ns=dict.fromkeys(store.TERMS, 1.0), pass_ns=700, sync_ms=1)
    lived = store.trials(design, lambda _: None)
    tested = lived.merge(store.predict(calibrated, design, [algorithm]), on=["rate", "algorithm"], how="left")
    added = {"game": "small", "state_bytes": 400_384, "skew": 0.8, "device": "sata_ssd", "tick_hz": 200.0}
    assert dict_with(study, "game") == added.keys()
    found = store.StoreFindings(store.ModelComparison(calibrated, lived, tested), lived.assign(**added))
    store.write_study(found, tmp_path / "study")
    fitted = columns("results/store/fitted.parquet")
    assert columns_of(tmp_path / "study/fitted.parquet") == fitted
    for name in ("tested", "games"):
        assert columns_of(tmp_path / f"study/{name}.parquet") == fitted + columns(f"results/store/{name}.parquet")
    written_values = read_json(tmp_path / "study/calibrated.json")
    assert written_values.keys() == set(keys("results/store/calibrated.json", "The file"))
    assert written_values["machine"].keys() == set(keys("results/store/calibrated.json", "`machine`"))
    assert dict_with(life_summary, "added_ms") <= set(keys("results/store/fitted.parquet"))


def test_the_plan_is_described_key_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    toolchains = project.Toolchains(rustc="rustc 1", go="go 1", built={"players": "1"})
    identity = Identity(ROOT, toolchains, {"luanti": "Luanti 5"})
    devices = device.load_devices(project.DEVICES_PATH)
    planned = project.Project(config.load_config(), tuple(config.arms_of_run(config.load_arms(), None)), devices, identity)
    planned.save(tmp_path / "plan.json")
    values, name = read_json(tmp_path / "plan.json"), "results/plan.json"
    assert plain(project.read_plan(tmp_path / "plan.json")) == values == plain(planned.plan)
    assert values.keys() == set(keys(name, "The file"))
    assert values["arms"][0].keys() == set(keys(name, "Each object of `arms`")) - {"copying"}
    assert values["cells"][0].keys() == set(keys(name, "Each object of `cells`"))
    assert next(iter(values["tiers"].values())).keys() == set(keys(name, "Each object of `tiers`"))
    assert set(keys("data/reference/SCALE/plan.json")) < values.keys()


def test_a_manifest_of_another_form_is_one_sentence(tmp_path: Path) -> None:
    values = plain(manifest_of("switchback"))
    for key, found, said in (
        ("block", None, "block = None is not acceptable: Input should be a valid integer"),
        ("blocks", 1, "unknown key blocks"),
    ):
        (tmp_path / "manifest.json").write_text(json.dumps(values | {key: found}))
        with pytest.raises(TickdiskError, match=f"manifest.json: {said}; remove the folder and run the cell again"):
            manifest.read_manifest(tmp_path)


def test_objects_in_records_are_described_with_their_place() -> None:
    titles = list(blocks(MANIFEST))
    assert "Each object of `lives` has these keys:" in titles
    assert "`lives.client.schedule_lag` has these keys:" in titles
    assert keys(MANIFEST, "Each object of `plan.injections`") == ["kind", "due_s", "length_ms"]
    units = {row.name: row.unit for row in ENTRIES[MANIFEST].blocks[-1].rows(MANIFEST)}
    assert units["started_unix_s"] == "s"
    (ticks,) = [block for title, block in blocks(MANIFEST).items() if title.startswith("`lives.ticks`")]
    assert {row.name: row.unit for row in ticks.rows(MANIFEST)}["rejected"] == "lines"


def test_statements_are_described_key_by_key() -> None:
    statement = studies.Statement("study")
    statement.fact("effect", 1.5, "ratio", interval=(1.0, 2.0), n=6, source="runs")
    word = plain(statement.word("word", "yes", source="runs"))
    assert word.keys() == set(keys("results/facts.json"))
    assert plain(statement["effect"]).keys() == word.keys() - {"word"}
    statement.bound("bound", source="us", statement="?", verdict="kept", evidence="", effect="effect", n=6, counted="lives")
    assert statement.claims[0].model_dump().keys() == set(keys("results/claims.json", "The file"))


def test_a_comparison_is_described_key_by_key(tmp_path: Path) -> None:
    name = "results/comparison.json"
    claim = {"id": "a.b", "kind": "bound", "statement": "?", "verdict": "kept", "effect": ""}
    for folder in ("results", "references/smoke"):
        (tmp_path / folder).mkdir(parents=True)
        for file, value in (
            ("facts", {}),
            ("claims", [claim]),
            ("plan", plain(plan_of(config.load_config().model_copy(update={"scale": "smoke"})))),
            ("about", {"commit": "c", "date": "d", "scale": "smoke"}),
        ):
            (tmp_path / folder / f"{file}.json").write_text(json.dumps(value))
    output = tmp_path / "comparison.json"
    compare.compare_with_reference(tmp_path / "results", output, tmp_path / "references")
    found = read_json(output)
    assert found.keys() == set(keys(name, "With a reference"))
    assert found["rows"][0].keys() == set(keys(name, "Each object of `rows`"))
    compare.compare_with_reference(tmp_path / "results", output, tmp_path / "nowhere")
    assert read_json(output).keys() == set(keys(name, "Without one"))


def test_other_files_are_described_key_by_key(tmp_path: Path) -> None:
    assert project.Toolchains.model_fields.keys() == set(keys("build/toolchains.json"))
    child = Child("true", ["true"], tmp_path)
    child.wait(10)
    assert read_json(tmp_path / "true.json").keys() == set(keys(f"{LIFE}/logs/PROCESS.json"))


def test_a_device_model_is_described_key_by_key() -> None:
    name = "Device model"
    model = device.load_devices(ROOT / "data/devices.yaml")["hdd"]
    all_keys = keys(name, "A device model")
    assert model.model_dump().keys() == set(all_keys)
    left_out = re.findall(r"`(\w+)`", next(title for title in blocks(name) if title.startswith("A device model")))
    assert model.as_dict().keys() == set(all_keys) - set(left_out)


def test_every_json_file_that_is_named_elsewhere_is_described() -> None:
    """Two documents name files; each JSON file, JSON lines file and table among them has a place here."""
    described = {Path(name).name for name in ENTRIES}
    named = set()
    for path in ("docs/architecture.md", "results/README.md"):
        named |= set(re.findall(r"[\w/<>*]*?([\w-]+\.(?:json|jsonl|parquet))\b", (ROOT / path).read_text()))
    assert named - described <= {"schema.json"}, named - described
