"""What a change makes run again, and what it leaves: nothing out of date may stand, no live cell runs for nothing."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from conftest import for_release
from forked_snakemake import ForkedSnakemake

from tickdisk.experiment import STUDIES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
NOTEBOOKS = sum(not study.runs_alone for study in STUDIES.values())
"""Number of the notebooks of the default run."""


@cache
def forks() -> ForkedSnakemake:
    return ForkedSnakemake(ROOT)


@pytest.fixture(scope="module", autouse=True)
def end_of_forks() -> Iterator[None]:
    with forks():
        yield


def snakemake(folder: Path, *words: str, of: ForkedSnakemake | None = None) -> str:
    code, said = (of or forks()).run(folder, *words)
    assert code == 0, said
    return said


def planned(folder: Path, *words: str, of: ForkedSnakemake | None = None) -> Counter[str]:
    """Returns how many jobs of each rule would run."""
    return jobs_in(snakemake(folder, "--dry-run", *words, of=of))


def jobs_in(said: str) -> Counter[str]:
    return Counter({rule: int(jobs) for rule, jobs in re.findall(r"^(\w+) +(\d+)$", said, re.MULTILINE) if rule != "total"})


@pytest.fixture(scope="module")
def whole(project_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose results are all there, as far as snakemake can tell: empty, and recorded as made."""
    folder = tmp_path_factory.mktemp("whole") / "project"
    shutil.copytree(project_folder, folder, symlinks=True, ignore=shutil.ignore_patterns("results", ".snakemake"))
    (folder / "results").mkdir()
    listed = snakemake(folder, "--summary").splitlines()
    for line in listed:
        name = line.split("\t")[0]
        if name.startswith("results/"):
            made = folder / name
            made.parent.mkdir(parents=True, exist_ok=True)
            made.mkdir() if made.name == "figures" else made.touch()
    snakemake(folder, "--touch", "--forceall")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "project"
    shutil.copytree(whole, copy, symlinks=True)
    yield copy
    shutil.rmtree(copy)


def test_what_is_whole_is_left_alone(folder: Path) -> None:
    assert not planned(folder)


NOTEBOOK_PRODUCTS = (
    "replay.html",
    "inside_tick.ipynb",
    "store/facts.json",
    "checkpoint/claims.json",
    "accesses/figures.json",
    "switchback/figures",
)
RERUN_TRIGGERS = ("mtime", "code", "params", "input", "software-env")
PAGES = ("collect", "compare", "paper", "page", "check", "crate")
STATED = ("facts.json", "claims.json", "figures.json", "answers.json", "missing.json")


def test_what_is_deleted_comes_back(folder: Path) -> None:
    """One product of each of six notebooks is deleted, and all six are rendered again."""
    results = folder / "results"
    for product in NOTEBOOK_PRODUCTS:
        gone = results / "notebooks" / product
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    jobs = planned(folder)
    assert jobs["notebook"] == len(NOTEBOOK_PRODUCTS)
    assert not [other for other in jobs if other.startswith("live_") or other in ("calibrate", "fidelity", "store", "replay")]


def test_measured_data_come_back(folder: Path) -> None:
    for product in ("calibration/requests.parquet", "checkpoint/ticks.parquet", "store/games.parquet", "replay/replay.json"):
        (folder / "results" / product).unlink()
    jobs = planned(folder)
    assert [jobs[rule] for rule in ("calibrate", "checkpoint_sweep", "store", "replay")] == [1] * 4


def test_what_is_stated_and_set_comes_back(folder: Path) -> None:
    for product in (
        *STATED,
        "comparison.json",
        "paper.pdf",
        "companion.pdf",
        "index.html",
        "checked.json",
        "ro-crate-metadata.json",
    ):
        (folder / "results" / product).unlink()
    jobs = planned(folder)
    assert {rule: jobs[rule] for rule in jobs} == dict.fromkeys((*PAGES, "all"), 1) | {"paper": 2}


