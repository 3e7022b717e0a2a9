"""The options of strace that change the form of its lines, and what a trace of calls lacks."""

import pytest
from test_formats_strace import OPEN, READ, frame, rows

from tickdisk.foundation.errors import TickdiskError

OPTIONS = {
    "-y": '88 1700000000.1 openat(AT_FDCWD</w>, "n (1)", O_RDWR|O_CREAT, 0600) = 4</w/n (1)>\n'
    '88 1700000000.2 unlink("/w/n (1)") = 0\n'
    '88 1700000000.3 pwrite64(4</w/n (1)>(deleted), "a"..., 640, 1280) = 640\n'
    "88 1700000000.4 dup(4</w/n (1)>(deleted)) = 5</w/n (1)>(deleted)\n"
    "88 1700000000.5 fdatasync(5</w/n (1)>(deleted) <unfinished ...>\n"
    "88 1700000000.6 <... fdatasync resumed>) = 0\n",
    "-N": '88 1700000000.1 openat(dirfd=AT_FDCWD, pathname="/w/n (1)", flags=O_RDWR|O_CREAT, mode=0600) = 4\n'
    '88 1700000000.2 unlink(pathname="/w/n (1)") = 0\n'
    '88 1700000000.3 pwrite64(fd=4, buf="fd=9, "..., count=640, offset=1280) = 640\n'
    "88 1700000000.4 dup(oldfd=4) = 5\n88 1700000000.5 fdatasync(fd=5 <unfinished ...>\n"
    "88 1700000000.6 <... fdatasync resumed>) = 0\n",
    "-Y": '88<a> b> 1700000000.1 openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600) = 4\n'
    '88<a> b> 1700000000.2 unlink("/w/n (1)") = 0\n88<a> b> 1700000000.25 getpid() = 88<a> b>\n'
    '88<a> b> 1700000000.3 pwrite64(4, "a"..., 640, 1280) = 640\n88<a> b> 1700000000.4 dup(4) = 5\n'
    "88<a> b> 1700000000.5 fdatasync(5 <unfinished ...>\n88<a> b> 1700000000.6 <... fdatasync resumed>) = 0\n",
    "-Y on a screen": '[pid    88<[x] y>] 1700000000.1 openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600) = 4\n'
    '[pid    88<[x] y>] 1700000000.2 unlink("/w/n (1)") = 0\n'
    '[pid    88<[x] y>] 1700000000.3 pwrite64(4, "a"..., 640, 1280) = 640\n[pid    88<[x] y>] 1700000000.4 dup(4) = 5\n'
    "[pid    88<[x] y>] 1700000000.5 fdatasync(5) = 0\n",
    "-k": '88 1700000000.1 openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600) = 4\n > /lib/libc.so.6(open+0x5b) [0x114a5b]\n'
    ' > /bin/s(Map::save(int, char)+0x3d) [0x2289] map.cpp:7\n88 1700000000.2 unlink("/w/n (1)") = 0\n'
    ' > unexpected_backtracing_error [0x0]\n88 1700000000.3 pwrite64(4, "a"..., 640, 1280) = 640\n'
    "88 1700000000.4 dup(4) = 5\n88 1700000000.5 fdatasync(5) = 0\n",
    "-e write=all": '88 1700000000.1 openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600) = 4\n'
    '88 1700000000.2 unlink("/w/n (1)") = 0\n88 1700000000.3 pwrite64(4, "a"..., 640, 1280) = 640\n'
    " | 00000  61 61 61 61 61 61 61 61  61 61 61 61 61 61 61 61  aaaaaaaaaaaaaaaa |\n * 17 bytes in buffer 0\n"
    "88 1700000000.4 dup(4) = 5\n88 1700000000.5 fdatasync(5) = 0\n",
    "-i -n": '88 1700000000.1 [ 257] [00007f0deadbeef0] openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600) = 4\n'
    '88 1700000000.2 [  87] [????????????????] unlink("/w/n (1)") = 0\n'
    '88 1700000000.3 [  18] [00007f0deadbeef0] pwrite64(4, "a"..., 640, 1280) = 640\n'
    "88 1700000000.4 [  32] [00007f0deadbeef0] dup(4) = 5\n"
    "88 1700000000.5 [  75] [00007f0deadbeef0] fdatasync(5 <unfinished ...>\n"
    "88 1700000000.6 [  75] [00007f0deadbeef0] <... fdatasync resumed>) = 0\n",
    "-X raw": '88 1700000000.1 openat(0xffffff9c, "/w/n (1)", 0x42, 0600) = 4\n88 1700000000.2 unlink("/w/n (1)") = 0\n'
    '88 1700000000.3 pwrite64(4, "a"..., 640, 1280) = 640\n88 1700000000.4 fcntl(4, 0x406, 0x5) = 5\n'
    "88 1700000000.5 fdatasync(5) = 0\n",
    "-X verbose -y": '88 1700000000.1 openat(-100 /* AT_FDCWD */</w>, "n (1)", 0x42 /* O_RDWR|O_CREAT */, 0600) = 4</w/n (1)>\n'
    '88 1700000000.2 unlink("/w/n (1)") = 0\n88 1700000000.3 pwrite64(4</w/n (1)>(deleted), "a"..., 640, 1280) = 640\n'
    "88 1700000000.4 fcntl(4</w/n (1)>(deleted), 0x406 /* F_DUPFD_CLOEXEC */, 5) = 5</w/n (1)>(deleted)\n"
    "88 1700000000.5 fdatasync(5</w/n (1)>(deleted)) = 0\n",
    "-xx -y": '88 1700000000.1 openat(AT_FDCWD<\\x2f\\x77>, "\\x6e\\x20\\x28\\x31\\x29", O_RDWR|O_CREAT, 0600) = '
    "4<\\x2f\\x77\\x2f\\x6e\\x20\\x28\\x31\\x29>\n"
    '88 1700000000.2 unlink("\\x2f\\x77\\x2f\\x6e\\x20\\x28\\x31\\x29") = 0\n'
    '88 1700000000.3 pwrite64(4<\\x2f\\x77\\x2f\\x6e\\x20\\x28\\x31\\x29>(deleted), "\\x61"..., 640, 1280) = 640\n'
    "88 1700000000.4 dup(4) = 5\n88 1700000000.5 fdatasync(5) = 0\n",
    "--secontext -y": '88 [kernel_t:s0] 1700000000.1 openat(AT_FDCWD</w> [tmp_t:s0], "n (1)" [tmp_t:s0!!var_t:s0], O_RDWR|O_CREAT'
    ', 0600) = 4</w/n (1)> [tmp_t:s0]\n88 [kernel_t:s0] 1700000000.2 unlink("/w/n (1)" [tmp_t:s0]) = 0\n'
    '88 [kernel_t:s0] 1700000000.3 pwrite64(4</w/n (1)>(deleted) [tmp_t:s0], "a"..., 640, 1280) = 640\n'
    "88 [kernel_t:s0] 1700000000.4 dup(4) = 5\n88 [kernel_t:s0] 1700000000.5 fdatasync(5) = 0\n",
    "colours": '88 1700000000.1 \x1b[32mopenat\x1b[90m(\x1b[0mAT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600\x1b[90m)\x1b[0m = 4\n'
    '88 1700000000.2 \x1b[32munlink\x1b[90m(\x1b[0m"/w/n (1)") = 0\n88 1700000000.3 pwrite64(4, "a"..., 640, 1280) = 640\n'
    "88 1700000000.4 dup(4) = 5\n88 1700000000.5 fdatasync(5) = 0\n",
    "--timestamps=unix,s": '88    1700000000 openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600) = 4\n'
    '88    1700000000 unlink("/w/n (1)") = 0\n88    1700000001 pwrite64(4, "a"..., 640, 1280) = 640 <0>\n'
    "88    1700000001 dup(4) = 5\n88    1700000001 fdatasync(5) = 0\n",
    "--relative-timestamps=s": '88         0 openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600) = 4\n'
    '88         0 unlink("/w/n (1)") = 0\n88         1 pwrite64(4, "a"..., 640, 1280) = 640\n88         0 dup(4) = 5\n'
    "88         0 fdatasync(5) = 0\n",
    "-z": '88 1700000000.1 openat(AT_FDCWD, "/w/n (1)", O_RDWR|O_CREAT, 0600 <unfinished ...>\n) = 4 <0.1>\n'
    '88 1700000000.2 unlink("/w/n (1)") = 0\n88 1700000000.3 pwrite64(4, "a"..., 640, 1280) = 640\n88 1700000000.4 dup(4) = 5\n'
    "88 1700000000.5 fdatasync(5) = 0 (DELAYED)\n",
}
"""Each text is printed by strace with options that change the form of its lines, for the same five calls."""


