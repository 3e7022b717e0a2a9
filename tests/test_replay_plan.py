"""What of a capture is made again, and what must be there before: hand-made cases, and traces of an imaginary file system."""

import errno
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_trace import ROOT, requests_table, row

from tickdisk import replay
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.replay.simulated import PageCache

KEPT = row(1, 50, "read", "map", 10, offset=0, length=10)
REFUSED = {
    "not a system call": row(1, 1, "read", "map", level="block", offset=0, length=10),
    "moves the position or copies a descriptor only": row(1, 1, "seek", "map"),
    "through a memory map": row(1, 1, "fault", "map", offset=0, length=4096),
    "of a kind that is not replayed": row(1, 1, "discard", "map"),
    "without a file": row(1, 1, "read", None, offset=0, length=10),
    "outside the folder that is replayed": row(1, 1, "read", "map") | {"file": "/usr/share/x"},
    "without offset or length": row(1, 1, "read", "map", length=10),
    "without a length": row(1, 1, "truncate", "map"),
    "to a name that is not known": row(1, 1, "rename", "map"),
    "failed in a way that cannot be repeated": row(1, 1, "unlink", "map", errno=errno.EACCES),
    "of a part of a file": row(1, 1, "sync", "map", call="sync_file_range", offset=0, length=10),
}


@given(st.lists(st.sampled_from([*REFUSED, ""]), min_size=1, max_size=30))
def test_nothing_is_lost(kinds: list[str]) -> None:
    rows = [REFUSED.get(kind, KEPT) for kind in [*kinds, ""]]
    planned = replay.plan(requests_table(rows), root=ROOT)
    assert planned.captured == len(rows)
    assert dict(planned.refused) == {kind: kinds.count(kind) for kind in set(kinds) - {""}}
    assert len(planned.requests) == kinds.count("") + 1


def test_every_reason_has_a_request_that_it_refuses() -> None:
    planned = replay.plan(requests_table([*REFUSED.values(), KEPT]), root=ROOT)
    assert planned.refused == dict.fromkeys(REFUSED, 1)
    with pytest.raises(TickdiskError, match=r"no request of the capture can be made again below .*1 without a file"):
        replay.plan(requests_table([*REFUSED.values()]), root=ROOT)


def test_a_sync_of_all_files_needs_no_file() -> None:
    planned = replay.plan(requests_table([row(1, 0, "sync", None), KEPT]), root=ROOT)
    assert planned.requests["file"].tolist() == [".", "map"]


def test_the_first_seconds_are_from_the_first_request_that_is_made_again() -> None:
    before = row(1, 0, "seek", "map")
    rows = [before, *(row(1, 2_000_000_000 + at, "sync", "map", call="fsync") for at in (0, 999_999_999, 1_000_000_000))]
    planned = replay.plan(requests_table(rows), seconds=1)
    assert planned.requests["due_ns"].tolist() == [0, 999_999_999]
    assert (planned.captured, dict(planned.refused)) == (3, {"moves the position or copies a descriptor only": 1})


def test_a_file_that_is_renamed_to_itself_stays() -> None:
    rows = [
        row(1, 0, "rename", "same", renamed=f"{ROOT}/same"),
        row(1, 1, "open", "same"),
        row(1, 2, "read", "same", 7, offset=0, length=7),
    ]
    assert replay.plan(requests_table(rows), root=ROOT).beginning.sizes == {"same": 7}


def commits(cache: PageCache, file: str) -> bool:
    """Whether fdatasync commits the journal, as it must for a size that has changed and need not for other changes."""
    return len(cache.requests("sync", "fdatasync", file, "", 0, 0)) > len([["data"], ["flush"]])


def test_a_file_of_the_beginning_that_is_made_again_is_new() -> None:
    for remove in (("unlink", "unlink", "f", ""), ("rename", "rename", "f", "g")):
        cache = PageCache({"f": 8192}, {"f": 8192})
        cache.requests("write", "write", "f", "", 0, 4096)
        assert not commits(cache, "f")
        cache.requests(*remove, 0, 0)
        cache.requests("sync", "syncfs", "f", "", 0, 0)
        cache.requests("write", "write", "f", "", 0, 4096)
        assert commits(cache, "f")


