"""Network stacks: what players are to do, what is made of a record, and the published layout; the oracles are written out."""

import sys
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk import netcode
from tickdisk.experiment import NETCODE
from tickdisk.experiment.studies import Netcode
from tickdisk.foundation.cores import Cores
from tickdisk.foundation.errors import TickdiskError
from tickdisk.netcode.life import StackLife
from tickdisk.netcode.schedule import GROUP, Schedule, Step
from tickdisk.netcode.study import StackSizes, cases

MS, S = 1_000_000, 1_000_000_000
COUNTS = st.lists(st.integers(0, 60), min_size=1, max_size=4, unique=True).map(lambda found: tuple(sorted(found)))


@settings(max_examples=60, deadline=None)
@given(COUNTS.filter(lambda found: found[-1] > 0), st.booleans(), st.integers(0, 4), st.integers(0, 99))
def test_each_step_has_its_players_and_each_player_its_acts(counts, is_rising: bool, blocks: int, seed: int) -> None:
    attendance = netcode.Attendance(counts, is_rising=is_rising, blocks=blocks, ramp_s=1, steady_s=2, seed=seed)
    schedule = netcode.plan(attendance)
    assert [step.players for step in schedule.steps] == list(counts if is_rising else counts[::-1])
    assert [(step.begin_ns, step.end_ns) for step in schedule.steps] == [
        ((3 * place + 1) * S, (3 * place + 3) * S) for place in range(len(counts))
    ]
    events = [event for group in schedule.groups for event in group.events]
    times = {kind: {event.player: event.due_ns for event in events if event.action == kind} for kind in ("join", "leave")}
    for step in schedule.steps:
        there = [
            player
            for player, joins_ns in times["join"].items()
            if joins_ns < step.begin_ns and times["leave"][player] > step.end_ns
        ]
        assert len(there) == step.players
        own = [event for event in events if step.begin_ns <= event.due_ns < step.end_ns]
        assert {event.player for event in own} <= {*there}
        for kind, number in (("ping", 8), ("jump", blocks), ("place", blocks)):
            assert sum(event.action == kind for event in own) == number * step.players
    assert sum(group.players for group in schedule.groups) == max(counts)
    assert all(group.players <= GROUP for group in schedule.groups)
    assert [group.first for group in schedule.groups[1:]] == [group.first + group.players for group in schedule.groups[:-1]]


