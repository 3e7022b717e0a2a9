"""Calls that change files: a replay makes them, and says first which it does not make.

`CAPTURED` is what strace printed of the program `changed_files` in the folder /srv/world. The oracle is what the program itself
leaves behind.
"""

import os
import subprocess
import sys
from pathlib import Path

import changed_files
import pytest
from replay_trace import ROOT, requests_table, row
from typer.testing import CliRunner

from tickdisk import device, replay
from tickdisk.cli import app
from tickdisk.foundation import table

CAPTURED = r"""
71 1795884895.219758 chdir("/srv/world") = 0 <0.000011>
71 1795884895.219805 openat(AT_FDCWD, "regions/old/r.1.mca", O_RDONLY|O_CLOEXEC) = 3 <0.000008>
71 1795884895.219849 pread64(3, "\0\0\0\0"..., 1048576, 0) = 196608 <0.000111>
71 1795884895.220040 mkdir("backup", 0777) = 0 <0.000452>
71 1795884895.220510 openat(AT_FDCWD, "backup/r.1.mca", O_RDWR|O_CREAT|O_TRUNC|O_CLOEXEC, 0777) = 4 <0.000074>
71 1795884895.220601 copy_file_range(3, NULL, 4, NULL, 100000, 0) = 100000 <0.000066>
71 1795884895.220686 sendfile(4, 3, [10] => [30010], 30000) = 30000 <0.000016>
71 1795884895.220719 write(4, "tail"..., 400) = 400 <0.000004>
71 1795884895.220733 copy_file_range(3, [1000], 4, [200000], 500, 0) = 500 <0.000007>
71 1795884895.220792 fallocate(4, FALLOC_FL_KEEP_SIZE, 0, 524288) = 0 <0.000028>
71 1795884895.220837 fallocate(4, 0, 196608, 65553) = 0 <0.000008>
71 1795884895.220864 fallocate(4, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 65536) = 0 <0.000329>
71 1795884895.221210 fallocate(4, FALLOC_FL_ZERO_RANGE, 262144, 65536) = 0 <0.000011>
71 1795884895.221236 fallocate(4, FALLOC_FL_COLLAPSE_RANGE, 0, 65536) = 0 <0.000408>
71 1795884895.221716 fallocate(4, FALLOC_FL_INSERT_RANGE, 65536, 131072) = 0 <0.000008>
71 1795884895.221753 close(4)        = 0 <0.000005>
71 1795884895.221774 truncate("regions/old/r.2.mca", 333) = 0 <0.000019>
71 1795884895.221815 openat(AT_FDCWD, "level.dat", O_RDONLY|O_CLOEXEC) = 4 <0.000006>
71 1795884895.221864 pread64(4, "\0\0\0\0"..., 1048576, 0) = 4321 <0.000009>
71 1795884895.221933 close(4)        = 0 <0.000003>
71 1795884895.221948 link("level.dat", "level.dat_old") = 0 <0.000021>
71 1795884895.221985 openat(AT_FDCWD, ".", O_RDWR|O_CLOEXEC|O_TMPFILE, 0600) = 4 <0.000235>
71 1795884895.222238 write(4, "\0\0\0\0"..., 777) = 777 <0.000009>
71 1795884895.222285 linkat(AT_FDCWD, "/proc/self/fd/4", AT_FDCWD, "level.dat_new", AT_SYMLINK_FOLLOW) = 0 <0.000234>
71 1795884895.222536 write(4, "\0\0\0\0"..., 23) = 23 <0.000003>
71 1795884895.222563 renameat2(AT_FDCWD, "level.dat_new", AT_FDCWD, "level.dat_old", RENAME_NOREPLACE) = -1 EEXIST <0.000004>
71 1795884895.222583 renameat2(AT_FDCWD, "level.dat_new", AT_FDCWD, "level.dat", RENAME_EXCHANGE) = 0 <0.000008>
71 1795884895.222610 unlink("level.dat_new") = 0 <0.000007>
71 1795884895.222628 symlink("backup/r.1.mca", "newest") = 0 <0.000136>
71 1795884895.222780 rename("regions/old", "regions/new") = 0 <0.000011>
71 1795884895.222801 close(3)        = 0 <0.000003>
71 1795884895.222813 openat(AT_FDCWD, "regions/new/r.3.mca", O_WRONLY|O_CREAT|O_CLOEXEC, 0777) = 3 <0.000095>
71 1795884895.222921 write(3, "\0\0\0\0"..., 99) = 99 <0.000013>
71 1795884895.222948 ftruncate(3, 64) = 0 <0.000007>
71 1795884895.222964 mkdir("gone", 0777) = 0 <0.000080>
71 1795884895.223057 openat(AT_FDCWD, ".", O_RDONLY|O_CLOEXEC) = 5 <0.000004>
71 1795884895.223077 mkdirat(5, "kept", 0777) = 0 <0.000067>
71 1795884895.223155 rmdir("gone")   = 0 <0.000119>
71 1795884895.223294 rename("backup", "kept/backup") = 0 <0.000011>
"""