def test_a_page_cache_keeps_a_file_that_is_renamed_to_itself() -> None:
    cache = PageCache({"f": 8192}, {"f": 8192})
    assert cache.requests("read", "read", "f", "", 0, 4096) == [[(0, 0, 4096)]]
    cache.requests("rename", "rename", "f", "f", 0, 0)
    assert cache.requests("read", "read", "f", "", 0, 4096) == [[]]


@pytest.mark.parametrize(
    ("files", "root"),
    [
        (["/w/map"], "/w"),
        (["/w/map", "/w/players/a"], "/w"),
        (["/w", "/w/map"], "/w"),
        (["/w/a/x/c", "/w/a/y/c"], "/w/a"),
        (["/w/a", "/v/b"], "/"),
    ],
)
def test_the_root_is_what_all_files_share(files: list[str], root: str) -> None:
    assert replay.plan(requests_table([KEPT | {"file": file} for file in files])).root == root


def test_the_root_is_where_the_files_of_a_folder_were_found(tmp_path: Path) -> None:
    (tmp_path / "players").mkdir()
    for name in ("map", "players/a", "share"):
        (tmp_path / name).touch()
    captured = ["/usr/share", "/mnt/w/map", "/mnt/w/players/a", "/mnt/w/players/map"]
    requests = requests_table([KEPT | {"file": file} for file in captured])
    planned = replay.plan(requests, files=tmp_path)
    assert (planned.root, dict(planned.refused)) == ("/mnt/w", {"outside the folder that is replayed": 1})
    with pytest.raises(TickdiskError, match="none of the captured files is in"):
        replay.plan(requests, files=tmp_path / "players" / "none")


def test_what_must_be_there() -> None:
    rows = [
        row(1, 0, "open", "new", errno=errno.ENOENT),
        row(1, 1, "open", "new"),
        row(1, 2, "write", "new", 100, offset=0, length=100),
        row(1, 3, "read", "new", 100, offset=0, length=100),
        row(1, 4, "open", "old"),
        row(1, 5, "write", "old", 100, offset=0, length=100),
        row(1, 6, "read", "old", 60, offset=80, length=60),
        row(1, 7, "read", "before", 10, offset=20, length=10),
        row(1, 8, "truncate", "before", length=5),
        row(1, 9, "write", "before", 5, offset=100, length=5),
        row(1, 10, "read", "before", 105, offset=0, length=200),
        row(1, 11, "rename", "moved", renamed=f"{ROOT}/there"),
        row(1, 12, "open", "there"),
        row(1, 13, "read", "there", 7, offset=0, length=10),
        row(1, 14, "unlink", "gone"),
        row(1, 15, "open", "gone"),
        row(1, 16, "write", "gone", 9, offset=0, length=9),
        row(1, 17, "sync", "", call="fdatasync"),
        row(1, 18, "open", "perhaps"),
        row(1, 19, "open", "cut", flags=0o1000),
        row(1, 20, "read", "cut", 5, offset=0, length=5),
    ]
    planned = replay.plan(requests_table(rows), root=ROOT)
    assert planned.beginning.sizes == {"old": 140, "before": 30, "moved": 7, "gone": 0}
    assert planned.beginning.missing == {"new"}
    assert planned.beginning.handles == {"before": 1, ".": 1}
    assert planned.folders == {"."}


def test_captures_are_found(tmp_path: Path) -> None:
    frame = requests_table([KEPT])
    for place in (tmp_path / "life", tmp_path / "cell" / "a", tmp_path / "cell" / "b"):
        table.write("requests", place / "requests.parquet", frame.assign(thread=len(place.name)))
    assert len(replay.load_capture(tmp_path / "life" / "requests.parquet")[0]) == 1
    assert replay.load_capture(tmp_path / "life")[0]["thread"].tolist() == [4]
    assert replay.load_capture(tmp_path / "cell")[0]["thread"].tolist() == [1]
    with pytest.raises(TickdiskError, match=r"none cannot be read \(No such file"):
        replay.load_capture(tmp_path / "none")


