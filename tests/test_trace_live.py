"""Known requests and known waits through the real tools; needs root, and where it says so bpftrace."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pandas as pd
import pytest
from conftest import BIN, for_release

from tickdisk import device, manifest, trace
from tickdisk.foundation import clock, memory, table

pytestmark = pytest.mark.live
SOURCES = Path(__file__).parent
LIMIT_S = 60
TOOLS = ["bpftrace", "strace"]
TRUTH = ["thread", "call", "file", "offset", "length", "result"]
needs_bpftrace = pytest.mark.skipif(trace.unavailable() is not None, reason=f"bpftrace: {trace.unavailable()}")
with_both = pytest.mark.parametrize("tool", [pytest.param("bpftrace", marks=needs_bpftrace), "strace"])
with_either = pytest.mark.parametrize(
    "tool", [pytest.param("bpftrace", marks=needs_bpftrace), pytest.param("strace", marks=for_release)]
)
LOOP = """
import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
print("runs", flush=True)
number = 0
while True:
    os.pread(file, 100, number % 7 * 100)
    number += 1
    time.sleep(0.001)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name in ("trace_requests", "trace_waits"):
        source = SOURCES / f"{name}.c"
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", source, "-o", folder / name], check=True)
    return folder


@pytest.fixture
def fast() -> Iterator[Path]:
    with memory.folder() as folder:
        (folder / "files").mkdir()
        yield folder


def capture(tool: trace.Tool, command: trace.Command, fast: Path, logs: Path) -> tuple[trace.ParsedCapture, int | None]:
    with clock.Sampler() as clocks, trace.start(tool, target=command, folder=fast / "capture", logs=logs) as recording:
        assert recording.command is not None
        code = recording.command.wait(LIMIT_S)
        raw = recording.stop()
    return trace.parse(raw, clocks.table()), code


def truth(path: Path) -> pd.DataFrame:
    """What the program says that it did, and its child, which has no way to say it."""
    rows = pd.read_csv(path, sep="\t", names=TRUTH, na_values="-").astype({"offset": "Int64", "length": "Int64"})
    inherited = next(file for file in rows["file"] if file.endswith("/relative"))
    child = [("child", "pread64", inherited, 3, 1, 1), ("child", "write", inherited, 9, 1, 1)]
    return pd.concat([rows, pd.DataFrame(child, columns=TRUTH)], ignore_index=True)


