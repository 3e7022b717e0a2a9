"""Readers of traces doubt: formats may fit by chance, columns may have two meanings, and events may be missing."""

import json

import pytest
from test_formats_block import LAYOUTS, read, told
from typer.testing import CliRunner

from tickdisk import formats
from tickdisk.cli import app
from tickdisk.foundation.errors import TickdiskError


def test_the_fifth_column_of_a_latency_log_is_the_priority_unless_all_are_offsets(tmp_path):
    for lines, name, offsets in (
        (["3, 71000, 1, 4096, 0", "4, 52000, 0, 512, 1"], "fio-latencies", [None, None]),
        (["3, 71000, 1, 4096, 0x0000", "4, 52000, 0, 512, 0x2003"], "fio-latencies", [None, None]),
        (["3, 71000, 1, 4096, 0", "4, 52000, 0, 512, 4096"], "fio-latencies-3.27", [0, 4096]),
    ):
        path = tmp_path / "a_lat.1.log"
        path.write_text("\n".join(lines) + "\n")
        table, (counts,) = formats.read([path])
        assert (counts.format, counts.rejected) == (name, {})
        assert [row[0] for row in told(table, "offset")] == offsets
        assert any(sentence.startswith("chosen: the fifth column is taken for the") for sentence in counts.first)
    _, (counts,) = formats.read([path], "fio-latencies-3.27")
    assert "also fits" not in counts.facts["choice"]


def test_issue_times_and_the_clock_of_a_latency_log():
    table, reader = read("9, 250000, 0, 4096, 8192, 0, 8123456\n9, 100000, 1, 4096, 0, 0, 0\n")
    assert told(table, "start_ns", "offset") == [(8_123_456, 8192), (8_900_000, 0)]
    table, reader = read("1700000000009, 250000, 0, 4096, 8192, 0\n")
    assert (table["start_ns"].tolist(), reader.facts["clock"][:10]) == ([1_700_000_000_008_750_000], "since 1970")


@pytest.mark.parametrize(
    "line", ["500, 81000, 0, 0, 0", "500, 81000, 1, 0, 0, 0", "500, 81000, 95000, 0, 0, 0", "500, 81000, 95000, 1, 0, 0, 0"]
)
def test_averages_of_fio_are_no_requests(line, tmp_path):
    (tmp_path / "a_clat.1.log").write_text(f"{line}\n" * 3)
    with pytest.raises(TickdiskError, match="averages or maxima"):
        formats.read([tmp_path / "a_clat.1.log"])


@pytest.mark.parametrize("kind", ["bw", "iops", "slat", "clat_hist"])
def test_logs_of_fio_with_other_values_are_refused(kind, tmp_path):
    (tmp_path / f"a_{kind}.1.log").write_text("500, 81000, 0, 4096, 0" + ", 0" * 20 * (kind == "clat_hist") + "\n")
    with pytest.raises(TickdiskError, match=f"fio's log {kind}"):
        formats.read([tmp_path / f"a_{kind}.1.log"])


@pytest.mark.parametrize(
    "text",
    [
        # As requests of CloudPhysics, these would be reads of 0 and 1 bytes.
        "1600000000,4096,8,2,77\n1600000007,4104,8,3,77\n",
        # Times that are a century apart, sizes that are no sectors, and sizes that no request has.
        "0,R,4096,4096,1\n1,R,4096,4096,4000000000000000\n2,R,4096,4096,4100000000000000\n",
        "0,R,4096,4097,1\n1,W,4096,1,2\n",
        "0,R,4096,4096000000000,1\n1,W,4096,4096000000000,2\n",
    ],
)
def test_values_that_no_request_has_are_not_taken_for_a_format(text):
    assert formats.reading.recognise_trace(text.encode()) == []


def test_times_in_another_unit_than_the_format_has_are_named():
    _, reader = read("7,R,4096,4096,1600000000\n7,W,4096,4096,1600000005\n")
    assert list(reader.contradictions) == [
        "the times are before 1990, so their unit or their beginning is another than the format's"
    ]
    _, reader = read("7,R,4096,4096,1600000000000000\n")
    assert reader.contradictions == {}


