"""Files, clocks, tables, processes and the claim on a results folder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk import project
from tickdisk.foundation import clock, host, process, table
from tickdisk.foundation.errors import TickdiskError, sentence_of
from tickdisk.foundation.files import read_json, whole, write_json


def test_a_file_that_fails_halfway_never_appears(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with pytest.raises(RuntimeError), whole(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_fails_halfway_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), whole(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"


def test_a_full_disk_is_one_line_and_a_mistake_of_the_program_is_not() -> None:
    def said(number: str) -> subprocess.CompletedProcess[str]:
        code = f"import errno, tickdisk.cli as c\ndef app(): raise OSError(errno.{number}, 'went wrong', '/data/x')\n"
        words = [sys.executable, "-c", f"{code}c.app = app\nc.main()"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    full = said("ENOSPC")
    assert (full.returncode, full.stderr) == (2, "tickdisk: /data/x: No space left on device; free some space there\n")
    assert "Traceback" in said("EBADF").stderr


def test_an_error_of_pyarrow_is_told_by_its_number_and_not_by_its_words() -> None:
    with pytest.raises(OSError, match="Failed to open local file") as caught:
        pq.read_schema("none")
    assert sentence_of(caught.value, "none") == "none: No such file or directory; give another place"
    assert sentence_of(OSError("No such file or directory"), "none") is None


def test_another_file_that_is_missing_is_not_said_to_be_the_one_that_is_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"source\.txt"), whole(tmp_path / "out.txt") as partial:
        partial.write_text((tmp_path / "source.txt").read_text())
    assert list(tmp_path.iterdir()) == []


def test_disk_full_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    full = Path("/dev/full")
    with (
        pytest.raises(TickdiskError, match=r"cannot write .*out.json: No space left on device"),
        whole(tmp_path / "out.json"),
        full.open("wb") as file,
    ):
        file.write(b"x" * 65536)
        file.flush()
    assert list(tmp_path.iterdir()) == []


def test_json_that_does_not_parse_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{\n"a": 1,\n"b" 2\n}')
    with pytest.raises(TickdiskError, match=r"bad.json, line 3"):
        read_json(tmp_path / "bad.json")


def test_nan_is_no_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "out.json", {"value": float("nan")})


def test_a_clock_sample_brackets_the_other_clocks() -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    one = clock.sample()
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert before <= one["monotonic_ns"] <= after
    assert one["uncertainty_ns"] < 100_000


@given(offset=st.integers(-(10**15), 10**15), drift_ppm=st.integers(-500, 500), at=st.integers(0, 5 * 10**12))
def test_conversion_undoes_offset_and_drift(offset: int, drift_ppm: int, at: int) -> None:
    start = 3 * 10**12
    monotonic = np.array([start, start + 5 * 10**12])
    raw = monotonic + offset + (monotonic - start) * drift_ppm // 10**6
    samples = pd.DataFrame({"monotonic_ns": monotonic, "monotonic_raw_ns": raw})
    stamped = start + at + offset + at * drift_ppm // 10**6
    assert abs(int(clock.to_monotonic([stamped], "monotonic_raw", samples)[0]) - (start + at)) <= max(
        2, abs(drift_ppm) ** 2 * at // 10**12 + 2
    )


def test_conversion_without_samples_is_refused() -> None:
    with pytest.raises(TickdiskError, match="no clock sample"):
        clock.to_monotonic([1], "realtime", pd.DataFrame(columns=["monotonic_ns", "realtime_ns"]))


def test_a_clock_that_was_set_back_is_refused_and_one_that_was_set_forward_is_not() -> None:
    samples = pd.DataFrame({"monotonic_ns": [0, 10, 20], "realtime_ns": [100, 95, 105]})
    with pytest.raises(TickdiskError, match="the clock realtime was set back by at least"):
        clock.to_monotonic([104], "realtime", samples)
    samples = pd.DataFrame({"monotonic_ns": [20, 0, 10], "realtime_ns": [130, 100, 120]})
    assert clock.to_monotonic([100, 120, 130], "realtime", samples).tolist() == [0, 10, 20]


def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    ticks = pd.DataFrame(
        {"tick": [1, 2], "start_ns": [2**62, 2**62 + 1], "end_ns": [None, 7], "players": [0, 1], "thread": [None, 2**22]}
    )
    table.write("ticks", tmp_path / "ticks.parquet", ticks)
    back = table.read("ticks", tmp_path / "ticks.parquet")
    assert back["start_ns"].tolist() == [2**62, 2**62 + 1]
    assert back["end_ns"].isna().tolist() == [True, False]


def test_another_table_or_a_missing_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="do not fit the ticks table"):
        table.write("ticks", tmp_path / "ticks.parquet", pd.DataFrame({"tick": [1]}))
    table.write("load", tmp_path / "load.parquet", pd.DataFrame({"monotonic_ns": [1], "process": ["a"], "cpu_ns": [2]}))
    with pytest.raises(TickdiskError, match="holds table load"):
        table.read("ticks", tmp_path / "load.parquet")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole[: len(whole) // 2], "is cut off: it begins as a Parquet file, but after"),
        (lambda whole: whole[:4], "is cut off"),
        (lambda _: b"", "is empty"),
        (lambda _: b"no table", "is not a Parquet file"),
        (lambda whole: whole[:8] + bytes(len(whole) - 16) + whole[-8:], "is not a Parquet file, or a damaged one"),
    ],
)
def test_a_damaged_table_is_said_to_be_what_it_is(tmp_path: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    path = tmp_path / "load.parquet"
    table.write("load", path, pd.DataFrame({"monotonic_ns": [1], "process": ["a"], "cpu_ns": [2]}))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(TickdiskError, match=rf"load\.parquet {message}.*; copy it again, or make it again"):
        table.read("load", path)
    with pytest.raises(TickdiskError, match=rf"load\.parquet {message}.*; mine"):
        table.read_columns(path, ["process"], "mine")


@pytest.mark.parametrize(
    "columns",
    [
        {"monotonic_ns": ["soon"], "process": ["a"], "cpu_ns": [2]},
        {"monotonic_ns": [None], "process": ["a"], "cpu_ns": [2]},
        {"process": ["a"], "cpu_ns": [2]},
        {"monotonic_ns": [1.5], "process": ["a"], "cpu_ns": [2]},
    ],
)
def test_a_table_with_other_columns_than_its_name_says_is_refused(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    arrow = pa.table(columns).replace_schema_metadata(table.stored_schema("load").metadata)
    pq.write_table(arrow, tmp_path / "load.parquet")
    with pytest.raises(TickdiskError, match=r"load\.parquet: column monotonic_ns is missing, of another type or has gaps"):
        table.read("load", tmp_path / "load.parquet")


def test_a_child_leaves_command_output_and_exit_code(tmp_path: Path) -> None:
    child = process.Child("echo", ["sh", "-c", "echo said; exit 3"], tmp_path)
    assert child.wait(10) == 3
    record = read_json(tmp_path / "echo.json")
    assert (record["exit_code"], record["command"][0], child.tail()) == (3, "sh", "said")


def test_a_file_that_is_not_text_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(TickdiskError, match=r"torn\.json, byte 7: not text in UTF-8; remove the file and run again"):
        read_json(tmp_path / "torn.json")


def test_the_end_of_a_child_is_recorded_once_by_whoever_notices_it(tmp_path: Path) -> None:
    with process.Child("short", ["sh", "-c", "exit 4"], tmp_path) as child:
        deadline = time.monotonic() + 10
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        record = read_json(tmp_path / "short.json")
        assert record["exit_code"] == 4
        assert record["started_ns"] < record["ended_ns"] < time.monotonic_ns()
        assert (child.wait(1), child.stop(1)) == (4, 4)
    assert read_json(tmp_path / "short.json") == record


def test_a_child_is_scheduled_as_asked_for(tmp_path: Path) -> None:
    code = "import os; print(os.sched_getscheduler(0), *os.sched_getaffinity(0))"
    core = min(os.sched_getaffinity(0))
    child = process.Child("batch", [sys.executable, "-c", code], tmp_path, cores=[core], policy=os.SCHED_BATCH)
    assert (child.wait(10), child.tail()) == (0, f"{os.SCHED_BATCH} {core}")


def test_a_missing_program_points_to_doctor(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="no-such-program is not installed; `tickdisk doctor`"):
        process.Child("none", ["no-such-program"], tmp_path)
    with pytest.raises(TickdiskError, match="no-such-program is not installed"):
        process.run(["no-such-program"])


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ends while it is read
        return False


def _wait_dead(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not _alive(pid)


def test_children_die_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    code = (
        f"from pathlib import Path; from tickdisk.foundation.process import Child; import time; "
        f"print(Child('sleep', ['sleep', '60'], Path({str(tmp_path)!r})).pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        grandchild = int(parent.stdout.readline())
        assert _alive(grandchild)
        parent.kill()
    assert _wait_dead(grandchild)


def test_the_death_of_the_owner_ends_us(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as owner:
        code = (
            "import time; from tickdisk.foundation.process import follow_owner\n"
            "follow_owner(); print('ready', flush=True); time.sleep(60)"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, process.OWNER_VARIABLE: str(owner.pid)},
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            owner.kill()
            assert child.wait(10) == -signal.SIGTERM


def test_one_claim_at_a_time_and_none_after_a_kill(tmp_path: Path) -> None:
    treatment_claims = f"claim(Path({str(tmp_path)!r})); print('held', flush=True); time.sleep(60)"
    code = f"import time; from pathlib import Path; from tickdisk.project import claim; {treatment_claims}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TickdiskError, match=rf"another run \(process {holder.pid} on .*\) works in"):
            project.claim(tmp_path)
        holder.kill()
    project.claim(tmp_path).give_back()


def test_load_is_measured_while_something_runs() -> None:
    meter = host.LoadMeter()
    before = host.cpu_ns(os.getpid())
    start, deadline = time.process_time(), time.monotonic() + 20
    while time.process_time() - start < 0.3 and time.monotonic() < deadline:
        pass
    load = meter.read()
    after = host.cpu_ns(os.getpid())
    assert load.seconds >= 0.3
    assert 0 <= load.steal_share <= 1
    assert before is not None
    assert after is not None
    assert 0.2e9 < after - before < 1e9