@pytest.mark.parametrize("options", OPTIONS)
def test_options_that_change_a_line(options, tmp_path):
    found, counts = rows(OPTIONS[options], tmp_path)
    assert [(op, name, offset) for op, name, offset, *_ in found] == [
        ("open", "/w/n (1)", None),
        ("unlink", "/w/n (1)", None),
        ("write", "/w/n (1)", 1280),
        ("dup", "/w/n (1)", None),
        ("sync", "/w/n (1)", None),
    ]
    assert (counts.format, counts.rejected, counts.contradictions, counts.lacks) == ("strace", {}, {}, {})
    table, _ = frame(OPTIONS[options], tmp_path)
    assert set(table["thread"]) == {88}
    names = {"-Y": {"a> b"}, "-Y on a screen": {"[x] y"}}
    assert set(table["thread_name"].dropna()) == names.get(options, set())


def test_a_time_without_a_thread_is_no_number_of_a_thread(tmp_path):
    table, _ = frame(f"1700000000 {OPEN}\n1700000001 {READ}\n", tmp_path)
    assert (table["thread"].isna().all(), table["start_ns"].tolist()) == (True, [1_700_000_000 * 10**9, 1_700_000_001 * 10**9])


def test_a_thread_of_another_namespace_belongs_to_its_process(tmp_path):
    """The result of clone is its number there, and lines begin with its number here."""
    found, _ = rows(
        f"41 1700000000.1 {OPEN}\n41 1700000000.2 clone3({{flags=0x3d0f00 /* CLONE_VM|CLONE_THREAD */, stack=0x7f}}, 88) = "
        f"3<w> /* 42 in strace's PID NS */\n42 1700000000.3 {READ}\n",
        tmp_path,
    )
    assert [name for _, name, *_ in found] == ["/srv/a", "/srv/a"]


