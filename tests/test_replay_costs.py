"""The table of a replay's costs agrees with sums by hand, and the words around it say what it means."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk import replay

MS = 1_000_000


def timings(*rows: tuple[str, int, int]) -> pd.DataFrame:
    """Returns a replay of rows of op, captured and here, in ns, each issued a second after the one before."""
    frame = pd.DataFrame(rows, columns=["op", "captured_ns", "here_ns"])
    issued_ns = pd.Series(range(len(frame)), dtype="int64") * 1000 * MS
    return frame.assign(issued_ns=issued_ns, completed_ns=issued_ns + frame["here_ns"])


def test_every_operation_has_its_times_here_and_as_captured() -> None:
    made = timings(("sync", 2 * MS, 20 * MS), ("read", MS, MS), ("sync", 4 * MS, 40 * MS), ("write", 0, 0))
    found = replay.costs(made)
    assert found.index.tolist() == ["sync", "read", "write", "all"]
    sync = found.loc["sync"]
    assert sync[["requests", "captured_total_ms", "here_total_ms", "here_longest_ms", "times"]].tolist() == [2, 6, 60, 40, 10]
    assert sync[["captured_p50_ms", "here_p50_ms", "here_p99_ms"]].tolist() == [2, 20, 40]
    assert found.loc["all", ["requests", "captured_total_ms", "here_total_ms"]].tolist() == [4, 7, 61]
    assert math.isnan(found.loc["write", "times"])
    lines = list(replay.cost_screen(found))
    assert lines[2].split() == ["sync", "2", "6", "2", "4", "4", "60", "20", "40", "40", "10"]
    said = (
        "Here the program would wait 61 ms for its requests instead of 7 ms as captured, 8.71 times as much; most of it in sync."
    )
    assert replay.cost_verdict(found) == said
    assert "not held up in a replay" in lines[-1]
    assert all(len(line) <= 140 for line in lines)


@given(st.lists(st.tuples(st.sampled_from(["read", "sync"]), st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1))
def test_the_operations_sum_to_all(rows: list[tuple[str, int, int]]) -> None:
    found = replay.costs(timings(*rows))
    parts, whole = found.drop(index="all"), found.loc["all"]
    assert parts["requests"].sum() == whole["requests"] == len(rows)
    for where in ("captured", "here"):
        assert parts[f"{where}_total_ms"].sum() == pytest.approx(whole[f"{where}_total_ms"])
        assert parts[f"{where}_longest_ms"].max() == whole[f"{where}_longest_ms"]
