"""The device model in simulated time, part by part and all together, against an oracle and against what must always hold."""

import json
import math
from typing import Any

import numpy as np
import pytest
from device_oracle import Oracle
from device_oracle import share as oracle_share
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy import stats as distributions

from tickdisk import _native, device
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError

Rows = list[tuple[int, int, int, int]]
_MIB = 1 << 20


def model(latency_ns: Any = 0, **values: Any) -> DeviceModel:
    latencies = {f"{op}_latency_ns": latency_ns for op in device.OPS}
    return DeviceModel(**{"name": "test", **latencies, **values})


def simulated(device_model: DeviceModel, rows: Rows) -> list[int]:
    return device.simulate(device_model, *np.array(rows, dtype=np.int64).reshape(-1, 4).T).tolist()


def arrivals(rows: list[tuple[int, int, int, int]]) -> Rows:
    times = np.cumsum([gap for gap, *_ in rows]).tolist()
    return [(at, *rest) for at, (_, *rest) in zip(times, rows, strict=True)]


LENGTHS = st.sampled_from([0, 512, 4096, 16384, 65536, 300_000])
OFFSETS = st.one_of(st.integers(0, 8).map(lambda page: page * 4096), st.integers(0, 400 * _MIB))
REQUESTS = st.lists(
    st.tuples(st.one_of(st.just(0), st.integers(0, 200_000)), st.integers(0, 3), OFFSETS, LENGTHS), min_size=1, max_size=40
).map(arrivals)
CONSTANTS = st.integers(0, 300_000)
QUANTILES = st.tuples(st.integers(0, 1000), st.integers(1000, 90_000), st.integers(90_000, 500_000)).map(
    lambda ns: {"quantiles": [[0, ns[0]], [0.5, ns[1]], [0.99, ns[1]], [1, ns[2]]]}
)
LATENCIES = st.one_of(CONSTANTS, QUANTILES)
TABLES = st.tuples(
    st.sampled_from([[1], [1, 2, 4], [2, 6], [1, 5, 7]]),  # gaps that are exact in binary
    st.lists(st.tuples(st.integers(0, 9000), st.integers(9000, 90_000), st.integers(90_000, 500_000)), min_size=3, max_size=3),
).map(
    lambda tables: {
        "inflight": tables[0],
        "quantiles": [[share, *(ns[row] for ns in tables[1][: len(tables[0])])] for row, share in enumerate([0, 0.75, 1])],
    }
)
OP_LATENCIES = st.one_of(CONSTANTS, QUANTILES, TABLES)
LOADS = st.tuples(st.sampled_from([2, 3, 5]), st.sampled_from([1, 1.25, 3.0]), st.sampled_from([3.0, 7.5])).map(
    lambda values: [[1, 1], [values[0], values[1]], [values[0] + 4, values[2]]]  # exact in binary
)
BUCKETS = st.one_of(
    st.builds(dict, per_s=st.integers(1000, 10**6), capacity=st.integers(1, 20), request_bytes=st.sampled_from([4096, 1 << 18])),
    st.builds(dict, per_s=st.integers(10**6, 10**10), capacity=st.integers(1, 1 << 18)),
)
SEEKS = st.builds(
    dict,
    least_ns=st.integers(0, 1000),
    most_ns=st.integers(1000, 900_000),
    span_bytes=st.integers(1, 500 * _MIB),
    revolution_ns=st.one_of(st.just(0), st.integers(1, 800_000)),
)
STALLS = st.builds(
    dict,
    every_bytes=st.integers(10_000, 200_000),
    period_ns=st.one_of(st.none(), st.integers(1000, 2_000_000)),
    at_random=st.booleans(),
    length_ns=LATENCIES,
)
CACHES = st.builds(
    dict,
    bytes=st.integers(1, 200_000),
    latency_ns=LATENCIES,
    destage_bytes_per_s=st.integers(10**6, 10**10),
)
PARTS: dict[str, st.SearchStrategy[Any]] = {
    "bandwidth_bytes_per_s": st.integers(10**6, 10**11),
    "channels": st.integers(1, 5),
    "load": LOADS,
    "credits": st.lists(BUCKETS, min_size=1, max_size=3),
    "stalls": STALLS,
    "cache": CACHES,
    "seed": st.integers(0, 2**64 - 1),
    **{f"{op}_latency_ns": OP_LATENCIES for op in device.OPS},
}
WITHOUT_ARM = st.fixed_dictionaries({}, optional=PARTS).map(lambda values: model(7, **values))
WITH_ARM = st.fixed_dictionaries(
    {"seek": SEEKS, "channels": st.just(1), "bandwidth_bytes_per_s": st.integers(10**6, 10**10)},
    optional={name: part for name, part in PARTS.items() if name not in {"channels", "bandwidth_bytes_per_s"}},
).map(lambda values: model(7, **values))


