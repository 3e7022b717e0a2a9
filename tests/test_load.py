"""The load that a device carries: the plan, the player trace, and searches in lives whose limits are known."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from records_of import LIFE
from simulated_runs import LATENCY_MS, SECOND, cells_of, config_of, write_runs

from tickdisk import stats
from tickdisk.experiment import LOAD, Load, PlannedLife
from tickdisk.player.status import LagSecond
from tickdisk.run.trace import TAIL_S, write_life_trace
from tickdisk.studies import load
from tickdisk.studies.load.compute import Results, late_s_per_min
from tickdisk.studies.study import Study

BUDGET_MS = 90.0
STEPS = LOAD.design().players
LateMs = Callable[[str, int, int], float]
"""How late one tick of a step is in ms, by arm, players and block."""


def by_latency(arm: str, players: int, _: int) -> float:
    """Returns that each player adds 10 ms for each ms of latency: 1 s for 16.7 players at 6 ms, and 60 ms for 60 at 0.1 ms."""
    return 900.0 if arm == "tick_delay" else 10 * players * LATENCY_MS[arm]


def lives_with(late_ms: LateMs, busy: Callable[[int], float] = lambda _: 0.1, saturated_at: int | None = None) -> dict[str, Any]:
    """Returns the arguments of `write_runs` for lives in which one tick of each step is late, and the server is so busy."""

    def tables(block: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        return {name: rows.assign(block=block) if name == "ticks" else rows for name, rows in made.items()}

    def of_life(life: PlannedLife, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        starts, used, at_s, cpu_ns = [0.0], [(0, 0)], 0.0, 0.0
        block = int(made["ticks"].pop("block").iloc[0])
        for epoch in life.epochs:
            late_s = late_ms(epoch.arm, epoch.players or 0, block) / 1000
            while at_s < epoch.end_s:
                is_due = late_s > 0 and at_s >= epoch.steady_s
                at_s += BUDGET_MS / 1000 + (late_s if is_due else 0.0)
                late_s = 0.0 if is_due else late_s
                starts.append(at_s)
            cpu_ns += busy(epoch.players or 0) * (epoch.end_s - used[-1][0] / SECOND) * SECOND
            used.append((round(epoch.end_s * SECOND), round(cpu_ns)))
        ns = [round(s * SECOND) + SECOND for s in starts]
        none = pd.array([pd.NA] * len(ns), dtype="Int64")
        ticks = {"tick": range(len(ns)), "start_ns": ns, "end_ns": none, "players": 1, "thread": none}
        own = pd.DataFrame(used, columns=["monotonic_ns", "cpu_ns"]).assign(process="server")
        return made | {"ticks": pd.DataFrame(ticks), "load": own.assign(monotonic_ns=own["monotonic_ns"] + SECOND)}

    return {"tables": tables, "of_life": of_life, "values": None if saturated_at is None else _saturated(saturated_at)}


def _saturated(at: int) -> Mapping[tuple[int, str], Mapping[str, Any]]:
    """Returns clients that are too slow for their schedule in the step with a number of players."""
    values: dict[tuple[int, str], Mapping[str, Any]] = {}
    for cell in cells_of(config_of("paper", None), "load"):
        for life in cell.lives:
            late = [epoch for epoch in life.epochs if epoch.players == at]
            seconds = tuple(
                LagSecond(second=second, samples=200, over=50)
                for epoch in late
                for second in range(int(epoch.steady_s), int(epoch.end_s))
            )
            values[cell.block, life.name] = {
                "started_ns": SECOND,
                "client": LIFE.client.model_copy(update={"lag_seconds": seconds}),
            }
    return values


def study_of(path: Path) -> Study[Results]:
    return load(str(path), runs=str(path.parent), margin=None)


def verdicts(study: Study[Results]) -> dict[str, str]:
    return {claim.id.removeprefix("load."): claim.verdict for claim in study.statement.claims}


# The plan


def test_players_go_up_in_each_life_and_new_ones_join_at_the_start_of_a_step(tmp_path: Path) -> None:
    design = config_of("paper", None).chosen.design(LOAD, "luanti")
    cell = cells_of(config_of("paper", None), "load")[0]
    world = type("World", (), {"places": [(80 * number, 10, 0) for number in range(900)]})
    for life in cell.lives:
        is_positive = life.name == "tick_delay"
        assert [epoch.players for epoch in life.epochs] == ([design.reference_players] if is_positive else list(STEPS))
        assert {epoch.arm for epoch in life.epochs} == {life.name}
        assert all(epoch.end_s - epoch.steady_s == pytest.approx(design.save_period_s) for epoch in life.epochs)
        assert bool(life.injections) == is_positive
        path = tmp_path / life.name
        write_life_trace(path, cell, life, world)  # type: ignore[arg-type]
        events = [json.loads(line) for line in path.read_text().splitlines()]
        joins = [event["due_ns"] / SECOND for event in events if event["action"] == "join"]
        leaves = [event["due_ns"] / SECOND for event in events if event["action"] == "leave"]
        for epoch in life.epochs:
            assert sum(due_s <= epoch.steady_s - design.settle_s for due_s in joins) == (epoch.players or 0) + is_positive
        assert leaves == [pytest.approx(life.seconds + TAIL_S)] * len(joins)


def test_steps_must_go_up_and_have_the_reference() -> None:
    with pytest.raises(ValueError, match="go up from step to step"):
        Load(players=(1, 5, 2))
    with pytest.raises(ValueError, match="reference_players is 5"):
        Load(players=(1, 2))


# The metric


def test_late_time_is_what_late_gaps_last_beyond_the_budget_by_the_minute() -> None:
    starts_ms = np.cumsum([0, 90, 90, 170, 390, 90, 90])  # One gap of 170 ms is not late, and one of 390 ms is late by 300 ms.
    ticks = pd.DataFrame({"tick": range(7), "start_ns": starts_ms * 1_000_000, "end_ns": starts_ms * 1_000_000})
    assert late_s_per_min(ticks, 0, 3 * SECOND, 90_000_000) == pytest.approx(0.3 * 60 / 3)
    assert late_s_per_min(ticks, 400_000_000, 3 * SECOND, 90_000_000) == 0.0


# The searches


def test_a_slow_disk_ends_the_search_where_the_fast_one_goes_on(tmp_path: Path) -> None:
    study = study_of(write_runs(tmp_path, "load", **lives_with(by_latency)))
    server = study.results.servers[0]
    # 6 s a minute are 530 ms in 5.3 s: at 6 ms this is reached with 8.8 players, and at 0.1 ms with 530.
    assert {search.carried for search in server.of_arm("latency_6ms")} == {5}
    assert {search.failed_at for search in server.of_arm("latency_6ms")} == {10}
    assert {search.ended_by for search in server.of_arm("latency_6ms")} == {"device"}
    assert {(search.carried, search.ended_by) for search in server.of_arm("ssd_100us")} == {(60, "nothing")}
    facts, found = study.statement.facts, verdicts(study)
    assert facts["load.luanti.ratio.slow"].value == pytest.approx(5 / 60)
    assert facts["load.luanti.late.slow.players_20"].value == pytest.approx(1.2 * 60 / 5.3, rel=1e-6)
    assert found["luanti.slow"] == "different"
    # Both searches on the fast disk went through all steps, so that they are not shown to be equivalent.
    assert (found["luanti.again"], found["luanti.tick_delay"]) == ("inconclusive", "different")
    again = next(claim for claim in study.statement.claims if claim.id == "load.luanti.again")
    assert again.causes == (stats.Censored(n=12, of=12),)
    assert (found["luanti.repeat"], found["luanti.reference"]) == ("kept", "kept")
    table: Any = study.table("searches")
    assert table["carried players, by block"].tolist()[0] == "60+, 60+, 60+, 60+, 60+, 60+"
    limits: Any = study.table("limits")
    assert limits.loc[limits["device"] == "latency 6ms", "2 of the limits"].tolist() == [10]


def test_a_server_that_gives_out_on_every_disk_was_ended_by_its_processor(tmp_path: Path) -> None:
    late: LateMs = lambda arm, players, _: 900.0 if players >= 20 or arm == "tick_delay" else 0.0  # noqa: E731
    study = study_of(write_runs(tmp_path, "load", **lives_with(late, busy=lambda players: min(players / 20, 1.0))))
    server = study.results.servers[0]
    assert {(search.carried, search.failed_at, search.ended_by) for search in server.searches} == {(10, 20, "processor")}
    assert verdicts(study)["luanti.slow"] == "equivalent"
    assert verdicts(study)["luanti.again"] == "equivalent"
    idle = study_of(write_runs(tmp_path / "idle", "load", **lives_with(late)))
    assert {search.ended_by for search in idle.results.servers[0].searches} == {"other"}


def test_clients_that_were_too_slow_end_a_search_and_say_nothing_about_the_disk(tmp_path: Path) -> None:
    study = study_of(write_runs(tmp_path, "load", **lives_with(lambda arm, *_: 900.0 * (arm == "tick_delay"), saturated_at=20)))
    assert {(search.carried, search.ended_by) for search in study.results.servers[0].searches} == {(10, "clients")}


def test_a_search_that_fails_at_its_first_step_is_censored(tmp_path: Path) -> None:
    def late(arm: str, _players: int, block: int) -> float:
        return 900.0 if arm == "tick_delay" or (arm == "latency_6ms" and block == 0) else 0.0

    study = study_of(write_runs(tmp_path, "load", **lives_with(late)))
    facts = study.statement.facts
    assert facts["load.luanti.censored.slow"].value == 1
    assert facts["load.luanti.ratio.slow"].value == pytest.approx((0.5 / 60) ** (1 / 6)), "it counts as half a player"
    assert facts["load.luanti.carried_fewest.slow"].value == 0
    assert verdicts(study)["luanti.slow"] == "inconclusive"


def test_nothing_is_decided_where_the_fast_disk_does_not_carry_the_reference(tmp_path: Path) -> None:
    def late(arm: str, players: int, block: int) -> float:
        return 900.0 if arm == "tick_delay" or (players >= 5 and block == 2) or arm == "latency_6ms" else 0.0

    study = study_of(write_runs(tmp_path, "load", **lives_with(late)))
    found = verdicts(study)
    assert (found["luanti.reference"], found["luanti.slow"]) == ("missed", "not valid")
    claim = next(claim for claim in study.statement.claims if claim.id == "load.luanti.slow")
    assert stats.LimitTooNarrow(players=5, n=5, of=6) in claim.causes


def test_equal_searches_that_end_two_steps_apart_miss_their_bound(tmp_path: Path) -> None:
    def late(arm: str, players: int, block: int) -> float:
        return 900.0 if arm == "tick_delay" or (arm == "ssd_100us_again" and block == 3 and players >= 20) else 0.0

    study = study_of(write_runs(tmp_path, "load", **lives_with(late)))
    assert study.results.servers[0].apart == [0, 0, 0, 2, 0, 0]
    assert verdicts(study)["luanti.repeat"] == "missed"
    assert verdicts(study)["luanti.reference"] == "kept"