def own(requests: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """The captured requests on the program's files, in the form of the truth."""
    rows = requests[requests["file"].astype(object).fillna("").str.startswith(str(folder)) & (requests["op"] != "fault")]
    return rows.assign(result=rows["result"] - rows["errno"], thread=rows["thread_name"])[TRUTH]


def listed(rows: pd.DataFrame) -> list[tuple[object, ...]]:
    return [tuple(None if pd.isna(value) else value for value in row) for row in rows.itertuples(index=False)]


def tracers() -> set[int]:
    """Processes of bpftrace and strace that run."""
    found = set()
    for exe in Path("/proc").glob("[0-9]*/exe"):
        try:
            name = exe.readlink().name
        except OSError:
            continue
        if name in TOOLS:
            found.add(int(exe.parent.name))
    return found


def commands() -> str:
    """The command lines of all processes."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(lines)


def gone(before: set[int], cgroups: set[Path]) -> bool:
    """Whether within a moment there are no more tracers and no more cgroups of ours than before."""
    deadline = time.monotonic() + 10
    while tracers() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    return not tracers() - before and not ours() - cgroups


def ours() -> set[Path]:
    try:
        return set(trace.cgroup.hierarchy().rglob("tickdisk-*"))
    except FileNotFoundError:
        return ours()  # somebody's cgroup went while we looked


@with_both
def test_capture_equals_truth_on_eight_threads(tool: trace.Tool, programs: Path, fast: Path, tmp_path: Path) -> None:
    command = trace.Command([programs / "trace_requests", fast / "files", "40"], output=fast / "truth")
    captured, code = capture(tool, command, fast, tmp_path)
    assert code == 3
    true, seen, summary = truth(fast / "truth"), own(captured.requests, fast / "files"), captured.summary
    assert summary.lost_events == 0
    for thread, rows in true.groupby("thread"):
        assert listed(seen[seen["thread"] == thread]) == listed(rows), thread
    assert len(seen) == len(true) == 8 * (40 * 28 + 8) + 13
    moved = true["call"].str.contains("read|write")
    assert seen.loc[seen["call"].str.contains("read|write"), "result"].sum() == true.loc[moved, "result"].sum()
    assert seen.groupby("call").size().to_dict() == true.groupby("call").size().to_dict()
    assert (summary.rejected, summary.offsets_unknown, summary.files_unknown, summary.unfinished) == (0, 0, 0, 0)
    assert summary.not_files == 8  # a pipe and a pair of sockets: write, read, close and close
    ordered = captured.requests[captured.requests["op"] != "fault"].sort_values(["thread", "start_ns"])
    after = ordered.groupby("thread")["start_ns"].shift(-1)
    assert (after.dropna() >= (ordered["start_ns"] + ordered["latency_ns"])[after.notna()]).all()


@needs_bpftrace
def test_what_comes_too_fast_is_counted(programs: Path, fast: Path, tmp_path: Path) -> None:
    """More events than a map holds; waits are among the lost ones, so there can be more of them than missing requests."""
    command = trace.Command([programs / "trace_requests", fast / "files", "700"], output=fast / "truth")
    captured, _ = capture("bpftrace", command, fast, tmp_path)
    missing = len(truth(fast / "truth")) - len(own(captured.requests, fast / "files"))
    assert 0 <= missing <= captured.summary.lost_events + captured.summary.not_files + captured.summary.files_unknown


@needs_bpftrace
def test_strace_counts_the_same_calls(programs: Path, fast: Path, tmp_path: Path) -> None:
    words = [programs / "trace_requests", fast / "files", "5"]
    captured, _ = capture("bpftrace", trace.Command(words, output=fast / "truth"), fast, tmp_path)
    calls = captured.requests["call"].value_counts().to_dict()
    (fast / "files").joinpath("shared").unlink()
    counts = fast / "counts"
    with (fast / "truth").open("wb") as output:
        subprocess.run(["strace", "-f", "-c", "-U", "calls,name", "-o", counts, *words], stdout=output, check=False)
    counted = {name: int(number) for number, name in re.findall(r"^ *(\d+) (\w+)$", counts.read_text(), re.MULTILINE)}
    positioned = ["pread64", "pwrite64", "preadv", "pwritev", "readv", "writev"]
    syncing = ["fsync", "fdatasync", "ftruncate", "truncate", "msync"]
    for name in [*positioned, *syncing, "openat", "unlink", "unlinkat", "rename", "lseek", "dup", "dup2"]:
        assert calls[name] == counted[name], name
    mixed = ["read", "write", "close"]
    assert sum(calls[name] for name in mixed) + captured.summary.not_files == sum(counted[name] for name in mixed)


@for_release
@with_either
def test_it_works_in_a_process_namespace_of_its_own(tool: str, programs: Path, fast: Path, tmp_path: Path) -> None:
    # In a chroot, as on a machine of its own, the root is no mount point, and cannot be made private.
    space = ["unshare", "--fork", "--pid", "--mount-proc", "--propagation", "unchanged", "--kill-child"]
    words = [BIN / "tickdisk", "capture", "-o", tmp_path / "out", "--tool", tool, "--"]
    program = [programs / "trace_requests", fast / "files", "5"]
    done = subprocess.run([*space, *words, *program], capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.count("\t") == len(TRUTH) - 1]
    (fast / "truth").write_text("\n".join(lines) + "\n")
    seen = own(table.read("requests", tmp_path / "out" / "requests.parquet"), fast / "files")
    for thread, rows in truth(fast / "truth").groupby("thread"):
        assert listed(seen[seen["thread"] == thread]) == listed(rows), thread
    assert "0 events lost, 0 lines not understood" in done.stdout


@needs_bpftrace
def test_waits_are_what_the_threads_waited_for(programs: Path, fast: Path, tmp_path: Path) -> None:
    slow = device.DeviceModel(name="slow", read_latency_ns=100_000_000, write_latency_ns=0, flush_latency_ns=0)
    with device.up(slow.unlimited(), size_bytes=64 << 20, floor_ns=0, logs=tmp_path) as disk:
        file = disk.mount_point / "file"
        file.write_bytes(bytes(2 << 20))
        disk.remount()
        file.stat()
        disk.set(slow, floor_ns=0)
        command = trace.Command([programs / "trace_waits", file], output=fast / "truth")
        captured, code = capture("bpftrace", command, fast, tmp_path)
        disk.set(slow.unlimited(), floor_ns=0)
    assert code == 0
    waits = captured.waits
    assert waits is not None
    true = pd.read_csv(fast / "truth", sep="\t", names=["name", "kind", "start_ns", "end_ns"]).set_index("name")
    least_ms = {"sleeper": 60, "holder": 80, "waiter": 50, "listener": 50, "talker": 60, "reader": 95, "faulter": 95}
    least_ms |= {"spin0": 60, "spin1": 60}
    of = {}
    for name, row in true.iterrows():
        inside = waits[(waits["thread_name"] == name) & waits["start_ns"].between(row["start_ns"], row["end_ns"])]
        of[name] = inside[inside["kind"] == row["kind"]]
        # The next wait of the thread can begin before it has read the clock.
        spent = (of[name]["end_ns"].clip(upper=row["end_ns"]) - of[name]["start_ns"]).sum() / 1e6
        assert least_ms[str(name)] - 5 <= spent <= (row["end_ns"] - row["start_ns"]) / 1e6, name
        assert (inside["end_ns"] - inside["start_ns"]).sum() <= row["end_ns"] - row["start_ns"], name

    def longest(name: str) -> pd.Series:
        return of[name].loc[(of[name]["end_ns"] - of[name]["start_ns"]).idxmax()]

    assert longest("waiter")[["call", "waker_name"]].tolist() == ["futex", "holder"]
    assert longest("listener")[["call", "waker_name"]].tolist() == ["read", "talker"]
    assert (longest("reader")["call"], longest("faulter")["call"]) == ("pread64", "fault")
    fault = captured.requests[(captured.requests["op"] == "fault") & (captured.requests["thread_name"] == "faulter")]
    fault = fault[fault["file"] == str(file)]
    assert fault["offset"].tolist() == [300 * 4096]
    assert fault["latency_ns"].tolist()[0] >= 90e6


@for_release
@with_either
def test_a_running_process_is_captured_again_and_again(tool: trace.Tool, fast: Path, tmp_path: Path) -> None:
    (fast / "files" / "data").write_bytes(bytes(1000))
    before, cgroups = tracers(), ours()
    with subprocess.Popen([sys.executable, "-c", LOOP, fast / "files" / "data"], stdout=subprocess.PIPE, text=True) as runs:
        assert runs.stdout is not None
        runs.stdout.readline()
        home = Path(f"/proc/{runs.pid}/cgroup").read_text()
        for _ in range(3):
            recording = trace.start(tool, target=runs.pid, folder=fast / "capture", logs=tmp_path)
            with clock.Sampler() as clocks, recording:
                time.sleep(0.1)
                raw = recording.stop()
            requests = trace.parse(raw, clocks.table()).requests
            reads = requests[requests["call"] == "pread64"]
            assert len(reads) > 20
            assert set(reads["file"]) == {str(fast / "files" / "data")}
            assert set(reads["offset"]) == {number * 100 for number in range(7)}
            assert runs.poll() is None
            assert Path(f"/proc/{runs.pid}/cgroup").read_text() == home
        runs.kill()
    assert gone(before, cgroups)


@needs_bpftrace
def test_a_server_that_is_started_inside_is_seen_from_its_first_call_and_we_are_not(
    programs: Path, fast: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        group, clocks = stack.enter_context(trace.Cgroup()), stack.enter_context(clock.Sampler())
        recording = stack.enter_context(trace.start("bpftrace", target=group, folder=fast / "capture", logs=tmp_path))
        with group.entered(), (fast / "truth").open("wb") as output:
            child = subprocess.Popen([programs / "trace_requests", fast / "files", "2"], stdout=output)
            assert os.getpid() in group.members()
        assert os.getpid() not in group.members()
        (fast / "files" / "not ours").touch()
        child.wait(LIMIT_S)
        raw = recording.stop()
    captured = trace.parse(raw, clocks.table())
    seen = own(captured.requests, fast / "files")
    for thread, rows in truth(fast / "truth").groupby("thread"):
        assert listed(seen[seen["thread"] == thread]) == listed(rows), thread
    assert set(seen["thread"]) == {*(f"w{number}" for number in range(8)), "lead", "child"}
    assert captured.summary.other_processes > 0
    assert captured.requests["file"].astype(object).fillna("").str.endswith("/libc.so.6").any()


def test_cgroups_of_the_dead_are_removed_and_their_members_live_on() -> None:
    code = (
        "import subprocess, time; from tickdisk import trace; group = trace.Cgroup(); group.__enter__(); "
        "sleeper = subprocess.Popen(['sleep', '60']); group.add(sleeper.pid); "
        "print(group.path, sleeper.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        path, sleeper = owner.stdout.readline().split()
        with trace.Cgroup() as group:
            assert group.path.is_dir()
            assert Path(path).is_dir()  # its owner lives
        assert not group.path.exists()
        owner.kill()
        owner.wait()
        with trace.Cgroup():
            assert not Path(path).exists()
        assert Path(f"/proc/{sleeper}/stat").exists()
        os.kill(int(sleeper), signal.SIGKILL)


@contextmanager
def cli(*words: str | Path, program: tuple[str | Path, ...] = (BIN / "tickdisk",)) -> Iterator[subprocess.Popen[str]]:
    command = [*program, "capture", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as runs:
        try:
            yield runs
        finally:
            runs.kill()


def started(before: set[int], command: Path) -> None:
    """Waits until a tracer runs and the command has begun to write `command`."""
    deadline = time.monotonic() + LIMIT_S
    while not (tracers() - before and command.exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)


def looping(fast: Path) -> list[str | Path]:
    began = f"import pathlib, time\npathlib.Path({str(fast / 'began')!r}).touch()\n"
    code = began + "while True: open('/etc/hostname').read(); time.sleep(0.01)"
    return [sys.executable, "-c", code]


@with_either
def test_a_killed_command_line_leaves_no_tracer_and_no_command(tool: str, fast: Path, tmp_path: Path) -> None:
    before, cgroups = tracers(), ours()
    with cli("-o", tmp_path / "out", "--tool", tool, "--", *looping(fast)) as runs:
        started(before, fast / "began")
        runs.kill()
        runs.wait()
        deadline = time.monotonic() + 10
        while tracers() - before and time.monotonic() < deadline:
            time.sleep(0.05)
    assert not tracers() - before
    assert str(fast / "began") not in commands()
    trace.remove_abandoned()
    assert not ours() - cgroups
    assert not (tmp_path / "out").exists()


@with_either
def test_an_interrupted_capture_is_whole(tool: str, fast: Path, tmp_path: Path) -> None:
    before, cgroups = tracers(), ours()
    with cli("-o", tmp_path / "out", "--tool", tool, "--", *looping(fast)) as runs:
        started(before, fast / "began")
        runs.send_signal(signal.SIGINT)
        screen, _ = runs.communicate(timeout=LIMIT_S)
    assert runs.returncode == 128 + signal.SIGTERM  # the command was told to end, having slept over the interrupt
    requests = table.read("requests", tmp_path / "out" / "requests.parquet")
    assert (requests["file"] == "/etc/hostname").sum() > 10
    assert "/etc/hostname" in screen
    names = {path.name for path in (tmp_path / "out").iterdir()}
    waits = {"waits.parquet"} if tool == "bpftrace" else set()
    logs = {"logs"} if tool == "bpftrace" else set()
    assert names == {"requests.parquet", "clocks.parquet", "capture.json", "raw", *waits, *logs}
    assert gone(before, cgroups)
    assert not list(tmp_path.glob(".out*"))


@for_release
def test_a_program_that_saves_at_its_end_has_the_time_for_it(fast: Path, tmp_path: Path) -> None:
    program = f"""
import pathlib, signal, sys, time
def end(*_):
    time.sleep(4)
    pathlib.Path({str(fast / "saved")!r}).write_text("world")
    sys.exit(7)
signal.signal(signal.SIGTERM, end)
pathlib.Path({str(fast / "began")!r}).touch()
while True: time.sleep(0.01)
"""
    before = tracers()
    hasty = "from tickdisk import start; from tickdisk.trace import launch; launch._GRACE_S = 1; start.main()"
    words = ("-o", tmp_path / "out", "--tool", "strace", "--", sys.executable, "-c", program)
    with cli(*words, program=(sys.executable, "-c", hasty)) as runs:
        started(before, fast / "began")
        runs.send_signal(signal.SIGINT)
        screen, _ = runs.communicate(timeout=LIMIT_S)
    assert (runs.returncode, (fast / "saved").read_text()) == (7, "world")
    assert "the program is asked to end, and the capture goes on until it does" in screen
    assert str(fast / "saved") in set(table.read("requests", tmp_path / "out" / "requests.parquet")["file"])


@with_both
def test_a_running_process_is_captured_and_left_alone(tool: str, fast: Path, tmp_path: Path) -> None:
    with subprocess.Popen(looping(fast)) as process:
        try:
            while not (fast / "began").exists():
                time.sleep(0.05)
            before, asked_ns = tracers(), time.monotonic_ns()
            with cli("-o", tmp_path / "out", "--tool", tool, "--pid", str(process.pid)) as runs:
                called_ns = time.monotonic_ns()
                assert runs.stdout is not None
                said = f"process {process.pid} is captured from now on, until it ends or you press Ctrl-C\n"
                assert runs.stdout.readline() == said
                at_ns = time.monotonic_ns()
                time.sleep(1)
                runs.send_signal(signal.SIGINT)
                screen, _ = runs.communicate(timeout=LIMIT_S)
            assert runs.returncode == 0
            assert process.poll() is None
        finally:
            process.kill()
    requests = table.read("requests", tmp_path / "out" / "requests.parquet")
    assert (requests["file"] == "/etc/hostname").sum() > 10
    assert requests["start_ns"].min() < at_ns + 100_000_000, "it is captured as soon as that is said"
    about = manifest.read_capture(tmp_path / "out")
    (kind,) = [kind for kind in about.lacks if kind.startswith("ms at the start, in which the process ran")]
    assert asked_ns - 20_000_000 <= about.started_ns - about.lacks[kind] * 1_000_000 <= called_ns + 1_000_000
    assert f"not in the capture: {about.lacks[kind]:,} {kind}\n" in screen
    assert not tracers() - before


def test_what_a_command_leaves_running_under_strace_ends(tmp_path: Path) -> None:
    """It would go on with a filter that fails its calls; bpftrace lets it live."""
    before = tracers()
    with cli("-o", tmp_path / "out", "--tool", "strace", "--", "sh", "-c", "sleep 98.7654321 & exit 4") as runs:
        runs.communicate(timeout=LIMIT_S)
    assert runs.returncode == 4
    assert not tracers() - before
    assert "98.7654321" not in commands()


def test_the_command_line_says_what_is_wrong(tmp_path: Path) -> None:
    def said(*words: str | Path) -> str:
        done = subprocess.run([BIN / "tickdisk", "capture", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        return done.stderr

    assert "give either a command after -- or a process by --pid" in said("-o", tmp_path / "out")
    assert "exists already; remove it" in said("-o", tmp_path, "--", "true")
    assert "no-such-program is no program" in said("-o", tmp_path / "out", "--tool", "strace", "--", "no-such-program")
    assert "process 4194304 does not run" in said("-o", tmp_path / "out", "--tool", "bpftrace", "--pid", "4194304")
    assert not list(tmp_path.iterdir())


def test_strace_is_taken_where_bpftrace_is_missing(fast: Path, tmp_path: Path) -> None:
    for name in ("strace", "sh", "true"):
        (fast / name).symlink_to(Path("/usr/bin") / name)
    words = [BIN / "tickdisk", "capture", "-o", tmp_path / "out", "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "PATH": str(fast)})
    assert "strace captures, because bpftrace cannot: bpftrace is not installed" in done.stdout


@for_release  # a run at scale smoke measures the same
@needs_bpftrace
def test_looking_costs_what_is_measured(tmp_path: Path) -> None:
    costs = trace.micro_cost(rounds=2, preads=8_000, seed=1, logs=tmp_path)
    table.write("micro", tmp_path / "micro.parquet", costs)
    tools = ("bpftrace", "none", "strace", "strace_positioned")
    assert sorted(costs["tool"].value_counts().items()) == [(tool, 2) for tool in tools]
    assert (costs["events"] + costs["lost_events"] == costs["preads"] * (costs["tool"] != "none")).all()
    least = costs.groupby("tool")["ns_per_pread"].min()
    assert least["none"] < least["bpftrace"] < least["strace_positioned"]