def test_commands_without_a_place_are_counted_and_lost_events_said():
    lines = [
        "0.5 smartd 9 <unknown> R 18446744073709551615 0 0.35",
        "0.6 java 7 sda R 2048 4096 1.25",
        "Possibly lost 21 samples",
        "0.7 hdparm 8 sda R -1 512 0.90",
        "0.8 jbd2/sda-8 3 sda F 18446744073709551615 0 2.00",
        "lost 4 events on CPU #1",
    ]
    table, reader = read(LAYOUTS["bcc"][0] + "\n" + "\n".join(lines) + "\n")
    assert told(table, "op", "offset", "length") == [("read", 2048 * 512, 4096), ("flush", None, None)]
    assert (reader.rejected, reader.skipped["commands to the device"]) == ({}, 2)
    assert (reader.lacking, reader.skipped["lost events"]) == (["lost events"], 25)


def test_two_headers_with_two_clocks_are_refused(tmp_path):
    path = tmp_path / "two.biosnoop"
    line = "java 7 sda R 2048 4096 1.25\n"
    path.write_text(f"{LAYOUTS['bcc'][0]}\n0.5 {line}{LAYOUTS['wall clock'][0]}\n2026-03-04 05:06:07.5 {line}")
    with pytest.raises(TickdiskError, match="times of two kinds"):
        formats.read([path])


@pytest.mark.parametrize(
    "text",
    [
        "TIME(s)  COMM  PID    D BYTES   LAT(ms) FILENAME\n0.125    java  77     R 8192       2.50 map.sqlite\n",
        "TIME     COMM  PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n04:05:06 java  77     W 100     0           1.25 a b\n",
        "TIME(s)  COMM  PID     LAT(ms) PAGES\n0.125    java  77         2.50    32\n",
    ],
)
def test_a_table_of_another_tool_is_not_taken_for_biosnoops(text, tmp_path):
    (tmp_path / "a.txt").write_text(f"Tracing operations slower than 1 ms\n{text}")
    with pytest.raises(TickdiskError, match="a column that biosnoop does not print"):
        formats.read([tmp_path / "a.txt"])


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\x07tae\x01\x00\x00\x00", "blkparse -i"),
        (b"PERFILE2\x68", "perf trace -i"),
        (b"x\x9c\x63\x60", "fio --inflate-log"),
    ],
)
def test_a_recording_that_is_no_text_is_named(raw, said, tmp_path):
    (tmp_path / "a.trace").write_bytes(raw * 9)
    with pytest.raises(TickdiskError, match=said):
        formats.read([tmp_path / "a.trace"])


@pytest.mark.parametrize(
    "text",
    [
        "# Reads at random.\n# One job.\n# Needs fio 3.\n[job]\nrw=randread\n",
        "Tracing opens... Hit Ctrl-C to end.\n\nAttached 2 probes\n",
        "% time\n% calls\n%\nno table of calls\n",
    ],
)
def test_comments_alone_are_no_trace(text):
    assert formats.reading.recognise_trace(text.encode()) == []


