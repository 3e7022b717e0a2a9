"""The readers of block traces: requests that are known are written as each tool would, and must come out as they were."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickdisk import formats
from tickdisk._native import TraceReader
from tickdisk.formats import Counts
from tickdisk.formats.native_table import requests_of
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.table import frame

BEGIN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@dataclass(frozen=True)
class Request:
    op: str
    volume: int
    sector: int
    sectors: int
    start_us: int
    latency_us: int
    queued_us: int = 0


REQUESTS = st.lists(
    st.builds(
        Request,
        op=st.sampled_from(["read", "write"]),
        volume=st.integers(0, 3),
        sector=st.integers(0, 2**40),
        sectors=st.integers(1, 1024),
        start_us=st.integers(100_000, 10**9),
        latency_us=st.integers(0, 99_990),
        queued_us=st.integers(0, 900).map(lambda us: us * 10),
    ),
    min_size=1,
    max_size=20,
).map(lambda found: sorted(found, key=lambda one: one.start_us))


def read(text: str, name: str | None = None) -> tuple[pd.DataFrame, TraceReader]:
    """Reads a text in parts of a few bytes, as a pipe may give them."""
    reader = TraceReader(name or formats.reading.recognise_trace(text.encode())[0])
    cuts = random.Random(len(text))  # noqa: S311 - no secret
    raw = text.encode()
    while raw:
        size = cuts.randrange(1, 40)
        reader.feed(raw[:size])
        raw = raw[size:]
    reader.end()
    return frame("requests", requests_of(reader, "block", 0)), reader


def told(table: pd.DataFrame, *columns: str) -> list[tuple]:
    chosen = table[list(columns)].astype(object)
    return [tuple(row) for row in chosen.where(chosen.notna(), None).itertuples(index=False)]


PLACED = ("op", "volume", "offset", "length")


def placed(requests: list[Request], volume) -> list[tuple]:
    return [(one.op, volume(one.volume), one.sector * 512, one.sectors * 512) for one in requests]


@settings(max_examples=50, deadline=None)
@given(REQUESTS)
def test_msr(requests):
    since_1601 = datetime(1601, 1, 1, tzinfo=UTC)
    text = ""
    for one in requests:
        ticks = (BEGIN + timedelta(microseconds=one.start_us) - since_1601) // timedelta(microseconds=1) * 10
        text += f"{ticks},usr,{one.volume},{one.op.capitalize()},{one.sector * 512},{one.sectors * 512},{one.latency_us * 10}\r\n"
    table, reader = read(text)
    assert told(table, *PLACED) == placed(requests, lambda volume: f"usr.{volume}")
    begin_ns = int(BEGIN.timestamp()) * 10**9
    assert (table["start_ns"] - begin_ns).tolist() == [one.start_us * 1000 for one in requests]
    assert table["latency_ns"].tolist() == [one.latency_us * 1000 for one in requests]
    assert (reader.rejected, reader.contradictions) == ({}, {})


@settings(max_examples=50, deadline=None)
@given(REQUESTS)
def test_lists_without_latencies(requests):
    for name, text in (
        ("alibaba", "".join(f"{r.volume},{r.op[0].upper()},{r.sector * 512},{r.sectors * 512},{r.start_us}\n" for r in requests)),
        (
            "tencent",
            "".join(f"{r.start_us // 10**6},{r.sector},{r.sectors},{int(r.op == 'write')},{r.volume}\n" for r in requests),
        ),
        ("mqsim", "".join(f"{r.start_us * 1000} {r.volume} {r.sector} {r.sectors} {int(r.op == 'read')}\n" for r in requests)),
    ):
        table, reader = read(text)
        assert told(table, *PLACED) == placed(requests, str)
        unit_us = 10**6 if name == "tencent" else 1
        assert table["start_ns"].tolist() == [one.start_us // unit_us * unit_us * 1000 for one in requests]
        assert table["latency_ns"].isna().all()
        assert reader.rejected == {}
        assert formats.reading.recognise_trace(text.encode())[0] == name


@settings(max_examples=50, deadline=None)
@given(REQUESTS, st.booleans())
def test_systor_and_hfplayer(requests, has_latency):
    text = "Timestamp,Response,IOType,LUN,Offset,Size\n"
    for one in requests:
        response = f"{one.latency_us / 1e6:.9f}" if has_latency else ""
        text += f"{one.start_us / 1e6:.9f},{response},{one.op[0].upper()},{one.volume},{one.sector * 512},{one.sectors * 512}\n"
    table, _ = read(text)
    assert told(table, *PLACED) == placed(requests, str)
    assert table["start_ns"].tolist() == [one.start_us * 1000 for one in requests]
    assert table["latency_ns"].dropna().tolist() == ([one.latency_us * 1000 for one in requests] if has_latency else [])

    text = (
        "#DUMP_OFFSET.I,ELAPSED_USECS.D,ELAPSED_TICKS.I,CMD.S,INFLIGHT_IOS.I,TS.I,SEQID.I,LUN_SSID.I,OP.I,PHASE.I,LBA.I,NBLKS.I,"
        "LATENCY_TICKS.I,HOST_ID.I,HOST_LUN.I,LATENCY_USECS.D\n"
    )
    for one in requests:
        command = {"read": "RD_IN", "write": "WR_IN"}[one.op]
        ticks = f"{one.start_us * 2000},{command},0,1,2,{one.volume},1,0,{one.sector},{one.sectors},{one.latency_us * 2000}"
        text += f"1,{one.start_us}.000,{ticks},7,5,{one.latency_us}.000\n"
    table, reader = read(text)
    assert told(table, *PLACED) == placed(requests, str)
    assert table["latency_ns"].tolist() == [one.latency_us * 1000 for one in requests]
    assert reader.contradictions == {}


def test_two_clocks_that_disagree_are_named():
    head = (
        "#DUMP_OFFSET.I,ELAPSED_USECS.D,ELAPSED_TICKS.I,CMD.S,INFLIGHT_IOS.I,TS.I,SEQID.I,LUN_SSID.I,OP.I,PHASE.I,LBA.I,NBLKS.I,"
    )
    head += "LATENCY_TICKS.I,HOST_ID.I,HOST_LUN.I,LATENCY_USECS.D\n"
    lines = [
        f"1,{us}.0,{ticks},RD_IN,0,1,2,3,1,0,8,8,9,7,5,1.5\n"
        for us, ticks in ((1000, 2_000_000), (2000, 4_000_000), (3000, 5_000_000))
    ]
    _, reader = read(head + "".join(lines))
    assert reader.contradictions == {"ticks and microseconds disagree": (1, 4)}


@pytest.mark.parametrize(("read_code", "write_code"), [("28", "2a"), ("40", "42"), ("88", "8a")])
def test_cloudphysics_has_commands_in_base_16_or_10(read_code, write_code):
    lines = [f"1,{33 + number},{code},4096,{number}\n" for number, code in enumerate([read_code, write_code, read_code])]
    table, reader = read("version,time,op,size,lbn\n" + "".join(lines))
    assert told(table, "op", "offset", "length", "start_ns") == [
        ("read", 0, 4096, 33 * 10**9),
        ("write", 512, 4096, 34 * 10**9),
        ("read", 1024, 4096, 35 * 10**9),
    ]
    assert reader.rejected == {}


LAYOUTS = {
    "bcc": ("TIME(s)     COMM           PID     DISK    T SECTOR     BYTES   LAT(ms)", False, False, False),
    "bcc -Q": ("TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)", True, False, False),
    "bcc -P": ("TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  P LAT(ms)", False, True, False),
    "wall clock": ("TIME                       COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)", False, False, True),
}


@settings(max_examples=50, deadline=None)
@given(REQUESTS, st.sampled_from(sorted(LAYOUTS)), st.sampled_from(["java", "Server thread", "R 2048 4096", "C2 Compiler 12"]))
def test_biosnoop(requests, layout, command):
    head, has_queue, has_kind, is_wall_clock = LAYOUTS[layout]
    text = head + "\n"
    for one in requests:
        us = one.start_us + one.latency_us // 10 * 10
        time = f"{us // 10**6}.{us % 10**6:06d}"
        if is_wall_clock:
            time = (BEGIN + timedelta(microseconds=us)).strftime("%Y-%m-%d %H:%M:%S.%f")
        place = f"vd{one.volume}     {one.op[0].upper()} {one.sector} {one.sectors * 512}"
        extra = f"  {one.queued_us / 1000:.2f}" if has_queue else "  S" if has_kind else ""
        text += f"{time}    {command:14} 4242   {place}{extra}   {one.latency_us // 10 * 10 / 1000:.2f}\n"
    table, reader = read(text)
    assert told(table, *PLACED) == placed(requests, lambda volume: f"vd{volume}")
    began_ns = int(BEGIN.timestamp()) * 10**9 if is_wall_clock else 0
    assert (table["start_ns"] - began_ns).tolist() == [one.start_us * 1000 for one in requests]
    assert table["queued_ns"].dropna().tolist() == ([one.queued_us * 1000 for one in requests] if has_queue else [])
    assert set(table["thread_name"]) == {command}
    assert reader.rejected == {}


def test_biosnoop_of_bpftrace_has_latencies_only():
    text = "Attached 4 probes\nTIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR\n"
    text += "300          8     16       Server thread    77           4\n"
    table, reader = read(text)
    columns = ("op", "volume", "start_ns", "latency_ns", "offset", "length", "thread_name", "process")
    assert told(table, *columns) == [(None, "8:16", 296_000_000, 4_000_000, None, None, "Server thread", 77)]
    assert reader.rejected == {}


def test_biosnoop_with_the_time_of_day_passes_midnight():
    text = "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n"
    text += "23:59:59.990 java 77 vda R 8 4096 0.250 1.500\n00:00:00.010 java 77 vda FWS 0 0 -1.000 4.000\n"
    table, reader = read(text)
    day_ns = 86_400 * 10**9
    assert told(table, "op", "start_ns", "queued_ns") == [
        ("read", day_ns - 11_500_000, 250_000),
        ("flush", day_ns + 6_000_000, None),
    ]
    assert (reader.rejected, reader.contradictions, reader.facts["clock"]) == ({}, {}, "local time of day")
    _, reader = read("TIME(h) COMM PID LAT(ms)\n0.5 java 77 1.50\n", "biosnoop")
    assert sum(count for count, _ in reader.rejected.values()) == 2


def test_a_flush_has_no_place_and_a_line_that_runs_backwards_is_named():
    text = (
        LAYOUTS["bcc"][0]
        + "\n1.5 jbd2/vda-8 9 vda W 0 0 2.50\n1.2 java 9 vda R 8 4096 0.10\n1.6 java 9 vda D 16 4096 0.10\n"
        + "1.7 java 9 vda X 1 512 0.1\n"
    )
    table, reader = read(text)
    assert told(table, "op", "offset", "length") == [("flush", None, None), ("read", 4096, 4096), ("discard", 8192, 4096)]
    assert reader.contradictions == {"the clock runs backwards": (1, 3)}
    assert reader.rejected == {"has a kind that is neither R, W, F nor D": (1, 5)}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("RWD"),
            st.integers(1, 4),
            st.integers(1, 64),
            st.integers(0, 1000),
            st.integers(1, 5000),
            st.booleans(),
        ),
        min_size=1,
        max_size=25,
    ),
    st.booleans(),
)
def test_blkparse(requests, has_device):
    """Each request is queued in parts, of which all but the first are merged, then issued and completed, at times of its own."""
    events, expected, sector = [], [], 0
    for number, (kind, parts, sectors, queued_us, latency_us, is_done) in enumerate(requests):
        sector += 1000
        begin_ns = number * 777_001
        for part in range(parts):
            queued = f"{kind}S {sector + part * sectors} + {sectors} [java]"
            events.append((begin_ns + part, "Q", queued))
            events.append((begin_ns + part, "M" if part else "G", queued))
        whole = f"{kind}S {sector} + {parts * sectors}"
        issued_ns = begin_ns + parts + queued_us * 1000
        ended_ns = issued_ns + latency_us * 1000
        if has_device:
            events.append((issued_ns, "D", f"{whole} [kworker/1:2]"))
        if is_done:
            events.append((ended_ns, "C", f"{whole} [0]"))
        start_ns = issued_ns if has_device else begin_ns
        row = ({"R": "read", "W": "write", "D": "discard"}[kind], sector * 512, parts * sectors * 512, start_ns)
        if is_done:
            expected.append((*row, ended_ns - start_ns, issued_ns - begin_ns if has_device else None))
        elif has_device:
            expected.append((*row, None, issued_ns - begin_ns))
    events.sort(key=lambda event: event[0])
    text = ""
    for number, (ns, action, rest) in enumerate(events):
        text += f"  8,16   {number % 3}  {number:7d}  {ns // 10**9:4d}.{ns % 10**9:09d}  4242  {action}  {rest}\n"
        text += f"  8,16   0        0  {ns // 10**9:4d}.{ns % 10**9:09d}     0  m   N cfq workload slice:300 (null)\n"
    text += "CPU0 (sdb):\n Reads Queued:           1,        4KiB\t Writes Queued:         0,        0KiB\n"
    table, reader = read(text)
    columns = ("op", "offset", "length", "start_ns", "latency_ns", "queued_ns")
    assert sorted(told(table, *columns), key=str) == sorted(expected, key=str)
    assert set(table["volume"]) <= {"8,16"}
    assert reader.rejected == {}
    assert reader.unfinished == sum(not is_done for *_, is_done in requests)
    assert reader.skipped["messages"] == len(events)


def test_flushes_commands_and_requests_that_come_back():
    lines = [
        "8,0 1 1 0.000000100 7 Q FWS [jbd2/sda-8]",
        "8,0 1 2 0.000000200 7 D FWS [kworker/0:1]",
        "8,0 1 3 0.000000900 0 C FWS 0 [0]",
        "8,0 1 4 0.000001000 7 D R 36 (12 00 00 00 24 00 ..) [smartd]",
        "8,0 1 5 0.000001100 0 C R (12 00 00 00 24 00 ..) [0]",
        "8,0 1 6 0.000002000 7 Q W 80 + 8 [java]",
        "8,0 1 7 0.000002100 7 D W 80 + 8 [java]",
        "8,0 1 8 0.000002200 7 R W 80 + 8 [0]",
        "8,0 1 9 0.000003000 7 D W 80 + 8 [java]",
        "8,0 1 10 0.000005000 0 C W 80 + 8 [0]",
        "8,0 1 11 0.000006000 7 D R 160 + 16 [java]",
        "8,0 1 12 0.000007000 0 C R 160 + 8 [0]",
        "8,0 1 13 0.000008000 0 C R 168 + 8 [0]",
        "8,0 1 14 0.000009000 0 C R 999 + 8 [0]",
    ]
    table, reader = read("".join(f"{line}\n" for line in lines))
    assert told(table, "op", "offset", "length", "start_ns", "latency_ns", "queued_ns") == [
        ("flush", None, None, 200, 700, 100),
        ("write", 40_960, 4096, 3000, 2000, 1000),
        ("read", 81_920, 4096, 6000, 1000, None),
        ("read", 86_016, 4096, 6000, 2000, None),
    ]
    assert reader.skipped["commands to the device"] == 2
    assert reader.skipped["completions of requests whose issue is not in the trace"] == 1
    assert reader.contradictions == {"a request was completed in parts": (1, 12)}


def test_blkparse_with_the_options_t_and_s():
    """With -t lines have times in round brackets, as names of commands have. Newer kernels tell no bytes of a command."""
    lines = [
        "Input file vm.blktrace.0 added",
        "8,0 1 1 0.000000100 7 Q FWS [(mount)]",
        "8,0 1 2 0.000000200 7 D  FN (     100) [(mount)]",
        "8,0 1 3 0.012345900 0 C  FN 0 (12345700) [0]",
        "8,0 1 4 0.020000000 7 D   W 512 [hdparm]",
        "8,0 1 5 0.020000900 0 C   W [0]",
        "8,0 1 6 0.020001000 7 D   W 80 + 8 (     700) [java]",
        "8,0 1 7 0.020002000 0 C   W 80 + 8 (    1000) [0]",
        "java (7)",
        " Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB",
        " IO unplugs:             0        \t Timer unplugs:           0",
        "",
        "CPU0 (vm):",
    ]
    table, reader = read("".join(f"{line}\n" for line in lines))
    assert told(table, "op", "start_ns", "latency_ns", "queued_ns", "thread_name") == [
        ("flush", 200, 12_345_700, 100, "(mount)"),
        ("write", 20_001_000, 1000, None, "java"),
    ]
    assert (reader.skipped["commands to the device"], reader.skipped["lines of the summary"], reader.unfinished) == (2, 3, 0)
    assert reader.rejected == {"lacks the columns of blkparse's default format": (1, 9)}


def test_fio_waits_as_its_times_say():
    """The times of a log that was written by two runs go back, and fio does not wait then. A time of 0 is not waited for
    either.
    """
    text = "fio version 3 iolog\n1 /d add\n1 /d open\n"
    text += (
        "20 /d write 0 4096\n25 /d read 8192 512\n1000 /d datasync 0 0\n5 /d read 0 512\n105 /d trim 0 512\n110 /d wait 50 0\n"
    )
    text += "120 /d sync_file_range 0 512\n130 /d sync 0 0\n140 /e read 7 9\n145 /d syncfs 0 0\n150 /d close\n"
    table, reader = read(text)
    assert told(table, "op", "call", "file", "offset", "length", "start_ns") == [
        ("write", "pwrite64", "/d", 0, 4096, 20_000),
        ("read", "pread64", "/d", 8192, 512, 25_000),
        ("sync", "fdatasync", "/d", None, None, 1_000_000),
        ("read", "pread64", "/d", 0, 512, 1_000_000),
        ("discard", "trim", "/d", 0, 512, 1_100_000),
        ("sync", "sync_file_range", "/d", 0, 512, 1_115_000),
        ("sync", "fsync", "/d", None, None, 1_125_000),
        ("read", "pread64", "/e", 7, 9, 1_135_000),
        ("sync", "syncfs", "/d", None, None, 1_140_000),
        ("close", "close", "/d", None, None, 1_145_000),
    ]
    assert reader.contradictions == {"the clock runs backwards": (1, 7), "a file is used that is not open": (1, 12)}
    assert (reader.skipped["waits"], reader.rejected) == (1, {})


def test_fio_of_version_2_has_no_times():
    table, reader = read("fio version 2 iolog\n/d add\n/d open\n/d write 2072348000 4000\n/d trim 0 512\n/d close\n")
    assert told(table, "op", "offset", "length", "start_ns") == [
        ("open", None, None, None),
        ("write", 2_072_348_000, 4000, None),
        ("discard", 0, 512, None),
        ("close", None, None, None),
    ]
    assert (reader.facts["clock"], reader.rejected) == ("none", {})


def test_a_latency_log_of_fio():
    table, reader = read("5, 1500000, 0, 4096, 8192, 0\n7, 250000, 1, 512, 0, 0\n")
    assert told(table, "op", "start_ns", "latency_ns", "offset", "length") == [
        ("read", 3_500_000, 1_500_000, 8192, 4096),
        ("write", 6_750_000, 250_000, 0, 512),
    ]
    assert reader.rejected == {}


def test_a_latency_log_of_an_old_fio_is_refused(tmp_path):
    path = tmp_path / "a_lat.log"
    path.write_text("1, 117, 0, 4096\n2, 98, 1, 4096\n")
    with pytest.raises(TickdiskError, match="four columns"):
        formats.read([path])


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(formats.FORMATS)), st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_no_reader_fails_at_any_bytes(name, raw):
    reader = TraceReader(name)
    reader.feed(raw)
    reader.end()
    requests, _ = reader.take()
    lines = raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")
    assert reader.lines == lines
    assert requests + sum(count for count, _ in reader.rejected.values()) <= lines
    assert len(reader.take_rejects()) == sum(count for count, _ in reader.rejected.values())


def test_counts_say_what_is_not_in_the_trace(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("0,R,0,4096,1\n1,W,8192,512,2\n")
    _, (counts,) = formats.read([path])
    assert isinstance(counts, Counts)
    about = counts.as_json()
    assert {"latency_ns", "file", "thread"} <= set(about["not_in_the_trace"])
    assert about["operations"] == {"read": {"requests": 1, "bytes": 4096}, "write": {"requests": 1, "bytes": 512}}


def test_the_kernels_own_tracer_with_errors_and_lost_events():
    text = (
        "# tracer: blk\n#\n##### CPU 1 buffer started ####\n"
        "  7,0    0 13575.795174796 27039  Q   R 7904 + 8 [fio]\n"
        "  7,0    0 13575.796311600 27039  D   R 7904 + 8 [fio]\n"
        "CPU:1 [LOST 12 EVENTS]\n"
        "  7,0    1 13575.796637017 27029  C   R 7904 + 8 [0]\n"
        "  7,0    0 13575.796700000 27039  D  WS 61600 + 8 [fio]\n"
        "  7,0    1 13575.796800000 27029  C  WS 61600 + 8 [-5]\n"
        "  7,0    0 13575.796900000 27039  D  WS 61600 + 8 [fio]\n"
        "  7,0    1 13575.797000000 27029  C  WS 61600 + 8 [65531]\n"
    )
    table, reader = read(text)
    assert (reader.skipped["lost events"], reader.rejected) == (12, {})
    assert told(table, "op", "offset", "latency_ns", "queued_ns", "errno") == [
        ("read", 7904 * 512, 325_417, 1_136_804, 0),
        ("write", 61600 * 512, 100_000, None, 5),
        ("write", 61600 * 512, 100_000, None, 5),
    ]