def _sizes(steps: list[tuple[str, int, int]], initial: int) -> pd.DataFrame:
    """A trace of one file of `initial` bytes; results follow from its size."""
    size, rows = initial, []
    for at, (op, offset, length) in enumerate(steps):
        if op == "write":
            rows.append(row(1, at, op, "map", length, offset=offset, length=length))
            size = max(size, offset + length)
        elif op == "read":
            rows.append(row(1, at, op, "map", max(0, min(length, size - offset)), offset=offset, length=length))
        else:
            rows.append(row(1, at, op, "map", length=offset))
            size = offset
    return requests_table(rows)


_STEPS = st.lists(st.tuples(st.sampled_from(["read", "write", "truncate"]), st.integers(0, 99), st.integers(1, 50)), min_size=1)


@given(_STEPS, st.integers(0, 150))
def test_a_file_of_the_derived_size_gives_the_captured_results(steps: list[tuple[str, int, int]], initial: int) -> None:
    captured = _sizes(steps, initial)
    needed = replay.plan(captured, root=ROOT).beginning.sizes["map"]
    assert needed <= initial
    assert _sizes(steps, needed)["result"].tolist() == captured["result"].tolist()


def test_names_that_are_all_relative_are_below_the_folder_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "job.iolog"
    path.write_text("fio version 3 iolog\n2 job.0.0 add\n872 job.0.0 open\n880 job.0.0 write 0 512\n990 job.0.0 close\n")
    planned = replay.plan(*replay.load_capture(path))
    assert (planned.root, planned.requests["file"].unique().tolist()) == (".", ["job.0.0"])
    assert (planned.requests["due_ns"] // 1000).tolist() == [0, 8, 118]


def test_a_replay_that_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "large.iolog"
    lines = ["20 /dev/ram0 write 488197214720 4096", "30 /dev/ram0 read 494470889984 12288"]
    path.write_text("\n".join(["fio version 3 iolog", "1 /dev/ram0 add", "1 /dev/ram0 open", *lines, ""]))
    planned = replay.plan(*replay.load_capture(path))
    with pytest.raises(TickdiskError, match="the replay needs 494,470,902,272 bytes"):
        replay.prepare(planned, tmp_path / "target")
    assert list((tmp_path / "target").iterdir()) == []


def test_a_folder_that_is_renamed_takes_its_files_along(tmp_path: Path) -> None:
    rows = [
        row(1, 0, "open", "old/a", 3),
        row(1, 1, "read", "old/a", 5, offset=0, length=5),
        row(1, 2, "rename", "old", renamed=f"{ROOT}/new"),
        row(1, 3, "open", "new/c", 4),
        row(1, 4, "read", "new/c", 7, offset=0, length=7),
        row(1, 5, "mkdir", "new/made"),
        row(1, 6, "mkdir", "new/made", errno=errno.EEXIST),
        row(1, 7, "rename", "new/c", renamed=f"{ROOT}/new/made/b"),
        row(1, 8, "open", "old/late/x", errno=errno.ENOENT),
    ]
    planned = replay.plan(requests_table(rows), root=ROOT)
    assert not planned.refused
    assert planned.beginning.sizes == {"old/a": 5, "old/c": 7}
    assert planned.beginning.folders == {".", "old"}
    made = replay.prepare(planned, tmp_path / "target")
    timings = replay.issue(planned, tmp_path / "target").timings
    assert timings["result"].tolist() == timings["expected"].tolist()
    assert replay.verify(planned, tmp_path / "target", made).is_right
    assert sorted(str(path.relative_to(tmp_path / "target")) for path in (tmp_path / "target").rglob("*")) == [
        "new",
        "new/a",
        "new/made",
        "new/made/b",
    ]
