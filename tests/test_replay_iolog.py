"""fio's trace file: what is written is read again, in the form that fio 3.33 itself writes, and fio reads ours."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tickdisk import formats, replay
from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError

COLUMNS = ["op", "call", "file", "offset", "length", "due_ns", "expected"]
_KINDS = {
    "read": ("read", "pread64"),
    "write": ("write", "pwrite64"),
    "fsync": ("sync", "fsync"),
    "fdatasync": ("sync", "fdatasync"),
    "trim": ("discard", "trim"),
    "open": ("open", "open"),
    "close": ("close", "close"),
    "unlink": ("unlink", "unlink"),
}
RECORDED = """\
fio version 3 iolog
32 /data/f add
128 /data/f open
151 /data/f write 0 4096
218 /data/f sync 0 0
253 /data/f read 8192 4096
301 /data/f datasync 0 0
412 /data/f close
"""
"""Lines as fio 3.33 writes them (write_iolog, psync, fsync and fdatasync)."""


@st.composite
def _streams(draw: st.DrawFn) -> pd.DataFrame:
    kinds = st.tuples(st.sampled_from(sorted(_KINDS)), st.sampled_from(["/w/a", "/w/b", "/w/blank name"]))
    numbers = st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 33), st.integers(0, 10**9), st.booleans())
    rows, due_ns = [], 0
    for (kind, file), (offset, length, step_ns, fails) in draw(st.lists(st.tuples(kinds, numbers), max_size=40)):
        due_ns += step_ns
        place = (offset, length) if kind in ("read", "write", "trim") else (0, 0)
        rows.append((*_KINDS[kind], file, *place, due_ns, -2 if fails and kind == "open" else place[1]))
    return pd.DataFrame(rows, columns=COLUMNS)


def _closed_twice() -> pd.DataFrame:
    kinds = [("sync", "fdatasync"), ("close", "close"), ("close", "close"), ("sync", "fdatasync")]
    return pd.DataFrame([(*kind, "/w/a", 0, 0, 0, 0) for kind in kinds], columns=COLUMNS)


def _read(path: Path) -> pd.DataFrame:
    requests, (counts,) = formats.read([path], "fio-iolog")
    assert counts.rejected == {}
    return requests.rename(columns={"start_ns": "due_ns"})


@settings(deadline=None)
@given(_streams())
@example(_closed_twice())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, stream: pd.DataFrame) -> None:
    path = tmp_path_factory.mktemp("iolog") / "stream.iolog"
    left_out = replay.write_iolog(path, stream)
    if len(stream) == sum(left_out.values()):
        return
    read = _read(path)
    assert len(read) + sum(left_out.values()) == len(stream)
    fits = (
        (stream["file"] != "/w/blank name")
        & (stream["op"] != "unlink")
        & (stream["length"] < 1 << 32)
        & (stream["expected"] >= 0)
    )
    fitting = stream[fits]
    moved = fitting[~fitting["op"].isin(["open", "close"])]
    again = read[~read["op"].isin(["open", "close"])]
    names = ["op", "call", "file", "offset", "length"]
    assert again[names].fillna(0).to_numpy().tolist() == moved[names].to_numpy().tolist()
    assert again["due_ns"].tolist() == [2000 + due_ns // 1000 * 1000 for due_ns in moved["due_ns"]]
    _check_states(path)
    # what has once been through the format goes through it unchanged
    replay.write_iolog(path, read.assign(due_ns=read["due_ns"] - 2000, expected=0).fillna({"offset": 0, "length": 0}))
    pd.testing.assert_frame_equal(_read(path), read)


def _check_states(path: Path) -> None:
    """fio's own rules: a file is added, then opened, then used, then closed; times do not run backwards."""
    added, is_open, last = set(), set(), 0
    for line in path.read_text().splitlines()[1:]:
        stamp, file, action, *_ = line.split()
        assert int(stamp) >= max(last, 1), "after a stamp of 0 fio does not wait"
        last = int(stamp)
        match action:
            case "add":
                added.add(file)
            case "open":
                assert file in added - is_open
                is_open.add(file)
            case "close":
                is_open.remove(file)
            case _:
                assert file in is_open


def test_what_fio_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "stream.iolog"
    path.write_text(RECORDED)
    read = _read(path)
    assert read["op"].tolist() == ["open", "write", "sync", "read", "sync", "close"]
    assert read["call"].tolist() == ["open", "pwrite64", "fsync", "pread64", "fdatasync", "close"]
    assert read["due_ns"].tolist() == [128_000, 151_000, 218_000, 253_000, 301_000, 412_000]
    assert read.loc[3, ["offset", "length"]].tolist() == [8192, 4096]


def test_what_fio_writes_today_is_read(tmp_path: Path) -> None:
    """fio is the oracle: it logs what it does, and its answer says how much that was and how long it took."""
    log, answer = tmp_path / "x.iolog", tmp_path / "answer.json"
    options = "--name=x --ioengine=psync --rw=randrw --bs=4k --size=256k --fsync=8 --rate_iops=500 --output-format=json"
    words = [f"--filename={tmp_path / 'f'}", f"--write_iolog={log}", f"--output={answer}"]
    process.run(["fio", *options.split(), *words])
    (job,) = json.loads(answer.read_text())["jobs"]
    read = _read(log)
    counts = read["op"].value_counts()
    assert (counts["read"], counts["write"]) == (job["read"]["total_ios"], job["write"]["total_ios"])
    assert counts["sync"] == job["sync"]["total_ios"]
    took_ms = (read["due_ns"].max() - read["due_ns"].min()) / 1e6
    assert took_ms == pytest.approx(job["job_runtime"], abs=30), "stamps are microseconds"


@pytest.mark.parametrize(
    "line", ["12 /data/f", "x /data/f open", "12 /data/f read 1", "12 /data/f shut 0 0", "12 /data/f read a 1"]
)
def test_bad_lines_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "stream.iolog"
    path.write_text(RECORDED + line + "\n")
    with pytest.raises(
        TickdiskError, match=r"1 of 9 lines cannot be read as fio-iolog; line 9 (has|lacks) .*; correct these lines"
    ):
        replay.load_capture(path)


def test_a_trace_without_times_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stream.iolog"
    path.write_text("fio version 2 iolog\n/d add\n/d open\n/d read 0 512\n")
    with pytest.raises(TickdiskError, match="a replay needs start_ns, which is not in the trace"):
        replay.load_capture(path)


def test_trace_files_are_a_capture(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.iolog").write_text(RECORDED)
    planned = replay.plan(*replay.load_capture(tmp_path))
    assert planned.streams["thread_name"].tolist() == ["a", "b"]
    assert planned.captured == len(planned.requests) == 12
    one = replay.plan(*replay.load_capture(tmp_path / "a.iolog"))
    assert one.root == "/data"
    (tmp_path / "a.iolog").write_text(RECORDED + "500 /data/f trim 0 4096\n")
    assert replay.plan(*replay.load_capture(tmp_path / "a.iolog")).refused == {"of a kind that is not replayed": 1}