def test_files_that_are_only_newer_or_saved_by_another_program_run_nothing(folder: Path) -> None:
    """A spreadsheet or an editor puts a mark before the first character and ends lines in its own way."""
    for name in ("workflow/config/experiments.tsv", "workflow/config/config.yaml"):
        saved = folder / name
        saved.write_bytes(b"\xef\xbb\xbf" + saved.read_bytes().replace(b"\n", b"\r\n"))
    for name in ("notebooks/switchback.ipynb", "data/devices.yaml"):
        (folder / name).touch()
    assert not planned(folder)


@pytest.mark.parametrize("words", [("--workflow-profile", "none"), ("--rerun-triggers", *RERUN_TRIGGERS)])
def test_no_live_cell_runs_again_whatever_makes_snakemake_run_steps_again(folder: Path, words: tuple[str, ...]) -> None:
    """The workflow's profile has the triggers; without it, or with others, newer files count (cases 62 and 68)."""
    for name in ("notebooks/switchback.ipynb", "workflow/config/config.yaml", "data/devices.yaml"):
        (folder / name).touch()
    jobs = planned(folder, *words)
    assert not [rule for rule in jobs if rule.startswith("live_")], jobs


def test_a_step_that_failed_runs_again_after_its_remains_were_kept(folder: Path) -> None:
    (folder / "results/checked.json").unlink()
    code, output = forks().run(folder, "--keep-incomplete", "results/checked.json")
    assert code == 1, "the files that it reads are empty here"
    assert "a step failed, and the last line of results/logs/check.log is: tickdisk: " in output
    assert planned(folder)["check"] == 1


