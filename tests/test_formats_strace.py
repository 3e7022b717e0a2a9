"""The reader of strace's output: every form of its lines, and the files and places that calls are for."""

import pandas as pd
import pytest

from tickdisk import formats
from tickdisk.formats import Counts


def rows(text: str, tmp_path, name: str | None = None) -> tuple[list[tuple], Counts]:
    """Returns (op, file, offset, length, result) of each request, and the counts."""
    table, counts = frame(text, tmp_path, name)
    found = table[["op", "file", "offset", "length", "result"]].astype(object)
    return [tuple(row) for row in found.where(found.notna(), None).itertuples(index=False)], counts


def frame(text: str, tmp_path, name: str | None = None) -> tuple[pd.DataFrame, Counts]:
    path = tmp_path / "trace.txt"
    path.write_text(text, encoding="utf-8")
    table, (counts,) = formats.read([path], name)
    return table, counts


OPEN = 'openat(AT_FDCWD, "/srv/a", O_RDWR|O_CREAT, 0644) = 3'
READ = 'pread64(3, "abc", 512, 1024) = 3'


@pytest.mark.parametrize(
    "stamp", ["", "12:00:00 ", "12:00:00.000001 ", "1700000000.000001 ", "     0.000001 ", "12:00:00.5 (+     0.1) "]
)
@pytest.mark.parametrize("number", ["", "41  ", "[pid    41] ", "41<java> "])
@pytest.mark.parametrize("took", ["", " <0.000012>"])
def test_every_form_of_a_line(stamp, number, took, tmp_path):
    lines = [f"{number}{stamp}{call}{took}" for call in (OPEN, READ, "close(3)                = 0")]
    found, counts = rows("\n".join(lines) + "\n", tmp_path)
    assert found == [
        ("open", "/srv/a", None, None, 3),
        ("read", "/srv/a", 1024, 512, 3),
        ("close", "/srv/a", None, None, 0),
    ]
    assert (counts.rejected, counts.contradictions) == ({}, {})
    table, _ = frame("\n".join(lines) + "\n", tmp_path)
    assert table["latency_ns"].dropna().tolist() == ([12_000] * 3 if took else [])
    assert table["thread"].dropna().tolist() == ([41] * 3 if number else [])
    assert table["start_ns"].isna().all() == (not stamp)


def test_the_clock_of_each_form(tmp_path):
    for stamps, clock, starts in (
        (("23:59:59.5", "00:00:00.25"), "local time of day", [86_399_500_000_000, 86_400_250_000_000]),
        (("1700000000.5", "1700000001.000000001"), "since 1970 in UTC", [1_700_000_000_500_000_000, 1_700_000_001_000_000_001]),
        (("     0.000010", "     0.000020"), "sum of the relative times of all lines before", [10_000, 30_000]),
    ):
        table, counts = frame("".join(f"{stamp} {OPEN}\n" for stamp in stamps), tmp_path)
        assert counts.facts["clock"] == clock
        assert table["start_ns"].tolist() == starts
        assert counts.contradictions == {}


def test_a_clock_that_runs_backwards_is_named(tmp_path):
    _, counts = frame(f"1700000005.0 {OPEN}\n1700000004.0 {READ}\n", tmp_path)
    assert counts.contradictions == {"the clock runs backwards": (1, 2)}


def test_calls_that_last_longer_than_the_next_line_allows_are_named(tmp_path):
    _, counts = frame(f"     0.000010 {OPEN} <7.5>\n     0.000020 {READ} <0.1>\n", tmp_path)
    assert counts.contradictions == {"a thread's next call begins before the last one has ended": (1, 2)}


def test_times_that_are_centuries_apart_are_no_contradiction(tmp_path):
    text = "7 1700000010.0 fsync(3 <unfinished ...>\n7 8700000010.0 <... fsync resumed>) = 0 <0.0002>\n"
    table, counts = frame(text, tmp_path)
    assert (table["latency_ns"].tolist(), counts.contradictions) == ([200_000], {})