def tree(folder: Path) -> dict[str, object]:
    """Returns all names below a folder, with the size of each file and the path to which each link leads."""
    return {
        str(path.relative_to(folder)): os.path.relpath(path.parent / path.readlink(), folder)
        if path.is_symlink()
        else None
        if path.is_dir()
        else path.stat().st_size
        for path in folder.rglob("*")
    }


@pytest.fixture
def captured(tmp_path: Path) -> replay.ReplayPlan:
    path = tmp_path / "captured.strace"
    path.write_text(CAPTURED.lstrip())
    return replay.plan(*replay.load_capture(path), root="/srv/world")


def left_by_the_program(folder: Path) -> dict[str, object]:
    changed_files.before(folder)
    subprocess.run([sys.executable, "-I", changed_files.__file__, folder], check=True)
    return tree(folder)


def test_a_replay_leaves_what_the_program_left(captured: replay.ReplayPlan, tmp_path: Path) -> None:
    assert dict(captured.refused) == {"failed in a way that cannot be repeated": 1}, "the rename to a name that is taken"
    target = tmp_path / "target"
    made = replay.prepare(captured, target)
    assert tree(target) == {
        "level.dat": 4321,
        "regions": None,
        "regions/old": None,
        "regions/old/r.1.mca": 196608,
        "regions/old/r.2.mca": 0,
    }
    timings = replay.issue(captured, target).timings
    verified = replay.verify(captured, target, made)
    assert tree(target) == left_by_the_program(tmp_path / "real")
    # A file system may lack a mode of fallocate. The capture is from one that has all.
    assert verified.is_right == (timings["result"] == timings["expected"]).all()
    assert (timings["lag_ns"] >= 0).all()


def test_one_call_makes_both_halves_of_a_copy(captured: replay.ReplayPlan, tmp_path: Path) -> None:
    replay.prepare(captured, tmp_path / "target")
    (tmp_path / "target/regions/old/r.1.mca").write_bytes(content := os.urandom(196_608))
    kept = captured.requests.index[captured.requests["call"].isin(["copy_file_range", "sendfile", "openat", "pread64"])]
    some = captured.requests.loc[kept[kept < 12]]
    part = replay.ReplayPlan(**{**vars(captured), "requests": some.reset_index(drop=True)})
    (tmp_path / "target/backup").mkdir()
    timings = replay.issue(part, tmp_path / "target").timings
    copied = (tmp_path / "target/backup/r.1.mca").read_bytes()
    assert copied[:100_000] == content[:100_000]
    assert copied[100_000:130_000] == content[10:30_010]
    assert copied[200_000:] == content[1000:1500]
    halves = timings[timings["call"].isin(["copy_file_range", "sendfile"])]
    reads, writes = halves.iloc[::2], halves.iloc[1::2]
    assert (set(reads["op"]), set(writes["op"])) == ({"read"}, {"write"})
    assert reads["result"].tolist() == writes["result"].tolist() == [100_000, 30_000, 500]
    assert reads["completed_ns"].tolist() == writes["issued_ns"].tolist()


