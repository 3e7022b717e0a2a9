"""Digests of a checkout's sources, which do not change with comments, docstrings and formatting."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tickdisk.config import digest, file_digest
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json
from tickdisk.project.sources.closure import Closure, closure
from tickdisk.project.sources.native import all_code, crates, part_code
from tickdisk.project.sources.text import code_of

_DATA = re.compile(r"data/[\w/.-]+\.yaml")
_PIN = re.compile(r"^([\w.-]+==\S+)", re.MULTILINE)
_CODE = (".go", ".java", ".lua")


GO_PROGRAMS = {
    "players": ("players/main.go", "players/go.mod", "players/go.sum", "players/internal"),
    "players/bedrock": ("players/internal", "players/bedrock"),
    "players/java": ("players/internal", "players/java"),
    "servers/dragonfly": ("servers/dragonfly",),
}
"""Programs in Go by their folder in `src`, each with the files and folders that it is built from."""
JAVA_PROGRAMS = {"servers/minestom": ("java.txt", "minestom.txt")}
"""Programs in Java by their folder in `src`, each with the lock files in `envs` of what it is built with."""


@dataclass(frozen=True)
class Checkout:
    """A folder with the project's sources. Its methods return digests of their parts, from which results get their names."""

    root: Path

    @classmethod
    def own(cls) -> "Checkout":
        """Returns the checkout in which this package lies. Raises TickdiskError if it does not lie in one."""
        root = Path(__file__).parents[4]
        for folder in ("src/native", "src/players"):
            if not (root / folder).is_dir():
                raise TickdiskError(f"{root / folder} does not exist; run from a checkout of the project, after `make setup`")
        return cls(root)

    def python(self, starts: Sequence[str], stops: Sequence[str] = ()) -> Closure:
        """Returns the Python code that a computation uses. See `tickdisk.project.sources.closure.closure`."""
        return closure(starts, self.root / "src/tickdisk", stops)

    def part(self, name: str) -> str:
        """Returns a digest of a part of the native module, the compiled Rust code (one of `sources.native.PARTS`)."""
        return digest(part_code(name, self.root / "src/native/src"))

    def crates(self) -> str:
        """Returns a digest of Cargo.toml and Cargo.lock, which say how the native module is built and which libraries it uses."""
        return digest(crates(self.root / "src/native"))

    def go_program(self, name: str) -> str:
        """Returns a digest of the Go code of one of `GO_PROGRAMS` and of the Go modules that it uses."""
        files = [
            path
            for part in GO_PROGRAMS[name]
            for path in _files(self.root / "src" / part)
            if (path.suffix == ".go" or path.name in ("go.mod", "go.sum")) and not path.name.endswith("_test.go")
        ]
        return digest({str(path.relative_to(self.root / "src")): code_of(path) for path in files})

    def java_program(self, name: str) -> str:
        """Returns a digest of all that one of `JAVA_PROGRAMS` is built from, with its Java runtime and its libraries."""
        files = [path for path in _files(self.root / "src" / name) if path.is_file()]
        locks = [self.root / "envs" / lock for lock in JAVA_PROGRAMS[name]]
        return digest({str(path.relative_to(self.root)): code_of(path) for path in [*files, *locks]})

    def netcode(self) -> str:
        """Returns a digest of the program of the network stacks, and of the libraries that it uses."""
        folder = self.root / "src/netcode"
        manifests = [path for path in sorted(folder.rglob("Cargo.*")) if "target" not in path.relative_to(folder).parts]
        files = [path for one in manifests for path in sorted((one.parent / "src").rglob("*.rs"))]
        code = {str(path.relative_to(folder)): code_of(path) for path in files}
        built = {str(path.relative_to(folder)): tomllib.loads(path.read_text(encoding="utf-8")) for path in manifests}
        return digest([code, built])

    def built(self, name: str) -> str:
        """Returns a digest of the sources of a program that the set-up builds, by its folder in `src`.

        The folder is `native`, `netcode`, or one of `GO_PROGRAMS` or `JAVA_PROGRAMS`.
        """
        if name == "native":
            return digest([self.crates(), all_code(self.root / "src/native/src")])
        if name == "netcode":
            return self.netcode()
        return self.java_program(name) if name in JAVA_PROGRAMS else self.go_program(name)

    def locked(self) -> list[str]:
        """Returns the versions of Python packages that envs/requirements.txt locks, each as `name==version`."""
        return _PIN.findall((self.root / "envs/requirements.txt").read_text(encoding="utf-8"))


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*")) if path.is_dir() else [path]


def server_digests(folder: Path) -> dict[str, str]:
    """Returns digests of the files in a server's folder: the programs of its probe (`probe`), and all others (`settings`).

    Raises TickdiskError if the folder has no file.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("_test.go"))
    if not files:
        raise TickdiskError(f"{folder} does not exist; run from the project's folder")
    probe = {str(path.relative_to(folder)): code_of(path) for path in files if path.suffix in _CODE}
    settings = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files if path.suffix not in _CODE}
    return {"probe": digest(probe), "settings": digest(settings)}


def notebook_cells(path: Path) -> list[tuple[str, str]]:
    """Returns kind and text of each cell of a notebook, without outputs and metadata."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in read_json(path)["cells"]]


def data_digests(texts: Iterable[str]) -> dict[str, str]:
    """Returns checksums of the YAML files in `data/` that code names, because a result depends on them as well.

    A file that does not exist has none.
    """
    names = sorted({name for text in texts for name in _DATA.findall(text)})
    return {name: file_digest(Path(name)) for name in names if Path(name).is_file()}
