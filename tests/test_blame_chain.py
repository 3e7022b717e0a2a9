"""Where the time of ticks goes: the split sums to the gap, locks are followed to what their holders did, as simulated."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_blame_simulation import MAP, MS, PLAYERS, US, Machine, locked, ticking

from tickdisk.blame import CAUSES, attribute, explain
from tickdisk.blame.chain import DEEPEST, follow
from tickdisk.blame.lanes import Intervals, ThreadWaits, spread
from tickdisk.foundation.errors import TickdiskError

BUDGET = 90 * MS
KINDS = ("running", "io", "lock", "run_queue", "sleep")
_ns = st.integers(1, 80).map(lambda tenths: tenths * MS // 10)
_plain = st.one_of(
    st.tuples(st.just("run"), _ns),
    st.tuples(st.just("sleep"), _ns),
    st.tuples(st.just("read"), st.sampled_from([MAP, PLAYERS]), st.integers(0, 99).map(lambda page: page * 4096)),
    st.tuples(st.just("sync"), st.sampled_from([MAP, PLAYERS])),
).map(lambda op: [op])


def _flat(blocks):
    return [op for block in blocks for op in block]


# Locks are taken in one order, so that nobody waits for ever.
_inner = st.builds(lambda ops: locked("inner", *_flat(ops)), st.lists(_plain, max_size=3))
_outer = st.builds(lambda ops: locked("outer", *_flat(ops)), st.lists(_plain | _inner, max_size=4))
_body = st.lists(_plain | _inner | _outer, max_size=6).map(_flat)


@st.composite
def _machines(draw):
    programs = {"Server": ticking(*draw(st.lists(_body, min_size=1, max_size=4)), budget_ns=20 * MS)}
    for number in range(draw(st.integers(0, 3))):
        programs[f"Emerge-{number}"] = draw(_body) * draw(st.integers(1, 3))
    return Machine(programs, cores=draw(st.integers(1, 3)), read_ns=draw(_ns))


@settings(max_examples=80, deadline=None)
@given(_machines())
def test_every_tick_is_split_as_the_machine_spent_it(machine):
    ticks = attribute(machine.evidence(), budget_ns=20 * MS, thread="Server").ticks
    assert (ticks[[f"{kind}_ns" for kind in KINDS]].sum(axis=1) == ticks["gap_ns"]).all()
    assert (ticks["storage_ns"] <= ticks["gap_ns"]).all()
    assert (ticks[[f"late_{cause}_ns" for cause in CAUSES]].sum(axis=1) == ticks["late_ns"]).all()
    assert (ticks[[f"late_{cause}_ns" for cause in CAUSES]] >= 0).all(axis=None)
    for row in ticks.itertuples():
        truth = machine.truth(100, row.start_ns, row.start_ns + row.gap_ns)
        found = {kind: getattr(row, f"{kind}_ns") for kind in (*KINDS, "storage")}
        assert found == truth
        assert row.late_storage_ns == row.gap_ns - max(min(20 * MS, row.gap_ns), row.gap_ns - row.storage_ns)


@settings(max_examples=60, deadline=None)
@given(_machines())
def test_links_are_trees_whose_branches_sum_to_their_lock_wait(machine):
    blame = attribute(machine.evidence(), budget_ns=20 * MS, thread="Server")
    links = blame.links
    leaves = links[links["kind"] != "lock"]
    assert leaves.groupby("tick")["ns"].sum().to_dict() == blame.ticks.set_index("tick")["gap_ns"].to_dict()
    behind = links[links["depth"] > 0].groupby("parent")["ns"].sum()
    locks = links[links["kind"] == "lock"]
    assert behind.to_dict() == locks["ns"].to_dict()
    assert (
        links.loc[links["depth"] > 0, "depth"] == links["depth"].loc[links.loc[links["depth"] > 0, "parent"]].to_numpy() + 1
    ).all()
    storage = links[links["kind"] == "io"].groupby("tick")["ns"].sum().reindex(blame.ticks["tick"], fill_value=0)
    assert storage.tolist() == blame.ticks["storage_ns"].tolist()
    assert blame.storage.within(
        blame.ticks["start_ns"].to_numpy(), (blame.ticks["start_ns"] + blame.ticks["gap_ns"]).to_numpy()
    ).tolist() == (storage.tolist())


def _tick(*others, body=(), **more):
    """One late tick of a server that asks for `outer` after 1 ms, and what blame says of it."""
    programs = {"Server": ticking([("run", MS), *locked("outer", *body)])} | {
        f"Emerge-{number}": program for number, program in enumerate(others)
    }
    machine = Machine(programs, cores=4, read_ns=200 * MS)
    blame = attribute(machine.evidence(**more), budget_ns=BUDGET, thread="Server")
    return blame, blame.ticks.iloc[0]


def test_a_read_behind_a_lock_is_storage_and_named():
    blame, tick = _tick(locked("outer", ("read", MAP, 8192)))
    assert tick["cause"] == "storage"
    assert tick["lock_ns"] == pytest.approx(199 * MS, abs=MS)
    assert tick["lock_ns"] - tick["lock_storage_ns"] == 2 * US
    link = blame.links[blame.links["kind"] == "io"].iloc[0]
    assert (link["depth"], link["thread_name"], link["call"], link["file"], link["offset"], link["length"], link["data"]) == (
        1, "Emerge-0", "pread64", MAP, 8192, 4096, "terrain",
    )  # fmt: skip
    assert (link["request"], link["device"], link["device_ns"], link["routine"]) == (1000, 5000, 200 * MS, "read behind a lock")
    assert explain(blame, tick["tick"]) == (
        "tick 7 took 200 ms, 199 ms of it waiting for a lock held by Emerge-0 while it read terrain in map.sqlite at 8,192 "
        "(the disk took 200 ms)"
    )


def test_a_lock_behind_a_lock_is_followed():
    # The server waits for outer, whose owner waits for inner, whose owner reads.
    blame, tick = _tick(locked("outer", ("sleep", MS // 2), *locked("inner")), locked("inner", ("read", MAP, 0)))
    assert tick["cause"] == "storage"
    link = blame.links[blame.links["kind"] == "io"].iloc[0]
    assert (link["depth"], link["thread_name"]) == (2, "Emerge-1")
    assert tick["storage_ns"] == pytest.approx(199 * MS, abs=MS)
    assert "held by Emerge-0, itself waiting for one held by Emerge-1 while it read terrain in map.sqlite" in explain(
        blame, tick["tick"]
    )


def test_earlier_owners_of_a_lock_come_out_through_the_one_that_woke_the_waiter():
    # Two readers queue before the server: it is woken by the second, and waited for both.
    reads = locked("outer", ("read", MAP, 0))
    _, tick = _tick(reads, [("sleep", 100 * US), *reads])
    assert tick["storage_ns"] == pytest.approx(399 * MS, abs=MS)


def test_a_holder_on_the_processor_is_no_storage():
    blame, tick = _tick([*locked("outer", ("run", 300 * MS)), ("sleep", MS)])
    assert (tick["storage_ns"], tick["cause"]) == (0, "lock")
    assert explain(blame, tick["tick"]) == (
        "tick 7 took 300 ms, 299 ms of it waiting for a lock held by Emerge-0, which was computing"
    )


def test_own_io_own_computing_and_a_full_core_have_their_causes():
    machine = Machine({"Server": ticking([("sync", MAP)], [("run", 200 * MS)])}, read_ns=60 * MS)
    blame = attribute(machine.evidence(), budget_ns=BUDGET, thread="Server")
    assert blame.ticks["cause"].tolist() == ["storage", "cpu"]
    assert (
        explain(blame, 7)
        == "tick 7 took 180 ms, 180 ms of it in fdatasync of terrain in map.sqlite (the disk took 180 ms for a flush)"
    )
    busy = Machine({"Server": ticking([("sleep", MS), ("run", MS)]), "Emerge-0": [("run", 300 * MS)]}, cores=1)
    found = attribute(busy.evidence(), budget_ns=BUDGET, thread="Server")
    assert found.ticks["cause"].tolist() == ["run_queue"]
    assert "waiting for a core" in explain(found, 7)


def test_a_holder_that_was_not_captured_is_unknown_and_no_storage():
    machine = Machine(
        {"Server": ticking([("run", MS), *locked("outer")]), "Other": locked("outer", ("read", MAP, 0))}, read_ns=200 * MS
    )
    blame = attribute(machine.evidence(without=["Other"]), budget_ns=BUDGET, thread="Server")
    assert (blame.ticks["storage_ns"].iloc[0], blame.ticks["cause"].iloc[0]) == (0, "lock")
    unknown = blame.links[blame.links["kind"] == "unknown"].iloc[0]
    assert (unknown["thread_name"], unknown["depth"]) == ("Other", 1)
    assert "held by Other, which was not captured" in explain(blame, 7)
    evidence = machine.evidence()
    nobody = evidence.waits.assign(waker=pd.array([pd.NA] * len(evidence.waits), dtype="Int64"), waker_name=None)
    timed_out = attribute(replace(evidence, waits=nobody), budget_ns=BUDGET, thread="Server").ticks.iloc[0]
    assert (timed_out["storage_ns"], timed_out["lock_ns"], timed_out["cause"]) == (0, 0, "sleep")


def _waits(rows):
    table = pd.DataFrame(rows, columns=["thread", "start_ns", "end_ns", "kind", "waker"])
    return table.assign(thread_name="t", call="").astype({"waker": "Int64"})


def test_threads_that_wait_for_each_other_do_not_go_round():
    # Two locks in turn: each woke the other, in overlapping waits.
    lanes = ThreadWaits(_waits([(1, 0, 10, "lock", 2), (2, 5, 12, "lock", 1)]))
    links = follow(lanes, 0, np.array([0]), np.array([12]))
    leaves = links[links["kind"] != "lock"]
    assert leaves["ns"].sum() == 12
    assert leaves.set_index("kind")["ns"].groupby(level=0, observed=True).sum().to_dict() == {"running": 2 + 5, "unknown": 5}


def test_locks_are_followed_so_deep_and_no_deeper():
    rows = [(number, 0, 100, "lock", number + 1) for number in range(1, 20)]
    links = follow(ThreadWaits(_waits([*rows, (20, 0, 100, "io", None)])), 0, np.array([0]), np.array([100]))
    assert links["depth"].max() == DEEPEST + 1
    assert links[links["kind"] != "lock"][["kind", "ns"]].to_numpy().tolist() == [["unknown", 100]]
    links = follow(ThreadWaits(_waits([*rows[:DEEPEST], (DEEPEST + 1, 0, 100, "io", None)])), 0, np.array([0]), np.array([100]))
    assert links[links["kind"] != "lock"][["kind", "ns"]].to_numpy().tolist() == [["io", 100]]


def test_contradicting_waits_are_cut_and_counted():
    lanes = ThreadWaits(
        _waits([(1, 0, 10, "io", None), (1, 5, 20, "sleep", None), (1, 12, 15, "lock", None), (2, 0, 5, "io", None)])
    )
    assert lanes.contradictions == 2
    links = follow(lanes, 0, np.array([0]), np.array([25]))
    assert links.set_index("kind")["ns"].groupby(level=0, observed=True).sum().to_dict() == {"io": 10, "sleep": 10, "running": 5}


def test_ticks_outside_the_capture_are_counted_and_not_explained():
    machine = Machine({"Server": ticking([], [], []), "Emerge-0": [("run", MS)]})
    evidence = machine.evidence()
    blame = attribute(replace(evidence, captured_ns=(machine.ticks[1], machine.now_ns)), budget_ns=BUDGET, thread="Server")
    assert (blame.uncaptured, blame.ticks["tick"].tolist()) == (1, [8, 9])
    assert (blame.ticks["cause"] == "").all()
    with pytest.raises(TickdiskError, match=r"no wait of Nobody was captured \(threads: Server\)"):
        attribute(evidence, budget_ns=BUDGET, thread="Nobody")


def test_a_capture_without_ticks_is_blamed_by_the_second_and_by_the_busiest_thread():
    machine = Machine(
        {"idle": [("sleep", 3000 * MS)], "worker": [("run", 10 * MS), ("sync", MAP), ("sleep", 2000 * MS)]}, read_ns=500 * MS
    )
    evidence = machine.evidence()
    blame = attribute(replace(evidence, ticks=None))
    assert blame.thread_name == "worker"
    assert blame.ticks["gap_ns"].tolist()[:3] == [1000 * MS] * 3
    assert blame.ticks["cause"].tolist()[:2] == ["storage", "storage"]
    assert blame.ticks["late_ns"].sum() == blame.ticks["gap_ns"].sum() - blame.ticks["sleep_ns"].sum()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12), st.integers(0, 80), st.integers(0, 40))
def test_covers_agree_with_counting_every_nanosecond(intervals, start, length):
    edges = np.array([(begin, begin + n) for begin, n in intervals], dtype=np.int64).reshape(-1, 2)
    cover = Intervals.of(edges[:, 0], edges[:, 1])
    there = {at for begin, n in intervals for at in range(begin, begin + n)}
    window = np.array([start]), np.array([start + length])
    assert cover.within(*window)[0] == len(there & set(range(start, start + length)))
    other = Intervals(np.array([10]), np.array([30]))
    assert cover.without(other).within(*window)[0] == len((there - set(range(10, 30))) & set(range(start, start + length)))


def test_ranges_are_spread():
    owner, index = spread(np.array([3, 7, 5]), np.array([5, 6, 8]))
    assert (owner.tolist(), index.tolist()) == ([0, 0, 2, 2, 2], [3, 4, 5, 6, 7])
