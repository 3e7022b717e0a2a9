"""From waits to system calls to requests of the device: what is found by bisection is what looking at every pair finds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_blame_simulation import FILE_BYTES, JOURNAL_AT, MAP, MS, PLACES, PLAYERS, Machine, ticking

from tickdisk.blame import JOURNAL, attribute, explain
from tickdisk.blame.requests import FilesOnDevice, device_requests_of, requests_of


def _requests(rows):
    table = pd.DataFrame(rows, columns=["thread", "start_ns", "end_ns"])
    return table.assign(latency_ns=table["end_ns"] - table["start_ns"])


def _waits(rows):
    return pd.DataFrame(rows, columns=["thread", "start_ns"]).astype("int64")


def test_the_innermost_call_of_the_same_thread_that_is_under_way():
    requests = _requests([(1, 0, 100), (1, 20, 30), (1, 50, 60), (2, 0, 1000), (1, 100, 120)])
    waits = _waits([(1, 10), (1, 25), (1, 40), (1, 70), (1, 99), (1, 100), (1, 120), (2, 500), (3, 5), (2, 2000)])
    assert requests_of(waits, requests).tolist() == [0, 1, 0, 0, 0, 4, -1, 3, -1, -1]
    assert requests_of(waits, requests.iloc[:0]).tolist() == [-1] * len(waits)


@settings(max_examples=100, deadline=None)
@given(
    calls=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(1, 9)), max_size=20),
    waits=st.lists(st.tuples(st.integers(0, 4), st.integers(-5, 130)), max_size=20),
)
def test_calls_one_after_another_are_found_as_by_hand(calls, waits):
    ends, rows = {}, []
    for thread, pause, length in calls:
        start = ends.get(thread, 0) + pause
        ends[thread] = start + length
        rows.append((thread, start, start + length))
    found = requests_of(_waits(waits), _requests(rows).astype("int64"))
    for (thread, at), row in zip(waits, found.tolist(), strict=True):
        under_way = [number for number, (who, start, end) in enumerate(rows) if who == thread and start <= at < end]
        assert under_way == ([] if row == -1 else [row])


def _extents(rows):
    return pd.DataFrame(rows, columns=["file", "offset", "physical", "length"])


def _device(rows):
    table = pd.DataFrame(rows, columns=["op", "offset", "length", "arrival_ns", "replied_ns"])
    return table.assign(seq=np.arange(len(table)))


EXTENTS = _extents(
    [
        ("/a", 0, 1000, 100),
        ("/a", 0, 1000, 200),
        ("/a", 200, 5000, 100),
        ("/b", 0, 2000, 100),
        ("/c", 300, 1900, 150),
        ("/a", 50, 1050, 50),
    ]
)


def test_bytes_of_the_device_belong_to_every_file_that_was_there():
    device = _device(
        [
            ("read", 1100, 150, 0, 1),  # the second half of /a's first extent, and beyond it
            ("read", 5000, 10, 0, 1),
            ("write", 2000, 20, 0, 1),  # /b and /c were both seen there
            ("write", 3000, 100, 0, 1),
            ("flush", 0, 0, 0, 1),
            ("read", 1150, 3900, 0, 1),
        ]
    )
    files = FilesOnDevice.of(device, EXTENTS)
    assert [files.files(row) for row in range(len(device))] == [{"/a"}, {"/a"}, {"/b", "/c"}, set(), set(), {"/a", "/b", "/c"}]
    assert files.owned(len(device)).tolist() == [True, True, True, False, False, True]
    rows, file, offset, end = np.array(
        [(0, 0, 100, 101), (0, 0, 0, 100), (0, 1, 0, 9), (1, 0, 205, 210), (5, 0, 200, 201), (3, -1, 0, 9)]
    ).T
    own, exact = files.match(rows, file, offset, end)
    assert own.tolist() == [True, True, False, True, True, False]
    assert exact.tolist() == [True, False, False, True, True, False]
    nothing = FilesOnDevice.of(device, EXTENTS.iloc[:0])
    assert nothing.files(0) == set()
    assert not nothing.owned(6).any()


@settings(max_examples=80, deadline=None)
@given(
    extents=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=6
    ),
    requests=st.lists(st.tuples(st.integers(0, 80), st.integers(0, 20)), max_size=8),
)
def test_files_of_requests_are_found_as_byte_by_byte(extents, requests):
    device = _device([("read", offset, length, 0, 1) for offset, length in requests])
    files = FilesOnDevice.of(device, _extents(extents))
    for row, (offset, length) in enumerate(requests):
        touched = {
            (file, byte - physical + start)
            for file, start, physical, size in extents
            for byte in range(max(offset, physical), min(offset + length, physical + size))
        }
        assert files.files(row) == {file for file, _ in touched}
        for number, name in enumerate(files.names):
            for byte in range(0, 45, 4):
                one = (np.array([value]) for value in (row, number, byte, byte + 1))
                assert files.match(*one)[1][0] == ((name, byte) in touched)


ASKED = {"op": "read", "file": "/a", "offset": 0, "length": 100, "start_ns": 100, "end_ns": 200, "storing": ""}


@pytest.mark.parametrize(
    ("asked", "served", "row", "many"),
    [
        ({}, [("read", 1000, 100, 90, 190), ("read", 1100, 100, 95, 200)], 0, 2),  # its own bytes, not what is read ahead
        ({}, [("read", 1100, 100, 50, 150), ("read", 5000, 10, 100, 190)], 1, 2),  # its file: the longer in service meanwhile
        ({}, [("read", 2050, 10, 100, 200), ("read", 9000, 10, 100, 110)], 1, 1),  # another file's is none; no file's is metadata
        ({}, [("write", 1000, 100, 100, 200), ("flush", 0, 0, 100, 200)], -1, 0),  # a read waits for no write
        ({}, [("read", 1000, 100, 10, 100), ("read", 1000, 100, 200, 300)], -1, 0),  # answered before, asked after
        ({"op": "sync"}, [("read", 1000, 100, 90, 199), ("write", 2000, 10, 100, 150), ("flush", 0, 0, 140, 200)], 2, 2),
        ({"op": "sync"}, [("write", 2000, 10, 100, 150), ("write", 9000, 50, 100, 180), ("write", 9000, 50, 0, 50)], 1, 2),
        ({"op": "write", "offset": -1}, [("write", 2000, 10, 100, 200), ("write", 1000, 10, 100, 110)], 1, 1),
        ({"op": "write", "storing": "O_DSYNC"}, [("write", 2000, 10, 90, 120), ("flush", 0, 0, 100, 190)], 1, 2),
        ({"op": "write", "storing": "buffered"}, [("write", 2000, 10, 90, 120), ("read", 2000, 10, 100, 190)], -1, 0),
        ({"op": "unlink", "length": -1}, [("write", 9000, 10, 100, 110)], 0, 1),
        ({"op": ""}, [("read", 1000, 100, 100, 200)], -1, 0),
        ({"file": ""}, [("read", 1000, 100, 100, 200), ("read", 9000, 1, 100, 101)], 1, 1),
    ],
)
def test_what_a_wait_waits_for(asked, served, row, many):
    device = _device(served)
    windows = pd.DataFrame([ASKED | asked])
    best, count = device_requests_of(windows, device, FilesOnDevice.of(device, EXTENTS))
    assert (best.tolist(), count.tolist()) == ([row], [many])


@settings(max_examples=80, deadline=None)
@given(
    waits=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60)), min_size=1, max_size=10),
    served=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 200)), max_size=25),
)
def test_requests_in_service_during_a_wait_are_found_as_pair_by_pair(waits, served):
    device = _device([("write", 9000, 10, arrival, arrival + length) for arrival, length in served])
    windows = pd.DataFrame([ASKED | {"op": "sync", "start_ns": start, "end_ns": start + length} for start, length in waits])
    best, count = device_requests_of(windows, device, FilesOnDevice.of(device, EXTENTS))
    for (start, length), row, many in zip(waits, best.tolist(), count.tolist(), strict=True):
        together = [min(start + length, arrival + took) - max(start, arrival) for arrival, took in served]
        assert many == sum(ns > 0 for ns in together)
        assert (row == -1) == (many == 0)
        assert row == -1 or together[row] == max(together)


def test_a_sync_waits_for_the_journal_too_and_says_so():
    machine = Machine({"Server": ticking([("read", PLAYERS, 4096), ("sync", MAP)])}, read_ns=50 * MS)
    blame = attribute(machine.evidence(), budget_ns=90 * MS, thread="Server")
    read, sync = (link for _, link in blame.links[blame.links["kind"] == "io"].sort_values("start_ns").iterrows())
    assert (read["device_op"], read["device_file"], read["device_offset"]) == ("read", PLAYERS, PLACES[PLAYERS] + 4096)
    assert (read["routine"], read["data"], sync["routine"], sync["data"]) == (
        "read in the tick thread", "player", "save in the tick thread", "terrain",
    )  # fmt: skip
    assert (sync["device_op"], sync["device_requests"], sync["device_file"]) == ("flush", 3, "")
    evidence = machine.evidence()
    assert JOURNAL_AT not in range(PLACES[MAP], PLACES[MAP] + FILE_BYTES)
    device = evidence.device[evidence.device["op"] != "flush"]
    journal = attribute(type(evidence)(**{**vars(evidence), "device": device}), budget_ns=90 * MS, thread="Server")
    assert journal.links.loc[journal.links["op"] == "sync", "device_file"].tolist() == [JOURNAL]
    assert "the disk took 100 ms for a write of the file system's journal or metadata" in explain(journal, 7)


def test_without_a_device_log_files_are_named_and_the_disk_is_not():
    machine = Machine({"Server": ticking([("read", PLAYERS, 4096)])}, read_ns=200 * MS)
    evidence = machine.evidence()
    blame = attribute(type(evidence)(**{**vars(evidence), "device": None, "extents": None}), budget_ns=90 * MS, thread="Server")
    link = blame.links[blame.links["kind"] == "io"].iloc[0]
    assert (link["file"], link["device_op"]) == (PLAYERS, "")
    assert link[["device", "device_ns", "device_requests"]].isna().all()
    assert explain(blame, 7).endswith("200 ms of it in pread64 of player data in players.sqlite at 4,096")
