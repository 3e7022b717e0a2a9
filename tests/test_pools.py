"""Storage pools: filters, dependencies, identity, layouts and queues, against counts that are made in another way."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import benchmarks.pools
from tickdisk import device, formats, pools
from tickdisk.cli import app
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.pools import DeviceGroup, Pool, Settings, Workload, tpcc

COLUMNS = table.SCHEMAS["requests"].names
DEVICES = device.load_devices(Path("data/devices.yaml"))
PAGE = 4096
HEADER = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)\n"


def test_requests_that_are_neither_reads_nor_writes_are_left_out_of_a_capture_and_counted(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    rows = [("R", 0), ("WFS", 8), ("FF", 0), ("RA", 16), ("D", 24), ("FF", 0)]
    lines = (f"{100 + at} {200 + at} 7 {sector} 4096 {kind} postgres" for at, (kind, sector) in enumerate(rows))
    notes.write_text("attached\n" + "\n".join(lines) + "\n")
    assert tpcc._write(notes, "loop0", tmp_path / "x.biosnoop.zst") == (3, {"FF": 2, "D": 1})
    requests, _ = formats.read([tmp_path / "x.biosnoop.zst"])
    assert list(zip(requests["op"], requests["offset"] // 512, strict=True)) == [("read", 0), ("write", 8), ("read", 16)]


def trace(rows: list[dict[str, object]]) -> pd.DataFrame:
    base = {"level": "block", "volume": "sda", "latency_ns": 1000}
    full = pd.DataFrame([{"seq": n, **base, **row} for n, row in enumerate(rows)]).reindex(columns=COLUMNS)
    for column in ("start_ns", "latency_ns", "offset", "length", "errno"):
        full[column] = full[column].astype("Int64")
    return full


def drawn(count: int, seed: int, *, pages: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return trace(
        [
            {
                "op": str(rng.choice(["read", "write"])),
                "start_ns": int(rng.integers(0, 10**6)),
                "latency_ns": int(rng.integers(1, 10**5)),
                "volume": str(rng.choice(["sda", "sdb"])),
                "offset": int(rng.integers(0, pages)) * PAGE,
                "length": int(rng.integers(1, 90)) * PAGE,
            }
            for _ in range(count)
        ]
    )


def pool(**data: object) -> Pool:
    return Pool(name="x", description="x", source="x", data=DeviceGroup(**{"device": "nvme_ssd", "devices": 1, **data}))


def test_every_rule_counts_its_rejects() -> None:
    fine = {"op": "write", "start_ns": 0, "offset": 0, "length": PAGE}
    rows = [
        fine,
        fine | {"length": None},
        fine | {"volume": "sdb"},
        fine | {"op": "flush"},
        fine | {"op": None},
        fine | {"errno": 5},
        fine | {"offset": 512 * 100},
        fine | {"offset": -PAGE},
        fine | {"length": 0},
        fine | {"length": PAGE + 512},
        fine | {"length": 2 << 20},
    ]
    found = pools.workload_of(trace(rows), "x", disk="sda", most_sectors=100, most_bytes=1 << 20)
    assert found.rejected.pop("failed") == 1
    assert list(found.rejected.values()) == [1] * 9
    assert len(found.requests) == 1
    # The printed rule lets only sizes below a page pass.
    small = fine | {"length": 512}
    printed = pools.workload_of(trace([*rows, small]), "x", is_filtered_as_printed=True)
    assert (len(printed.requests), printed.rejected["size / 4096 is not 0 (as printed)"]) == (1, 5)
    with pytest.raises(TickdiskError, match=r"none of 1 requests counts \(another disk: 1\)"):
        pools.workload_of(trace([fine]), "x", disk="vda")


def _dependencies(requests: pd.DataFrame) -> tuple[list[int], list[int]]:
    rows = list(requests[["begin_ns", "end_ns"]].itertuples(index=False))
    last, highest = [], []
    for number, (begin, _) in enumerate(rows):
        ended = [other for other in range(number) if rows[other][1] <= begin]
        last.append(1 + max(ended, key=lambda other: (rows[other][1], other)) if ended else 0)
        highest.append(1 + max(ended) if ended else 0)
    return last, highest


@pytest.mark.parametrize("seed", range(4))
def test_dependencies_are_what_a_loop_finds(seed: int) -> None:
    found = pools.workload_of(drawn(200, seed), "x")
    last, highest = _dependencies(found.requests)
    assert found.last_ended.tolist() == last
    assert found.highest.tolist() == highest
    assert found.differ == sum(one != other for one, other in zip(last, highest, strict=True)) > 0


def test_no_read_meets_a_page_that_nothing_has_written() -> None:
    found = pools.workload_of(drawn(300, 1), "x")
    written: set[int] = set()
    for row in found.requests.to_dict("records"):
        pages = set(range(row["page"], row["page"] + row["pages"]))
        if row["is_write"]:
            assert not row["is_inserted"] or not pages & written
            written |= pages
        else:
            assert pages <= written
    assert found.inserted == found.requests["is_inserted"].sum() > 0
    assert len(found.requests) - found.inserted == 300


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["one", "stripe", "mirror", "raid5", "raid6"]), st.integers(1, 40), st.booleans())
def test_the_identity_holds_and_dependencies_are_kept(seed: int, kind: str, depth: int, is_timed: bool) -> None:
    layouts = {
        "one": {"copies": 1},
        "stripe": {"devices": 4, "copies": 1},
        "mirror": {"devices": 4, "copies": 2},
        "raid5": {"devices": 5, "parities": 1},
        "raid6": {"devices": 6, "parities": 2, "chunk_kib": 16},
    }
    workload = pools.workload_of(drawn(120, seed), "x")
    outcome = pools.simulate([workload], pool(**layouts[kind]), DEVICES, Settings(queue_depth=depth, is_timed=is_timed))
    (run,) = outcome.runs
    assert run.holds_identity
    before = workload.last_ended
    earliest = np.where(before > 0, run.done_ns[before - 1], 0)
    assert (run.ready_ns >= earliest).all()
    assert (run.ready_ns <= run.started_ns).all()
    assert (run.started_ns <= run.done_ns).all()
    if is_timed:
        assert (run.ready_ns >= workload.requests["begin_ns"]).all()
    events = np.concatenate([np.stack([run.done_ns, -np.ones(len(before))]), np.stack([run.started_ns, np.ones(len(before))])], 1)
    assert np.cumsum(events[1, np.lexsort(events)][...]).max() <= depth
    segments = {
        (row["page"] + n) // 64 for row in workload.requests.to_dict("records") if row["is_write"] for n in range(row["pages"])
    }
    assert run.prewrites == len(segments)


def test_raid_writes_cost_what_the_arithmetic_says() -> None:
    rng = np.random.default_rng(0)
    rows = [{"op": "write", "start_ns": n, "offset": int(rng.integers(0, 10**6)) * PAGE, "length": PAGE} for n in range(500)]
    workload = pools.workload_of(trace(rows), "x")
    for parities, devices in ((1, 5), (2, 10)):
        (run,) = pools.simulate([workload], pool(devices=devices, parities=parities), DEVICES).runs
        sums = run.served[["reads", "writes", "read_bytes", "write_bytes"]].sum().tolist()
        assert sums == [500 * (1 + parities)] * 2 + [500 * (1 + parities) * PAGE] * 2
    # With eight data chunks of 32 KiB a row is a segment, and a row that is written as a whole needs no read.
    whole = [{"op": "write", "start_ns": n, "offset": n * (1 << 18), "length": 1 << 18} for n in range(50)]
    raid = pool(devices=10, parities=2, chunk_kib=32)
    (run,) = pools.simulate([pools.workload_of(trace(whole), "x")], raid, DEVICES).runs
    assert run.served[["reads", "writes"]].sum().tolist() == [0, 50 * 10]


def test_four_pools_carry_about_four_times_one() -> None:
    workload = pools.workload_of(drawn(2000, 3), "x")
    one, four = (pools.simulate([workload], pool(copies=1), DEVICES, Settings(pools=count)) for count in (1, 4))
    assert four.mb_per_s == pytest.approx(4 * one.mb_per_s, rel=0.02)
    assert four.total("reads") == 4 * one.total("reads")


def test_a_deeper_queue_never_takes_longer_on_a_device_without_limits() -> None:
    rows = [{"op": "write", "start_ns": n, "latency_ns": 500, "offset": n * PAGE, "length": PAGE} for n in range(2000)]
    workload = pools.workload_of(trace(rows), "x")
    times = [
        pools.simulate([workload], pool(device="storage_class_memory", copies=1), DEVICES, Settings(queue_depth=depth)).elapsed_s
        for depth in (1, 2, 8, 32)
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] > 1.5 * times[-1]


def test_different_workloads_run_on_different_pools() -> None:
    first, second = (pools.workload_of(drawn(100, seed), str(seed)) for seed in (5, 6))
    outcome = pools.simulate([first, second], pool(copies=1), DEVICES, Settings(pools=2))
    assert [run.workload.name for run in outcome.runs] == ["5", "6"]
    with pytest.raises(TickdiskError, match="2 workloads need as many pools"):
        pools.simulate([first, second], pool(copies=1), DEVICES)


def test_a_trace_without_latencies_runs_only_at_its_times() -> None:
    rows = [{"op": "read", "start_ns": 10**6 * n, "offset": 0, "length": PAGE, "latency_ns": None} for n in range(3)]
    workload = pools.workload_of(trace(rows), "x")
    with pytest.raises(TickdiskError, match="nobody knows what a request waited for"):
        pools.simulate([workload], pool(copies=1), DEVICES)
    (run,) = pools.simulate([workload], pool(copies=1), DEVICES, Settings(is_timed=True)).runs
    assert workload.inserted == 1
    assert run.ready_ns[1] == run.done_ns[0], "the first read waits for the write that creates its page"
    assert run.ready_ns[2:].tolist() == [10**6, 2 * 10**6]


def test_latency_density() -> None:
    values = np.random.default_rng(0).permutation(np.arange(1000)) * 1000
    found = pools.density(values, 10)
    assert found["requests"].tolist() == [100] * 10
    assert found["least_us"].tolist() == list(range(0, 1000, 100))
    assert found["most_us"].tolist() == list(range(99, 1000, 100))
    assert len(pools.density(values[:3], 10)) == 3


def test_a_tier_serves_what_it_holds() -> None:
    rows = [{"op": "write", "start_ns": n, "offset": (n % 3) * 64 * PAGE, "length": PAGE} for n in range(300)]
    data = {"device": "hdd", "devices": 1, "copies": 1}
    tier = {"device": "nvme_ssd", "devices": 2, "copies": 2, "gib": 3 / 4096}
    tiered = Pool.model_validate({"name": "x", "description": "x", "source": "x", "data": data, "tier": tier, "metadata": "tier"})
    (run,) = pools.simulate([pools.workload_of(trace(rows), "x")], tiered, DEVICES).runs
    by_group = run.served.groupby("group")["writes"].sum()
    assert (by_group["data"], by_group["tier"], run.moved) == (0, 2 * (300 + 3), 0)
    small = tiered.model_copy(update={"tier": tiered.tier.model_copy(update={"gib": 2 / 4096})})
    (run,) = pools.simulate([pools.workload_of(trace(rows), "x")], small, DEVICES).runs
    assert run.moved == 298, "of three segments in turn, each new one puts the oldest of two out"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {description: x, source: x, data: {device: hdd, devices: 3, copies: 2}}", "multiple of copies"),
        ("a: {description: x, source: x, data: {device: hdd, devices: 3}}", "either copies or parities"),
        ("a: {description: x, source: x, data: {device: hdd, devices: 2, parities: 1}}", "at least 3 devices"),
        ("a: {description: x, source: x, data: {device: hdd, devices: 1, copies: 1}, metadata: tier}", "needs a tier"),
        ("a: {description: x, source: x, data: {device: hdd, devices: 1, copies: 1, size: 4}}", "data.size"),
        ("- a", "describes no pools"),
    ],
)
def test_a_wrong_pool_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(text)
    with pytest.raises(TickdiskError, match=said):
        pools.load_pools(path)


def test_all_pools_of_the_project_run() -> None:
    workload: Workload = pools.workload_of(drawn(100, 7), "x")
    for one in pools.load_pools(Path("data/pools.yaml")).values():
        assert pools.simulate([workload], one, DEVICES).runs[0].holds_identity


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "snoop.txt"
    lines = [f"{n / 1000:.6f}    postgres       7      sda     {'WR'[n % 2]} {n * 64}  8192  0.50\n" for n in range(100)]
    path.write_text(HEADER + "".join(lines))
    words = ["pools", str(path), "--pools", "4", "--qd", "24", "--qpg", "2048", "--disk", "sda", "--maxdisk", "6000"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    assert "beyond the device" in said.output
    assert "later writes - splits holds" in said.output
    assert "until it was done                  in the trace" in said.output
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert found["identity_holds"] is True
    assert found["reads"] == 4 * 47
    # 94 requests of 8 KiB count in each pool. Each of the 47 reads has an inserted write before it.
    assert found["mb_per_s"] == pytest.approx(4 * 94 * 8192 / found["elapsed_s"] / 1e6)
    assert found["inserted_mb_per_s"] == pytest.approx(4 * 47 * 8192 / found["elapsed_s"] / 1e6)
    for one in found["pools"]:
        assert [sum(group["requests"] for group in one[name]) for name in ("waited", "response", "in_trace")] == [94] * 3
        assert {(group["least_us"], group["most_us"]) for group in one["in_trace"]} == {(500, 500)}
    assert found["workloads"][0]["rejected"]["beyond the device"] == 6
    wrong = CliRunner().invoke(app, [*words, "--pool", "nothing"])
    assert isinstance(wrong.exception, TickdiskError)


def test_the_benchmark_has_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks.pools, "_REQUESTS", 1000)
    workload = benchmarks.pools._workload()
    assert len(workload.requests) == 1000
    assert not any(workload.rejected.values())
