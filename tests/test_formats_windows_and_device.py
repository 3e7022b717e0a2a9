"""Disk events that Windows' analyser exports, and logs of emulated devices: known requests come out as they were."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_formats_block import PLACED, REQUESTS, Request, placed, read, told

from tickdisk import device, formats, replay
from tickdisk.device.log import RECORD
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError

SEED = Path("src/native/fuzz/seeds/etw").read_text(encoding="utf-8")
COLUMNS = {
    "IO Type": lambda one: one.op.capitalize(),
    "Process": lambda one: f"luanti (x86).exe ({one.volume + 1})",
    "Disk": lambda one: str(one.volume),
    "Size (B)": lambda one: f'"{one.sectors * 512:,}"',
    "Min Offset": lambda one: f'"{one.sector * 512:,}"',
    "IO Init Time (s)": lambda one: f"{one.start_us / 1e6:.9f}",
    "IO Complete Time (s)": lambda one: f"{(one.start_us + one.latency_us) / 1e6:.9f}",
    "IO Time (µs)": lambda one: f'"{one.latency_us:,}.000"',
    "QD/I": lambda _: "3",
}
TIMES = [
    {"IO Init Time (s)", "IO Complete Time (s)", "IO Time (µs)"},
    {"IO Init Time (s)", "IO Time (µs)"},
    {"IO Complete Time (s)", "IO Time (µs)"},
    {"IO Init Time (s)", "IO Complete Time (s)"},
]


@settings(max_examples=50, deadline=None)
@given(REQUESTS, st.permutations([*COLUMNS]), st.sampled_from(TIMES))
def test_a_table_of_disk_usage_in_any_order_of_columns(requests: list[Request], order: list[str], times: set[str]) -> None:
    chosen = [name for name in order if "Time" not in name or name in times]
    lines = [",".join(chosen), *(",".join(COLUMNS[name](one) for name in chosen) for one in requests)]
    rows, reader = read("\r\n".join(lines) + "\r\n")
    assert told(rows, *PLACED) == placed(requests, str)
    assert rows["start_ns"].tolist() == [one.start_us * 1000 for one in requests]
    assert rows["latency_ns"].tolist() == [one.latency_us * 1000 for one in requests]
    assert told(rows, "process", "thread_name") == [(one.volume + 1, "luanti (x86).exe") for one in requests]
    assert (reader.rejected, reader.contradictions) == ({}, {})


def test_groups_flushes_and_paths_with_commas() -> None:
    rows, reader = read(SEED)
    assert formats.reading.recognise_trace(SEED.encode()) == ["etw"]
    assert told(rows, "op", "file", "offset", "length", "latency_ns") == [
        ("read", "C:\\world, one\\map.sqlite", 1 << 20, 4096, 350_000),
        ("write", "C:\\world\\map.sqlite", 2 << 20, 8192, 1_000_000),
        ("flush", None, None, None, 2_000_000),
    ]
    assert (reader.rejected, reader.skipped) == ({}, {"headers": 1, "rows of groups": 1})


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("350.000", '"350,5"', "has a latency that is no number"),
        ("1.000000100", '"0,123"', "has a time of its begin that is no number"),
        ("Read", "Rename", "has an IO Type that is neither Read, Write nor Flush"),
        ('"12,288"', '"12,288', "has a quotation mark that does not end"),
        (",340.000", "", "lacks the columns of the header"),
    ],
)
def test_a_row_that_cannot_be_read_is_rejected(before: str, after: str, reason: str) -> None:
    _, reader = read(SEED.replace(before, after, 1), "etw")
    assert list(reader.rejected) == [reason]


def test_sizes_in_other_units_are_read_wholly() -> None:
    rows, _ = read('IO Type,Size (KB),IO Init Time (ms)\nRead,4.5,1.25\nWrite,"1,024.5",2\nRead,0.5,3\n', "etw")
    assert told(rows, "length", "start_ns") == [(4608, 1_250_000), (1_049_088, 2_000_000), (512, 3_000_000)]


@pytest.mark.parametrize(
    "head",
    [
        "IO Type,Size (B),Size (MB),IO Init Time (s)",
        "IO Type,Size (B),IO Init Time (s),IO Init Time (ms)",
    ],
)
def test_two_columns_for_the_same_thing_are_refused(head: str) -> None:
    _, reader = read(f"{head}\nRead,4096,1,2\n", "etw")
    assert reader.rejected["names two columns for the same thing"] == (1, 1)


@pytest.mark.parametrize("head", ["IO Type,Size (B)", "IO Type,Size (B),IO Init Time", "Path Name,Size (B),IO Init Time (s)"])
def test_a_header_that_does_not_tell_enough_is_refused(head: str) -> None:
    _, reader = read(f"{head}\nRead,4096,1.5\n", "etw")
    assert reader.rejected
    assert "etw" not in formats.reading.recognise_trace(f"{head}\nRead,4096,1.5\n".encode())


def test_columns_that_contradict_each_other_are_named() -> None:
    wrong = SEED.replace("1.000350100", "1.900350100").replace("990.000", '"1,990.000"')
    _, reader = read(wrong)
    assert reader.contradictions == {
        "begin, latency and completion disagree": (1, 2),
        "a request was served for longer than it took": (1, 3),
    }


def log_of(path: Path, settings_of: list[int]) -> np.ndarray:
    """Writes a device's log with a request for each setting, as the emulator would."""
    count = len(settings_of)
    records = np.zeros(count, RECORD)
    number = np.arange(count)
    records["seq"], records["op"], records["inflight"], records["setting"] = number, number % 4, 1, settings_of
    records["offset"], records["length"] = number * 4096, np.where(number % 4 == 2, 0, 4096)
    records["arrival_ns"] = 10**12 + number * 1000
    records["replied_ns"] = records["arrival_ns"] + 500
    records.tofile(path)
    return records