def test_a_block_is_placed_at_the_height_of_a_jump_and_pings_have_random_phases() -> None:
    (group,) = netcode.plan(netcode.Attendance((1,), blocks=10, steady_s=4)).groups
    jumps, places, pings = (
        [event.due_ns for event in group.events if event.action == kind] for kind in ("jump", "place", "ping")
    )
    assert [place - jump for place, jump in zip(places, jumps, strict=True)] == [200 * MS] * 10
    assert min(second - first for first, second in pairwise(jumps)) >= 350 * MS
    phases = [due % netcode.steps.UPDATE_NS for due in pings]
    assert len({phase // MS for phase in phases}) > 5


def test_blocks_may_fill_a_step() -> None:
    (group,) = netcode.plan(netcode.Attendance((1,), blocks=10, steady_s=3.85)).groups
    assert sum(event.action == "place" for event in group.events) == 10


@pytest.mark.parametrize(
    ("attendance", "said"),
    [
        (netcode.Attendance(()), "do not rise"),
        (netcode.Attendance((0,)), "do not rise"),
        (netcode.Attendance((5, 5)), "do not rise"),
        (netcode.Attendance((9, 5)), "do not rise"),
        (netcode.Attendance((5,), blocks=11), "11 blocks take 4.2 s"),
    ],
)
def test_a_load_that_cannot_be_is_one_sentence(attendance: netcode.Attendance, said: str) -> None:
    with pytest.raises(TickdiskError, match=said):
        netcode.plan(attendance)


def record(
    *, clients_ns: int = 0, lag_ns: int = 0, is_answered: bool = False, there: int = 2, lost: tuple[str, ...] = ()
) -> StackLife:
    """A life with one step of a second: two players, 60 updates, of which player 2 misses one and gets one late."""
    begin_ns = 10 * S
    updates = pd.DataFrame(
        {"number": range(1, 121), "started_ns": [begin_ns - S + 100 + n * netcode.steps.UPDATE_NS for n in range(120)]}
    )
    updates["digest"] = np.arange(120, dtype=np.uint64) + np.uint64(2**63)
    pings = pd.DataFrame(
        [(1, 0, 5), (1, 100, 9), (1, 200, 9 if is_answered else None), (2, 50, 20), (2, 5000, 1)],
        columns=["player", "due_ms", "rtt_ms"],
    )
    due_ns = begin_ns + pings["due_ms"] * MS
    sent_ns = due_ns + lag_ns
    received_ns = (sent_ns + pings["rtt_ms"] * MS).astype("Int64")
    ages = [(player, number, 2 * MS) for player in (1, 2) for number in range(1, 121) if (player, number) != (2, 70)]
    ages = [(player, number, 40 * MS if (player, number) == (2, 80) else age) for player, number, age in ages]
    counters = pd.DataFrame(
        {
            "at_ns": [begin_ns - S, begin_ns, begin_ns + S],
            "server_ns": [0, 100 * MS, 300 * MS],
            "server_memory_bytes": [1, 2, 3],
            "clients_ns": [0, 50 * MS, 100 * MS],
            "link_ns": [0, 0, 0],
            "all_cores_ns": [0, 200 * MS, 700 * MS],
            "sent_bytes": [0, 1000, 61_000],
            "sent_datagrams": [0, 10, 130],
            "received_bytes": [0, 10, 70],
            "received_datagrams": [0, 1, 2],
        }
    )
    threads = [("server", 1, 0, 120 * MS), ("server", 2, 0, 80 * MS), ("clients", 3, 0, clients_ns)]
    return StackLife(
        netcode.Setting("tcp", netcode.Attendance((2,))),
        Schedule((Step(2, 0, S),), ()),
        begin_ns,
        updates.assign(due_ns=updates["started_ns"], ended_ns=updates["started_ns"], players=there),
        pd.DataFrame({"player": [1, 2], "name": ["a", "b"], "records": 2, "last_number": [120, 119]}).assign(
            digest=np.array([119, 118], dtype=np.uint64) + np.uint64(2**63)
        ),
        pd.DataFrame({"player": pings["player"], "due_ns": due_ns, "sent_ns": sent_ns, "received_ns": received_ns}),
        pd.DataFrame(ages, columns=["player", "number", "age_ns"]),
        pd.DataFrame({"player": [1, 1, 2], "at_ns": [begin_ns - 1, begin_ns + 1, begin_ns + 2], "rtt_ns": [9 * MS, MS, 3 * MS]}),
        counters,
        pd.DataFrame(
            [
                (at_ns, part, thread, used)
                for part, thread, *both in threads
                for at_ns, used in zip(counters["at_ns"][1:], both, strict=True)
            ],
            columns=["at_ns", "part", "thread", "cpu_ns"],
        ),
        Cores(server=(0,), clients=(1,), emulator=(1,)),
        lost,
    )


def test_a_step_is_described_as_it_was() -> None:
    (row,) = netcode.describe_steps(record()).to_dict("records")
    assert (row["players"], row["pings"], row["unanswered"]) == (2, 4, 1)
    assert row["rtt_mean_ms"] == pytest.approx((5 + 9 + 20) / 3)
    assert row["rtt_p50_ms"] == 9
    assert row["jitter_ms"] == 4
    assert row["transport_rtt_ms"] == 2
    assert (row["age_p50_ms"], row["lost_updates"], row["late_updates"]) == (2, pytest.approx(1 / 120), pytest.approx(2 / 120))
    assert row["gap_p50_ms"] == pytest.approx(netcode.steps.UPDATE_NS / MS)
    assert (row["server_share"], row["clients_share"], row["system_share"]) == (
        pytest.approx(0.2),
        pytest.approx(0.05),
        pytest.approx(0.25),
    )
    assert (row["sent_bytes_per_s"], row["sent_datagrams_per_s"], row["received_bytes_per_s"]) == (60_000, 120, 60)
    assert (row["server_thread_share"], row["memory_bytes"]) == (pytest.approx(0.12), 3)
    assert (row["busiest"], row["reason"], record().is_equal) == ("server", "a ping had no answer", True)


def test_a_step_in_which_clients_were_busier_or_late_is_not_valid() -> None:
    (busy,) = netcode.describe_steps(record(clients_ns=130 * MS, is_answered=True)).to_dict("records")
    assert (busy["busiest"], busy["reason"]) == ("clients", "the busiest thread was not the server's but one of the clients")
    (late,) = netcode.describe_steps(record(lag_ns=3 * MS, is_answered=True)).to_dict("records")
    words = "other work on the machine delayed the clients, which needed 5 % of their cores"
    assert (late["reason"], late["lag_p99_ms"]) == (words, 3)


def test_an_update_is_late_beyond_the_delay_of_the_link() -> None:
    """One of 120 updates never comes, and one comes after 40 ms, more than two updates later than a delay of 5 ms."""
    for delay_ms, late in ((5, 2), (15, 1)):
        setting = netcode.Setting("tcp", netcode.Attendance((2,)), conditions=netcode.Conditions(delay_ms=delay_ms))
        (row,) = netcode.describe_steps(replace(record(), setting=setting)).to_dict("records")
        assert row["late_updates"] == pytest.approx(late / 120)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, ""),
        ({"there": 1}, "players were missing, or were still there from the step before"),
        ({"there": 3}, "players were missing, or were still there from the step before"),
        ({"lost": ("player b was lost",)}, "a player was lost"),
    ],
)
def test_a_step_without_all_of_its_players_is_not_valid(changed: dict[str, Any], reason: str) -> None:
    (row,) = netcode.describe_steps(record(is_answered=True, **changed)).to_dict("records")
    assert row["reason"] == reason