def test_an_error_without_a_name_has_its_number(tmp_path):
    table, _ = frame(f"41 {OPEN}\n41 fsync(3) = -1 (errno 133)\n", tmp_path)
    assert table["errno"].tolist() == [0, 133]


@pytest.mark.parametrize("second", ["     0.000010 ", "12:00:00.5 "])
def test_two_clocks_in_one_file_are_refused(second, tmp_path):
    with pytest.raises(TickdiskError, match="times of two kinds"):
        frame(f"1700000000.1 {OPEN}\n{second}{READ}\n", tmp_path)


def test_lines_without_a_time_among_others_are_named(tmp_path):
    _, counts = frame(f"41 1700000000.1 {OPEN}\n41 {READ}\n", tmp_path)
    assert counts.contradictions == {"a line has no time, although others have one": (1, 2)}


CHANGES = "calls that change the owner, mode, times or attributes of files, or make special files, and are in no request"
CLONES = "calls of ioctl that make a file share the data of another, and are in no request"
LACKS = {
    "io_uring_enter(9, 3, 3, IORING_ENTER_GETEVENTS, NULL, 8) = 3": {
        "submissions to io_uring, whose requests are not in the trace": 3
    },
    "io_submit(0x7f, 2, [{aio_lio_opcode=IOCB_CMD_PWRITE}, {}]) = 2": {
        "submissions to Linux's asynchronous I/O, whose requests are not in the trace": 2
    },
    "copy_file_range(3, NULL, 9, NULL, 70, 0) = 64": {"bytes that copy_file_range moved, which are in no request": 64},
    "copy_file_range(3, NULL, 3, [9] => [73], 70, 0) = 64": {},
    "splice(8, NULL, 3, NULL, 70, 0) = 70": {"bytes that splice moved, which are in no request": 70},
    "fallocate(3, 0, 0, 4096) = 0": {},
    'fchmodat(AT_FDCWD, "/srv/a", 0644) = 0': {CHANGES: 1},
    'setxattr("/srv/a", "user.x", "1", 1, 0) = 0': {CHANGES: 1},
    "utimensat(3, NULL, NULL, 0) = -1 EACCES (Permission denied)": {},
    "ioctl(4, BTRFS_IOC_CLONE or FICLONE, 3) = 0": {CLONES: 1},
    "ioctl(4, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=3, src_offset=0, src_length=0, dest_offset=0}) = 0": {CLONES: 1},
    "ioctl(4, TCGETS, 0x7ffd) = 0": {},
    "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f0000000000": {
        "mappings of files through which a program may write unseen": 1
    },
    "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE, 3, 0) = 0x7f0000000000": {},
    "mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000000000": {},
    'read(12, "x", 10) = 10': {"calls on descriptors that the trace does not open": 1},
    "openat(AT_FDCWD, 0x7f00, O_RDONLY) = 11": {"opened files whose names are not in the trace": 1},
}