def test_a_device_above_another_does_not_count_twice():
    """A linear device passes each request on, and a striped one two parts of it. Partitions have no events themselves."""
    lines = [
        "253,3 0 1 0.000000000 7 Q W 100 + 16 [java]",
        "8,0 0 2 0.000000100 7 A W 612 + 16 <- (253,3) 100",
        "8,0 0 3 0.000000200 7 Q W 612 + 16 [java]",
        "8,0 0 4 0.000000300 7 D W 612 + 16 [java]",
        "8,0 0 5 0.000009300 0 C W 612 + 16 [0]",
        "253,3 0 6 0.000009400 0 C W 100 + 16 [0]",
        "9,1 0 7 0.000010000 7 Q R 64 + 16 [java]",
        "8,16 0 8 0.000010100 7 A R 32 + 8 <- (9,1) 64",
        "8,32 0 9 0.000010100 7 A R 32 + 8 <- (9,1) 72",
        "8,16 0 10 0.000010200 7 D R 32 + 8 [java]",
        "8,32 0 11 0.000010200 7 D R 32 + 8 [java]",
        "8,16 0 12 0.000020200 0 C R 32 + 8 [0]",
        "8,32 0 13 0.000020300 0 C R 32 + 8 [0]",
        "9,1 0 14 0.000020400 0 C R 64 + 16 [0]",
        "8,0 0 15 0.000030000 7 A R 4096 + 8 <- (8,2) 2048",
        "8,0 0 16 0.000030100 7 D R 4096 + 8 [java]",
        "8,0 0 17 0.000030200 0 C R 4096 + 8 [0]",
        "253,3 0 18 0.000040000 7 Q W 500 + 8 [java]",
        "8,0 0 19 0.000040100 7 A W 1012 + 8 <- (253,3) 500",
        "8,0 0 20 0.000040200 7 D W 1012 + 8 [java]",
    ]
    table, reader = read("".join(f"{line}\n" for line in lines))
    assert sorted(told(table, "volume", "op", "length")) == [
        ("8,0", "read", 4096),
        ("8,0", "write", 4096),
        ("8,0", "write", 8192),
        ("8,16", "read", 4096),
        ("8,32", "read", 4096),
    ]
    assert reader.skipped["requests to a device that passed them on to others, where the trace has them again"] == 2
    assert reader.unfinished == 1


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("# entries-in-buffer/entries-written: 300/1042   #P:4", 742),
        ("Skips: 2 forward (1,234 -   3.1%)", 1234),
        ("Skips: 0 forward (0 -   0.0%)", 0),
        ("Total:                  9004 events (dropped 17),      423 KiB data", 17),
        ("  CPU  0:                 9004 events,      423 KiB data", 0),
        ("You have 17 (  0.2%) dropped events", 0),
    ],
)
def test_events_that_tools_of_block_traces_say_are_missing(line, lost):
    events = "  8,0 0 1 0.000000100 7 D R 8 + 8 [java]\n  8,0 0 2 0.000000900 0 C R 8 + 8 [0]\n"
    table, reader = read(f"{events}{line}\n")
    assert (len(table), reader.rejected, reader.skipped.get("lost events", 0)) == (1, {}, lost)
    assert reader.lacking == (["lost events"] if lost else [])


def test_a_trace_after_the_summary_of_another_is_read_and_its_clock_named():
    events = "  8,0 0 1 5.000000100 7 D R 8 + 8 [java]\n  8,0 0 2 5.000000900 0 C R 8 + 8 [0]\n"
    summary = "CPU0 (sda):\n Reads Queued:           1,        4KiB\nSkips: 0 forward (0 -   0.0%)\n"
    table, reader = read(f"{events}{summary}{events.replace(' 5.', ' 1.')}")
    assert (len(table), reader.rejected, list(reader.contradictions)) == (2, {}, ["the clock runs backwards"])


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, TickdiskError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_every_command_says_first_what_a_trace_of_calls_lacks(tmp_path):
    calls = ['openat(AT_FDCWD, "/w/db", O_RDWR) = 3', "io_uring_enter(9, 3, 3, 0, NULL, 8) = 3"]
    calls += [f'pread64(3, "x"..., 512, {512 * number}) = 512' for number in range(20)]
    path, table = tmp_path / "app.strace", tmp_path / "app.parquet"
    path.write_text("".join(f"7 {1_700_000_000 + at}.5 {call} <0.001>\n" for at, call in enumerate(calls)))
    said = "not in the trace: 3 submissions to io_uring"
    assert run("convert", path, "-o", table).startswith(f"{path}: {said}")
    for trace in (path, table):
        assert run("inspect", trace, "-o", tmp_path / "page.html", "--force").startswith(f"{trace}: {said}")
        page = (tmp_path / "page.html").read_text()
        assert page.index(said) < page.index("<h1>")
        assert run("replay", trace, "--simulate", "nvme_ssd").startswith(f"{trace.name}: {said}")
        (found,) = json.loads(run("inspect", trace, "--json"))["traces"]
        assert list(found["lacks"].values()) == [3]


def test_pools_say_first_what_a_trace_of_a_device_lacks(tmp_path):
    path = tmp_path / "vm.blkparse"
    events = [f"8,0 0 {n} 0.{n:06d}000 7 {'DC'[n % 2]} R {n // 2 * 8} + 8 [java]" for n in range(40)]
    path.write_text("\n".join([*events, "CPU:1 [LOST 12 EVENTS]"]) + "\n")
    assert run("pools", path).startswith(f"{path}: not in the trace: 12 lost events")
    assert json.loads(run("pools", path, "--json"))["traces"][0]["lacks"] == {"lost events": 12}
