"""Which code a computation is made with, which files a program is made from, and what the set-up built."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.programs import files_digest, load_programs
from tickdisk.foundation.record import write
from tickdisk.project import Toolchains
from tickdisk.project.built import load_toolchains
from tickdisk.project.closure import closure

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """A package of which every module is named after how it is reached."""
    for name, text in {
        "__init__.py": "",
        "start.py": '''
            """Doc."""
            from tickdisk import _native, room, whole
            from tickdisk.door import one, other as another
            A = 1  # why
            """Of A."""
            def late():
                """Doc."""
                from tickdisk import late
                return _native.simulate(room.x, late.b, whole)
            BESIDE = ("child.py", "capture.bt", "absent.py")
        ''',
        "room/__init__.py": "from tickdisk.room.inner import x\nfrom tickdisk.room.unused import z",
        "room/inner.py": "from tickdisk.stopped.below import y",
        "room/unused.py": "",
        "whole/__init__.py": "from tickdisk.whole.all import p",
        "whole/all.py": "",
        "door/__init__.py": "from tickdisk.door import one\nfrom tickdisk.door.two import second as other",
        "door/one.py": "",
        "door/two.py": "import tickdisk.plain",
        "stopped/__init__.py": "",
        "stopped/below.py": "",
        "plain.py": "",
        "late.py": "",
        "said.py": "",
        "child.py": "from tickdisk._native import Updates",
        "capture.bt": "// c",
        "commands.py": """
            from tickdisk import late, said
            ONE, TWO = 1, 2
            @app.command("a")
            def a(plan: Annotated[str, "help"] = ONE) -> None:
                return _helped(plan)
            def _helped(value):
                return late.a(value)
            def plan():
                return said.b(TWO)
        """,
        "../native/Cargo.toml": "",
        "../native/Cargo.lock": "",
        "../native/src/python.rs": """
            use super::device::{Disk, simulate};
            use crate::game::python::{
                Updates,
                World,
            };
            use super::x::y;
        """,
        "../native/src/python/device.rs": "use crate::model::Model;",
        "../native/src/device.rs": "",
        "../native/src/model/mod.rs": "",
        "../native/src/model/tests.rs": "",
        "../native/src/game/python.rs": "",
        "../native/src/x.rs": "",
    }.items():
        path = tmp_path / "tickdisk" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path


def test_a_closure_has_what_runs_and_nothing_else(src: Path) -> None:
    found = closure(["tickdisk.start"], src, ["tickdisk.stopped"])
    modules = {"start", "room.inner", "whole", "whole.all", "door.one", "door.two", "plain", "late", "child"}
    assert found.python.keys() == {f"tickdisk.{name}" for name in modules} | {"capture.bt"}
    native = {"python/device.rs", "device.rs", "model/mod.rs", "game/python.rs"}
    assert found.native.keys() == {"Cargo.toml", "Cargo.lock"} | {f"src/{name}" for name in native}
    assert "tickdisk.stopped.below" in closure(["tickdisk.start"], src).python
    assert closure(["tickdisk.room"], src).python.keys() > {"tickdisk.room", "tickdisk.room.inner", "tickdisk.room.unused"}
    assert not closure(["tickdisk.commands"], src).native


def test_a_closure_begins_with_any_file(src: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    own = tmp_path_factory.mktemp("own")
    (own / "other.py").write_text('BESIDE = "any.py"')
    (own / "any.py").write_text("from tickdisk import _native, late\nfrom tickdisk.room import x\nlate(x, _native)")
    found = closure([own / "other.py"], src)
    modules = {"tickdisk.late", "tickdisk.room.inner", "tickdisk.stopped.below"}
    assert found.python.keys() == {str(own / "other.py"), str(own / "any.py")} | modules
    assert found.native.keys() > {"src/x.rs", "src/device.rs"}, "all that there is, because the module itself is used"


def test_comments_docstrings_and_formatting_do_not_count(src: Path) -> None:
    before = closure(["tickdisk.start"], src)
    path = src / "tickdisk/start.py"
    path.write_text(path.read_text().replace("Doc", "Other").replace("why", "because").replace("A = 1", "A  =  1"))
    assert closure(["tickdisk.start"], src) == before
    path.write_text(path.read_text().replace("A  =  1", "A = 2"))
    assert closure(["tickdisk.start"], src) != before


def test_of_a_command_only_what_it_refers_to_counts(src: Path) -> None:
    found = closure(["tickdisk.commands:a"], src).python
    assert found.keys() == {"tickdisk.commands:a", "tickdisk.late"}
    code = found["tickdisk.commands:a"]
    assert [word for word in ("ONE", "_helped", "def plan", 'help"', "app", "said") if word in code] == ["ONE", "_helped"]


@pytest.mark.parametrize("start", ["tickdisk.absent", "tickdisk.commands:absent"])
def test_a_start_that_is_not_there_is_named(start: str, src: Path) -> None:
    with pytest.raises(TickdiskError, match=r"no (module tickdisk.absent|function absent); correct"):
        closure([start], src)


def test_what_the_set_up_wrote_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TickdiskError, match=r"build/toolchains.json does not exist, .*; run `make setup`"):
        load_toolchains(tmp_path / "elsewhere")
    written = Toolchains(rustc="rustc 1", go="go 1", built={"native": "1"})
    write(tmp_path / "elsewhere/build/toolchains.json", written)
    assert load_toolchains(tmp_path / "elsewhere") == written
    (tmp_path / "build").mkdir()
    (tmp_path / "build/toolchains.json").write_text('{"rustc": "1"}')
    with pytest.raises(TickdiskError, match=r"build/toolchains.json: key go is missing \(and 1 more\); run `make setup`"):
        load_toolchains(tmp_path)


def test_a_program_is_made_from_all_its_files_and_locks(tmp_path: Path) -> None:
    sources = load_programs(ROOT)["servers/minestom"].sources
    files = ("src/servers/minestom/tickdisk/Main.java", "src/servers/minestom/launcher", "envs/java.txt", "envs/minestom.txt")
    left_out = ("src/servers/minestom/target/x", "src/servers/minestom/tests/x", "src/servers/minestom/x_test.go", "envs/go.txt")
    for name in (*files, *left_out):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    before = files_digest(tmp_path, sources)
    for name in (*files, *left_out):
        (tmp_path / name).write_text("more")
        assert (files_digest(tmp_path, sources) != before) == (name in files), name
        (tmp_path / name).write_text("x")
    (tmp_path / files[0]).rename(tmp_path / "src/servers/minestom/Main.java")
    assert files_digest(tmp_path, sources) != before


def test_every_source_of_a_program_is_there() -> None:
    for program in load_programs(ROOT).values():
        assert all(list(ROOT.glob(source)) for source in program.sources)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git lists the files")
def test_the_tests_that_a_file_can_break_are_printed(tmp_path: Path) -> None:
    def said(*words: str | Path) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, ROOT / "envs/selection.py", *words]
        return subprocess.run(program, cwd=ROOT / "envs", capture_output=True, text=True, check=False)

    found = set(said("../tests/test_closure.py", "../src/tickdisk/blame").stdout.split())
    assert {"tests/test_closure.py", "tests/test_programs.py", "tests/test_blame_chain.py"} <= found
    assert "tests/test_stats_power.py" not in found
    other = said(tmp_path)
    assert (other.returncode, other.stderr) == (1, f"{tmp_path} is no file of the project\n")