@pytest.mark.parametrize("call", LACKS)
def test_what_happened_and_is_in_no_request_is_said(call, tmp_path):
    _, counts = frame(f"41 {OPEN}\n41 {call}\n41 {READ}\n", tmp_path)
    assert counts.lacks == LACKS[call]
    assert counts.first == [f"not in the trace: {count} {kind}" for kind, count in LACKS[call].items()]


def test_calls_that_copy_bytes_move_positions(tmp_path):
    found, counts = rows(
        '7 openat(AT_FDCWD, "/from", O_RDONLY) = 3\n7 openat(AT_FDCWD, "/to", O_WRONLY|O_TRUNC) = 4\n'
        '7 sendfile(4, 3, NULL, 900) = 900\n7 write(4, "x", 10) = 10\n7 copy_file_range(3, NULL, 4, NULL, 50, 0) = 40\n'
        '7 read(3, "x", 5) = 5\n7 write(4, "x", 1) = 1\n7 splice(3, [7] => [27], 6, NULL, 20, 0) = 20\n7 read(3, "x", 1) = 1\n'
        "7 sendfile(5, 3, [0] => [20], 20) = 20\n7 socket(AF_INET, SOCK_STREAM, 0) = 8\n7 pipe([9, 10]) = 0\n"
        '7 splice(9, NULL, 8, NULL, 5, 0) = 5\n7 read(3, "x", 1) = 1\n7 lseek(4, 0, SEEK_END) = 951\n',
        tmp_path,
    )
    assert [(name, offset) for op, name, offset, *_ in found if op in ("read", "write")] == [
        ("/from", 0),
        ("/to", 0),
        ("/to", 900),
        ("/from", 900),
        ("/to", 910),
        ("/from", 940),
        ("/to", 950),
        ("/from", 7),
        ("/from", 945),
        ("/from", 0),
        ("/from", 946),
    ]
    # Bytes that move from a pipe to a socket belong to no file. What the descriptors 5 and 6 are is not known.
    assert counts.lacks == {
        "bytes that sendfile moved, which are in no request": 20,
        "bytes that splice moved, which are in no request": 20,
    }


def test_a_trace_after_the_summary_of_another_is_read(tmp_path):
    summary = "% time     seconds  usecs/call     calls syscall\n------ -----------\n 26.85    0.000029     7 read\n"
    found, counts = rows(f"7 {OPEN}\n{summary}7 {READ}\n", tmp_path)
    assert ([op for op, *_ in found], counts.skipped["lines of the summary"]) == (["open", "read"], 3)