@pytest.mark.parametrize(
    ("text", "found", "unfinished"),
    [
        # A killed process: calls that were under way end without a result, in one line or in two.
        ("7 1700000000.1 fsync(3 <unfinished ...>\n7 1700000000.2 <... fsync resumed>) = ?\n", [], 1),
        ("7 1700000000.1 pread64(3,  <unfinished ...>\n7 1700000000.2 <... pread64 resumed> <unfinished ...>) = ?\n", [], 1),
        ("7 1700000000.1 fdatasync(3) = ?\n7 1700000000.2 +++ killed by SIGKILL +++\n", [], 1),
        ("7 1700000000.1 fsync(3 <unfinished ...>\n7 1700000000.2 +++ killed by SIGKILL +++\n", [], 1),
        ("7 1700000000.1 ???( <unfinished ...>\n7 1700000000.2 <... ??? resumed>) = ?\n", [], 0),
        # strace was detached.
        ("7 1700000000.1 fsync(3 <detached ...>\n", [], 1),
        ("7 1700000000.1 pread64(3,  <unfinished ...>\n7 1700000000.2 <... pread64 resumed> <detached ...>\n", [], 1),
        ("7 1700000000.1 ???( <detached ...>\n", [], 0),
        # A call that the kernel begins again.
        ("7 1700000000.1 fsync(3) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <1.0>\n", [], 1),
        ("7 1700000000.1 restart_syscall(<... resuming interrupted read ...>) = 0 <9.0>\n", [], 0),
        # A call that is resumed, suspended and resumed.
        (
            (
                "7 1700000000.1 fsync( <unfinished ...>\n7 1700000000.2 <... fsync resumed>3 <unfinished ...>\n"
                "7 1700000000.3 <... fsync resumed>) = 0\n"
            ),
            [("sync", None, None, None, 0)],
            0,
        ),
        # The end of another call takes nothing away.
        (
            (
                "7 1700000000.1 fsync(3 <unfinished ...>\n7 1700000000.2 <... close resumed>) = 0 <0.1>\n"
                "7 1700000000.3 <... fsync resumed>) = 0 <0.2>\n"
            ),
            [("sync", None, None, None, 0)],
            0,
        ),
        (
            "7 1700000000.1 <... futex resumed> )             = ? <unavailable>\n7 1700000000.2 fsync(3) = 0\n",
            [("sync", None, None, None, 0)],
            0,
        ),
        # The name of a file before the break.
        (
            "7 1700000000.1 fsync(3</srv/a b> <unfinished ...>\n7 1700000000.2 <... fsync resumed>) = 0 <0.1>\n",
            [("sync", "/srv/a b", None, None, 0)],
            0,
        ),
        ("7 1700000000.1 fsync(3, <ptrace(SYSCALL):No such process>\n", [], 1),
        # The line with the end of the first call is missing, and a later end is that of a later call.
        (
            (
                "7 1700000000.1 fsync(3 <unfinished ...>\n7 1700000000.2 fdatasync(3) = 0 <0.1>\n"
                "7 1700000000.4 <... fsync resumed>) = 0\n"
            ),
            [("sync", None, None, None, 0)],
            1,
        ),
        (
            (
                "7 1700000000.1 fsync(3 <unfinished ...>\n7 1700000000.2 fsync(4 <unfinished ...>\n"
                "7 1700000000.4 <... fsync resumed>) = 0\n"
            ),
            [("sync", None, None, None, 0)],
            1,
        ),
    ],
)
def test_calls_without_an_end(text, found, unfinished, tmp_path):
    # The first line makes sure that there is a request.
    before = "8 1700000000.0 sync() = 0\n"
    seen, counts = rows(before + text, tmp_path)
    assert (seen[1:], counts.unfinished, counts.rejected) == (found, unfinished, {})


