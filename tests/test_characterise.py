"""The description of loads: every number against a count that is made in another way, on small and on random loads."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk import characterise
from tickdisk.characterise import Load
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError

COLUMNS = table.SCHEMAS["requests"].names
PAGE = 4096


def load(rows: list[dict[str, object]], level: str = "block", name: str = "a load") -> Load:
    """Returns the load of requests that are given by the columns that they have."""
    full = pd.DataFrame([{"seq": number, "level": level, **row} for number, row in enumerate(rows)]).reindex(columns=COLUMNS)
    for column in ("start_ns", "latency_ns", "offset", "length", "result", "errno"):
        full[column] = full[column].astype("Int64")
    return characterise.load_of(full, name)


def moves(count: int, seed: int = 0, *, pages: int = 40) -> list[dict[str, object]]:
    """Returns random reads and writes of up to four pages of two volumes, some of them at the same instant."""
    rng = np.random.default_rng(seed)
    return [
        {
            "op": str(rng.choice(["read", "write"])),
            "start_ns": int(rng.integers(0, 50)) * 1_000_000,
            "latency_ns": int(rng.integers(0, 9)) * 1_000_000,
            "volume": str(rng.choice(["a", "b"])),
            "offset": int(rng.integers(0, pages)) * PAGE,
            "length": int(rng.integers(1, 4 * PAGE)),
        }
        for _ in range(count)
    ]


def test_only_reads_and_writes_that_succeeded_count() -> None:
    rows = [
        {"op": "read", "start_ns": 5, "file": "/w/a", "offset": 0, "length": 100, "result": 60, "errno": 0},
        {"op": "read", "start_ns": 6, "file": "/w/a", "offset": 0, "length": 100, "result": -1, "errno": 5},
        {"op": "sync", "start_ns": 7, "file": "/w/a", "result": 0, "errno": 0},
        {"op": "write", "start_ns": 3, "file": "/w/b", "offset": 0, "length": 8, "result": 8, "errno": 0},
    ]
    found = load(rows, "syscall")
    assert found.moves["bytes"].tolist() == [8, 60]
    assert found.moves["at_ns"].tolist() == [0, 2]
    assert (found.operations, found.failed) == ({"read": 2, "sync": 1, "write": 1}, 1)
    with pytest.raises(TickdiskError, match="no read and no write among its 1 requests"):
        load(rows[2:3], "syscall")


def test_what_a_trace_lacks_is_said_and_not_guessed() -> None:
    bare = load([{"op": "read", "length": 4096}, {"op": "write", "length": 8192}])
    for function in (characterise.rates, characterise.peaks, characterise.gaps, characterise.queue, characterise.latencies):
        with pytest.raises(TickdiskError, match=r"^not in the trace: "):
            function(bare)
    for function in (characterise.locality, characterise.sequences, partial(characterise.reuse, alpha=0.05)):
        with pytest.raises(TickdiskError, match=r"^not in the trace: offsets"):
            function(bare)
    numbers = characterise.summary(bare)
    known = {name for name, value in numbers.items() if np.isfinite(value)}
    assert known == {"reads", "writes", "share_reads", "share_read_bytes", "p25_bytes", "p50_bytes", "p75_bytes"}
    description = characterise.describe([bare], key="x", title="x", known=[], alpha=0.05)
    assert set(description.parts) == {"amounts", "sizes"}
    assert all(reason.startswith("not in the trace") for reason in description.reasons.values())


def test_amounts_and_sizes() -> None:
    rows = moves(300)
    found = characterise.amounts(load(rows))
    for op in characterise.OPS:
        own = [row["length"] for row in rows if row["op"] == op]
        assert (found.loc[op, "requests"], found.loc[op, "bytes"]) == (len(own), sum(own))
    sizes = characterise.size_distribution(load(rows))
    for step in sizes.to_dict("records"):
        up_to = [row["length"] <= step["bytes"] for row in rows if row["op"] == step["op"]]
        assert step["share"] == pytest.approx(np.mean(up_to))
        assert step["bytes"] <= 1.25 * max(row["length"] for row in rows if row["length"] <= step["bytes"])


def test_a_percentile_needs_requests_beyond_it() -> None:
    rows = [{"op": "read", "latency_ns": 1_000_000 * (n + 1), "length": 100_000} for n in range(1000)]
    (row,) = characterise.latencies(load(rows)).to_dict("records")
    assert row["requests"] == 1000
    assert row["p99_ms"] == pytest.approx(990.3, abs=0.5)
    assert np.isfinite(row["p99.9_ms"])
    assert np.isnan(row["p99.999_ms"])


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.sampled_from(["fsync", "fdatasync", "pread64"]), st.integers(0, 50), st.integers(0, 30)),
        min_size=1,
        max_size=20,
    )
)
def test_the_time_of_syncs_is_what_a_clock_that_looks_each_millisecond_sees(drawn: list[tuple[str, int, int]]) -> None:
    drawn = [("pread64", 0, 0), *drawn]
    rows = [
        {
            "op": "read" if call == "pread64" else "sync",
            "call": call,
            "start_ns": 10**9 + at * 1_000_000,
            "latency_ns": took * 1_000_000,
            "file": "/srv/map.sqlite",
            "offset": 0,
            "length": 4096,
        }
        for call, at, took in drawn
    ]
    one, waits = load(rows, level="syscall"), [(at, at + took) for call, at, took in drawn if call != "pread64"]
    if not waits:
        with pytest.raises(TickdiskError, match="not in the trace: syncs"):
            characterise.syncs(one)
        return
    found = characterise.syncs(one)
    counts = {call: sum(each == call for each, _, _ in drawn) for call in ("fsync", "fdatasync")}
    table = found.table.set_index("call")
    assert {call: int(count) for call, count in table["requests"].items() if call != "all"} == {
        call: count for call, count in counts.items() if count
    }
    assert found.total_ms == pytest.approx(sum(end - at for at, end in waits))
    whole = max(at + took for _, at, took in drawn)
    held = sum(any(at <= ms < end for at, end in waits) for ms in range(whole))
    assert found.share_of_time == pytest.approx(held / whole) if whole else np.isnan(found.share_of_time)


def test_a_flush_of_a_device_is_a_sync_and_its_time_may_be_unknown() -> None:
    rows = [{"op": "write", "start_ns": 0, "latency_ns": 5, "volume": "sda", "offset": 0, "length": 512}, {"op": "flush"}]
    found = characterise.syncs(load(rows))
    assert found.table["call"].tolist() == ["flush"]
    assert np.isnan(found.share_of_time)
    assert np.isnan(characterise.summary(load(rows[:1]))["syncs"]), "many formats have no flushes, so none does not mean zero"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [("read", 100, 100, 1), ("write", 5, 1_000_000, 1)],
            "This load almost only reads (95.2 % of its requests, 95.2 % of its time), but almost only writes by its bytes (",
        ),
        (
            [("read", 1, 1, 1), ("write", 1, 1, 1)],
            "This load about equally reads and writes (50 % of its requests are reads, ",
        ),
        (
            [("read", 3, 10, 1), ("write", 1, 10, 99)],
            "This load mostly reads (75 % of its requests, 75 % of its bytes), but al",
        ),
    ],
)
def test_a_load_is_judged_by_requests_bytes_and_time(rows: list[tuple[str, int, int, int]], sentence: str) -> None:
    each = [
        {"op": op, "start_ns": 1000 * number, "latency_ns": took, "volume": "a", "offset": 0, "length": size}
        for op, count, size, took in rows
        for number in range(count)
    ]
    description = characterise.describe([load(each)], key="x", title="x", known=[], alpha=0.05)
    assert description.kind.sentence.startswith(sentence)


def test_the_queue_is_the_number_of_requests_in_progress() -> None:
    rows = moves(200, 1)
    found = characterise.queue(load(rows))
    begin = min(row["start_ns"] for row in rows)
    whole = max(row["start_ns"] for row in rows) - begin
    at = np.linspace(0, whole, 20_001)[:-1] + whole / 40_002
    depth = sum((row["start_ns"] - begin <= at) & (at < row["start_ns"] - begin + row["latency_ns"]) for row in rows)
    assert found["most"].max() == max(depth)
    assert found["mean"].mean() == pytest.approx(depth.mean(), rel=0.01)
    assert found["most"].ge(found["mean"] - 1e-9).all()


def test_requests_one_after_another_are_one_at_a_time() -> None:
    rows = [{"op": "read", "start_ns": 10 * n, "latency_ns": 10, "length": 1} for n in range(50)]
    assert characterise.queue(load(rows))["most"].max() == 1


def test_rates_and_peaks() -> None:
    steady = [{"op": "write", "start_ns": n * 100_000_000, "length": 1_000_000} for n in range(601)]
    burst = [{"op": "read", "start_ns": 30_000_000_000 + n, "length": 10} for n in range(500)]
    found = characterise.peaks(load(steady + burst))
    assert found.window_s == 1
    assert found.average_iops == pytest.approx(1101 / 60)
    assert found.peak_iops == 510
    assert found.average_mb_per_s == pytest.approx(601.005 / 60)
    assert found.first_tenth == pytest.approx(60 / 1101)
    over_time = characterise.rates(load(steady + burst))
    assert (over_time["iops"] * 60 / 300).groupby(over_time["op"]).sum().to_dict() == pytest.approx({"read": 500, "write": 601})


def test_times_between_requests() -> None:
    rows = [{"op": "read", "start_ns": at, "length": 1} for at in (0, 1_000_000, 2_000_000, 102_000_000)]
    found = characterise.gaps(load(rows))
    assert found["ms"].tolist() == pytest.approx([1, 100])
    assert found["share"].tolist() == pytest.approx([2 / 3, 1])


def test_latency_map_has_every_request() -> None:
    rows = moves(400, 2)
    found = characterise.latency_map(load(rows))
    assert found["requests"].sum() == 400
    assert found["ms"].max() == pytest.approx(10)


def test_hot_areas() -> None:
    mib = 1 << 20
    rows = [{"op": "read", "offset": mib * (n % 20), "length": 1} for n in range(200)]
    rows += [{"op": "read", "offset": mib * (n % 2), "length": 1} for n in range(100)]
    found = characterise.locality(load(rows))
    assert (found.areas, found.hot_ratio) == (20, pytest.approx(6.0))
    assert found.hot_share == pytest.approx(120 / 300)
    assert found.over_space["requests"].sum() == 300
    assert np.isnan(characterise.locality(load(rows[:5])).hot_ratio)


def test_volumes_do_not_share_areas() -> None:
    rows = [{"op": "read", "volume": name, "offset": 0, "length": PAGE} for name in "abc"]
    assert characterise.locality(load(rows)).areas == 3
    assert characterise.reuse(load(rows), 0.05).distinct_mib == pytest.approx(3 / 256)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["read", "write"]), st.sampled_from("ab"), st.integers(0, 6), st.integers(1, 3)), min_size=1
    )
)
def test_sequences_are_what_a_loop_finds(drawn: list[tuple[str, str, int, int]]) -> None:
    rows = [{"op": op, "volume": volume, "offset": offset, "length": length} for op, volume, offset, length in drawn]
    ends: dict[str, int] = {}
    counts = {op: [0, 0] for op in characterise.OPS}
    for op, volume, offset, length in drawn:
        if volume in ends:
            counts[op][0] += ends[volume] == offset
            counts[op][1] += 1
        ends[volume] = offset + length
    for row in characterise.sequences(load(rows)).to_dict("records"):
        follows, later = counts[row["op"]]
        assert np.isnan(row["share_sequential"]) if later == 0 else row["share_sequential"] == pytest.approx(follows / later)


def _stack_hits(pages: list[int], size: int) -> int:
    """Returns the hits of a cache of `size` pages that drops the page whose last access is the oldest."""
    stack: list[int] = []
    hits = 0
    for page in pages:
        hits += page in stack
        stack = [page, *[other for other in stack if other != page]][:size]
    return hits


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 3)), min_size=1, max_size=60))
def test_reuse_is_what_a_cache_of_each_size_hits(drawn: list[tuple[int, int]]) -> None:
    rows = [{"op": "read", "offset": first * PAGE, "length": count * PAGE} for first, count in drawn]
    pages = [first + number for first, count in drawn for number in range(count)]
    found = characterise.reuse(load(rows), 0.05)
    for row in found.hits.to_dict("records"):
        size = round(row["mib"] * 256)
        assert row["share"] == pytest.approx(_stack_hits(pages, size) / len(pages))
    assert found.distinct_mib * 256 == pytest.approx(len(set(pages)))
    assert found.sample == 1


def test_a_sample_of_pages_says_how_far_off_it_is() -> None:
    rng = np.random.default_rng(5)
    first = np.minimum(rng.zipf(1.2, 60_000), 20_000)
    rows = [{"op": "read", "offset": int(page) * PAGE, "length": PAGE, "start_ns": n} for n, page in enumerate(first)]
    exact, sampled = (characterise.reuse(load(rows), 0.05, most) for most in (100_000, 8_000))
    assert (exact.sample, sampled.sample) == (1, 8)
    both = exact.hits.merge(sampled.hits, on="mib", suffixes=("", "_sampled"))
    inside = both["share"].between(both["low_sampled"], both["high_sampled"])
    assert inside.mean() > 0.7
    assert sampled.distinct_mib == pytest.approx(exact.distinct_mib, rel=0.1)
    sets = exact.working_set.merge(sampled.working_set, on="at_s", suffixes=("", "_sampled"))
    assert sets["mib"].between(sets["low_sampled"], sets["high_sampled"]).mean() > 0.8


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=30))
def test_touched_bytes_are_the_union_of_ranges(drawn: list[tuple[int, int]]) -> None:
    rows = [{"op": "read", "volume": "a", "offset": offset, "length": length} for offset, length in drawn]
    (row,) = characterise.touched(load(rows)).to_dict("records")
    assert row["touched_bytes"] == len({byte for offset, length in drawn for byte in range(offset, offset + length)})
    assert np.isnan(row["share_touched"])


def _saves(rng: np.random.Generator, times_s: np.ndarray) -> list[dict[str, object]]:
    """Returns a save of fifty writes within a second at each time, and single writes at any time."""
    rows = [{"start_ns": int((at + rng.uniform(0, 1)) * 1e9), "length": 4096} for at in times_s for _ in range(50)]
    rows += [{"start_ns": int(at * 1e9), "length": 4096} for at in rng.uniform(0, 300, 200)]
    return [{"op": "write", **row} for row in rows] + [{"op": "read", "start_ns": at, "length": 1} for at in (0, 300_000_000_000)]


@pytest.mark.parametrize("seed", range(5))
def test_a_save_of_45_s_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = characterise.period(load(_saves(rng, np.arange(7, 300, 45) + rng.normal(0, 0.1, 7))), "write")
    assert found is not None
    assert found.period_s == pytest.approx(45, rel=0.01)
    assert found.strength > 0.5
    assert characterise.period(load(_saves(rng, np.arange(7, 300, 45))), "read") is None


def test_bursts_at_random_times_seldom_look_periodic() -> None:
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found += characterise.period(load(_saves(rng, np.sort(rng.uniform(0, 299, 7)))), "write") is not None
    assert found <= 5


def _reference(name: str, share: float | None) -> characterise.PublishedLoad:
    return characterise.PublishedLoad(load=name, share_reads=share, said="as printed")


def test_the_sentence() -> None:
    rows = [{"op": "read", "start_ns": n * 50_000_000, "offset": 4096 * n, "length": 4096, "volume": "a"} for n in range(2000)]
    rows += [{"op": "write", "start_ns": 10**10, "offset": 0, "length": 512, "volume": "a"}]
    description = characterise.describe(
        [load(rows)],
        key="x",
        title="x",
        known=[_reference("games", 0.99), _reference("Alibaba", 0.25), _reference("MSR", None)],
        alpha=0.05,
    )
    assert description.kind.nearest == "games"
    sentence = description.kind.sentence
    assert sentence.startswith(
        "This load almost only reads (100 % of its requests, 100 % of its bytes): at least half of the requests have 4 KiB"
    )
    assert "mostly follow each other in their volume" in sentence
    assert "20 requests per second" in sentence
    assert sentence.endswith("Of the published loads, games has the most similar share of reads.")


def test_runs_have_intervals() -> None:
    runs = [load(moves(300, seed)) for seed in range(5)]
    description = characterise.describe(iter(runs), key="x", title="x", known=[], alpha=0.05)
    shares = [(run.moves["op"] == "read").mean() for run in runs]
    mean = description.means["share_reads"]
    assert (mean.value, mean.n) == (pytest.approx(np.mean(shares)), 5)
    assert mean.low < mean.value < mean.high
    with pytest.raises(TickdiskError, match="another layer"):
        characterise.describe(
            [runs[0], load([{"op": "read", "length": 1, "errno": 0}], "syscall")], key="x", title="x", known=[], alpha=0.05
        )


def test_files_and_their_packing(tmp_path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name, size in (("one", 1000), ("deep/two", 10), ("deep/er/three", 10)):
        (tmp_path / name).write_bytes(b"x" * size)
    found = characterise.listing(tmp_path)
    assert found.packing == "one huge"
    assert sorted(found.table["depth"]) == [0, 1, 2]
    rows = [{"op": "read", "file": str(tmp_path / "one"), "offset": 0, "length": 250, "result": 250, "errno": 0}]
    (row,) = characterise.touched(load(rows, "syscall"), found).to_dict("records")
    assert row["share_touched"] == 0.25
    assert characterise.share_of_files_touched(load(rows, "syscall"), found) == pytest.approx(1 / 3)
    list_file = tmp_path / "list"
    list_file.write_text("".join(f"{100 + n % 3} /game/{n}\n" for n in range(9)))
    assert characterise.listing(list_file).packing == "many equal"
    list_file.write_text("".join(f"{10 ** (n % 4)} /game/{n}\n" for n in range(400)))
    assert characterise.listing(list_file).packing == "many equal"
    list_file.write_text("".join(f"{1000 * (n + 1)} /game/{n}\n" for n in range(40)))
    assert characterise.listing(list_file).packing == "many small"
    list_file.write_text("".join(f"{10_000_000 * (n + 1)} /game/{n}\n" for n in range(40)))
    assert characterise.listing(list_file).packing == "mixed"
    list_file.write_text("12 /a\nnot a size\n")
    with pytest.raises(TickdiskError, match="line 2 is not a size and a path"):
        characterise.listing(list_file)


def test_many_places_that_are_only_read_can_be_split() -> None:
    rows = [{"op": "read", "volume": str(n), "offset": 0, "length": PAGE, "start_ns": n} for n in range(300)]
    found = characterise.by_place(load(rows))
    assert (len(found), found["reads"].sum(), found["writes"].sum()) == (300, 300, 0)


def test_times_since_1601_keep_every_ns() -> None:
    begin, lengths = 12_816_637_200_306_162_901, [700 + n for n in range(200)]
    starts = np.cumsum([0, *lengths[:-1]]) + begin % 2**62
    rows = [
        {"op": "read", "start_ns": int(start), "latency_ns": length, "offset": 0, "length": 1}
        for start, length in zip(starts, lengths, strict=True)
    ]
    assert characterise.queue(load(rows))["most"].max() == 1
    assert characterise.peaks(load(rows)).ratio >= 1


def test_alternating_operations_have_sequences_of_their_own() -> None:
    rows = [{"op": ("read", "write")[n % 2], "volume": "a", "offset": n * PAGE, "length": PAGE} for n in range(4)]
    assert characterise.sequences(load(rows))[["sequences", "mean_requests"]].to_numpy().tolist() == [[2, 1], [2, 1]]


def test_a_size_that_no_disk_has_ends_no_machine() -> None:
    rows = [{"op": "read", "offset": 0, "length": 1 << 55, "start_ns": n * 10**18} for n in range(2)]
    with pytest.raises(TickdiskError, match="that a disk can have"):
        characterise.reuse(load(rows), 0.05)
    assert characterise.peaks(load(rows)).peak_iops == 1
