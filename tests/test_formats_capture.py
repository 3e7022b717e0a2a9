"""Raw captures of bpftrace: the text that a capture keeps is read like its table, and nothing else is taken for one."""

from pathlib import Path

import pandas as pd
import pytest
from trace_text import Machine

from tickdisk import formats, replay, trace
from tickdisk.foundation.errors import TickdiskError

HEAD = "Attaching 24 probes..."


def machine() -> Machine:
    made = Machine({"/log": 40, "/data": 3000})
    first = made.processes[0]
    made.open(first, "/data", 0)
    made.positioned(first, "pread64", 3, 100, 200)
    made.positioned(first, "pwrite64", 3, 300, 400)
    made.read(first, 2, 500)
    made.close(first, 3)
    return made


def written(folder: Path, *more: str) -> Path:
    made = machine()
    made.write(folder, "bpftrace", [HEAD, *made.bpftrace, *more])
    return folder / "capture.txt"


def rows_of(requests: pd.DataFrame) -> list[tuple[object, ...]]:
    columns = requests[["call", "thread", "file", "offset", "length", "result", "start_ns", "latency_ns"]].astype(object)
    return list(columns.where(columns.notna(), None).itertuples(index=False, name=None))


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_raw_capture_has_the_requests_that_were_made(tmp_path: Path, is_compressed: bool) -> None:
    path = written(tmp_path)
    if is_compressed:
        trace.RawCapture(path).keep(tmp_path / "raw")
        path = tmp_path / "raw" / "capture.txt.zst"
    assert trace.is_raw_capture(path)
    rows, (counts,) = formats.read([path])
    told = [(call, thread, file, offset, length, result) for call, thread, file, offset, length, result, *_ in rows_of(rows)]
    assert told == [(row.call, row.thread, row.file, row.offset, row.length, row.result) for row in machine().rows]
    assert (counts.format, counts.rejected, counts.skipped) == ("raw capture of bpftrace", {}, {})
    assert counts.by_op["read"] == (2, 600)


def test_it_can_be_converted_and_replayed(tmp_path: Path) -> None:
    path = written(tmp_path)
    formats.convert([path], tmp_path / "requests.parquet")
    again, _ = formats.read([tmp_path / "requests.parquet"])
    assert rows_of(again) == rows_of(formats.read([path])[0])
    assert len(replay.load_capture(path)[0]) == len(again)


def test_time_before_the_capture_is_said_first(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"started_ns"', b'"missed_ns": 4321000000, "children": 2, "started_ns"'))
    counts, _ = formats.convert([path], tmp_path / "requests.parquet")
    said = [
        "not in the trace: 4,321 ms at the start, in which the process ran and bpftrace was not attached yet",
        "not in the trace: 2 processes that it had started before, which are not captured",
    ]
    for each in (counts, formats.read([tmp_path / "requests.parquet"])[1]):
        assert [list(one.first) for one in each] == [said]
        assert [list(one.lacks.values()) for one in each] == [[4321, 2]]


def test_lines_that_cannot_be_read_are_kept_with_their_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "@events: 7", "some \xff text", "@r0[1, broken]: 5")
    counts, _ = formats.convert([path], tmp_path / "requests.parquet")
    first = path.read_text(encoding="utf-8").split("\n").index("some \xff text") + 1
    assert counts[0].rejected == {"is none that the program of a capture prints": (2, first)}
    assert counts[0].skipped == {"events that bpftrace lost": 2}
    kept = (tmp_path / "requests.parquet.rejects").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[1:] for line in kept[1:]] == [
        [str(number), "the line is none that the program of a capture prints", text]
        for number, text in ((first, "some \xff text"), (first + 1, "@r0[1, broken]: 5"))
    ]
    with pytest.raises(TickdiskError, match=r"2 of .* lines cannot be read as raw capture"):
        formats.read([path], most_rejected=0)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        HEAD.encode(),
        f"{HEAD}\nTIME(ms)     COMM             PID    LAT(ms)\n".encode(),
        b"\x28\xb5\x2f\xfdbroken",
        b"\xff" * 300,
    ],
)
def test_what_is_no_raw_capture_is_not_taken_for_one(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(text)
    assert not trace.is_raw_capture(path)
    assert not trace.is_raw_capture(tmp_path)
    assert not trace.is_raw_capture(tmp_path / "none")


def test_a_raw_capture_that_was_cut_off_is_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().rpartition(b"\n# ")[0])
    with pytest.raises(TickdiskError, match="is not a complete capture"):
        formats.read([path])


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("{", "line 1: not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "is not a capture"),
        ('{"tool": "bpftrace"}', "is not a"),
    ],
)
def test_facts_that_are_none_are_one_sentence(tmp_path: Path, facts: str, message: str) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().rpartition(b"\n# ")[0] + f"\n# {facts}".encode())
    with pytest.raises(TickdiskError, match=message):
        formats.read([path])
