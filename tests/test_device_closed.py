"""Closed loops in simulated time: against an oracle that keeps no heap, and against what must always hold."""

from typing import Any

import numpy as np
import pytest
from device_oracle import Oracle
from hypothesis import given
from hypothesis import strategies as st
from test_device_simulate import LENGTHS, OFFSETS, WITH_ARM, WITHOUT_ARM, model

from tickdisk import _native, device
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError

Rows = list[tuple[int, int, int]]
ROWS = st.lists(st.tuples(st.integers(0, 3), OFFSETS, LENGTHS), min_size=1, max_size=30)


def closed(device_model: DeviceModel, depth: int, rows: Rows) -> tuple[list[int], list[int]]:
    arrivals_ns, completions_ns = device.simulate_closed(device_model, depth, *np.array(rows, dtype=np.int64).T)
    return arrivals_ns.tolist(), completions_ns.tolist()


@given(st.one_of(WITHOUT_ARM, WITH_ARM), st.integers(1, 12), ROWS)
def test_the_next_request_comes_with_the_earliest_completion(device_model: DeviceModel, depth: int, rows: Rows) -> None:
    oracle, pending, arrivals, completions = Oracle(device_model), [0] * depth, [], []
    for row in rows:
        pending.sort()
        arrivals.append(pending.pop(0))
        completions.append(oracle.completion(arrivals[-1], *row))
        pending.append(completions[-1])
    assert closed(device_model, depth, rows) == (arrivals, completions)


@given(st.one_of(WITHOUT_ARM, WITH_ARM), st.integers(1, 12), ROWS)
def test_it_is_the_simulation_of_its_own_arrivals(device_model: DeviceModel, depth: int, rows: Rows) -> None:
    arrivals, completions = closed(device_model, depth, rows)
    assert arrivals == sorted(arrivals)
    assert device.simulate(device_model, arrivals, *np.array(rows, dtype=np.int64).T).tolist() == completions
    for number, at in enumerate(arrivals):
        assert sum(done > at for done in completions[:number]) < depth


@pytest.mark.parametrize(("channels", "depth"), [(8, 1), (8, 8), (8, 32), (3, 64), (None, 5)])
def test_little_s_law(channels: int | None, depth: int) -> None:
    # As many as find a channel are served at once, at a constant latency.
    arrivals, completions = closed(model(100_000, channels=channels), depth, [(0, 0, 4096)] * 2000)
    served = min(channels or depth, depth)
    assert len(arrivals) / completions[-1] * 1e9 == pytest.approx(served / 100e-6, rel=0.05)
    assert np.median(np.subtract(completions, arrivals)) == pytest.approx(100_000 * depth / served, rel=1 / served)


def test_at_a_depth_of_a_table_its_latencies_come_out() -> None:
    table = {"inflight": [1, 4, 16], "quantiles": [[0, 10**5, 5e5, 9e5], [0.5, 2e5, 6e5, 2e6], [1, 3e5, 9e5, 9e6]]}
    for column, depth in enumerate([1, 4, 16], start=1):
        arrivals, completions = closed(model(table), depth, [(0, 0, 4096)] * 20_000)
        latency = np.subtract(completions, arrivals)[64:]  # at first they are not yet all there
        for share, *expected in table["quantiles"]:
            assert np.quantile(latency, share) == pytest.approx(expected[column - 1], rel=0.03)


@pytest.mark.parametrize(
    ("depth", "columns", "message"), [(0, (0, 0, 0), "at least 1"), (1, (4, 0, 0), "ops 0 to 3"), (-1, (0, 0, 0), "negative")]
)
def test_loops_that_cannot_be_are_refused(depth: int, columns: Any, message: str) -> None:
    with pytest.raises(TickdiskError, match=f"device test cannot be simulated: .*{message}"):
        device.simulate_closed(model(), depth, *columns)


def test_columns_of_different_lengths_are_refused() -> None:
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="a row for each request"):
        _native.simulate_closed(model().parameters(), 1, [one, two, one], [one, one])