def test_a_call_on_two_lines_has_the_time_between_them(tmp_path):
    text = "7 1700000000.1 fsync(3 <unfinished ...>\n7 1700000000.35 <... fsync resumed>) = 0{}\n"
    assert frame(text.format(""), tmp_path)[0]["latency_ns"].tolist() == [250_000_000]
    assert frame(text.format(" <0.2>"), tmp_path)[0]["latency_ns"].tolist() == [200_000_000]
    _, counts = frame(text.format(" <2.5>"), tmp_path)
    assert counts.contradictions == {"a call took longer than the times of its two lines are apart": (1, 2)}


def test_a_thread_that_executes_a_program_goes_on_as_the_first(tmp_path):
    found, counts = rows(
        '60 1700000000.0 execve("/bin/a", ["a"], 0x7f /* 3 vars */) = 0 <0.1>\n'
        '60 1700000000.1 openat(AT_FDCWD, "/srv/kept", O_RDONLY) = 3 <0.1>\n'
        '60 1700000000.2 openat(AT_FDCWD, "/srv/closed", O_RDONLY|O_CLOEXEC) = 4 <0.1>\n'
        "60 1700000000.3 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, stack=0x7f} => {parent_tid=[61]}, 88) = 61 <0.1>\n"
        '61 1700000000.4 execve("/bin/b", ["b"], 0x7f /* 3 vars */ <pid changed to 60 ...>\n'
        "60 1700000000.5 +++ superseded by execve in pid 61 +++\n"
        "60 1700000000.6 <... execve resumed>) = 0 <0.2>\n"
        '60 1700000000.7 read(3, "x", 10) = 1 <0.1>\n'
        "60 1700000000.8 read(4, 0x7f, 10) = -1 EBADF (Bad file descriptor) <0.1>\n",
        tmp_path,
    )
    assert found[-1] == ("read", "/srv/kept", 0, 10, 1)
    assert (len(found), counts.rejected) == (3, {})


def test_names_with_any_bytes(tmp_path):
    found, counts = rows(
        '8 openat(AT_FDCWD, "/srv/na\\357ve.mt", O_RDONLY) = 3\n'
        '8 openat(AT_FDCWD, "/srv/\\346\\227\\245.txt", O_RDONLY) = 4\n'
        '8 openat(AT_FDCWD, "/srv/x\\ny \\"z\\", O_RDWR) = 9 <0.5>", O_RDONLY) = 5\n'
        '8 openat(AT_FDCWD, "/srv/\\x61\\x2fb", O_RDONLY) = 6\n'
        '8 read(4, "\\",) = 1", 64) = 7\n',
        tmp_path,
    )
    assert [name for _, name, *_ in found] == [
        "/srv/na\uefefve.mt",
        "/srv/日.txt",
        '/srv/x\ny "z", O_RDWR) = 9 <0.5>',
        "/srv/a/b",
        "/srv/日.txt",
    ]
    assert counts.rejected == {}


def test_lines_without_a_number_beside_lines_with_one_are_given_to_nobody(tmp_path):
    found, counts = rows(f"41 1700000000.1 {OPEN}\n1700000000.2 {READ}\n41 1700000000.3 {READ}\n", tmp_path)
    assert len(found) == 2
    assert counts.rejected == {"lacks a process number, which other lines have": (1, 2)}


def test_the_first_thread_has_no_number_until_there_is_a_second(tmp_path):
    table, counts = frame(
        f'execve("/srv/s", ["s"], 0x7f /* 3 vars */) = 0\n{OPEN}\n'
        "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>\nstrace: Process 42 attached\n"
        "[pid    41] <... clone resumed>, child_tidptr=0x7f) = 42\n"
        f"[pid    42] {READ}\n[pid    42] +++ exited with 0 +++\n{READ}\n",
        tmp_path,
    )
    assert table["file"].tolist() == ["/srv/a"] * 3
    assert table["thread"].tolist()[1:] == [42, 41]
    assert counts.rejected == {}


