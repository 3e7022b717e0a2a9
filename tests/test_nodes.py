"""The time of a plan on several nodes: schedules by hand, bounds that hold for every schedule, and what Snakemake has noted."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk.project import Step, Work, measured, on_nodes


def alone(*seconds: float, is_cell: bool = False) -> list[Step]:
    return [Step(str(number), each, is_cell) for number, each in enumerate(seconds)]


def test_steps_by_hand() -> None:
    steps = [Step("world", 10), Step("a", 30, True, "world"), Step("b", 30, True, "world"), Step("c", 5)]
    one = on_nodes(steps, 1, calibration_s=100, lives=2, overhead_s=0)
    assert (one.seconds, one.busy_s) == (175, 175)
    # The other node waits for the world, and is calibrated, too.
    two = on_nodes(steps, 2, calibration_s=100, lives=2, overhead_s=0)
    assert (two.seconds, two.busy_s) == (145, 275)


@given(st.lists(st.floats(1, 1e4), min_size=1, max_size=40), st.integers(1, 12))
def test_a_schedule_is_no_better_than_it_can_be_and_at_most_twice_as_long(seconds: list[float], nodes: int) -> None:
    found = on_nodes(alone(*seconds), nodes, calibration_s=0, lives=0, overhead_s=0).seconds
    bound = max(*seconds, sum(seconds) / nodes) if len(seconds) > 1 else seconds[0]
    assert bound * (1 - 1e-9) <= found <= bound * (2 - 1 / nodes) * (1 + 1e-9)  # Graham 1969


def test_a_step_that_can_be_divided_has_a_part_for_each_node() -> None:
    steps = [Step("simulations", 60, most_parts=3)]
    found = {nodes: on_nodes(steps, nodes, calibration_s=0, lives=0, overhead_s=5) for nodes in (1, 2, 4)}
    assert {nodes: (one.seconds, one.busy_s) for nodes, one in found.items()} == {1: (65, 65), 2: (35, 70), 4: (25, 75)}


def test_the_sentence_has_node_hours_and_lives() -> None:
    work = Work(alone(3600, 3600, is_cell=True), (), 0, 20, ())
    assert work.on(2, 4).sentence == "on 2 nodes: 60 min, 2.01 node-hours, 10 server lives in each of them"


def test_notebooks_share_nodes_and_come_last() -> None:
    found = Work([], (100, 20, 20), 0, 0, ()).on(1, 4)
    assert found.seconds == pytest.approx(120)
    assert found.busy_s == pytest.approx(200 / 4)


def test_the_times_of_snakemake_are_read_and_those_of_a_cluster_are_not(tmp_path: Path) -> None:
    folder = tmp_path / ".snakemake/metadata"
    folder.mkdir(parents=True)
    for output, job in (("results/plan.json", None), ("results/other.json", "812")):
        noted = {"starttime": 10.0, "endtime": 25.5, "external_jobid": job}
        (folder / base64.urlsafe_b64encode(output.encode()).decode()).write_text(json.dumps(noted))
    (folder / "%%%").write_text("no JSON")
    assert measured(tmp_path) == {"results/plan.json": 15.5}
