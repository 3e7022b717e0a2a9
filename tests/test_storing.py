"""How a request asks to be stored, from the flags of a trace to the time that a replay of it takes."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from replay_trace import ROOT, requests_table, row
from typer.testing import CliRunner

from tickdisk import characterise, device, formats, replay
from tickdisk.cli import app
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.storing import counted, storing, sync_of

DISK = device.DeviceModel(name="d", read_latency_ns=1_000_000, write_latency_ns=2_000_000, flush_latency_ns=5_000_000)
WRITE_MS, FLUSH_MS = 2, 5
STRACE = """\
801 1750000000.100000 openat(AT_FDCWD, "/srv/r.0.0.mca", O_WRONLY|O_CREAT|O_DSYNC, 0644) = 4 <0.000030>
801 1750000000.101000 write(4, "x"..., 8192) = 8192 <0.000900>
801 1750000000.102000 dup(4) = 5 <0.000002>
801 1750000000.103000 pwrite64(5, "x"..., 512, 8192) = 512 <0.000900>
801 1750000000.104000 fcntl(4, F_SETFL, O_WRONLY|O_DIRECT) = 0 <0.000002>
801 1750000000.105000 write(5, "x"..., 4096) = 4096 <0.000900>
801 1750000000.106000 clone(child_stack=NULL, flags=SIGCHLD) = 802 <0.000050>
802 1750000000.107000 write(4, "x"..., 4096) = 4096 <0.000900>
802 1750000000.108000 openat(AT_FDCWD, "/srv/level.dat", O_RDWR) = 6 <0.000030>
802 1750000000.109000 fcntl(6, F_SETFL, O_RDWR|O_SYNC) = 0 <0.000002>
802 1750000000.110000 write(6, "x"..., 100) = 100 <0.000004>
802 1750000000.111000 pwritev2(6, [{iov_base="x"..., iov_len=64}], 1, 0, RWF_DSYNC) = 64 <0.000900>
802 1750000000.112000 pwritev2(6, [{iov_base="x"..., iov_len=64}], 1, 0, RWF_HIPRI|RWF_SYNC) = 64 <0.000900>
802 1750000000.113000 openat2(AT_FDCWD, "/srv/log", {flags=O_RDWR|O_SYNC, mode=0, resolve=0}, 24) = 7 <0.000030>
802 1750000000.114000 pread64(7, ""..., 10, 0) = 10 <0.000004>
802 1750000000.115000 write(7, "x"..., 10) = 10 <0.000900>
802 1750000000.116000 creat("/srv/new", 0644) = 8 <0.000030>
802 1750000000.117000 write(8, "x"..., 10) = 10 <0.000004>
802 1750000000.118000 fsync(8) = 0 <0.000900>
802 1750000000.119000 pwrite64(9</srv/before>, "x"..., 10, 0) = 10 <0.000004>
"""


def test_strace_tells_how_each_request_asks_to_be_stored(tmp_path: Path) -> None:
    """F_SETFL sets O_DIRECT for all who share the open file, and Linux ignores O_SYNC in it."""
    path = tmp_path / "server.strace"
    path.write_text(STRACE, encoding="utf-8")
    requests, (counts,) = formats.read([path])
    moves = requests[requests["op"].isin(["read", "write"])]
    assert moves["storing"].tolist()[:-1] == [
        *("O_DSYNC", "O_DSYNC", "O_DIRECT|O_DSYNC", "O_DIRECT|O_DSYNC"),
        *("buffered", "RWF_DSYNC", "RWF_SYNC", "buffered", "O_SYNC", "buffered"),
    ]
    assert pd.isna(moves["storing"].iloc[-1]), "the trace does not tell how this file was opened"
    assert requests.loc[~requests["op"].isin(["read", "write"]), "storing"].isna().all()
    assert not counts.rejected


def test_perf_trace_tells_it_too(tmp_path: Path) -> None:
    """perf prints the bits of O_SYNC once by name and once as a number."""
    lines = [
        '  1.000 ( 0.030 ms): java/9 openat(dfd: CWD, filename: "/srv/a", flags: CREAT|WRONLY|SYNC|0x101000, mode: 0x1a4) = 3',
        "  2.000 ( 0.900 ms): java/9 write(fd: 3</srv/a>, buf: 0x7f0, count: 100) = 100",
        '  3.000 ( 0.030 ms): java/9 openat(dfd: CWD, filename: "/srv/b", flags: WRONLY) = 4',
        "  4.000 ( 0.900 ms): java/9 pwritev2(fd: 4</srv/b>, vec: 0x7f0, vlen: 1, flags: 2) = 100",
    ]
    path = tmp_path / "perf.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    requests, _ = formats.read([path], "perf-trace")
    assert requests.loc[requests["op"] == "write", "storing"].tolist() == ["O_SYNC", "RWF_DSYNC"]


def test_a_table_that_was_made_before_the_column_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    table.write("requests", path, requests_table([written(0, "buffered")]))
    old = pd.read_parquet(path).drop(columns="storing")
    stored = table.stored_schema("requests")
    old_schema = stored.remove(stored.get_field_index("storing"))
    pq.write_table(pa.Table.from_pandas(old, schema=old_schema, preserve_index=False), path)
    assert table.read("requests", path)["storing"].isna().all()


def written(number: int, how: str | None, file: str = "f", thread: int = 1) -> dict[str, object]:
    """A write of one page behind the last, 1 ms after it."""
    return row(thread, number * 1_000_000, "write", file, 4096, offset=4096 * number, length=4096, storing=how)


def simulated_ms(rows: list[dict[str, object]]) -> list[float]:
    made = replay.issue_simulated(replay.plan(requests_table(rows), root=ROOT), DISK).timings
    return ((made["completed_ns"] - made["issued_ns"]) / 1e6).round(3).tolist()


@pytest.mark.parametrize("how", ["O_DSYNC", "O_SYNC", "RWF_DSYNC", "RWF_SYNC"])
def test_a_write_that_waits_takes_the_time_of_a_write_and_a_sync(how: str) -> None:
    call = sync_of(how)
    syncs = [row(1, at, "sync", "f", call=call) for at in (1, 1_000_001)]
    rows = [written(0, "buffered"), syncs[0], written(1, "buffered"), syncs[1]]
    apart = simulated_ms(rows)
    together = simulated_ms([written(0, how), written(1, how)])
    assert together == [apart[0] + apart[1], apart[2] + apart[3]]
    # Data, then the journal's blocks and a flush, then its record and a flush.
    assert together == [3 * WRITE_MS + 2 * FLUSH_MS] * 2


def test_only_a_write_that_changes_nothing_to_be_kept_commits_no_journal() -> None:
    rows = [row(1, 0, "open", "f"), written(0, "O_DSYNC")]
    again = [row(1, at, "write", "f", 4096, offset=0, length=4096, storing=how) for at, how in ((9, "O_DSYNC"), (10, "O_SYNC"))]
    assert simulated_ms([*rows, *again])[2:] == [WRITE_MS + FLUSH_MS, 3 * WRITE_MS + 2 * FLUSH_MS]


def test_a_direct_request_takes_the_time_of_the_device_and_leaves_nothing_in_the_cache() -> None:
    read = [row(1, at, "read", "f", 4096, offset=0, length=4096, storing="O_DIRECT") for at in (5, 6)]
    assert simulated_ms([written(0, "O_DIRECT"), *read]) == [WRITE_MS, 1, 1]
    assert simulated_ms([written(0, "buffered"), read[0]]) == [0, WRITE_MS + 1]
    assert simulated_ms([written(0, "buffered"), written(1, None)]) == [0, 0]


def test_a_replay_writes_as_the_program_did(tmp_path: Path) -> None:
    ways = ["O_DSYNC", "O_SYNC", "O_DIRECT", "O_DIRECT|O_DSYNC", "buffered", None]
    planned = replay.plan(requests_table([written(number, how) for number, how in enumerate(ways)]), root=ROOT)
    prepared = replay.prepare(planned, tmp_path / "target")
    made = replay.issue(planned, tmp_path / "target").timings
    refused = {number for number, how in enumerate(ways) if how and "O_DIRECT" in how}
    fails = set(made.index[made["result"] < 0])
    assert fails in (set(), refused), "a file system may refuse direct requests, and that is counted as a failure"
    if not fails:
        assert replay.verify(planned, tmp_path / "target", prepared).sentence()
        content = (tmp_path / "target/f").read_bytes()
        assert content == b"".join(replay.payload(number, 4096) for number in range(len(ways)))


def job(folder: Path) -> list[str]:
    return (folder / "replay.fio").read_text().splitlines()


def test_the_job_of_fio_opens_files_as_the_program_did(tmp_path: Path) -> None:
    ways = enumerate(["O_DSYNC", "O_SYNC", "O_DIRECT"], 1)
    rows = [written(number, how, f"f{thread}", thread) for thread, how in ways for number in (0, 1)]
    planned = replay.plan(requests_table(rows), root=ROOT)
    streams, left_out = replay.write_for_fio(planned, tmp_path / "target", tmp_path / "fio")
    lines = job(tmp_path / "fio")
    options = [line for line in lines if line.startswith(("[stream", "sync", "direct"))]
    assert options == ["[stream_1]", "sync=dsync", "[stream_2]", "sync=sync", "[stream_3]", "direct=1"]
    assert not replay.said_of_fio(streams)
    assert not left_out


def test_fio_is_said_to_store_in_another_way_where_it_does(tmp_path: Path) -> None:
    rows = [written(number, how) for number, how in enumerate(["buffered", "O_DSYNC", "O_DIRECT|O_SYNC"])]
    planned = replay.plan(requests_table(rows), root=ROOT)
    streams, _ = replay.write_for_fio(planned, tmp_path / "target", tmp_path / "fio")
    assert not [line for line in job(tmp_path / "fio") if line.startswith(("sync", "direct"))]
    actions = [line.split(" ")[2] for line in (tmp_path / "fio/1.iolog").read_text().splitlines()[1:]]
    assert actions == ["add", "open", "write", "write", "datasync", "write", "sync"]
    own, directs = replay.said_of_fio(streams)
    assert own.startswith("2 writes")
    assert directs.startswith("1 direct")


def test_commands_say_how_requests_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "server.strace"
    path.write_text(STRACE, encoding="utf-8")

    def run(*words: object) -> Result:
        return CliRunner().invoke(app, [*map(str, words)])

    shown = run("replay", path, "--simulate", "hdd")
    assert shown.exit_code == 0, shown.output
    assert "stored      " in shown.output
    assert "2 with O_DIRECT|O_DSYNC" in shown.output
    assert "the trace does not say of 1 writes" in shown.output
    shown = run("inspect", path, "-o", tmp_path / "page.html")
    assert "2 writes with O_DSYNC" in shown.output
    assert "such writes wait for the device as a sync does" in shown.output
    shown = run("convert", path, "-o", tmp_path / "server.iolog")
    assert shown.exit_code == 0, shown.output
    lines = (tmp_path / "server.iolog").read_text().splitlines()
    assert [line.split(" ")[2] for line in lines if "r.0.0.mca" in line].count("datasync") == 4


def test_what_a_trace_does_not_say_is_not_in_it(tmp_path: Path) -> None:
    path = tmp_path / "small.iolog"
    path.write_text("fio version 3 iolog\n1 /a add\n1 /a open\n2 /a write 0 4096\n", encoding="utf-8")
    load = characterise.load_of(formats.read([path])[0], "small")
    with pytest.raises(TickdiskError, match="how reads and writes ask"):
        characterise.ways_of_storing(load)


def test_words_name_what_flags_ask_for() -> None:
    assert counted(["buffered", None, "O_SYNC", "O_DSYNC", "O_SYNC"]) == {"O_SYNC": 2, "O_DSYNC": 1}
    assert [sync_of(word) for word in ("buffered", "O_DIRECT", "O_DSYNC", "O_DIRECT|O_SYNC", "O_DSYNC|RWF_SYNC")] == [
        *("", "", "fdatasync", "fsync", "fsync")
    ]
    assert storing(0o4010000, 2, is_write=True) == "O_SYNC|RWF_DSYNC"
    assert storing(0o4010000, 2, is_write=False) == "buffered"