def test_a_message_in_the_middle_of_a_line(tmp_path):
    table, counts = frame(
        f"[pid    41] {OPEN}\n[pid    41] clone(strace: Process 43 attached\n <unfinished ...>\n[pid    43] {READ}\n"
        "[pid    41] <... clone resumed>child_stack=0xc0, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 43\n",
        tmp_path,
    )
    # The child's line comes before the one that tells whose child it is.
    assert table[["thread", "file"]].to_numpy().tolist() == [[41, "/srv/a"], [43, "/srv/a"]]
    assert counts.rejected == {}


def test_a_child_has_the_files_of_its_parent_although_its_lines_come_first(tmp_path):
    found, _ = rows(
        f"41 1700000000.0 {OPEN}\n41 1700000000.1 vfork( <unfinished ...>\n42 1700000000.2 {READ}\n"
        '42 1700000000.3 execve("/bin/true", ["true"], 0x7f /* 9 vars */) = 0\n'
        f"41 1700000000.4 <... vfork resumed>)             = 42\n42 1700000000.5 {READ}\n",
        tmp_path,
    )
    assert [name for _, name, *_ in found] == ["/srv/a"] * 3


def test_calls_of_32_bits(tmp_path):
    found, counts = rows(
        'strace: [ Process PID=7 runs in 32 bit mode. ]\n7 open("/srv/b", O_RDWR|O_LARGEFILE) = 4\n'
        "7 fcntl64(4, F_SETFD, FD_CLOEXEC)   = 0\n7 _llseek(4, 8589934592, [8589934592], SEEK_SET) = 0\n"
        '7 read(4, "x"..., 100) = 100\n7 pwrite64(4, "y"..., 50, 8589934692) = 50\n'
        "7 mmap2(NULL, 8192, PROT_READ, MAP_SHARED, 4, 0x3) = 0xf7f00000\n"
        "7 mmap2(NULL, 8192, PROT_READ, MAP_SHARED, 4, 0x3000) = 0xf7f10000\n"
        "7 ftruncate64(4, 99) = 0\n",
        tmp_path,
    )
    places = [(op, offset, length) for op, _, offset, length, _ in found]
    assert places == [
        ("open", None, None),
        ("seek", 8_589_934_592, None),
        ("read", 8_589_934_592, 100),
        ("write", 8_589_934_692, 50),
        ("mmap", 12_288, 8192),
        ("mmap", 12_288, 8192),
        ("truncate", None, 99),
    ]
    assert counts.rejected == {}


def test_names_after_descriptors(tmp_path):
    found, counts = rows(
        '9 openat(AT_FDCWD</srv>, "w.db", O_RDWR) = 3</srv/w.db>\n9 pread64(3</srv/w.db>, "x"..., 100, 0) = 100\n'
        '9 read(5<pipe:[240]>, "x", 1) = 1\n9 write(7<TCP:[127.0.0.1:80->127.0.0.1:4000]>, "x", 1) = 1\n'
        '9 read(0</dev/pts/1<char 136:1>>, "x", 1) = 1\n9 pread64(4</dev/sdb<block 8:16>>, "y"..., 512, 512) = 512\n'
        '9 write(6</srv/old, (1) (deleted)>, "x", 1) = 1\n9 close(9</srv/one>two>) = 0\n'
        '9 openat(3</srv>, "d/e", O_RDONLY) = 8\n9 read(8, "z", 2) = 1\n',
        tmp_path,
    )
    assert [(op, name) for op, name, *_ in found] == [
        ("open", "/srv/w.db"),
        ("read", "/srv/w.db"),
        ("read", "/dev/sdb"),
        ("write", "/srv/old, (1)"),
        ("close", "/srv/one>two"),
        ("open", "/srv/d/e"),
        ("read", "/srv/d/e"),
    ]
    assert counts.skipped["calls on descriptors that are not files"] == 3
    assert counts.rejected == {}