@settings(max_examples=400, deadline=None)
@given(st.one_of(WITHOUT_ARM, WITH_ARM), REQUESTS)
def test_every_combination_of_parts_is_what_the_oracle_says(device_model: DeviceModel, rows: Rows) -> None:
    oracle = Oracle(device_model)
    assert simulated(device_model, rows) == [oracle.completion(*row) for row in rows]


@given(st.one_of(WITHOUT_ARM, WITH_ARM), REQUESTS, st.integers(1, 10**15))
def test_only_the_arrivals_and_the_seed_decide(device_model: DeviceModel, rows: Rows, later_ns: int) -> None:
    found = simulated(device_model, rows)
    again = DeviceModel(**json.loads(json.dumps(device_model.as_dict())))
    assert simulated(again, rows) == found
    shifted = [(at + later_ns, *rest) for at, *rest in rows]
    assert simulated(device_model, shifted) == [done + later_ns for done in found]


@given(st.one_of(WITHOUT_ARM, WITH_ARM), REQUESTS)
def test_nothing_is_done_before_its_least_latency_and_its_transfer(device_model: DeviceModel, rows: Rows) -> None:
    def least_ns(latency: Any) -> float:
        return latency if isinstance(latency, int) else min(latency.quantiles[0][1:])

    for (at, op, _, length), done in zip(rows, simulated(device_model, rows), strict=True):
        latency = getattr(device_model, f"{device.OPS[op]}_latency_ns")
        latency = device_model.cache.latency_ns if op == 1 and device_model.cache else latency
        assert done - at >= least_ns(latency)
        if op < 2 and device_model.bandwidth_bytes_per_s:
            assert done - at >= math.floor(length * 1e9 / device_model.bandwidth_bytes_per_s)


@given(REQUESTS, CONSTANTS, st.integers(1, 5))
def test_each_channel_serves_one_at_a_time_in_the_order_of_arrival(rows: Rows, latency_ns: int, channels: int) -> None:
    starts = np.array(simulated(model(latency_ns, channels=channels), rows)) - latency_ns
    assert (np.diff(starts) >= 0).all()
    assert all(np.count_nonzero((starts <= start) & (start < starts + latency_ns)) <= channels for start in starts)


@given(REQUESTS, LATENCIES, st.integers(10**6, 10**10), st.one_of(st.none(), st.integers(1, 5)))
def test_no_window_sees_more_bytes_than_the_bandwidth(rows: Rows, latency: Any, bandwidth: int, channels: int | None) -> None:
    done = simulated(model(latency, bandwidth_bytes_per_s=bandwidth, channels=channels), rows)
    moved = [(at, end, length) for (at, op, _, length), end in zip(rows, done, strict=True) if op < 2]
    for begin, *_ in moved:
        for _, end, _ in moved:
            inside = [length for at, done_ns, length in moved if begin <= at and done_ns <= end]
            # Each transfer is rounded to the nearest nanosecond.
            assert sum(inside) * 1e9 <= bandwidth * (max(end - begin, 0) + len(inside) / 2 + 1e-3)