def test_a_devices_log_is_recognised_and_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    records = log_of(path, [0, 0, 1, 1, 1, 2, 2])
    rows, (counts,) = formats.read([path])
    used = records[2:]
    assert counts.format == "log of a device"
    assert counts.skipped == {"requests of the device's set-up": 2}
    assert rows["op"].tolist() == ["flush", "discard", "read", "write", "flush"]
    assert rows["start_ns"].tolist() == used["arrival_ns"].tolist()
    assert rows["latency_ns"].tolist() == [500] * 5
    assert told(rows, "offset", "length") == [
        (None, None) if op == 2 else (offset, length) for op, offset, length in used[["op", "offset", "length"]].tolist()
    ]
    assert rows["seq"].tolist() == list(range(5))
    assert counts.facts == {"clock": "CLOCK_MONOTONIC"}
    assert rows["errno"].isna().all()


def test_replies_before_requests_and_logs_that_are_cut_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    records = log_of(path, [0, 1, 1])
    records["replied_ns"][2] = records["arrival_ns"][2] - 1
    records.tofile(path)
    rows, (counts,) = formats.read([path])
    assert counts.contradictions == {"a reply came before its request": (1, 3)}
    assert rows["latency_ns"].astype(object).where(rows["latency_ns"].notna(), None).tolist() == [500, None]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(TickdiskError, match="191 bytes are no whole number of records"):
        formats.read([path])
    log_of(path, [1])
    with pytest.raises(TickdiskError, match="has requests to a block device"):
        replay.load_capture(path)


def test_the_table_of_a_device_is_read_like_its_log(tmp_path: Path) -> None:
    log, stored = tmp_path / "log", tmp_path / "device.parquet"
    log_of(log, [0, 0, 0])
    table.write("device", stored, device.read_log(log).to_pandas())
    (first, _), (second, (counts,)) = (formats.read([path]) for path in (log, stored))
    pd.testing.assert_frame_equal(first, second)
    assert (counts.format, counts.requests) == ("table of a device", 3)


@pytest.mark.parametrize("damage", [lambda raw: raw[:63], lambda raw: b"\xff" * 64 + raw, lambda _: b""])
def test_what_is_no_log_is_not_taken_for_one(tmp_path: Path, damage) -> None:
    path = tmp_path / "log"
    log_of(path, [1, 1])
    path.write_bytes(damage(path.read_bytes()))
    assert not device.is_log(path)
    with pytest.raises(TickdiskError):
        formats.read([path])
