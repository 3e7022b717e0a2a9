"""The state of the page cache: the plan, and the analysis of lives in which the page cache protects a server by a known share."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from simulated_runs import BASE_MS, DELAY_MS, DELAYED, LATENCY_MS, PER_MS, cells_of, config_of, write_runs

from tickdisk.experiment import MEMORY, SHARES, PlannedLife
from tickdisk.manifest import QuotaUsage
from tickdisk.player.trace import roam
from tickdisk.studies import memory
from tickdisk.studies.memory.compute import Results
from tickdisk.studies.study import Study

STATES = MEMORY.design().states
MISSED = {"warm": 0.0, "cold": 1.0, "half": 0.5, "quarter": 0.75}
"""Share of the reads that the page cache misses."""


def protected(life: PlannedLife) -> Callable[[str, int], float]:
    """Returns gaps that grow with the reads that the page cache misses."""
    missed = MISSED[life.memory or "warm"]
    return lambda arm, block: BASE_MS + block + missed * PER_MS * LATENCY_MS[arm] + (DELAY_MS if arm in DELAYED else 0.0)


def used(refaults: Mapping[str, int]) -> dict[tuple[int, str], Mapping[str, Any]]:
    """Returns the records of what each life met of its limits."""
    values: dict[tuple[int, str], Mapping[str, Any]] = {}
    for cell in cells_of(config_of("paper", None), "memory"):
        for life in cell.lives:
            pages = refaults.get(life.memory or "", 0)
            limit = None if SHARES[life.memory or "warm"] is None else 100 << 20
            hot = None if limit is None else 10 << 20
            usage = QuotaUsage(
                cores=None,
                memory_bytes=limit,
                seconds=life.seconds,
                refaults=pages,
                cached_bytes=1 << 20,
                hot_bytes=hot,
                throttled_ns=0,
            )
            values[cell.block, life.name] = {"quota": usage}
    return values


def study_of(path: Path) -> Study[Results]:
    return memory(str(path), runs=str(path.parent), margin=None)


def verdicts(study: Study[Results]) -> dict[str, str]:
    return {claim.id.removeprefix("memory.luanti."): claim.verdict for claim in study.statement.claims}


def test_every_state_of_memory_has_a_life_in_each_block() -> None:
    cells = cells_of(config_of("paper", None), "memory")
    assert len(cells) == 6
    for cell in cells:
        assert Counter(life.memory for life in cell.lives) == Counter([*STATES, "warm"])
        assert {life.name for life in cell.lives} == {*STATES, "both_delays"}


def test_hot_places_are_visited_again_and_again() -> None:
    places = [(80 * number, 10, 0) for number in range(40)]
    numbers = {"players": 4, "seconds": 20.0, "teleport_period_s": 1.0, "edit_period_s": 3.0, "ping_period_s": 5.0}
    events = roam(places, seed=1, hot_places=12, **numbers)  # type: ignore[arg-type]
    reached = [dict(event.parameters)["x"] for event in events if event.action == "teleport"]
    assert set(reached) == {80 * number for number in range(4, 16)}
    assert reached[:12] == reached[12:24]


def test_memory_protects_a_server_and_too_little_of_it_does_not(tmp_path: Path) -> None:
    written = write_runs(tmp_path, "memory", gap_of=protected, values=used({"half": 90, "quarter": 900}))
    study = study_of(written)
    facts, found = study.statement.facts, verdicts(study)
    slow_ms = PER_MS * (LATENCY_MS["latency_6ms"] - LATENCY_MS["ssd_100us"])
    for state, missed in MISSED.items():
        expected = 1 + missed * slow_ms / (BASE_MS + 2.5 + missed * PER_MS * LATENCY_MS["ssd_100us"])
        assert facts[f"memory.luanti.gap_max_ratio.slow.{state}"].value == pytest.approx(expected, rel=0.02)
    assert found["gap_max.slow.warm"] == "equivalent"
    assert found["gap_max.slow.cold"] == "different"
    assert found["gap_max.slow.cold_over_first"] == "different"
    assert found["teleport_mean.slow.quarter_over_first"] == "different"
    assert (found["again.gap_max"], found["both_delays.gap_max"], found["both_delays.teleport_mean"]) == (
        "equivalent",
        "different",
        "different",
    )
    assert found["limits"] == "kept"
    assert study.figure("effects").data.startswith("<svg")
    table: Any = study.table("states")
    assert table["memory"].tolist() == sorted(STATES, key=table["memory"].tolist().index)


def test_a_limit_that_some_lives_did_not_meet_is_missed(tmp_path: Path) -> None:
    written = write_runs(tmp_path, "memory", gap_of=protected, values=used({"warm": 3, "half": 2, "quarter": 900}))
    study = study_of(written)
    assert verdicts(study)["limits"] == "missed"
    assert study.statement.facts["memory.luanti.limits_met"].value == 0
