"""A checkout's sources become digests that comments, docstrings and formatting do not change."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tickdisk.config import digest, file_digest
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json
from tickdisk.sources.closure import Closure, closure
from tickdisk.sources.native import all_code, crates, part_code
from tickdisk.sources.text import code_of

_DATA = re.compile(r"data/[\w/.-]+\.yaml")
_PIN = re.compile(r"^([\w.-]+==\S+)", re.MULTILINE)
_SETTINGS = "minetest.conf"


@dataclass(frozen=True)
class Checkout:
    """A checkout is a folder with the project's sources: `src/tickdisk`, `src/native`, `src/players` and `envs`."""

    root: Path

    @classmethod
    def own(cls) -> "Checkout":
        """Returns the checkout in which this package lies; TickdiskError when it lies elsewhere."""
        root = Path(__file__).parents[3]
        for folder in ("src/native", "src/players"):
            if not (root / folder).is_dir():
                raise TickdiskError(f"{root / folder} does not exist; run from a checkout of the project, after `make setup`")
        return cls(root)

    def python(self, starts: Sequence[str], stops: Sequence[str] = ()) -> Closure:
        """Returns the Python code that `starts` are computed with; see `closure`."""
        return closure(starts, self.root / "src/tickdisk", stops)

    def part(self, name: str) -> str:
        """Returns a digest of a part of the native module."""
        return digest(part_code(name, self.root / "src/native/src"))

    def crates(self) -> str:
        """Returns a digest of how the native module is built, and from which crates."""
        return digest(crates(self.root / "src/native"))

    def players(self) -> str:
        """Returns a digest of the clients and of the modules that they use."""
        folder = self.root / "src/players"
        files = [path for path in sorted(folder.rglob("*.go")) if not path.name.endswith("_test.go")]
        return digest({str(path.relative_to(folder)): code_of(path) for path in (*files, folder / "go.mod", folder / "go.sum")})

    def built(self) -> dict[str, str]:
        """Returns digests of all that is built: `native` and `players`."""
        return {"native": digest([self.crates(), all_code(self.root / "src/native/src")]), "players": self.players()}

    def locked(self) -> list[str]:
        """Returns the locked versions of Python packages, as `name==version`."""
        return _PIN.findall((self.root / "envs/requirements.txt").read_text(encoding="utf-8"))


def server_digests(folder: Path) -> dict[str, str]:
    """Returns digests of what runs inside a server, whose sources are in `folder`: `probe`, and `settings`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        raise TickdiskError(f"{folder} does not exist; run from the project's folder")
    probe = {str(path.relative_to(folder)): code_of(path) for path in files if path.name != _SETTINGS}
    return {"probe": digest(probe), "settings": digest((folder / _SETTINGS).read_text(encoding="utf-8"))}


def notebook_cells(path: Path) -> list[tuple[str, str]]:
    """Returns kind and text of each cell of a notebook; what it showed, and what is said about it, do not count."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in read_json(path)["cells"]]


def data_digests(texts: Iterable[str]) -> dict[str, str]:
    """Returns the checksums of the files in `data/` that are named in `texts`, by name; a file that is not there has none."""
    names = sorted({name for text in texts for name in _DATA.findall(text)})
    return {name: file_digest(Path(name)) for name in names if Path(name).is_file()}
