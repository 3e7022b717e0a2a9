"""Several servers on one disk: the plan, and the analysis of lives in which the cost of a further server is known."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from simulated_runs import BASE_MS, DELAY_MS, DELAYED, LATENCY_MS, cells_of, config_of, write_runs

from tickdisk.experiment import INSTANCES, PlannedLife
from tickdisk.foundation import table
from tickdisk.project import read_plan
from tickdisk.studies import instances
from tickdisk.studies.instances.compute import GAP, Results
from tickdisk.studies.study import Study

NUMBERS = INSTANCES.design().instances
Gap = Callable[[str, int], float]


def queueing(life: PlannedLife) -> Gap:
    """Returns gaps on a hard disk that serves one server after another, and on another slow disk that serves all at once."""
    servers = life.instances or 1
    times = {"hard_disk": 1 + 0.5 * servers, "latency_6ms": 1.5}
    return lambda arm, block: (BASE_MS + block) * times.get(arm, 1.0) + (DELAY_MS if arm in DELAYED else 0.0)


def careless(_: PlannedLife) -> Gap:
    """Returns the gaps of a server that never waits for its disk."""
    return lambda arm, block: BASE_MS + block + (DELAY_MS if arm in DELAYED else 0.0)


def written(folder: Path, server: str, gap_of: Callable[[PlannedLife], Gap]) -> Path:
    """Writes the run folders of a server. Its further servers have the ticks and actions of the first."""
    path = write_runs(folder, "instances", server=server, gap_of=gap_of)
    for cell in read_plan(path).cells:
        for life in cells_of(config_of("paper", None), "instances", server)[cell.block].lives:
            own = folder / cell.hash / life.name
            for number in range(1, life.instances or 1):
                (own / f"instance{number}").mkdir(exist_ok=True)
                for name in ("ticks", "actions"):
                    shutil.copyfile(own / f"{name}.parquet", own / f"instance{number}" / f"{name}.parquet")
    return path


def study_of(path: Path) -> Study[Results]:
    return instances(str(path), runs=str(path.parent), published="data/published.yaml", margin=None)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Study[Results]:
    assert LATENCY_MS["hard_disk"] > 1
    folder = tmp_path_factory.mktemp("instances")
    written(folder, "luanti", queueing)
    return study_of(written(folder, "dragonfly", careless))


def test_every_number_of_servers_has_a_life_in_each_block_and_the_control_one_of_its_own() -> None:
    cells = cells_of(config_of("paper", None), "instances")
    assert len(cells) == 8
    for cell in cells:
        assert Counter(life.instances for life in cell.lives) == Counter([*NUMBERS, 1])
        for life in cell.lives:
            arms = [epoch.arm for epoch in life.epochs]
            is_positive = life.name == "tick_delay"
            assert sorted(arms) == sorted(["ssd_100us", "tick_delay"] if is_positive else set(arms))
            assert len(arms) == (2 if is_positive else 4)
            assert bool(life.injections) == is_positive
    orders = [tuple(epoch.arm for epoch in life.epochs) for cell in cells for life in cell.lives if life.instances == 2]
    assert all(Counter(order[place] for order in orders) == dict.fromkeys(orders[0], 2) for place in range(4))


def test_a_disk_that_serves_one_after_another_costs_more_with_more_servers(known: Study[Results]) -> None:
    facts = known.statement.facts
    verdicts = {claim.id.removeprefix("instances."): claim.verdict for claim in known.statement.claims}
    for number, times in ((1, 1.5), (2, 2.0), (4, 3.0)):
        assert facts[f"instances.luanti.ratio.hard_disk.instances_{number}"].value == pytest.approx(times, rel=0.02)
        assert facts[f"instances.luanti.ratio.slow.instances_{number}"].value == pytest.approx(1.5, rel=0.02)
    assert facts["instances.luanti.ratio.hard_disk.instances_4_over_first"].value == pytest.approx(2.0, rel=0.02)
    assert verdicts["luanti.hard_disk.instances_4_over_first"] == "different"
    assert verdicts["luanti.slow.instances_4_over_first"] == "equivalent"
    assert verdicts["luanti.again"] == "equivalent"
    assert verdicts["luanti.tick_delay"] == "different"
    assert {verdicts[name] for name in verdicts if "instances_" in name and name.startswith("dragonfly")} == {"equivalent"}


def test_the_published_finding_is_upheld_or_contradicted_by_each_disk(known: Study[Results]) -> None:
    outcomes = {claim.id.removeprefix("instances."): claim.study for claim in known.statement.claims if claim.finding}
    assert outcomes == {
        "luanti.hard_disk.instances_4_over_first": "contradicted",
        "luanti.slow.instances_4_over_first": "upheld",
        "dragonfly.hard_disk.instances_4_over_first": "upheld",
        "dragonfly.slow.instances_4_over_first": "upheld",
    }


def test_servers_that_wait_for_each_others_processor_time_do_not_count_as_a_cost_of_the_disk(tmp_path: Path) -> None:
    def busy(life: PlannedLife) -> Gap:
        return lambda arm, block: (
            (BASE_MS + block) * (life.instances or 1) * (1.5 if arm == "hard_disk" else 1.0)
            + (DELAY_MS if arm in DELAYED else 0.0)
        )

    study = study_of(written(tmp_path, "luanti", busy))
    facts = study.statement.facts
    assert facts["instances.luanti.level.fast"].value == pytest.approx(4, rel=0.02)
    assert facts["instances.luanti.ratio.hard_disk.instances_4_over_first"].value == pytest.approx(1, rel=0.02)


def test_a_server_that_stands_longer_than_the_others_makes_the_disk_less_fair(tmp_path: Path) -> None:
    path = written(tmp_path, "luanti", careless)
    cell = read_plan(path).cells[0]
    ticks = tmp_path / cell.hash / "instances_2" / "instance1" / "ticks.parquet"
    rows = table.read("ticks", ticks)
    rows["start_ns"] = rows["start_ns"].iloc[0] + 2 * (rows["start_ns"] - rows["start_ns"].iloc[0])
    table.write("ticks", ticks, rows)
    epochs = study_of(path).results.servers[0].found.epochs
    own = epochs[(epochs["block"] == cell.block) & (epochs["condition"] == "instances_2")]
    assert own["fairness"].tolist() == pytest.approx([0.5] * 4, rel=0.05)
    assert own[GAP].tolist() == pytest.approx([2**0.5 * (BASE_MS + cell.block)] * 4, rel=0.05)
