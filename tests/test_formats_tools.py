"""Traces that the real tools write here: every reader finds what the traced program itself says that it did."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import for_release

from benchmarks import trace_readers
from tickdisk import formats
from tickdisk.trace.calls import CALLS

PROGRAM = """
import json, os, subprocess, sys, threading
folder = sys.argv[1]
done = []
def work(name, count):
    fd = os.open(f"{folder}/{name}", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for number in range(count):
        os.write(fd, bytes(100 + number))
        done.append(("write", name, sum(100 + earlier for earlier in range(number)), 100 + number))
    os.pwrite(fd, bytes(50), 7)
    os.fsync(fd)
    os.lseek(fd, 3, os.SEEK_SET)
    os.read(fd, 11)
    os.close(fd)
    done.extend([("write", name, 7, 50), ("sync", name, None, None), ("read", name, 3, 11)])
if len(sys.argv) > 2:
    work(sys.argv[2], 3)
else:
    threads = [threading.Thread(target=work, args=(f"thread {number}", 20)) for number in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    os.rename(f"{folder}/thread 0", f"{folder}/renamed")
    done.append(("rename", "thread 0", None, None))
    said = subprocess.run([sys.executable, "-c", PROGRAM, folder, "child"], capture_output=True, check=True).stdout
    done += map(tuple, json.loads(said))
print(json.dumps(done))
"""
OPTIONS = ["-f", "-f -t", "-f -tt -T", "-f -ttt -T -y", "-f -r -yy", "-f -ttt -x -s 0", "-ff -ttt -T"]
FORMS = [
    "-f -ttt -Y",
    "-f -ttt -k",
    "-ff -ttt -k",
    "-f -i -n",
    "-f -X raw",
    "-f -X verbose -y",
    "-f -xx -yy",
    "-f --decode-pids=comm,pidns -T",
    "-f --timestamps=unix,s --syscall-times=ns",
    "-f --relative-timestamps=s",
    "-f -e read=all -e write=all",
    "-f -z",
    "-f -C -w",
    "-f -ttt -e inject=fsync:delay_exit=9",
]
"""More options that change the form of lines. `test_formats_strace` has lines of them."""


def traced(options: list[str], folder: Path) -> tuple[list[tuple], Path]:
    """Runs the program under strace. Returns what it says that it did, and the trace."""
    target, trace = folder / "target", folder / "traces"
    target.mkdir()
    trace.mkdir()
    source = f"PROGRAM = {PROGRAM!r}\n" + PROGRAM
    words = ["strace", *options, "-o", trace / "s", sys.executable, "-c", source, target]
    said = subprocess.run(words, capture_output=True, check=True, timeout=120).stdout
    return [tuple(row) for row in json.loads(said)], trace if "-ff" in options else trace / "s"


@pytest.mark.parametrize("options", [*OPTIONS, *(pytest.param(form, marks=for_release) for form in FORMS)])
def test_strace_with_every_option(options: str, tmp_path: Path) -> None:
    done, trace = traced(options.split(), tmp_path)
    requests, counts = formats.read([trace])
    assert [each.format for each in counts] == ["strace"]
    assert counts[0].rejected == {}
    own = requests[requests["file"].fillna("").str.startswith(f"{tmp_path}/target/")]
    own = own[own["op"].isin(["read", "write", "sync", "rename"])].astype(object)
    moved = own[["op", "file", "offset", "result"]].where(own[["op", "file", "offset", "result"]].notna(), None)
    seen = [
        (op, name.rsplit("/", 1)[1], offset if op in ("read", "write") else None, result if op in ("read", "write") else None)
        for op, name, offset, result in moved.itertuples(index=False)
    ]
    assert sorted(seen, key=str) == sorted(done, key=str)
    if "-T" in options:
        assert own["latency_ns"].notna().all()
    if "-t" in options:
        assert own["start_ns"].notna().all()


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is missing")
def test_what_fio_writes(tmp_path: Path) -> None:
    words = ["--name=x", "--ioengine=psync", "--rw=randrw", "--bs=4k", "--size=256k", "--fsync=8", "--output-format=json"]
    logs = [
        f"--filename={tmp_path / 'f'}",
        f"--write_iolog={tmp_path / 'x.iolog'}",
        f"--write_lat_log={tmp_path / 'x'}",
        "--log_offset=1",
    ]
    said = json.loads(subprocess.run(["fio", *words, *logs], capture_output=True, check=True, timeout=120).stdout)
    (job,) = said["jobs"]
    requests, _ = formats.read([tmp_path / "x.iolog"])
    counted = requests["op"].value_counts()
    assert (counted["read"], counted["write"]) == (job["read"]["total_ios"], job["write"]["total_ios"])
    latencies, (counts,) = formats.read([tmp_path / "x_lat.1.log"])
    assert (counts.format, counts.rejected) == ("fio-latencies", {})
    for op in ("read", "write"):
        own = latencies[latencies["op"] == op]
        assert len(own) == job[op]["total_ios"]
        assert own["latency_ns"].mean() == pytest.approx(job[op]["lat_ns"]["mean"], rel=1e-3)
        assert own["length"].sum() == job[op]["io_bytes"]
        mine = requests[requests["op"] == op]
        assert sorted(own["offset"]) == sorted(mine["offset"])


def test_the_benchmark_compares_readers_of_the_same_lines() -> None:
    raw = "".join(trace_readers.strace_lines(5000, 2)).encode()
    lines = raw.splitlines()
    assert trace_readers.regular_expression(raw) == len(lines) == 5000
    assert 0.15 < sum(b"<unfinished" in line or b" resumed>" in line for line in lines) / len(lines) < 0.25
    calls = sum(b" resumed>" not in line for line in lines)
    assert 0.7 * calls < trace_readers.native("strace", raw) < calls
    listed = "".join(trace_readers.msr_lines(1000, 2)).encode()
    assert trace_readers.native("msr", listed) == trace_readers.arrow(listed) == 1000


PERF_PROGRAM = """
import json, os, sys, threading, time
folder, output, done, opened = sys.argv[1], sys.argv[2], [], []
ended, printed = threading.Semaphore(0), threading.Event()
# perf prints a call late if the machine is busy, and names a descriptor after the file that has its number by then, in a thread
# that still runs. So no other file may have had the number before, and all stays as it is until the lines are there.
[os.dup(0) for _ in range(100)]
def work(name):
    fd = os.open(f"{folder}/{name}", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    opened.append(fd)
    for number in range(20):
        os.pwrite(fd, bytes(100 + number), 1000 * number)
        done.append(("write", name, 1000 * number, 100 + number))
    os.fsync(fd)
    os.lseek(fd, 3, os.SEEK_SET)
    os.read(fd, 11)
    os.ftruncate(fd, 77)
    done.extend([("sync", name, None, None), ("read", name, 3, 11), ("truncate", name, None, None)])
    ended.release()
    printed.wait()
threads = [threading.Thread(target=work, args=(f"thread {number}",)) for number in range(3)]
[thread.start() for thread in threads]
[ended.acquire() for _ in threads]
most_s = time.monotonic() + 60
while open(output).read().count("ftruncate(") < 3 and time.monotonic() < most_s:
    time.sleep(0.05)
printed.set()
[thread.join() for thread in threads]
print(json.dumps(done))
"""


def perf_trace(words: list[str], output: Path) -> str | None:
    """Runs a program under perf trace. Returns what the program says, or None if perf cannot trace here."""
    if shutil.which("perf") is None:
        return None
    done = subprocess.run(["perf", "trace", "-o", output, *words], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout if done.returncode == 0 and output.exists() and output.stat().st_size else None


def test_perf_trace_finds_what_a_program_does(tmp_path: Path) -> None:
    output = tmp_path / "perf.txt"
    # perf does not name files whose path has more than 64 bytes.
    with tempfile.TemporaryDirectory(dir="/tmp") as target:
        said = perf_trace([sys.executable, "-c", PERF_PROGRAM, target, str(output)], output)
    if said is None:
        pytest.skip("perf cannot trace here")
    requests, (counts,) = formats.read([output])
    assert (counts.format, counts.rejected) == ("perf-trace", {})
    own = requests[requests["file"].fillna("").str.startswith(f"{target}/")]
    own = own[own["op"].isin(["read", "write", "sync", "truncate"])]
    # On a busy machine perf's times of the begin and the end of a call sometimes contradict each other.
    assert counts.contradictions.keys() <= {
        "a call ended before it began",
        "a thread's next call begins before the last one has ended",
    }
    # perf sometimes forgets when a call began. The line that ends the call then has no time, or an impossible one.
    untimed = [line for line in output.read_text().splitlines() if re.search(r"\(( +|\d{14,}\.\d+ ms)\): .*\) += ", line)]
    for thread, call in own.loc[own["latency_ns"].isna(), ["thread", "call"]].to_numpy():
        assert any(re.search(rf"/{thread} .*\b{call}\(", line) for line in untimed)
    assert own["start_ns"].notna().all()
    moved = own["op"].isin(["read", "write"])
    own = own.assign(**{name: own[name].astype(object).where(moved, None) for name in ("offset", "result")})
    seen = [(op, file.rsplit("/", 1)[1], *place) for op, file, *place in own[["op", "file", "offset", "result"]].to_numpy()]
    assert sorted(seen, key=str) == sorted(map(tuple, json.loads(said)), key=str)


def test_the_kept_lines_of_perf_trace() -> None:
    requests, (counts,) = formats.read([Path("src/native/fuzz/seeds/perf-trace")])
    assert (counts.format, counts.rejected, counts.skipped["lost events"]) == ("perf-trace", {}, 3)
    assert any("perf found when it printed" in sentence for sentence in counts.first)
    own = requests[requests["file"] == "/srv/world/file 1"]
    assert own["call"].tolist() == ["lseek", "fsync", "fdatasync", "pread64", "ftruncate", "close"]
    assert own["start_ns"].tolist() == [34_704_000, 34_730_000, 36_743_000, 36_851_000, 36_881_000, 37_130_000]
    assert own["latency_ns"].tolist() == [10_000, 1_957_000, 57_000, 16_000, 236_000, 23_000]
    assert own["offset"].astype(object).where(own["offset"].notna(), None).tolist() == [81920, None, None, 0, None, None]
    assert set(own["thread"]) == {26076}
    assert requests["process"].isna().all()
    assert requests.loc[requests["op"] == "open", "errno"].tolist() == [0, 0, 2]


def test_strace_and_bpftrace_call_each_operation_by_the_same_name(tmp_path: Path) -> None:
    """The reader of strace is native, and that of bpftrace has a table in Python."""
    vector = '[{iov_base="x", iov_len=1}], 1'
    descriptor_first = {
        **dict.fromkeys(("pread64", "pwrite64"), '"x", 1, 0'),
        **dict.fromkeys(("read", "write"), '"x", 1'),
        **dict.fromkeys(("readv", "writev"), vector),
        **dict.fromkeys(("preadv", "pwritev"), f"{vector}, 0"),
        **dict.fromkeys(("preadv2", "pwritev2"), f"{vector}, 0, 0"),
        **dict.fromkeys(("fsync", "fdatasync", "syncfs"), ""),
        "lseek": "1, SEEK_SET",
        "sync_file_range": "0, 1, SYNC_FILE_RANGE_WRITE",
        "ftruncate": "1",
    }
    others = {"truncate": '"/srv/a", 1', "rename": '"/srv/a", "/srv/b"', "unlink": '"/srv/a"', "close": "3", "sync": ""}
    lines = ['AT_FDCWD, "/srv/a", O_RDWR']
    calls = ["openat", *descriptor_first, *others]
    lines += [f"3, {words}".rstrip(", ") for words in descriptor_first.values()] + list(others.values())
    trace = tmp_path / "each.strace"
    trace.write_text(
        "".join(
            f"7 {1_700_000_000 + number}.000000001 {call}({words}) = {3 if call == 'openat' else 1 if words.count(',') else 0} "
            "<0.000000100>\n"
            for number, (call, words) in enumerate(zip(calls, lines, strict=True))
        )
    )
    requests, _ = formats.read([trace])
    told = dict(zip(requests["call"], requests["op"], strict=True))
    assert {name: op for name, op in told.items() if op != CALLS[name].op} == {}
    assert {call for call in calls if CALLS[call].op} == told.keys()
