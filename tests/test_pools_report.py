"""The study of pools on the samples: facts against counts of the samples themselves, verdicts, tables and the figure."""

import json
from pathlib import Path

import pandas as pd
import pytest
import zstandard
from IPython.display import SVG
from records_of import plan_of, usual_config

from tickdisk import studies
from tickdisk.config import parse_config
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.yaml_file import read_section
from tickdisk.project import write_plan
from tickdisk.studies.pools.compute import Published

FILES = {"published": "data/published.yaml", "pools": "data/pools.yaml", "devices": "data/devices.yaml"}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "plan.json"
    config = usual_config().model_dump(mode="json")
    config["scales"][config["scale"]]["pools"] = {"runs": 6, "queue_depths": [1, 8], "pools": [1, 4]}
    write_plan(path, plan_of(parse_config(config)))
    return path


@pytest.fixture(scope="module")
def study(plan: Path) -> studies.Study:
    return studies.pools(str(plan), samples="data/samples", **FILES, margin=None, seed=None)


def lines(phase: str) -> list[list[str]]:
    raw = zstandard.ZstdDecompressor().stream_reader(Path(f"data/samples/tpcc_{phase}.biosnoop.zst").read_bytes()).read()
    return [line.split() for line in raw.decode().splitlines()[1:]]


@pytest.mark.parametrize("phase", ["p1", "p2"])
def test_requests_are_those_of_the_sample(study: studies.Study, phase: str) -> None:
    sizes = [int(parts[-2]) for parts in lines(phase)]
    told = json.loads(Path("data/samples/tpcc.json").read_text())["phases"][phase]["requests"]
    assert len(sizes) == told
    value = {name: study.statement[f"{phase}.{name}"].value for name in ("requests", "inserted", "rejected")}
    assert value["rejected"] == sum(size == 0 for size in sizes)
    assert value["requests"] - value["inserted"] == sum(size > 0 for size in sizes)
    rows = study.results.of(workload=phase, queue_depth=8)
    reads = sum(int(parts[-2]) > 0 and parts[-4] == "R" for parts in lines(phase))
    assert rows["reads"].min() >= reads


def test_verdicts(study: studies.Study) -> None:
    claims = {claim.id: claim for claim in study.statement.claims}
    assert claims["pools.identity"].verdict == "kept"
    assert (claims["pools.four_pools"].verdict, claims["pools.four_pools"].study) == ("kept", "open")
    assert claims["pools.depth"].verdict in ("equivalent", "different", "inconclusive")
    assert claims["pools.rule"].n == 6
    deep, shallow = (study.statement[f"p2.mb_per_s.depth_{depth}"].value for depth in (32, 1))
    assert deep > shallow


def test_raid_6_costs_more_than_its_data(study: studies.Study) -> None:
    assert study.statement["p2.device_writes.raid6"].value > 2 * study.statement["p2.device_writes.hdd"].value
    assert study.statement["p2.device_writes.mirror"].value == pytest.approx(2 * study.statement["p2.device_writes.ssd"].value)


def test_tables_and_figure(study: studies.Study) -> None:
    for name in study.tables:
        assert len(study.table(name))
        assert isinstance(study.table(name), pd.DataFrame)
    beside = study.table("beside")
    assert beside["MB/s, published"].tolist() == ["681", "235", "649", "2,639"]
    assert "not tried" not in beside["MB/s"].tolist()
    assert isinstance(study.figure("paper_pools"), SVG)


def test_a_wrong_published_table_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "published.yaml"
    path.write_text("shape: {source: x, rows: [{pools: 1}]}\n")
    with pytest.raises(TickdiskError, match=r"key shape: key rows.0.queue_depth is missing"):
        read_section(Published, path, "shape")