@given(REQUESTS, BUCKETS)
def test_no_window_spends_more_tokens_than_there_are(rows: Rows, values: dict[str, Any]) -> None:
    bucket, passed = device.Bucket(**values), []
    for (_, op, _, length), done in zip(rows, simulated(model(5, credits=[values]), rows), strict=True):
        if op < 2:
            cost = length if bucket.request_bytes is None else max(1, math.ceil(length / bucket.request_bytes))
            passed.append((done - 5, cost))
    for begin in range(len(passed)):
        for end in range(begin, len(passed)):
            spent = sum(cost for _, cost in passed[begin : end + 1])
            gained = bucket.per_s * (passed[end][0] - passed[begin][0])
            # What costs more than the bucket holds passes when it is full, and leaves a debt.
            debt = max(passed[end][1] - bucket.capacity, 0)
            assert (spent - bucket.capacity - debt) * 10**9 <= gained


NEUTRAL: dict[str, dict[str, Any]] = {
    "load": {"load": [[1, 1], [64, 1]]},
    "credits": {"credits": [{"per_s": 1, "capacity": 1 << 62}]},
    "stalls": {"stalls": {"every_bytes": 4096, "period_ns": 1000, "length_ns": 0}},
    "a cache for others": {"cache": {"bytes": 1 << 40, "latency_ns": 0, "destage_bytes_per_s": 1 << 40}},
    "channels": {"channels": 1 << 10},
    "bandwidth": {"bandwidth_bytes_per_s": 1 << 62},
    "seed": {"seed": 99},
}


@pytest.mark.parametrize("values", NEUTRAL.values(), ids=list(NEUTRAL))
@given(rows=REQUESTS, latency_ns=CONSTANTS)
def test_a_part_that_does_nothing_changes_nothing(values: dict[str, Any], rows: Rows, latency_ns: int) -> None:
    if "cache" in values:
        rows = [row for row in rows if row[1] != 1]
    assert simulated(model(latency_ns, **values), rows) == simulated(model(latency_ns), rows)


@given(REQUESTS, CONSTANTS)
def test_an_arm_without_a_way_changes_nothing(rows: Rows, latency_ns: int) -> None:
    base: dict[str, Any] = {"channels": 1, "bandwidth_bytes_per_s": 10**9}
    seek = {"least_ns": 0, "most_ns": 0, "span_bytes": 1, "revolution_ns": 0}
    assert simulated(model(latency_ns, **base, seek=seek), rows) == simulated(model(latency_ns, **base), rows)


def alone(device_model: DeviceModel, count: int, op: int = 0) -> np.ndarray:
    """Latencies of requests that never meet."""
    at = np.arange(count) * 10**9
    return device.simulate(device_model, at, op, 0, 4096) - at


def test_lognormal_latencies_are_drawn_as_the_formula_says() -> None:
    latency = {"median_ns": 80_000, "p99_ns": 400_000}
    found = alone(model(latency, seed=3), 500)
    shares = np.array([float(oracle_share(3, 0, number)) for number in range(500)])
    expected = 80_000 * np.exp(math.log(5) / special.ndtri(0.99) * special.ndtri(shares))
    assert np.abs(found - expected).max() <= 0.5 + 1e-6


@pytest.mark.parametrize("op", range(4))
def test_lognormal_latencies_have_their_distribution(op: int) -> None:
    sigma = 0.6
    found = alone(model({"median_ns": 10**6, "sigma": sigma}), 200_000, op)
    assert distributions.kstest(found / 1e6, distributions.lognorm(sigma).cdf).pvalue > 0.01
    assert np.quantile(found, 0.999) == pytest.approx(1e6 * math.exp(sigma * special.ndtri(0.999)), rel=0.03)


def test_quantiles_have_their_distribution() -> None:
    points = [[0, 20_000], [0.5, 80_000], [0.9, 100_000], [0.999, 900_000], [1, 5_000_000]]
    found = alone(model({"quantiles": points}), 400_000)
    for q, expected in points[1:-1]:
        assert np.quantile(found, q) == pytest.approx(expected, rel=0.03)
    assert found.min() >= 20_000
    assert 900_000 < found.max() <= 5_000_000