def test_only_what_succeeds_has_an_effect(tmp_path):
    table, counts = frame(
        f"7 {OPEN}\n"
        '7 rename("/srv/a", "/srv/b") = -1 ENOENT (No such file or directory)\n'
        "7 prctl(PR_SET_NAME, 0x12) = -1 EFAULT (Bad address)\n"
        "7 close(3) = -1 EIO (Input/output error)\n"
        '7 chdir("/nowhere") = -1 ENOENT (No such file or directory)\n'
        '7 openat(AT_FDCWD, "x", O_RDONLY) = -1 EACCES (Permission denied)\n'
        '7 prctl(PR_SET_NAME, "worker") = 0\n'
        '7 rename("/srv/a", "../c") = 0\n',
        tmp_path,
    )
    assert table["errno"].tolist() == [0, 2, 5, 13, 0]
    assert table["result"].tolist() == [3, 0, 0, 0, 0]
    assert table["file"].tolist() == ["/srv/a", "/srv/a", "/srv/a", "x", "/srv/a"]
    assert table["renamed"].tolist()[-1] == "../c"
    assert table["thread_name"].tolist()[-1] == "worker"
    assert counts.rejected == {}


def test_positions_follow_reads_writes_seeks_and_appends(tmp_path):
    found, _ = rows(
        '7 openat(AT_FDCWD, "/log", O_WRONLY|O_CREAT|O_TRUNC|O_APPEND, 0644) = 3\n7 write(3, "x", 10) = 10\n7 dup(3) = 4\n'
        '7 write(4, "x", 5) = 5\n7 openat(AT_FDCWD, "/data", O_RDWR) = 5\n7 read(5, "x", 100) = 40\n'
        '7 readv(5, [{iov_base="a\\", iov_len=9", iov_len=3}, {iov_base="b", iov_len=4}], 2) = 7\n'
        '7 lseek(5, -1, SEEK_CUR) = 46\n7 read(5, "x", 1) = 1\n7 read(5, 0x7f, 1) = -1 EIO (Input/output error)\n'
        '7 write(5, "x", 3) = 3\n7 lseek(5, 0, SEEK_END) = 900\n7 fcntl(5, F_SETFL, O_RDWR|O_APPEND) = 0\n'
        '7 lseek(5, 0, SEEK_SET) = 0\n7 write(5, "x", 2) = 2\n',
        tmp_path,
    )
    moved = [(op, name, offset) for op, name, offset, *_ in found if op in ("read", "write")]
    assert moved == [
        ("write", "/log", 0),
        ("write", "/log", 10),
        ("read", "/data", 0),
        ("read", "/data", 40),
        ("read", "/data", 46),
        ("read", "/data", None),
        ("write", "/data", 47),
        ("write", "/data", 900),
    ]
    assert [length for op, _, _, length, _ in found if op == "read"] == [100, 7, 1, 1]


def test_a_summary_after_the_calls_is_skipped(tmp_path):
    summary = "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ---\n100.00    0.1   1  2   read\n"
    _, counts = rows(f"7 {OPEN}\n{summary}", tmp_path)
    assert (counts.skipped["lines of the summary"], counts.rejected) == (3, {})


def test_flags_and_mapped_files(tmp_path):
    table, _ = frame(
        '7 openat(AT_FDCWD, "/m", O_RDWR|O_TRUNC|O_CLOEXEC) = 3\n'
        '7 openat2(AT_FDCWD, "/n", {flags=O_RDONLY|O_APPEND, resolve=0}, 24) = 4\n'
        "7 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0x1000) = 0x7f0000000000\n"
        "7 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f1000000000\n"
        "7 msync(0x7f0000001000, 4096, MS_SYNC) = 0\n",
        tmp_path,
    )
    assert table["flags"].tolist()[:2] == [0o2 | 0o1000 | 0o2000000, 0o2000]
    assert table.loc[table["call"] == "msync", ["file", "offset", "length"]].to_numpy().tolist() == [["/m", 8192, 4096]]
    assert table["op"].tolist() == ["open", "open", "mmap", "sync"]
