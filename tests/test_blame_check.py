"""Blame against injected stalls, shares over lives, and actions, on machines whose truth is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from test_blame_simulation import MAP, MS, PLAYERS, START_NS, Machine, locked, ticking

from tickdisk.blame import (
    FEWEST_LIVES,
    JOURNAL,
    attribute,
    blame_actions,
    check_injections,
    count,
    explain,
    explain_wait,
    shares,
)
from tickdisk.blame.evidence import CaptureEvidence
from tickdisk.foundation.errors import TickdiskError

BUDGET = 90 * MS


def _injections(rows):
    table = pd.DataFrame(rows, columns=["kind", "start_ms", "end_ms"])
    times = {f"{end}_ns": START_NS + table[f"{end}_ms"].to_numpy(np.int64) * MS for end in ("start", "end")}
    return pd.DataFrame({"kind": table["kind"], "due_ns": times["start_ns"], **times})


def _blame(programs, made, **more):
    stalls = [(START_NS + begin * MS, START_NS + end * MS) for kind, begin, end in made if kind == "device_stall"]
    machine = Machine(programs, cores=4, read_ns=MS, stalls=stalls)
    evidence = replace(machine.evidence(injections=_injections(made)), **more)
    return attribute(evidence, budget_ns=BUDGET, thread="Server")


READING = [op for page in range(40) for op in (*locked("env", ("read", MAP, page * 4096)), ("sleep", 9 * MS))]


def test_a_stalled_read_behind_the_lock_is_named_and_a_burnt_tick_is_not_blamed():
    bodies = [[("run", MS), *locked("env")]] * 3 + [[("run", 300 * MS)]] + [[("run", MS), *locked("env")]] * 3
    blame = _blame({"Server": ticking(*bodies), "Emerge-0": READING}, [("device_stall", 85, 385), ("cpu_stall", 480, 650)])
    checks = check_injections(blame)
    assert checks["kind"].tolist() == ["device_stall", "cpu_stall"]
    device, cpu = (row for _, row in checks.iterrows())
    assert (device["named"], device["blamed"], device["cause"], device["stalled"]) == (True, True, "storage", 1)
    assert (device["stalled_files"], device["file"], device["call"]) == ((MAP,), MAP, "pread64")
    assert device["gap_ns"] > 250 * MS
    requests = blame.evidence.requests.set_index("seq")
    assert requests.loc[device["request"], "start_ns"] + requests.loc[device["request"], "latency_ns"] >= START_NS + 385 * MS
    assert (cpu["blamed"], cpu["cause"], cpu["named"]) == (False, "cpu", False)


def test_a_stall_that_slows_no_tick_is_not_named():
    # The reader holds no lock, so the server does not notice.
    alone = [("read", MAP, 0), ("sleep", MS)] * 30
    checks = check_injections(_blame({"Server": ticking([], [], [], [], [], []), "Emerge-0": alone}, [("device_stall", 10, 300)]))
    assert (checks["named"].item(), checks["cause"].item(), checks["stalled"].item()) == (False, "", 1)
    assert pd.isna(checks["tick"].item())


def test_a_stall_that_slows_an_action_and_no_tick_is_named_by_the_action():
    """The reader holds no lock, so no tick is slow. A player waits for its read, and another player for nothing."""
    alone = [op for page in range(30) for op in (("read", MAP, page * 4096), ("sleep", 9 * MS))]
    rows = [("teleport", 95, 390), ("dig", 95, 390), *[("teleport", ms, ms + 3) for ms in range(400, 420, 5)]]
    actions = pd.DataFrame(rows, columns=["action", "issued_ms", "completed_ms"])
    for end in ("issued", "completed"):
        actions[f"{end}_ns"] = (actions[f"{end}_ms"] * MS + START_NS).astype("Int64")
    actions = actions.assign(player="p000", outcome="completed")
    programs = {"Server": ticking([], [], [], [], [], []), "Emerge-0": alone}
    blame = _blame(programs, [("device_stall", 85, 385), ("cpu_stall", 430, 440)], actions=actions, readers="Emerge")
    device, cpu = (row for _, row in check_injections(blame).iterrows())
    assert (device["named"], device["cause"]) == (False, "")
    assert (device["action"], device["action_named"], device["action_ns"]) == ("teleport", True, 295 * MS)
    assert (cpu["action"], cpu["action_named"], cpu["action_ns"]) == ("", False, 0)
    # Without readers, nobody is known to have read for the player.
    device = check_injections(attribute(replace(blame.evidence, readers=None), budget_ns=BUDGET, thread="Server")).iloc[0]
    assert (device["action"], device["action_named"]) == ("teleport", False)


def test_a_chain_that_names_another_file_than_was_stalled_is_not_right():
    bodies = [[("run", MS), *locked("env")]] * 4
    injected = [("device_stall", 85, 385)]
    blame = _blame({"Server": ticking(*bodies), "Emerge-0": READING}, injected)
    assert check_injections(blame)["named"].tolist() == [True]
    for wrong in (
        {"extents": blame.evidence.extents.replace({"file": {MAP: PLAYERS, PLAYERS: MAP}})},
        {"requests": blame.evidence.requests.assign(file=PLAYERS)},
        {"requests": blame.evidence.requests.iloc[:0]},
        {"device": blame.evidence.device.assign(arrival_ns=lambda table: table["arrival_ns"] + 10**10, replied_ns=10**12)},
    ):
        other = attribute(replace(blame.evidence, **wrong), budget_ns=BUDGET, thread="Server")
        assert check_injections(other)["named"].tolist() == [False]


def test_a_stalled_save_is_named_through_the_journal():
    blame = _blame(
        {"Server": ticking([("sleep", MS), ("sync", MAP)], []), "Emerge-0": [("sleep", MS)]}, [("device_stall", 1, 300)]
    )
    check = check_injections(blame).iloc[0]
    assert (check["named"], check["call"], check["file"]) == (True, "fdatasync", MAP)
    assert check["stalled_files"] == (MAP, JOURNAL)


def test_stalls_outside_the_captured_ticks_are_left_out_and_others_need_their_tables():
    programs = {"Server": ticking([], [])}
    none, one = (check_injections(_blame(programs, [("cpu_stall", at, at + 100)])) for at in (10_000, 10))
    assert (len(none), len(one)) == (0, 1)
    assert list(none.columns) == list(one.columns)
    with pytest.raises(TickdiskError, match="no injected stalls"):
        check_injections(_blame(programs, [], injections=None))


def test_counts_have_both_intervals():
    found = count(pd.Series([True] * 19 + [False]), 0.05)
    # Clopper and Pearson by the beta distribution; Wilson's for 19 of 20 is 0.7639 to 0.9911 (Brown, Cai and DasGupta 2001,
    # formula 4).
    assert found.exact == pytest.approx((beta.ppf(0.025, 19, 2), beta.ppf(0.975, 20, 1)))
    assert found.wilson == pytest.approx((0.7639, 0.9911), abs=1e-4)
    assert np.isnan(count(pd.Series([], dtype=bool), 0.05).exact).all()


def _life(reads, seed=0):
    """A life whose ticks read behind the lock for as long as `reads` says, in ms, and compute for 100 ms."""
    order = np.random.default_rng(seed).permutation(reads)
    bodies = [[("read", MAP if read % 2 else PLAYERS, 0)] * int(read) + [("run", 100 * MS)] for read in order]
    machine = Machine({"Server": ticking(*bodies)}, read_ns=MS)
    return attribute(machine.evidence(), budget_ns=BUDGET, thread="Server")


def test_shares_are_the_counterfactual_and_its_parts_sum_to_it():
    blame = _life([0, 40, 41, 80])
    table = shares([blame], rng=np.random.default_rng(1), samples=200, alpha=0.05).set_index(["of", "by", "name"]).sort_index()
    # By hand: gaps of 100, 140, 141 and 180 ms and a little running; without its reads each tick would take 100 ms.
    late = [10, 50, 51, 90]
    assert table.loc[("late", "all", "storage"), "share"] == pytest.approx(161 / sum(late), rel=5e-3)
    assert table.loc[("busy", "all", "storage"), "share"] == pytest.approx(161 / 561, rel=2e-3)
    assert table.loc[("late", "file", MAP), "share"] == pytest.approx(41 / sum(late), rel=5e-3)
    assert table.loc[("late", "routine", "read in the tick thread"), "share"] == pytest.approx(161 / sum(late), rel=5e-3)
    assert table.loc[("late", "cause", "cpu"), "share"] == pytest.approx(40 / sum(late), rel=2e-2)
    for by in ("file", "data", "routine"):
        for of in ("late", "busy"):
            assert table.loc[(of, by), "share"].sum() == pytest.approx(table.loc[(of, "all", "storage"), "share"])
    assert table.loc[("late", "cause"), "share"].sum() == pytest.approx(1)
    row = table.loc[("late", "all", "storage")]
    assert row["low"] <= row["share"] <= row["high"]
    assert row["note"] == f"1 of the {FEWEST_LIVES} lives that an interval over lives needs"


def test_shares_leave_out_what_injected_stalls_touched():
    blame = _life([0, 0, 0, 80])
    start_ns = blame.ticks.loc[blame.ticks["storage_ns"].idxmax(), "start_ns"]
    touched = pd.DataFrame({"start_ns": [start_ns + MS], "end_ns": [start_ns + 2 * MS]})
    table = shares([blame], rng=np.random.default_rng(1), samples=50, alpha=0.05, without=[touched])
    assert table.set_index(["of", "by", "name"]).sort_index().loc[("late", "all", "storage"), "share"] == 0
    assert table["ticks"].iloc[0] == 3
    with pytest.raises(TickdiskError, match="no tick is left"):
        shares([blame], rng=np.random.default_rng(1), alpha=0.05, without=[pd.DataFrame({"start_ns": [0], "end_ns": [10**15]})])


def test_intervals_over_lives_cover_the_share():
    # Lives differ: the reads of a life are drawn around its own mean. The truth is the ratio of expectations.
    rng = np.random.default_rng(7)
    covered, trials, lives = 0, 40, 6
    truth = None
    machines = {reads: _life([reads] * 3 + [0]) for reads in range(10, 60, 10)}
    weights = np.array([(blame.ticks["late_storage_ns"].sum(), blame.ticks["late_ns"].sum()) for blame in machines.values()])
    truth = weights[:, 0].mean() / weights[:, 1].mean()
    for _ in range(trials):
        chosen = [machines[10 * int(number)] for number in rng.integers(1, 6, size=lives)]
        row = (
            shares(chosen, rng=rng, samples=100, alpha=0.05)
            .set_index(["of", "by", "name"])
            .sort_index()
            .loc[("late", "all", "storage")]
        )
        covered += row["low"] <= truth <= row["high"]
        assert row["note"] == ""
    assert covered >= 0.8 * trials


def test_actions_know_how_long_storage_kept_the_server():
    reading = [("sleep", 10 * MS), *locked("env", ("read", MAP, 0)), ("sleep", 500 * MS), ("read", MAP, 4096)]
    machine = Machine({"Server": ticking([("run", 20 * MS), *locked("env")], *[[]] * 8), "Emerge-0": reading}, read_ns=200 * MS)
    rows = [("dig", 1, 300), ("dig", 600, 650), ("dig", 600, 660), ("place", 15, 100), ("dig", 100, None), ("dig", -50, 20)]
    actions = pd.DataFrame(rows, columns=["action", "issued_ms", "completed_ms"])
    for end in ("issued", "completed"):
        actions[f"{end}_ns"] = (actions[f"{end}_ms"] * MS + START_NS).astype("Int64")
    actions = actions.assign(player="p000", outcome="completed")
    blame = attribute(replace(machine.evidence(), actions=actions, readers="Emerge"), budget_ns=BUDGET, thread="Server")
    found = blame_actions(blame)
    assert found["action"].tolist() == ["dig", "dig", "dig", "place"]
    assert found["slow"].tolist() == [True, False, False, False]
    first = found.iloc[0]
    # The read takes from 10.002 ms to 210.002 ms; the server waits for it from 20.011 ms on.
    assert first["tick_storage_ns"] == pytest.approx(190 * MS, abs=MS / 10)
    assert (first["reader_storage_ns"], first["storage_ns"]) == (200 * MS, 200 * MS)
    assert (first["tick"], first["latency_ns"]) == (7, 299 * MS)
    assert (first["thread_name"], first["op"], first["file"], first["offset"]) == ("Emerge-0", "read", MAP, 0)
    assert first["wait_ns"] == 200 * MS
    assert (first["device_op"], first["device_file"], first["device_ns"]) == ("read", MAP, pytest.approx(200 * MS, abs=MS))
    said = explain_wait(first)
    assert said.startswith("200 ms of Emerge-0 in pread64 of terrain in map.sqlite")
    assert "at 0; the disk took 200 ms for a read" in said
    assert found["wait_ns"].tolist() == [200 * MS, 0, 0, 0], "only of slow ones"
    assert explain_wait(found.iloc[1]) == ""
    with pytest.raises(TickdiskError, match="no actions"):
        blame_actions(attribute(machine.evidence(), budget_ns=BUDGET, thread="Server"))


def test_an_idle_thread_of_a_runtime_that_parks_waits_for_nobody():
    """A tick of 5 ms is due every 50 ms. The third gap has a read of 60 ms; all other time between ticks is parked in a futex."""
    times = [(5, 50, "lock"), (55, 100, "lock"), (105, 110, "lock"), (110, 170, "io"), (170, 200, "lock"), (205, 250, "lock")]
    rows = [(1, "world", begin, end, kind, "futex" if kind == "lock" else "pread64", 2, "other") for begin, end, kind in times]
    rows.append((2, "other", 0, 1, "io", "read", None, None))
    columns = ["thread", "thread_name", "start_ns", "end_ns", "kind", "call", "waker", "waker_name"]
    waits = pd.DataFrame(rows, columns=columns).astype({"waker": "Int64"})
    waits[["start_ns", "end_ns"]] *= MS
    starts = pd.Series([0, 50, 100, 200, 250]) * MS
    ticks = pd.DataFrame({"tick": range(1, 6), "start_ns": starts, "end_ns": starts + 5 * MS})
    requests = Machine({"world": ticking([("run", MS)])}).evidence().requests
    evidence = CaptureEvidence("life", requests, waits, (0, 300 * MS), ticks=ticks, budget_ns=50 * MS, thread="world")
    late = attribute(replace(evidence, parks=True)).ticks.set_index("tick").loc[3]
    assert (late["gap_ns"], late["late_ns"], late["storage_ns"]) == (100 * MS, 50 * MS, 60 * MS)
    assert (late["lock_ns"], late["sleep_ns"], late["cause"]) == (0, 35 * MS, "storage")
    assert attribute(evidence).ticks.set_index("tick").loc[3, "lock_ns"] == 35 * MS


def test_a_pause_of_the_runtime_is_the_cause_and_not_a_lock():
    """A tick of 5 ms is due every 50 ms. In the second gap all threads stop for 80 ms, and the thread waits for VM Thread."""
    rests = [(5, 50), (135, 150), (155, 200), (236, 250)]
    times = [(52, 132, "lock"), (201, 231, "lock"), *((begin, end, "sleep") for begin, end in rests)]
    rows = [(1, "world", begin, end, kind, "futex", 2 if kind == "lock" else None, "VM Thread") for begin, end, kind in times]
    rows.append((2, "VM Thread", 0, 1, "io", "read", None, None))
    columns = ["thread", "thread_name", "start_ns", "end_ns", "kind", "call", "waker", "waker_name"]
    waits = pd.DataFrame(rows, columns=columns).astype({"waker": "Int64"})
    waits[["start_ns", "end_ns"]] *= MS
    starts = pd.Series([0, 50, 150, 200, 250, 300]) * MS
    ticks = pd.DataFrame({"tick": range(1, 7), "start_ns": starts, "end_ns": starts + 5 * MS})
    requests = Machine({"world": ticking([("run", MS)])}).evidence().requests
    pauses = pd.DataFrame({"name": ["Full", "Young"], "begin_ns": [51 * MS, 203 * MS], "end_ns": [131 * MS, 205 * MS]})
    evidence = CaptureEvidence("life", requests, waits, (0, 300 * MS), ticks=ticks, budget_ns=50 * MS, thread="world")
    told = attribute(replace(evidence, pauses=pauses))
    late, locked = (told.ticks.set_index("tick").loc[number] for number in (2, 4))
    assert (late["pause_ns"], late["lock_ns"], late["cause"], late["late_ns"]) == (79 * MS, MS, "pause", 50 * MS)
    assert (locked["pause_ns"], locked["lock_ns"]) == (2 * MS, 28 * MS)
    parts = ["running_ns", "io_ns", "lock_ns", "run_queue_ns", "sleep_ns", "pause_ns"]
    assert (told.ticks[parts].sum(axis=1) == told.ticks["gap_ns"]).all()
    assert explain(told, 2) == "tick 2 took 100 ms, 79 ms of it in pauses of the runtime (Full)"
    # A runtime that does not tell its pauses leaves a wait for the thread that stopped the others.
    silent = attribute(evidence)
    assert silent.ticks.set_index("tick").loc[2, "cause"] == "lock"
    assert explain(silent, 2).startswith("tick 2 took 100 ms, 80 ms of it waiting for a lock held by VM Thread")
    named = [set(shares([one], rng=np.random.default_rng(1), samples=20, alpha=0.05)["name"]) for one in (told, silent)]
    assert ["pause" in names for names in named] == [True, False]