def working_in(folder: Path, words: bytes) -> list[int]:
    """Returns the processes whose working directory is `folder` and whose command line has `words`."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and (process / "cwd").readlink() == folder and words in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=for_release), signal.SIGKILL])
def test_a_run_that_is_ended_in_the_middle_of_a_step_goes_on_with_the_same_command(folder: Path, number: int) -> None:
    """Nothing half-written is taken as done, no process stays, and no lock has to be taken away (cases 59 and 60)."""
    product = "results/checkpoint/runs.parquet"
    (folder / product).unlink()
    command, step = [BIN / "snakemake", "--cores", "all", product], b"checkpoint\0sweep"
    deadline = time.monotonic() + 60
    # A shell lets a command in its background ignore the signal, and the command's children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True
    ) as run:
        signal.signal(signal.SIGINT, before)
        while not (working := working_in(folder, step)):
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.kill(working[0], signal.SIGSTOP)  # so that it does not end before the others
        if number == signal.SIGINT:
            os.killpg(run.pid, number)  # as a terminal does
        else:
            run.kill()
        with suppress(ProcessLookupError):  # snakemake may have ended it
            os.kill(working[0], signal.SIGCONT)
    assert run.returncode != 0
    while working_in(folder, step):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert planned(folder)["checkpoint_sweep"] == 1


def test_an_experiment_whose_arms_are_removed_is_planned_out_with_what_needs_it(project_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(project_folder, tmp_path / "project", symlinks=True)
    table = tmp_path / "project/workflow/config/experiments.tsv"
    rows = table.read_text().splitlines(keepends=True)
    table.write_text("".join(row for row in rows if not row.startswith("accesses\t")))
    jobs = planned(tmp_path / "project")
    assert jobs["notebook"] == NOTEBOOKS - 3  # without the replay and the description of loads, which need the captures
    assert jobs["live_accesses_luanti"] == jobs["replay"] == 0
    assert (jobs["paper"], jobs["page"]) == (2, 1)


def test_from_another_folder_it_says_that_there_is_no_workflow(folder: Path) -> None:
    done = subprocess.run([BIN / "snakemake", "-n"], cwd=folder / "results", text=True, capture_output=True, check=False)
    assert done.returncode == 1
    assert "No Snakefile found" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_home_that_cannot_be_written_is_no_obstacle_or_one_sentence(folder: Path) -> None:
    environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"]}
    command = [BIN / "snakemake", "--cores", "1", "--dry-run"]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False, env=environment)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 0 or "XDG_CACHE_HOME" in done.stdout + done.stderr


def test_a_device_that_changed_is_calibrated_and_its_cells_and_everything_after_them_run_again(folder: Path) -> None:
    devices = folder / "data/devices.yaml"
    text = devices.read_text()
    assert text.count("write_latency_ns: 100_000") + text.count("write_latency_ns: 100000") >= 1
    devices.write_text(re.sub(r"(write_latency_ns: )100_?000\b", r"\g<1>110000", text))
    jobs = planned(folder)
    assert jobs["calibrate"] == 1
    assert jobs["fidelity"] == 1
    assert jobs["live_switchback_luanti"] > 0
    assert jobs["live_join_burst_luanti"] > 0
    assert jobs["notebook"] == NOTEBOOKS
    assert (jobs["paper"], jobs["page"], jobs["check"]) == (2, 1, 1)


def test_one_notebook_asked_for_after_a_change_runs_its_cells_too(folder: Path) -> None:
    devices = folder / "data/devices.yaml"
    devices.write_text(re.sub(r"(write_latency_ns: )100_?000\b", r"\g<1>110000", devices.read_text()))
    jobs = planned(folder, "results/notebooks/switchback.html")
    assert jobs["live_switchback_luanti"] > 0
    assert jobs["notebook"] == 1


def test_another_way_to_calibrate_runs_no_live_cell(folder: Path) -> None:
    config = folder / "workflow/config/config.yaml"
    text = config.read_text()
    config.write_text(text.replace("seconds_per_job: 0.2", "seconds_per_job: 0.3"))
    assert config.read_text() != text
    jobs = planned(folder)
    assert jobs["calibrate"] == jobs["fidelity"] == 1
    assert jobs["notebook"] == NOTEBOOKS
    assert not [rule for rule in jobs if rule.startswith("live_")]


def test_cells_that_are_asked_for_by_their_paths_are_made_after_a_new_calibration(folder: Path) -> None:
    config = folder / "workflow/config/config.yaml"
    config.write_text(config.read_text().replace("seconds_per_job: 0.2", "seconds_per_job: 0.3"))
    plan = json.loads((folder / "results/plan.json").read_text())
    asked = [f"results/runs/{cell['hash']}/manifest.json" for cell in plan["cells"] if cell["experiment"] == "join_burst"]
    gone = [path for path in asked if (folder / path).exists()][::-1][:3]
    for path in gone:
        (folder / path).unlink()
    jobs = planned(folder, *asked)
    assert jobs["calibrate"] == 1
    assert sum(count for rule, count in jobs.items() if rule.startswith("live_")) == len(gone) == 3


def test_another_scale_than_that_of_the_results_is_said(folder: Path) -> None:
    notice = "this plans scale smoke, and results/plan.json is of scale paper; `--config scale=paper` plans that one\n"
    assert "this plans scale" not in snakemake(folder, "-n")
    (folder / "results/plan.json").write_text('{"config": {"scale": "paper"}}')
    assert notice in snakemake(folder, "-n")
    (folder / "results/plan.json").write_text("[]")
    assert "this plans scale" not in snakemake(folder, "-n")


def test_no_cores_are_refused(folder: Path) -> None:
    code, said = forks().run(folder, "--cores", "0")
    assert code != 0
    assert "--cores 0 would wait for ever; give at least 1, or `all`" in said


@pytest.mark.parametrize("words", ["-j 2", "--jobs 0", "-j unlimited", "--max-threads 1", "--set-threads calibrate=1"])
def test_measurements_do_not_run_side_by_side(folder: Path, words: str) -> None:
    code, said = forks().run(folder, "-n", *words.split())
    assert code != 0
    assert "measurements would run side by side; give --cores instead" in said


def test_one_job_is_no_measurement_beside_another(folder: Path) -> None:
    assert "Nothing to be done" in snakemake(folder, "-n", "-j", "1")


def test_another_seed_runs_every_cell_again_whatever_the_number_of_cores(folder: Path) -> None:
    every = len(list((folder / "results/runs").iterdir()))
    jobs, same = (planned(folder, "--config", "seed=43", "--cores", cores) for cores in ("1", "64"))
    assert jobs == same
    assert sum(count for rule, count in jobs.items() if rule.startswith("live_")) == every
    assert jobs["notebook"] == NOTEBOOKS


AFTER_NOTEBOOKS = Counter(compare=1, collect=1, paper=2, page=1, check=1, crate=1, all=1)


@pytest.fixture
def own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that runs its own copy of the sources."""
    for name in ("src/tickdisk", "src/native", "src/netcode", "src/players", "envs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("target", "__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(folder / "src"))
    return folder


