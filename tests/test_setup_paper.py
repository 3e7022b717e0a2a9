"""`make paper` leaves no process behind, however it or its workflow ends. The workflow here is a shell script."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="make paper becomes root by sudo")


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "envs").mkdir()
        for name in ("paper.py", "launcher"):
            (folder / "envs" / name).write_text((ROOT / "envs" / name).read_text())
        (folder / ".venv/bin").mkdir(parents=True)

    def workflow(self, script: str) -> None:
        path = self.folder / ".venv/bin/snakemake"
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def paper(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, self.folder / "envs/paper.py", *(arguments or ("", "", ""))],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def wait_for(self, name: str) -> str:
        path = self.folder / name
        until(lambda: path.exists() and path.read_text().endswith("\n"))
        return path.read_text().strip()

    def running(self, name: str) -> bool:
        try:
            return Path(f"/proc/{self.wait_for(name)}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path)
    yield project
    for path in tmp_path.glob("*.pid"):
        if project.running(path.name):
            os.kill(int(path.read_text()), signal.SIGKILL)


ESCAPE = "setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! >escaped.pid\n"


def test_scale_and_blocks_reach_the_workflow_and_its_exit_code_comes_back(project: Project) -> None:
    project.workflow('echo "$@" >arguments; exit 3')
    paper = project.paper("smoke", "4", "")
    assert (paper.communicate()[0].splitlines()[-1].startswith("make paper: failed (3), "), paper.returncode) == (True, 3)
    assert project.wait_for("arguments") == "--cores all --config scale=smoke blocks=4"
    paper = project.paper("", "", "")
    paper.communicate()
    assert project.wait_for("arguments") == "--cores all"


def test_one_study_and_a_disk_reach_the_workflow_and_an_unknown_study_is_named(project: Project) -> None:
    (project.folder / "notebooks").mkdir()
    for name in ("replay", "pools", "store"):
        (project.folder / f"notebooks/{name}.ipynb").touch()
    project.workflow('printf "%s\\n" "$@" >arguments')
    project.paper("smoke", "", "pools").communicate()
    assert project.wait_for("arguments").splitlines()[-2:] == ["scale=smoke", "study=pools"]
    (project.folder / "arguments").unlink()
    project.paper("", "", "pools", "/srv/disk").communicate()
    assert project.wait_for("arguments").splitlines()[-2:] == ["study=pools", "disk=/srv/disk"]
    paper = project.paper("", "", "pool")
    assert paper.communicate()[0] == "make paper: there is no study pool; take one of pools, replay, store\n"
    assert paper.returncode == 1


def test_a_home_that_cannot_be_written_is_replaced(project: Project) -> None:
    project.workflow('echo "$HOME" "$XDG_CACHE_HOME" >places')
    file = project.folder / "file"
    file.touch()
    project.paper(HOME=str(file), XDG_CACHE_HOME=str(file / "cache")).communicate()
    assert project.wait_for("places") == f"{project.folder}/build/home {project.folder}/build/home/.cache"


def test_what_the_workflow_leaves_is_ended(project: Project) -> None:
    project.workflow(ESCAPE)
    paper = project.paper()
    assert "are whole" in paper.communicate()[0]
    assert paper.returncode == 0
    assert not project.running("escaped.pid")


def test_an_interrupt_ends_everything(project: Project) -> None:
    project.workflow(ESCAPE + "trap 'echo interrupted >said; exit 130' INT; echo $$ >workflow.pid; while :; do sleep 0.05; done")
    paper = project.paper()
    assert project.running("workflow.pid")
    paper.send_signal(signal.SIGINT)
    paper.communicate()
    assert paper.returncode == 130
    assert project.wait_for("said") == "interrupted"
    assert not project.running("workflow.pid")
    assert not project.running("escaped.pid")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupt_of_make_alone_ends_everything(project: Project, number: int) -> None:
    project.workflow(ESCAPE + "trap 'exit 130' INT; echo $$ >workflow.pid; while :; do sleep 0.05; done")
    makefile = project.folder / "Makefile"
    makefile.write_text(f'paper:\n\t@exec {sys.executable} envs/paper.py "" "" ""\n')
    # A shell lets a command in its background ignore the signal, and the command's children inherit that.
    before = signal.signal(number, signal.SIG_DFL)
    make = subprocess.Popen(["make", "paper"], cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    signal.signal(number, before)
    assert project.running("workflow.pid")
    make.send_signal(number)
    assert make.wait(timeout=30) != 0
    assert not project.running("workflow.pid")
    assert not project.running("escaped.pid")


def test_a_second_one_is_refused_and_after_kill_9_the_next_cleans_up(project: Project) -> None:
    project.workflow(ESCAPE + "echo $$ >workflow.pid; while :; do sleep 0.05; done")
    first = project.paper()
    assert project.running("workflow.pid")
    refused = project.paper()
    assert f"already running here, process {first.pid};" in refused.communicate()[0]
    assert refused.returncode == 1
    first.kill()
    first.wait()
    assert first.stdout is not None
    first.stdout.close()
    until(lambda: not project.running("workflow.pid"))
    assert project.running("escaped.pid")
    old = project.wait_for("workflow.pid"), project.wait_for("escaped.pid")
    project.workflow("true")
    said = project.paper().communicate()[0]
    assert "that an earlier run had left" in said
    assert not any(
        Path(f"/proc/{pid}").exists() and project.running(name)
        for pid, name in zip(old, ("workflow.pid", "escaped.pid"), strict=True)
    )