@pytest.mark.parametrize(
    ("latency", "second_moment_over_square"), [(1000, 1.0), ({"median_ns": 1000, "sigma": 0.5}, math.exp(0.25))]
)
def test_the_mean_wait_is_that_of_a_queue_with_one_server(latency: Any, second_moment_over_square: float) -> None:
    rng, load, count = np.random.default_rng(7), 0.7, 400_000
    mean_ns = float(alone(model(latency), count).mean())
    at = np.cumsum(rng.exponential(mean_ns / load, count)).astype(np.int64)
    queued = model(latency, channels=1)
    wait = device.simulate(queued, at, 0, 0, 4096) - at - alone(queued, count)
    expected = load * mean_ns * second_moment_over_square / (2 * (1 - load))  # Pollaczek and Khinchine
    assert math.isclose(wait.mean(), expected, rel_tol=0.05)


def test_a_volume_runs_out_of_credits() -> None:
    # 100 GiB of gp2: 300 tokens a second, 5.4 million at first, never more than 3,000 requests a second.
    buckets = [
        {"per_s": 300, "capacity": 5_400_000, "request_bytes": 1 << 18},
        {"per_s": 3000, "capacity": 1, "request_bytes": 1 << 18},
    ]
    done = device.simulate(model(500_000, credits=buckets), np.zeros(7_000_000, np.int64), 0, 0, 16_384)
    empty_s = 5_400_000 / (3000 - 300)  # the documentation's 2,000 s
    assert int(np.searchsorted(done, empty_s * 1e9)) == pytest.approx(3000 * empty_s, rel=1e-3)
    assert (len(done) - 3000 * empty_s) / (done[-1] / 1e9 - empty_s) == pytest.approx(300, rel=1e-3)


def test_a_disk_s_mean_access_is_seek_and_half_a_revolution() -> None:
    rng, span = np.random.default_rng(5), 1 << 40
    seek = {"least_ns": 1_000_000, "most_ns": 15_000_000, "span_bytes": span, "revolution_ns": 8_333_333}
    disk = model(0, channels=1, bandwidth_bytes_per_s=150_000_000, seek=seek)
    done = device.simulate(disk, np.zeros(100_000, np.int64), 0, rng.integers(0, span >> 12, 100_000) << 12, 4096)
    mean_ns = done[-1] / 100_000
    # The mean of the root of the distance of two uniform places is 8/15.
    assert mean_ns == pytest.approx(1e6 + 14e6 * 8 / 15 + 8_333_333 / 2 + 4096 / 0.15, rel=0.01)
    sequential = device.simulate(disk, np.zeros(10_000, np.int64), 0, np.arange(10_000) << 16, 1 << 16)
    assert 1e9 * (10_000 << 16) / sequential[-1] == pytest.approx(150e6, rel=1e-3)


def test_who_writes_one_page_after_another_waits_for_the_platter() -> None:
    seek = {"least_ns": 0, "most_ns": 0, "span_bytes": 1, "revolution_ns": 8_000_000}
    disk = model(0, channels=1, bandwidth_bytes_per_s=125_000_000, seek=seek)
    at, rows = 0, []
    for page in range(20):
        rows.append((at, 1, page * 4096, 4096))
        at = simulated(disk, rows)[-1] + 1000  # the next one comes a microsecond after the last is answered
    times = np.diff([row[0] for row in rows][1:])
    assert set(times) == {8_000_000 + 4096 * 8}


def test_collections_hold_a_share_of_the_time() -> None:
    stalls = {"every_bytes": 64 * _MIB, "length_ns": 20_000_000}
    ssd = model(50_000, channels=1, stalls=stalls)
    count = 100_000
    done = device.simulate(ssd, np.zeros(count, np.int64), 1, 0, 65_536)
    assert done[-1] == count * 50_000 + count * 65_536 // (64 * _MIB) * 20_000_000
    assert np.diff(done).max() == 20_050_000


