"""Places that commands are given: nothing is made above a folder, or where another disk was meant; a full disk is named."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import BIN, ROOT
from test_bad_input import run
from typer.testing import CliRunner

from tickdisk import cli, project
from tickdisk.cli import app, places
from tickdisk.foundation.errors import TickdiskError


def test_nothing_is_made_where_the_folder_above_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ("replay", "example.iolog", tmp_path / "no/disk"),
        ("capture", "-o", tmp_path / "no/capture", "--", "true"),
        ("checkpoint", "run", tmp_path / "no/store"),
        ("checkpoint", "crash", tmp_path / "no/crashes"),
    ):
        monkeypatch.setattr("sys.argv", ["tickdisk", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert (said[:10], said.count("\n")) == ("tickdisk: ", 1)
        assert f"{tmp_path / 'no'} does not exist" in said
    assert list(tmp_path.iterdir()) == []


def test_a_place_of_fstab_must_be_mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "my disk"
    disk.mkdir()
    fstab, mounts = tmp_path / "fstab", tmp_path / "mounts"
    fstab.write_text(
        f"# a comment\nUUID=1 {str(disk).replace(' ', chr(92) + '040')} ext4 defaults 0 2\nUUID=2 none swap sw 0 0\n"
    )
    mounts.write_text("proc /proc proc rw 0 0\n")
    monkeypatch.setattr(places, "_FSTAB", fstab)
    monkeypatch.setattr(places, "_MOUNTS", mounts)
    for folder in (disk, disk / "replay"):
        with pytest.raises(TickdiskError, match="my disk is in /etc/fstab but not mounted"):
            places.check_new_folder(folder)
    places.check_new_folder(tmp_path / "elsewhere")
    mounts.write_text(f"/dev/sdb {str(disk).replace(' ', chr(92) + '040')} ext4 rw 0 0\n")
    places.check_new_folder(disk / "replay")


def test_the_project_s_files_are_found_from_any_folder(tmp_path: Path) -> None:
    trace = tmp_path / "my trace.iolog"
    trace.write_text("fio version 3 iolog\n1 /w/a add\n1 /w/a open\n2 /w/a read 0 4096\n9 /w/a datasync 0 0\n")
    done = run("tickdisk", "replay", str(trace), "--simulate", "hdd", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Here the program would wait" in done.stdout
    assert run("tickdisk", "doctor", cwd=tmp_path).stdout.splitlines()[-1].startswith("`make paper` can")


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full() -> None:
        raise OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(cli, "app", full)
    monkeypatch.setattr("sys.argv", ["tickdisk", "capture", "-o", str(tmp_path / "capture")])
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=0 if Path(place) == tmp_path else 10**12))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"tickdisk: {tmp_path}: No space left on device; free some space there\n"


def test_the_plan_has_one_place() -> None:
    assert places.PLAN_PATH == project.PLAN_PATH


def test_a_reader_who_goes_away_is_no_error() -> None:
    command = f"{BIN / 'tickdisk'} describe | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["# Files and columns", "0"]
    assert done.stderr == ""


def test_output_that_cannot_be_written_is_one_sentence() -> None:
    command = f"{BIN / 'tickdisk'} device backends > /dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "tickdisk: standard output: No space left on device; free some space there\n",
    )


def test_an_output_is_checked_before_any_work(tmp_path: Path) -> None:
    mine, link = tmp_path / "mine.svg", tmp_path / "link"
    mine.write_text("<svg/>")
    link.symlink_to(tmp_path / "nowhere")
    for output, force, inputs, message in (
        (mine, None, (), "exists already; remove it, or name another file"),
        (mine, False, (), "or replace it with --force"),
        (mine, True, (mine,), "is what this command reads"),
        (mine, True, (tmp_path,), "is what this command reads"),
        (link, True, (), "is there and is not a file"),
        (Path("/dev/null"), True, (), "is there and is not a file"),
        (tmp_path, True, (), "is there and is not a file"),
        (mine / "below", None, (), "does not exist"),
        (Path("/proc/mine.svg"), None, (), "cannot be written in /proc"),
    ):
        with pytest.raises(TickdiskError, match=message):
            places.check_output(output, force=force, inputs=inputs)
    places.check_output(mine, force=True)
    places.check_output(tmp_path / "new")
    with pytest.raises(TickdiskError, match="is not empty"):
        places.check_output_folder(tmp_path)
    places.check_output_folder(tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == {"mine.svg", "link"}


def test_what_lies_in_results_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/plan.json").write_text("{}")
    places.check_output(Path("results/plan.json"))
    places.check_output(Path("results/new/plan.json"))
    places.check_output_folder(Path("results"))


def handles_signals(process: int) -> bool:
    """Returns whether a process handles SIGTERM, which Python itself does not."""
    words = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return bool(int(words["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("delay_s", [0, 0.05, 0.15, 0.3, 0.6])
def test_ctrl_c_is_silent_from_the_first_instant(delay_s: float) -> None:
    child = subprocess.Popen(
        [BIN / "python", "-c", "from tickdisk.start import main; main()", "checkpoint", "simulate", "/dev/zero"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPROFILEIMPORTTIME": ""},
    )
    while not handles_signals(child.pid):
        assert child.poll() is None
        time.sleep(0.001)
    try:
        child.wait(delay_s)
    except subprocess.TimeoutExpired:
        child.send_signal(2)
    _, errors = child.communicate(timeout=30)
    assert child.returncode in (130, 2, -2), errors
    assert "Traceback" not in errors


def test_the_help_separates_what_people_type() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout
    people, _, rules = text.partition("Commands that the rules of the workflow call")
    assert "Commands for people" in people
    for name in ("doctor", "capture", "blame", "replay", "device", "checkpoint", "compare"):
        assert f" {name} " in people
    for name in ("micro", "collect", "publish", "replay-study"):
        assert f" {name} " in rules
        assert f" {name} " not in people


def test_the_command_line_starts_without_heavy_libraries() -> None:
    heavy = {"altair", "pandas", "papermill", "rocrate", "scipy", "snakemake", "statsmodels"}
    heavy |= {f"tickdisk.{room}" for room in ("config", "doctor", "experiment", "project")}
    program = f"import sys, tickdisk.cli.app; print(*sorted({heavy} & sys.modules.keys()))"
    started = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert started.stdout.split() == [], "every call of the command line waits for them"