def test_memory_is_known_only_until_players_leave() -> None:
    life = record(is_answered=True)
    life = replace(life, schedule=Schedule((Step(2, 0, S), Step(1, 0, S), Step(2, 0, S)), ()))
    assert netcode.describe_steps(life)["memory_bytes"].isna().tolist() == [False, True, False]


def test_a_jitter_without_a_delay_is_refused() -> None:
    with pytest.raises(TickdiskError, match="needs a delay of at least as much"):
        netcode.Conditions(jitter_ms=1)


def test_a_world_that_differs_is_seen() -> None:
    life = record()
    life.players["last_number"] = [120, 120]
    assert not life.is_equal


def test_the_published_layout(tmp_path: Path) -> None:
    rtt, system = netcode.write_published(record(), tmp_path)
    assert rtt.read_text().splitlines() == ["Player_ID;Total_Players;RoundTripDelay_ms", "1;2;5.000", "1;2;9.000", "2;2;20.000"]
    lines = system.read_text().splitlines()
    assert lines[0] == "Time_s;CPU_percent;Memory_bytes;Bytes_Sent;Bytes_Received"
    assert lines[3] == "1.000;25.000;3;61000;70"


DESIGN = StackSizes(2, ("tcp", "kcp"), (2, 4), (1, 3), 2, has_far=True, control="tcp", ramp_s=1, steady_s=2)


def test_a_run_has_every_arm_in_another_order_and_the_same_seed_repeats_it() -> None:
    runs = [cases(DESIGN, run, 7) for run in range(8)]
    counts = {"idle": [(0, 2, 4)], "active": [(1,), (3,)], "far": [(1,), (3,)]}
    wanted = {(arm, stack, players) for stack in ("tcp", "kcp") for arm, lives in counts.items() for players in lives} | {
        (arm, "tcp", (3,)) for arm in ("again", "near", "delayed")
    }
    orders = [[(case.arm, case.setting.stack, case.setting.attendance.players) for case in run] for run in runs]
    assert all(len(order) == len(wanted) and set(order) == wanted for order in orders)
    assert all(first != second for first, second in pairwise(orders))
    assert runs[3] == cases(DESIGN, 3, 7)
    assert cases(DESIGN, 3, 8) != runs[3]
    rises = [{case.setting.attendance.is_rising for case in run if case.arm == "idle"} for run in runs]
    assert rises in ([{False}, {True}] * 4, [{True}, {False}] * 4)
    seeds = [case.setting.attendance.seed for run in runs for case in run]
    assert len(set(seeds)) == len(seeds)


def test_the_plan_counts_the_lives_and_the_steps_that_run() -> None:
    assert NETCODE.lives_apart is not None
    design = Netcode(**asdict(DESIGN))
    players = [case.setting.attendance.players for run in range(DESIGN.runs) for case in cases(DESIGN, run, 7)]
    lives, seconds = NETCODE.lives_apart(design)
    assert lives == len(players)
    assert seconds == pytest.approx(3 * sum(map(len, players)) + 1.2 * lives)


def test_parts_have_all_runs_once_and_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tickdisk.netcode.study"], "live", lambda *_: record())
    design = replace(DESIGN, runs=3)
    for part in (1, 2):
        netcode.write_study(netcode.study(design, 1, tmp_path, lambda _: None, part=part, parts=2), tmp_path / str(part))
    apart = netcode.gather([tmp_path / "1", tmp_path / "2"])
    netcode.write_study(netcode.study(design, 1, tmp_path, lambda _: None), tmp_path / "whole")
    whole = netcode.read_study(tmp_path / "whole")
    for name in ("lives", "steps", "pings"):
        one, other = getattr(apart, name), getattr(whole, name)
        assert len(one) > 0
        assert one.astype(str).equals(other.astype(str))
    with pytest.raises(TickdiskError, match="there is no part 4 of 4; there can be 1 to 3 parts"):
        netcode.study(design, 1, tmp_path, lambda _: None, part=4, parts=4)
    other = netcode.read_study(tmp_path / "2")
    other.lives["machine"] = "processor other"
    netcode.write_study(other, tmp_path / "2")
    with pytest.raises(TickdiskError, match="the parts ran on machines of 2 kinds"):
        netcode.gather([tmp_path / "1", tmp_path / "2"])


def test_controls_need_a_stack_that_is_compared(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match=r"the stack quic, which is none of tcp, kcp"):
        netcode.study(StackSizes(**{**vars(DESIGN), "control": "quic"}), 1, tmp_path, print)
    with pytest.raises(TickdiskError, match=r"lives\.parquet is missing"):
        netcode.read_study(tmp_path)