def test_a_cache_takes_a_burst_and_then_its_medium_decides() -> None:
    cache = {"bytes": 64 * _MIB, "latency_ns": 20_000, "destage_bytes_per_s": 100_000_000}
    ssd = model(300_000, cache=cache)
    done = device.simulate(ssd, np.arange(4096) * 20_000, 1, 0, 65_536) - np.arange(4096) * 20_000
    # It fills with 65,536 bytes a 20 us less what leaves at 100 MB/s.
    filled = 64 * _MIB / (65_536 - 2_000)
    assert int(np.argmax(done > 20_000)) == pytest.approx(filled, abs=2)
    assert np.diff(done[2000:]).mean() == pytest.approx(65_536 * 10 - 20_000, rel=1e-3)
    flushed = simulated(ssd, [(0, 1, 0, _MIB), (0, 2, 0, 0), (10**9, 2, 0, 0)])
    assert flushed == [20_000, 20_000 + 10 * _MIB + 300_000, 10**9 + 300_000]


def test_ordered_stalls_are_simulated_as_the_device_told_them() -> None:
    found = device.simulate(model(1000), [0, 10_000, 200_000, 600_000], 0, 0, 4096, stalls=[(5_000, 505_000)])
    assert found.tolist() == [1000, 511_000, 511_000, 601_000]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 5, 4], 0, 0, 0), "request 2 arrives before"),
        (([0, 1], [0, 4], 0, 0), "request 1: .*ops 0 to 3"),
        (([-1], 0, 0, 0), "request 0: .*at least 0"),
        (([0, 1], 0, [0, -4096], 0), "request 1: .*at least 0"),
    ],
)
def test_requests_that_cannot_be_are_named(columns: Any, message: str) -> None:
    with pytest.raises(TickdiskError, match=f"device test cannot be simulated: {message}"):
        device.simulate(model(), *columns)


def test_the_native_model_takes_all_parameters_and_no_less() -> None:
    values, column = model().parameters(), np.zeros(1, np.int64)
    for name in values:
        with pytest.raises(KeyError, match=name):
            _native.simulate({key: value for key, value in values.items() if key != name}, [column] * 4, column, [])
    with pytest.raises(ValueError, match="a row for each request"):
        _native.simulate(values, [column, column, column, np.zeros(2, np.int64)], column, [])


@pytest.mark.parametrize("latency_ns", [{"median_ns": 700_000, "p99_ns": 3_000_000}, {"quantiles": [[0, 100_000], [1, 300_000]]}])
def test_mean_latencies_are_those_of_the_distribution(latency_ns: Any) -> None:
    """A lognormal latency has the mean median * exp(sigma^2 / 2), and one that is uniform the middle."""
    drawn = model(latency_ns)
    read = drawn.read_latency_ns
    mean_ns = read.median_ns * math.exp(read.sigma**2 / 2) if isinstance(read, device.Lognormal) else 200_000
    assert device.mean_latencies_ns(drawn, requests=40_000) == pytest.approx((mean_ns, mean_ns, mean_ns), rel=0.04)


def test_a_write_into_a_cache_counts_with_what_the_flush_after_it_waits_for() -> None:
    """At 4 KiB in 41 us, a write of 10 us into the cache delays the flush by the rest. The flush itself takes 1 ms."""
    cache = device.Cache(bytes=1 << 20, latency_ns=10_000, destage_bytes_per_s=100_000_000)
    cached = model(flush_latency_ns=1_000_000, read_latency_ns=50_000, cache=cache)
    read_ns, write_ns, flush_ns = device.mean_latencies_ns(cached)
    assert read_ns == 50_000
    assert write_ns == pytest.approx(4096 / 100_000_000 * 1e9, rel=0.01)
    assert flush_ns == pytest.approx(1_010_000, rel=0.01)