def test_half_of_a_large_copy_needs_little_memory(tmp_path: Path) -> None:
    """One call copies a file from outside the folder that is replayed, and another copies it out again."""
    size = 5 * (16 << 20) + 4567
    rows = [
        row(1, 0, "open", "in", 3, flags=os.O_CREAT),
        row(1, 10, "write", "in", size, call="copy_file_range", offset=3, length=size),
        row(1, 20, "read", "in", size, call="copy_file_range", offset=3, length=size),
    ]
    planned = replay.plan(requests_table(rows), root=ROOT)
    replay.prepare(planned, tmp_path / "target")
    timings = replay.issue(planned, tmp_path / "target").timings
    assert timings["result"].tolist() == [0, size, size]
    assert (tmp_path / "target/in").read_bytes() == bytes(3) + replay.payload(1, size)


def test_an_empty_folder_is_none_of_the_files_and_a_link_leads_to_one(tmp_path: Path) -> None:
    rows = [
        row(1, 0, "open", "empty", 3, flags=os.O_DIRECTORY),
        row(1, 10, "sync", "empty", call="fsync"),
        row(1, 20, "open", "map", 4, flags=os.O_CREAT),
        row(1, 30, "symlink", "link", renamed=f"{ROOT}/map"),
        row(1, 40, "open", "link", 5, flags=os.O_RDWR),
        row(1, 50, "write", "link", 90, offset=10, length=90),
    ]
    planned = replay.plan(requests_table(rows), root=ROOT)
    made = replay.prepare(planned, tmp_path / "target")
    timings = replay.issue(planned, tmp_path / "target").timings
    assert timings["result"].tolist() == timings["expected"].tolist()
    assert tree(tmp_path / "target") == {"empty": None, "map": 100, "link": "map"}
    assert replay.verify(planned, tmp_path / "target", made).is_right


def test_the_page_cache_follows_the_names(captured: replay.ReplayPlan) -> None:
    model = device.DeviceModel(name="slow", read_latency_ns=1_000_000, write_latency_ns=0, flush_latency_ns=0)
    timings = replay.issue_simulated(captured, model).timings
    took = (timings["completed_ns"] - timings["issued_ns"])[timings["op"] == "read"]
    assert (took > 0).tolist() == [True, False, False, False, True], "copies read what is in the page cache"


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["replay", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


ROWS = [
    row(1, 0, "open", "map", 3, flags=os.O_CREAT),
    row(1, 10, "write", "map", 100, offset=0, length=100),
    row(1, 20, "write", "log", 4000, length=4000),
    row(1, 30, "open", "other", 4, flags=os.O_CREAT),
    row(1, 40, "rename", "other"),
    row(1, 50, "write", "away", 77, offset=0, length=77) | {"file": "/elsewhere/x"},
    row(1, 60, "write", "log", 0, length=0),
    row(1, 70, "truncate", "map", length=50),
]


def test_calls_that_are_not_made_stand_before_the_streams(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    lacking = {"bytes that splice moved, which are in no request": 5000}
    table.write("requests", path, requests_table(ROWS).assign(queued_ns=None, volume=None), lacking)
    missing = (
        "not made    2 calls that changed files, with 4,000 bytes (1 write without offset or length, "
        "1 rename to a name that is not known); 5,000 bytes that splice moved, which are in no request"
    )
    for where in ((tmp_path / "target",), ("--simulate", "hdd")):
        said = run(path, *where, "--root", ROOT).splitlines()
        summary = said[next(number for number, line in enumerate(said) if line.startswith("streams")) - 1 :]
        assert summary[0] == missing
    assert "results     taken from the capture" in said
    said = run(path, tmp_path / "for_fio", "--root", ROOT, "--for-fio", tmp_path / "fio").splitlines()
    assert next(line for line in said if line.startswith("not made")) == missing.replace("2 calls", "3 calls").replace(
        ");", ", 1 truncate that the tool does not make);"
    )


def test_a_file_is_not_compared_if_a_call_that_changed_it_is_not_made(tmp_path: Path) -> None:
    planned = replay.plan(requests_table(ROWS), root=ROOT)
    made = replay.prepare(planned, tmp_path / "target")
    replay.issue(planned, tmp_path / "target")
    found = replay.verify(planned, tmp_path / "target", made)
    assert (found.files, found.is_right, found.unsure) == (1, True, ("log", "other"))
    assert found.sentence() == (
        "all 1 have the names and sizes that the captured calls leave in their order; 2 not compared, such as log, as calls that "
        "changed them are not made again"
    )