def test_code_makes_out_of_date_what_it_computes_and_no_more(own: Path) -> None:
    """The table of all is in test_identity.py; this is that rules go by it."""
    every = len(list((own / "results/runs").iterdir()))
    changes = {
        "saving/checkpoint/simulate.py": (0, Counter(checkpoint_sweep=1, store=1, notebook=2)),
        # The notebooks of seven experiments and of the comparisons of servers and of stacks, and the replay of a captured life.
        "run/life.py": (every, Counter(replay=1, notebook=11)),
    }
    texts = {name: (own / "src/tickdisk" / name).read_text() for name in changes}
    for name, text in texts.items():
        (own / "src/tickdisk" / name).write_text(f"{text}\n# changed\n")
    with ForkedSnakemake(own) as of_own:
        assert not planned(own, of=of_own)
        for name, (live, others) in changes.items():
            path = own / "src/tickdisk" / name
            path.write_text(f"{texts[name]}\n_CHANGED = 1\n")
            jobs = planned(own, of=of_own)
            assert sum(jobs.pop(rule) for rule in list(jobs) if rule.startswith("live_")) == live, name
            assert jobs == others + AFTER_NOTEBOOKS, name
            path.write_text(texts[name])


def test_sources_that_were_not_built_are_refused(own: Path) -> None:
    with (own / "src/native/src/lib.rs").open("a") as file:
        file.write("const CHANGED: u8 = 1;\n")
    done = subprocess.run(
        [BIN / "snakemake", "--cores", "all", "--dry-run"], cwd=own, text=True, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "tickdisk: src/native changed since it was built; run `make setup`"
    assert "Traceback" not in done.stdout + done.stderr
    assert "  File " not in done.stdout + done.stderr


def test_another_machine_is_measured_and_runs_no_live_cell(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import platform\nplatform.release = lambda: 'another'\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
    measured = Counter(calibrate=1, fidelity=1, replay=1, micro=1, store=1, netcode=1)
    command = [BIN / "snakemake", "--cores", "all", "--dry-run"]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=True)
    assert jobs_in(done.stdout + done.stderr) == measured + Counter(notebook=NOTEBOOKS) + AFTER_NOTEBOOKS


def test_cells_of_other_code_are_named_when_a_run_begins(folder: Path) -> None:
    (folder / "results/runs/older").mkdir()
    (folder / "results/runs/older/manifest.json").write_text('{"experiment": "switchback", "resolved": {"seed": 42}}')
    said = snakemake(folder, "--touch", "--force", "results/checkpoint/runs.parquet")
    assert "1 cell of switchback was made by other code; it is kept in results/runs and not used\n" in said


def test_another_template_is_set_again(folder: Path) -> None:
    """Though the file is as old as before: what git checks out may be older than what was made of it."""
    template = folder / "workflow/paper/paper.typ"
    before = template.stat()
    template.write_text(template.read_text() + "\n// changed\n")
    os.utime(template, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert planned(folder) == Counter(paper=2, page=1, check=1, crate=1, all=1)


SWEPT = "players\tlatency_ms\tlives\n2\t0.1\t2\n2\t6\t2\n3\t0.1\t1\n3\t6\t1\n"


def test_a_sweep_runs_its_points_and_nothing_else_and_what_exists_is_used_again(folder: Path) -> None:
    sweep = folder / "results/sweeps/mine"
    sweep.mkdir(parents=True)
    (sweep / "points.tsv").write_text(SWEPT)
    plan = (folder / "results/plan.json").read_bytes()
    jobs = planned(folder, "--config", "sweep=mine")
    assert jobs == Counter(sweep_calibrate=1, sweep_live=6, sweep_point=4, sweep_whole=1, all=1)
    assert (folder / "results/plan.json").read_bytes() == plan
    assert not planned(folder), "a sweep makes nothing of the paper out of date"
    one = json.loads((sweep / "players_2_latency_ms_6/plan.json").read_text())
    for cell in one["cells"]:
        (folder / "results/runs" / cell["hash"]).mkdir()
        (folder / "results/runs" / cell["hash"] / "manifest.json").touch()
    assert planned(folder, "--config", "sweep=mine")["sweep_live"] == 4
    (folder / "results/sweeps/other").mkdir()
    (folder / "results/sweeps/other/points.tsv").write_text("latency_ms\tplayers\tlives\n6\t2\t3\n")
    assert planned(folder, "--config", "sweep=other")["sweep_live"] == 1
    code, said = forks().run(folder, "-n", "--config", "sweep=none")
    assert code != 0
    assert "results/sweeps/none/points.tsv does not exist; `tickdisk sweep` writes it" in said


def test_a_dry_run_of_a_sweep_says_what_would_run_and_leaves_nothing(project_folder: Path) -> None:
    words = ["sweep", "switchback", "--players", "2,3", "--lives", "1", "--name", "tried", "--dry-run"]
    done = subprocess.run([BIN / "tickdisk", *words], cwd=project_folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "results/sweeps/tried/players_3.html" in done.stdout
    assert "sweep_live" in done.stdout + done.stderr
    assert not (project_folder / "results/sweeps/tried").exists()


SHELL = re.compile(r"^( *)shell:\n(?:\1 .*\n|\n(?=\1 ))*", re.MULTILINE)
STAND_IN = (
    '"begin=$(date +%s%N); sleep 0.{seconds}; for each in {{output}}; do case $each in (*/figures) mkdir -p $each;;'
    ' (*) echo > $each;; esac; done; echo $begin $(date +%s%N) {{rule}} {{threads}} >> jobs.log"'
)
NOT_MEASURED = {"notebook", *PAGES, "sweep_point", "sweep_whole"}


@pytest.mark.parametrize(
    ("cores", "words"),
    [
        (16, ()),
        pytest.param(64, (), marks=for_release),
        pytest.param(16, ("--config", "sweep=mine"), marks=for_release),
    ],
    ids=["paper-16", "paper-64", "sweep-16"],
)
def test_what_measures_is_alone_and_the_rest_runs_side_by_side(
    cores: int, words: tuple[str, ...], project_folder: Path, tmp_path: Path
) -> None:
    """Snakemake's scheduler runs every job of the workflow, with a stand-in for each command."""
    folder = tmp_path / "project"
    shutil.copytree(project_folder, folder, symlinks=True, ignore=shutil.ignore_patterns("results", ".snakemake"))
    (folder / "results/sweeps/mine").mkdir(parents=True)
    (folder / "results/sweeps/mine/points.tsv").write_text(SWEPT)
    for path in (folder / "workflow/rules").glob("*.smk"):
        seconds = "30" if path.stem in ("notebooks", "sweep") else "01"
        path.write_text(SHELL.sub(rf"\1shell:\n\1    {STAND_IN.format(seconds=seconds)}\n", path.read_text()))
    jobs = sum(planned(folder, *words).values())
    code, said = forks().run(folder, "--cores", str(cores), *words)
    assert code == 0, said
    rows = [line.split() for line in (folder / "jobs.log").read_text().splitlines()]
    assert len(rows) == jobs - 1, "all but the rule `all` have run"
    ran = [(int(begin), int(end), rule, int(threads)) for begin, end, rule, threads in rows]

    def beside(one: tuple[int, int, str, int]) -> list[str]:
        return [other[2] for other in ran if other is not one and other[0] < one[1] and one[0] < other[1]]

    measured = [job for job in ran if job[2] not in NOT_MEASURED]
    assert len(measured) > 5
    assert all(threads == cores for _, _, _, threads in measured)
    assert not [(job[2], beside(job)) for job in measured if beside(job)]
    assert [job for job in ran if job[2] in ("notebook", "sweep_point") and len(beside(job)) > 1]
    assert not planned(folder, *words)
