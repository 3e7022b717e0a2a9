"""Conversion: sources plain and compressed, outputs of every kind, lines that cannot be read, and how the command fails."""

import bz2
import gzip
import io
import json
import lzma
import sys

import pandas as pd
import pytest
import zstandard
from typer.testing import CliRunner

from tickdisk import formats
from tickdisk.cli import app
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError

MSR = "".join(
    f"{128166372003061629 + 10_000_000 * number},usr,0,{'Read' if number % 2 else 'Write'},{4096 * number},4096,{50 + number}\n"
    for number in range(40)
)
PACKED = {
    "plain": lambda raw: raw,
    "gzip": gzip.compress,
    "two gzips": lambda raw: gzip.compress(raw[:100]) + gzip.compress(raw[100:]),
    "zstd": lambda raw: zstandard.compress(raw[:77]) + zstandard.compress(raw[77:]),
    "xz": lzma.compress,
}


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["convert", *words])
    if isinstance(result.exception, TickdiskError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("packing", sorted(PACKED))
def test_sources_plain_and_compressed(packing, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(PACKED[packing](MSR.encode()))
    requests, (counts,) = formats.read([path])
    assert (len(requests), counts.format, counts.lines) == (40, "msr", 40)


def test_the_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(MSR.encode()))))
    requests, _ = formats.read([formats.source.STDIN])
    assert len(requests) == 40


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (gzip.compress(MSR.encode())[:-9], "cannot be decompressed"),
        (zstandard.compress(MSR.encode())[:30], "cannot be decompressed"),
        (bz2.compress(MSR.encode()), "no known format"),
        (b"some text\nof no format\n", "no known format"),
        (b"1,2\n", "no known format"),
        (b"\x7fELF\x00\x01", r"`\\x7fELF\\x00\\x01`"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(content, said, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(TickdiskError, match=said) as caught:
        run(str(path), "-o", str(tmp_path / "o.parquet"))
    assert "\n" not in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["trace"]


def test_no_file(tmp_path):
    with pytest.raises(TickdiskError, match="cannot be read"):
        run(str(tmp_path / "none"), "-o", str(tmp_path / "o.parquet"))


def test_a_parquet_file_is_a_requests_table(tmp_path):
    (tmp_path / "a.csv").write_text(MSR)
    said = run(str(tmp_path / "a.csv"), str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.parquet"))
    assert "40 requests in 40 lines of msr" in said
    requests = table.read("requests", tmp_path / "o.parquet")
    assert requests["seq"].tolist() == list(range(80))
    assert set(requests["level"]) == {"block"}
    assert requests["file"].isna().all()
    with pytest.raises(TickdiskError, match="exists already"):
        run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.parquet"))
    run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.parquet"), "--force")
    assert len(table.read("requests", tmp_path / "o.parquet")) == 40


def test_there_and_back(tmp_path):
    """Requests that were written as MSR's list or as a trace of fio are the same when they are read again."""
    (tmp_path / "a.csv").write_text(MSR)
    before, _ = formats.read([tmp_path / "a.csv"])
    for name in ("o.csv", "o.iolog"):
        run(str(tmp_path / "a.csv"), "-o", str(tmp_path / name))
        after, _ = formats.read([tmp_path / name])
        columns = ["op", "offset", "length"] + (["start_ns", "latency_ns", "volume"] if name == "o.csv" else [])
        pd.testing.assert_frame_equal(after[columns], before[columns])
    assert (after["start_ns"].diff().dropna() == before["start_ns"].diff().dropna()).all()
    assert set(after["file"]) == {"usr.0"}
    assert f"read_iolog={tmp_path / 'o.iolog'}" in (tmp_path / "o.fio").read_text()


def test_an_output_that_needs_what_is_not_there(tmp_path):
    (tmp_path / "a.csv").write_text("0,R,0,4096,1\n")
    with pytest.raises(TickdiskError, match="latency_ns"):
        run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.csv"))
    (tmp_path / "b.log").write_text("fio version 2 iolog\n/d add\n/d open\n/d read 0 512\n")
    with pytest.raises(TickdiskError, match="no time"):
        run(str(tmp_path / "b.log"), "-o", str(tmp_path / "o.iolog"))
    with pytest.raises(TickdiskError, match="must end in"):
        run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.txt"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.csv", "b.log"]


def test_rejects_are_kept_and_too_many_fail(tmp_path):
    lines = MSR.splitlines()
    lines[7] = "128166372003061629,usr,0,Erase,1,2,3"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    said = run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.parquet"))
    assert "rejected    1 lines; line 8 has an operation that is neither a read nor a write" in said
    kept = (tmp_path / "o.parquet.rejects").read_text().splitlines()
    assert kept[1].split("\t")[1:] == ["8", "the line has an operation that is neither a read nor a write", lines[7]]
    for at in (1, 2, 3):
        lines[at] = "nonsense"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(TickdiskError, match=r"4 of 40 lines cannot be read as msr; line 2 lacks.*o2.parquet.rejects"):
        run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o2.parquet"))
    assert not (tmp_path / "o2.parquet").exists()
    assert len((tmp_path / "o2.parquet.rejects").read_text().splitlines()) == 5
    run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o2.parquet"), "--most-rejected", "0.5")


def test_counts_as_json(tmp_path):
    (tmp_path / "a.csv").write_text(MSR)
    about = json.loads(run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.parquet"), "--json"))
    (trace,) = about["traces"]
    assert (trace["requests"], trace["operations"]["read"]) == (40, {"requests": 20, "bytes": 81920})
    assert "file" in trace["not_in_the_trace"]


def test_names_that_are_not_utf8_survive(tmp_path):
    (tmp_path / "a.txt").write_text('8 openat(AT_FDCWD, "/srv/na\\357ve", O_RDONLY) = 3\n')
    run(str(tmp_path / "a.txt"), "-o", str(tmp_path / "o.parquet"))
    requests = table.read("requests", tmp_path / "o.parquet")
    assert requests["file"].tolist() == ["/srv/na\uefefve"]
    table.write("requests", tmp_path / "again.parquet", requests)
    pd.testing.assert_frame_equal(table.read("requests", tmp_path / "again.parquet"), requests)


def test_an_unknown_format_is_one_sentence(tmp_path):
    (tmp_path / "a.csv").write_text(MSR)
    with pytest.raises(TickdiskError, match="there is no format nonsense; the formats are strace"):
        run(str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.parquet"), "--format", "nonsense")


@pytest.mark.parametrize("columns", [["latency_ns"], ["file", "offset"]])
def test_a_task_that_needs_more_than_the_trace_has(columns, tmp_path):
    (tmp_path / "a.csv").write_text("0,R,0,4096,1\n")
    requests, _ = formats.read([tmp_path / "a.csv"])
    with pytest.raises(TickdiskError, match=f"a test needs {columns[0]}, which is not in the trace"):
        table.need(requests, columns, task="a test")
    with pytest.raises(TickdiskError, match="a test needs system calls, and the trace has requests to a block device"):
        table.need(requests, [], task="a test", level="syscall")
    assert table.need(requests, ["offset"], task="a test")["offset"].dtype == "int64"


def test_a_folder_of_files_of_threads_is_one_trace(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "s.41").write_text(
        '1700000000.1 openat(AT_FDCWD, "/srv/a", O_RDWR) = 3\n1700000000.2 clone(child_stack=NULL, flags=SIGCHLD) = 42\n'
        "1700000000.4 close(3) = 0\n"
    )
    (folder / "s.42").write_text('1700000000.3 read(3, "x", 5) = 5\n1700000000.5 +++ exited with 0 +++\n')
    requests, (counts,) = formats.read([folder])
    assert requests[["thread", "op", "file"]].to_numpy().tolist() == [
        [41, "open", "/srv/a"],
        [42, "read", "/srv/a"],
        [41, "close", "/srv/a"],
    ]
    assert (counts.lines, counts.rejected) == (5, {})
    (folder / "s.43").write_text("fsync(3) = 0\n")
    with pytest.raises(TickdiskError, match=r"s.43, line 1: no time"):
        formats.read([folder])


def test_a_folder_of_lists_is_a_trace_each(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    with pytest.raises(TickdiskError, match="has no files"):
        formats.read([folder])
    for name in ("a.csv", "b.csv.gz"):
        (folder / name).write_bytes(gzip.compress(MSR.encode()) if name.endswith("gz") else MSR.encode())
    requests, counts = formats.read([folder])
    assert (len(requests), [each.lines for each in counts]) == (80, [40, 40])


def test_names_are_replaced_by_the_same_words_everywhere(tmp_path):
    (tmp_path / "a.txt").write_text(
        '7 openat(AT_FDCWD, "/home/alice/my server/world/playerdata/bob-17.dat", O_RDWR) = 3\n7 fsync(3) = 0\n'
        '7 rename("/home/alice/my server/world/playerdata/bob-17.dat", "/home/alice/bob-17.dat_old") = 0\n'
        '7 openat(AT_FDCWD, "/home/alice/my server/world/region/r.0.-1.mca", O_RDWR) = 4\n'
        '7 openat(AT_FDCWD, "/home/alice/my server/world/map.sqlite-journal", O_RDWR) = 5\n'
    )
    run(str(tmp_path / "a.txt"), "-o", str(tmp_path / "o.parquet"), "--anonymise")
    requests = table.read("requests", tmp_path / "o.parquet")
    assert requests["file"].tolist() == [
        *["/home/name1/name2/world/playerdata/name3.dat"] * 3,
        "/home/name1/name2/world/region/r.0.-1.mca",
        "/home/name1/name2/world/map.sqlite-journal",
    ]
    assert requests["renamed"].dropna().tolist() == ["/home/name1/name4.dat_old"]
    (tmp_path / "b.csv").write_text(MSR)
    run(str(tmp_path / "b.csv"), "-o", str(tmp_path / "p.parquet"), "--anonymise")
    assert set(table.read("requests", tmp_path / "p.parquet")["volume"]) == {"volume1"}
