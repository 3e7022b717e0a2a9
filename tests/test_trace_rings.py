"""Requests to io_uring: fio makes them, and its own log is the oracle of what a capture must have."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from trace_text import STARTED_NS, Machine

from tickdisk import trace
from tickdisk.foundation import memory

FIO = (
    "fio --name=x --thread --ioengine=io_uring --iodepth=8 --rw=randrw --bs=4k,8k --size=2m --io_size=2m --fsync=16"
    " --randseed=7 --output-format=json"
)
REQUEST = "@r0[100, {start}]: ({number}, 100, {end}, {result}, {fd}, {length}, {offset})"


def test_requests_to_a_ring_have_files_and_places(tmp_path: Path) -> None:
    """The descriptor 1 appends to /log, and 2 is /data. A descriptor of -1 is one that was registered with the ring."""
    made = Machine({"/log": 40, "/data": 3000}, has_rings=True)
    at = STARTED_NS + 1_000_000
    dsync, append = 2 | 0x2 << 32, 2 | 0x10 << 32
    kinds = [
        (1022, 4096, 2, 4096, 8192),
        (1023, 512, 2, 512, 0),
        (1023, 512, dsync, 512, 512),
        (1023, 10, 1, 10, 0),
        (1002, 700, 2, 3, 100),
        (1005, 4096, 0xFFFFFFFF, 4096, 4096),
        (1103, 0, 2, -1, -1),
        (1023, 10, append, 10, 0),
        (1022, -5, 2, 4096, 0),
    ]
    lines = [
        REQUEST.format(
            start=at + 1000 * row, number=number, end=at + 1000 * row + 9500, result=result, fd=fd, length=length, offset=place
        )
        for row, (number, result, fd, length, place) in enumerate(kinds)
    ]
    enter = REQUEST.format(start=at, number=426, end=at + 100, result=11, fd=9, length=8, offset=0)
    left = "@ring[18446744071562067968]: (1, 100, 100, 22, 2, 4096, 0)"
    made.now_ns = STARTED_NS + 10_000_000_000
    raw = made.write(tmp_path, "bpftrace", [*made.bpftrace, *lines, enter, left, "@apart: 3"])
    capture = trace.parse(raw, pd.DataFrame())
    rows = capture.requests.astype(object).where(capture.requests.notna(), None)
    assert rows[["op", "file", "offset", "length", "result", "errno", "storing"]].to_numpy().tolist() == [
        ["read", "/data", 8192, 4096, 4096, 0, "buffered"],
        ["write", "/data", 0, 512, 512, 0, "buffered"],
        ["write", "/data", 512, 512, 512, 0, "RWF_DSYNC"],
        ["write", "/log", None, 10, 10, 0, "buffered"],
        ["write", "/data", 100, None, 700, 0, "buffered"],
        ["write", None, 4096, 4096, 4096, 0, None],
        ["sync", "/data", None, None, 0, 0, None],
        ["write", "/data", None, 10, 10, 0, "buffered"],
        ["read", "/data", 0, 4096, 0, 5, "buffered"],
    ]
    assert set(rows["latency_ns"]) == {9500}
    assert capture.lacks == {"requests to io_uring that neither read, write nor sync, and are in no request": 3}
    assert (capture.summary.not_followed, capture.summary.unfinished, capture.summary.rejected) == ({}, 1, 0)
    assert (capture.summary.offsets_unknown, capture.summary.files_unknown) == (2, 1)


def logged(path: Path) -> Counter[tuple[str, int | None, int | None]]:
    """Returns the requests in fio's log. Syncs have no place."""
    rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()[1:]]
    requests: Counter[tuple[str, int | None, int | None]] = Counter()
    for _, _, action, *place in rows:
        if action in ("read", "write"):
            requests[action, int(place[0]), int(place[1])] += 1
        elif action == "sync":
            requests["sync", None, None] += 1
    return requests


@pytest.mark.slow
def test_a_capture_has_each_request_that_fio_made(tmp_path: Path) -> None:
    if reason := trace.unavailable():
        pytest.skip(reason)
    command = [*FIO.split(), f"--directory={tmp_path}", f"--write_iolog={tmp_path / 'log'}"]
    with (
        memory.folder() as fast,
        trace.start(
            "bpftrace", target=trace.Command(command, tmp_path / "fio.json"), folder=fast, logs=tmp_path / "logs"
        ) as recording,
    ):
        assert recording.command is not None
        assert recording.command.wait(60) == 0
        raw = recording.stop()
        capture = trace.parse(raw, pd.DataFrame())
    if not raw.facts["has_rings"]:
        pytest.skip("this kernel does not tell requests to io_uring")
    rows = capture.requests[capture.requests["call"].str.startswith("io_uring_")]
    assert set(rows.loc[rows["file"].notna(), "file"]) == {str(tmp_path / "x.0.0")}
    nothing = rows[["offset", "length"]].astype(object).where(rows[["offset", "length"]].notna(), None)
    found = Counter(zip(rows["op"], nothing["offset"], nothing["length"], strict=True))
    expected = logged(tmp_path / "log")
    assert sum(expected.values()) > 300
    assert found == expected
    assert rows["file"].notna().all()
    assert not [kind for kind in capture.lacks if "io_uring" in kind]
