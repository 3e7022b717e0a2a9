"""Which calls are storage accesses, and what they look like: held against slow loops over plain tuples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk import TickdiskError, accesses
from tickdisk.foundation import table

FILES = ["/w/map.sqlite", "/w/map.sqlite-journal", "/w/players.sqlite", "/w/env_meta.txt.~mt"]
OUTSIDE = "/world/map.sqlite"
rows = st.lists(
    st.tuples(
        st.sampled_from(["syscall", "block"]),
        st.sampled_from(["read", "write", "sync", "open"]),
        st.sampled_from([*FILES, OUTSIDE, None]),
        st.one_of(st.none(), st.integers(0, 4)),  # offset
        st.integers(0, 4),  # bytes moved
        st.sampled_from([0, 0, 0, 5]),  # errno
        st.integers(0, 30),  # start
    ),
    max_size=40,
)


def requests_of(tuples):
    """A requests table; moved bytes are a thousandth of what was asked for, so that the two are told apart.

    It ends with a call on terrain, which says where the world is.
    """
    tuples = [*tuples, ("syscall", "close", FILES[0], None, 0, 0, 10**9)]
    found = pd.DataFrame(tuples, columns=["level", "op", "file", "offset", "result", "errno", "start_ns"])
    types = {"offset": "Int64", "result": "int64", "errno": "int64", "start_ns": "int64", "file": object}
    found = found.astype(types).assign(seq=range(len(tuples)), latency_ns=2, thread=1, thread_name="Server", process=1)
    asked = (1000 * found["result"]).astype("Int64").mask(found["op"] == "sync")
    made = found.assign(call=found["op"], length=asked, data=np.where(found["file"] == OUTSIDE, "other", "terrain"))
    return made.reindex(columns=table.SCHEMAS["requests"].names)


@given(rows)
def test_every_call_is_an_access_or_is_counted(tuples):
    found = accesses.select(requests_of(tuples))
    chosen = [
        (start, op, file, offset, size)
        for level, op, file, offset, size, errno, start in tuples
        if level == "syscall" and op != "open" and errno == 0 and file in FILES
    ]
    assert len(found.table) + sum(found.left_out.values()) == len(tuples) + 1
    assert list(found.table["at_ns"]) == sorted(start for start, *_ in chosen)
    assert found.table["bytes"].sum() == sum(size for _, op, _, _, size in chosen if op != "sync")
    assert found.table["asked_bytes"].sum() == sum(1000 * size for _, op, _, _, size in chosen if op != "sync")
    assert set(found.table["store"]) <= {"map.sqlite", "players.sqlite", "env_meta.txt"}
    for reason, matches in {
        "not a system call": lambda row: row[0] == "block",
        "file unknown": lambda row: row[0] == "syscall" and row[2] is None,
        "file outside the world": lambda row: row[0] == "syscall" and row[2] == OUTSIDE,
        "failed": lambda row: row[0] == "syscall" and row[2] in FILES and row[5] != 0,
        "op open": lambda row: row[0] == "syscall" and row[2] in FILES and row[5] == 0 and row[1] == "open",
    }.items():
        assert found.left_out.get(reason, 0) == sum(map(matches, tuples))


def test_a_capture_without_terrain_is_an_error():
    with pytest.raises(TickdiskError, match="no access to terrain"):
        accesses.select(requests_of([]).assign(data="other"))


def test_a_journal_belongs_to_its_database():
    tuples = [("syscall", "write", file, 0, 1, 0, at) for at, file in enumerate(FILES)]
    assert list(accesses.select(requests_of(tuples)).table["store"]) == ["map.sqlite"] * 2 + ["players.sqlite", "env_meta.txt"]


def slow_sequential(found):
    """The definition, one access after another, with what is remembered of each file in a dictionary."""
    ends, answers = {}, {}
    for row in found.itertuples():
        if row.op == "sync":
            continue
        known = row.file in ends and ends[row.file] is not None and not pd.isna(row.offset)
        answers[row.Index] = bool(ends[row.file] == row.offset) if known else None
        ends[row.file] = None if pd.isna(row.offset) else row.offset + row.bytes
    return answers


@given(rows)
def test_sequential_is_what_the_definition_says(tuples):
    found = accesses.select(requests_of(tuples)).table
    answers = {index: None if pd.isna(value) else bool(value) for index, value in accesses.sequential(found).items()}
    assert answers == slow_sequential(found)


def test_a_file_read_through_in_pieces_is_sequential_and_a_jump_back_is_not():
    tuples = [("syscall", "read", FILES[0], at, 2, 0, at) for at in (0, 2, 4, 6)] + [("syscall", "write", FILES[0], 0, 2, 0, 9)]
    assert accesses.sequential(accesses.select(requests_of(tuples)).table).tolist() == [pd.NA, True, True, True, False]


@pytest.mark.parametrize(
    ("size", "word"),
    [
        (0, "under 64 B"), (63, "under 64 B"), (64, "64 to 511 B"), (512, "512 B to under 4 KiB"), (4095, "512 B to under 4 KiB"),
        (4096, "4 KiB"), (4097, "over 4, under 8 KiB"), (8191, "over 4, under 8 KiB"), (8192, "8 KiB"), (8193, "over 8 KiB"),
    ],
)  # fmt: skip
def test_classes_of_sizes(size, word):
    assert list(accesses.size_class(pd.Series([size]))) == [word]


@given(rows)
def test_sizes_and_form_count_every_read_and_write(tuples):
    found = accesses.select(requests_of(tuples)).table
    moved = found[found["op"] != "sync"]
    assert accesses.sizes(found)["requests"].sum() == len(moved)
    form = accesses.form(found)
    assert form["requests"].sum() == len(moved)
    assert form["bytes"].sum() == moved["bytes"].sum()
    if len(moved):
        assert form["share_requests"].sum() == pytest.approx(1)


def test_form_by_hand():
    tuples = [
        ("syscall", "read", FILES[0], 0, 4, 0, 0),
        ("syscall", "read", FILES[0], 4, 4, 0, 1),
        ("syscall", "read", FILES[0], 4, 4, 0, 2),
        ("syscall", "write", FILES[1], 0, 2, 0, 3),
        ("syscall", "sync", FILES[1], None, 0, 0, 4),
    ]
    table = accesses.form(accesses.select(requests_of(tuples)).table).set_index("op")
    assert table.loc["read", ["requests", "bytes", "p50_bytes", "share_requests", "share_bytes"]].tolist() == [
        3, 12, 4000, 0.75, 12 / 14,
    ]  # fmt: skip
    assert table.loc["read", "share_sequential"] == 0.5
    assert np.isnan(table.loc["write", "share_sequential"])
