"""Bursts of joins: the plan, the corners of regions, and the analysis of lives in which the rate that is felt is known."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulated_runs import BASE_MS, DELAY_MS, DELAYED, LATENCY_MS, SECOND, cells_of, config_of, write_runs

from tickdisk.experiment import BURSTS, PlannedLife
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run.trace import write_life_trace
from tickdisk.server import WorldFacts, WorldSpec, named
from tickdisk.studies import bursts
from tickdisk.studies.bursts.compute import Results
from tickdisk.studies.study import Study

FELT = {80: 1.0, 160: 1.5, 320: 4.0}
"""The times as long that a gap is on the hard disk, by the rate of the burst in regions per second."""
PLAYERS = BURSTS.design().players


def world(edge_blocks: int) -> WorldFacts:
    spec = WorldSpec(seed=42, edge_blocks=edge_blocks)
    edge = spec.edge_chunks
    places = tuple((80 * (x - edge // 2) + 8, 10, 80 * (z - edge // 2) + 8) for z in range(edge) for x in range(edge))
    return WorldFacts(
        server="minestom",
        spec=spec,
        edge_chunks=edge,
        seconds=1.0,
        radius_blocks=2,
        blocks_generated=1,
        blocks_stored=1,
        map_bytes=1,
        places=places,
    )


def felt(life: PlannedLife, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Replaces ticks and joins of a life, so that the gaps of an epoch depend on its disk and on its rate."""
    starts, joins, at_s = [], [], 0.0
    for epoch in life.epochs:
        rate = round(PLAYERS * 4 / (epoch.burst_s or 1.0))
        gap_ms = BASE_MS * (FELT[rate] if epoch.arm == "hard_disk" else 1.0) + (DELAY_MS if epoch.arm in DELAYED else 0.0)
        joins += [epoch.steady_s + number * 4 / rate for number in range(PLAYERS)]
        while at_s < epoch.end_s:
            starts.append(at_s)
            at_s += gap_ms / 1000
    ns = (np.array(starts) * SECOND).astype("int64") + SECOND
    none = pd.array([pd.NA] * len(ns), dtype="Int64")
    ticks = pd.DataFrame({"tick": range(len(ns)), "start_ns": ns, "end_ns": none, "players": 1, "thread": none})
    issued = pd.array((np.array(joins) * SECOND).astype("int64") + SECOND, dtype="Int64")
    actions = pd.DataFrame({"action": "join", "player": "p000", "outcome": "completed", "detail": "", "issued_ns": issued})
    actions = actions.assign(due_ns=issued.astype("int64"), completed_ns=issued + SECOND // 10)
    return {**made, "ticks": ticks, "actions": actions}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Study[Results]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LATENCY_MS, "hard_disk", 6.0)
        path = write_runs(tmp_path_factory.mktemp("bursts"), "bursts", server="minestom", of_life=felt)
    return bursts(str(path), runs=str(path.parent), published="data/published.yaml", margin=None)


def test_every_disk_has_a_life_with_all_rates_in_each_block() -> None:
    cells = cells_of(config_of("paper", None), "bursts", "minestom")
    assert len(cells) == 6
    for cell in cells:
        assert Counter(life.name for life in cell.lives) == Counter(["ssd_100us", "ssd_100us_again", "hard_disk", "tick_delay"])
        orders = {tuple(epoch.burst_s for epoch in life.epochs) for life in cell.lives if life.name != "tick_delay"}
        assert len(orders) == 1, "the lives of a block have the same bursts in the same order"
        assert sorted(next(iter(orders))) == [PLAYERS * 4 / rate for rate in sorted(FELT, reverse=True)]
    first = [cell.lives[0].epochs[0].burst_s for cell in cells]
    assert Counter(first) == dict.fromkeys(set(first), 2), "every rate comes first equally often"


@pytest.mark.parametrize(("edge_blocks", "count"), [(45, 1), (170, 25), (300, 81)])
def test_a_corner_has_terrain_of_four_regions_around_it(edge_blocks: int, count: int) -> None:
    facts = world(edge_blocks)
    corners = named("minestom").corners(facts)
    assert len(set(corners)) == count
    first = min(x for x, _, _ in facts.places) - 40
    last = max(x for x, _, _ in facts.places) + 40
    for x, _, z in corners:
        seen = {
            (chunk_x // 32, chunk_z // 32)
            for chunk_x in range(x // 16 - 2, x // 16 + 3)
            for chunk_z in range(z // 16 - 2, z // 16 + 3)
        }
        assert len(seen) == 4
        assert all(first <= 16 * (axis // 16 - 2) and 16 * (axis // 16 + 3) <= last for axis in (x, z))
    assert named("luanti").corners(facts) == ()


def test_players_join_on_corners_and_leave_after_each_burst(tmp_path: Path) -> None:
    facts = world(170)
    cell = cells_of(config_of("paper", None), "bursts", "minestom")[0]
    life = cell.lives[0]
    write_life_trace(tmp_path / "trace", cell, life, facts)
    lines = pd.read_json(tmp_path / "trace", lines=True)
    joins = lines[(lines["action"] == "join") & (lines["player"] != "p000")]
    assert len(joins) == (1 + len(life.epochs)) * PLAYERS, "the first burst is not analysed"
    assert set(joins["player"]) == {f"p{len(facts.places) + number}" for number in range(PLAYERS)}
    for epoch in life.epochs:
        own = joins[joins["due_ns"].between(epoch.steady_s * SECOND, epoch.end_s * SECOND, inclusive="left")]
        assert len(own) == PLAYERS
        assert own["due_ns"].max() - own["due_ns"].min() == pytest.approx(
            (epoch.burst_s or 0) * SECOND * (PLAYERS - 1) / PLAYERS, rel=1e-6
        )
    with pytest.raises(TickdiskError, match="the world has 1 corners of regions; enlarge it, or let fewer than 12 players join"):
        write_life_trace(tmp_path / "small", cell, life, world(45))


def test_without_regions_every_burst_has_places_of_its_own(tmp_path: Path) -> None:
    cell = cells_of(config_of("paper", None), "bursts", "luanti")[0]
    write_life_trace(tmp_path / "trace", cell, cell.lives[0], world(170))
    lines = pd.read_json(tmp_path / "trace", lines=True)
    joins = lines[(lines["action"] == "join") & (lines["player"] != "p000")]
    assert joins["player"].is_unique
    assert len(joins) == 4 * PLAYERS
    assert not set(joins["player"]) & {"p000", "p001"}


def test_the_rate_from_which_the_disk_is_felt_is_found(known: Study[Results]) -> None:
    facts = known.statement.facts
    for rate, times in FELT.items():
        assert facts[f"bursts.minestom.gap_max_ratio.slow.regions_{rate}"].value == pytest.approx(times, rel=0.02)
    verdicts = {claim.id.removeprefix("bursts.minestom."): claim for claim in known.statement.claims}
    assert verdicts["again.gap_max"].verdict == "equivalent"
    assert verdicts["tick_delay.gap_max"].verdict == "different"
    outcomes = {name: claim.study for name, claim in verdicts.items() if claim.finding and name.startswith("gap_max")}
    assert outcomes == {
        "gap_max.slow.regions_80": "upheld",
        "gap_max.slow.regions_160": "contradicted",
        "gap_max.slow.regions_320": "upheld",
    }
