"""What a person gets wrong at the command line: one sentence, a code that is not zero, and nothing written."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import BIN, PORT, ROOT, left

ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}


def run(*words: str, cwd: Path = ROOT, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [BIN / words[0], *words[1:]]
    return subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False, timeout=120
    )


def one_sentence(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("tickdisk: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("scle=smoke", "unknown key scle; correct it (workflow/config/schema.json describes every key)"),
        ("scale=huge", "scale = 'huge' is not acceptable"),
        ("blocks=-1", "blocks = -1 is not acceptable"),
    ],
)
def test_a_wrong_key_or_value_on_snakemake_s_command_line(override: str, message: str) -> None:
    done = run("snakemake", "-n", "--config", override)
    assert done.returncode != 0
    assert f"workflow/config/config.yaml: {message}" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("seed", ["010", "1:30"])
def test_a_number_that_snakemake_reads_otherwise_is_refused(tmp_path: Path, seed: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"scale: smoke\nseed: {seed}\n")
    done = run("snakemake", "-n", "--configfile", str(path))
    assert done.returncode != 0
    assert f"{path}, line 2: {seed} is " in " ".join((done.stdout + done.stderr).split())


def test_an_unknown_device_lists_the_known_ones() -> None:
    assert "unknown device floppy; known are memory, " in one_sentence(run("tickdisk", "device", "up", "floppy"))


def test_an_argument_in_the_wrong_place_is_shown_in_the_right_one() -> None:
    done = run("tickdisk", "device", "stall", "hdd", "500")
    assert done.returncode == 2
    assert "Write: tickdisk device stall 500 hdd" in " ".join(done.stderr.replace("\u2502", " ").split())
    done = run("tickdisk", "device", "stall", "hdd", "soon")
    assert done.returncode == 2
    assert "Write:" not in done.stderr


@pytest.mark.parametrize(("file_system", "least"), [("xfs", "300M"), ("btrfs", "109M")])
def test_the_least_size_of_a_file_system_is_known_before_it_is_made(file_system: str, least: str) -> None:
    said = one_sentence(run("tickdisk", "device", "up", "sata_ssd", "--file-system", file_system, "--size", "96M"))
    assert said == f"tickdisk: {file_system} needs at least {least}, and the device has 96M; give {least} or more"


def test_a_negative_latency_names_file_device_and_key(tmp_path: Path) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text("mine: {read_latency_ns: -5, write_latency_ns: 1, flush_latency_ns: 1}\n")
    said = one_sentence(run("tickdisk", "device", "up", "mine", "--devices", str(path)))
    assert f"{path}, device mine: read_latency_ns = -5 is not acceptable" in said


def test_an_arm_on_an_unknown_device_is_named(project_folder: Path) -> None:
    table = project_folder / "workflow/config/experiments.tsv"
    before = table.read_text()
    try:
        table.write_text(before.replace("treatment\thdd\t", "treatment\tfloppy\t"))
        assert "experiments.tsv, arm hdd: unknown device floppy" in one_sentence(run("tickdisk", "plan", cwd=project_folder))
    finally:
        table.write_text(before)


def test_a_cell_that_is_not_planned_is_named(project_folder: Path) -> None:
    assert run("tickdisk", "plan", cwd=project_folder).returncode == 0
    assert "no cell 0123456789abcdef in the plan" in one_sentence(run("tickdisk", "run", "0123456789abcdef", cwd=project_folder))


@pytest.mark.live
def test_a_taken_port_is_named_and_nothing_is_left(small_project: Path) -> None:
    plan = run("tickdisk", "plan", cwd=small_project).stdout
    cell = next(line.split()[0] for line in plan.splitlines() if "join_burst on luanti, block 1" in line)
    folder = small_project / "results/runs" / cell
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", PORT))
        said = one_sentence(run("tickdisk", "run", cell, cwd=small_project))
    assert f"UDP port {PORT} on 127.0.0.1 cannot be used" in said
    assert not (folder / "manifest.json").exists()
    assert list((small_project / "results/runs").glob(".*.partial")) == []
    assert left() == ([], [], [])


@pytest.mark.live
def test_a_full_device_is_named_and_nothing_is_left(small_project: Path) -> None:
    plan = run("tickdisk", "plan", cwd=small_project).stdout
    cell = next(line.split()[0] for line in plan.splitlines() if "join_burst on luanti, block 2" in line)
    world = small_project / json.loads((small_project / "results/plan.json").read_text())["worlds"]["luanti"]
    filler = world / "filler"
    try:
        filler.write_bytes(os.urandom(1 << 20) * 600)  # the small project's device has 512 MiB
        said = one_sentence(run("tickdisk", "run", cell, cwd=small_project))
    finally:
        filler.unlink(missing_ok=True)
    assert "raise device_size_mib in workflow/config/config.yaml" in said
    assert list((small_project / "results/runs").glob(f"*{cell}*/manifest.json")) == []
    assert left() == ([], [], [])
