"""The identity of every result: digests of the code that the result is computed with.

If that code changes, the result is out of date. If other code changes, the result is not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tickdisk import server
from tickdisk.config import digest, file_digest
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json
from tickdisk.foundation.programs import files_digest
from tickdisk.project.built import Toolchains, check_built, load_toolchains
from tickdisk.project.closure import Closure, Sources

NOTEBOOKS = Path("notebooks")
_DATA = re.compile(r"data/[\w/.-]+\.yaml")
_PLANNED = (
    "tickdisk.cli.step",
    "tickdisk.config",
    "tickdisk.experiment",
    "tickdisk.foundation.errors",
    "tickdisk.foundation.files",
    "tickdisk.foundation.record",
    "tickdisk.project",
)
"""Rooms and modules that do not count for what is measured. Their outcome is in the plan, or they raise errors, read and write
files, or arrange how a process begins and ends."""
_FORMS = ("tickdisk.manifest", "tickdisk.project.plan")
"""Modules that do not count for products that only read plans and manifests, which are made anew if their form changes."""


@dataclass(frozen=True)
class Product:
    """A kind of result, described by the code that it is computed with. If this code changes, the result is out of date."""

    starts: tuple[str, ...]
    """Modules, or functions as `module:function`, whose code counts, with all that they use (see `Sources.closure`)."""
    stops: tuple[str, ...] = _PLANNED
    """Rooms and modules that do not count."""
    program: str | None = None
    """Folder in `src` of a program in Rust that the computation starts and whose sources count, too."""


_COMMANDS = {
    "calibration": "workflow:calibrate",
    "fidelity": "workflow:fidelity",
    "micro": "workflow:micro",
    "replay": "workflow:replay_study",
    "disk": "workflow:profile_disk",
    "sweep": "checkpoint:sweep",
    "store": "checkpoint:study",
}
_PAGES = {name: f"workflow:{name}" for name in ("collect", "paper", "page", "crate")} | {
    "check": "workflow:check_results",
    "compare": "compare:compare_reference",
}
PRODUCTS: Mapping[str, Product] = {
    **{name: Product((f"tickdisk.cli.{command}",)) for name, command in _COMMANDS.items()},
    "netcode": Product(("tickdisk.cli.netcode:study",), program="netcode"),
    **{name: Product((f"tickdisk.cli.{command}",), stops=_FORMS) for name, command in _PAGES.items()},
}
"""The kinds of result of the workflow, by name, without cells, worlds and notebooks. Each starts with the command of its rule."""


def cell_product(name: str, *, captured: bool) -> Product:
    """Returns the code that the cells on one server are computed with. If `captured`, the code of captures counts, too.

    A cell runs one of all servers, and only looks up the results of the calibration.
    """
    others = ("tickdisk.server.registry", "tickdisk.calibrate.fio", *(() if captured else ("tickdisk.trace",)))
    return Product(("tickdisk.run.cell", _room_of(name)), (*_PLANNED, *others))


def world_product(name: str) -> Product:
    """Returns the code that the world of a server is generated with."""
    return Product((_room_of(name),))


def _room_of(name: str) -> str:
    """Returns the room of a server. A server that is another one with another store lies in the room of that one."""
    return f"tickdisk.server.{server.named(name).variant_of or name}"


@dataclass(frozen=True)
class Identity:
    """The code of a checkout on a machine, as digests of its parts, from which results get their names.

    Each method returns the digests by part that count for one kind of result. If one of them differs, the result is out of date.
    """

    root: Path
    """Folder of the checkout."""
    toolchains: Toolchains
    servers: Mapping[str, str]
    """`Server.identity` of each game server that can run on this machine, by the server's name."""
    _known: dict[Product, dict[str, str]] = field(default_factory=dict, repr=False, compare=False)
    """Digests that were computed before. A process names all its results after the sources that it saw first."""

    @classmethod
    def of(cls, servers: Sequence[str]) -> "Identity":
        """Returns the identity of the checkout that this process runs from, with the servers that can run on this machine.

        Raises TickdiskError if this package does not lie in a checkout, or if a program has not been built, or has changed since.
        """
        root = Path(__file__).parents[3]
        if not (root / "src/native").is_dir():
            raise TickdiskError(f"{root / 'src/native'} does not exist; run from a checkout of the project, after `make setup`")
        toolchains = load_toolchains(root)
        programs = {program for name in servers for program in server.named(name).programs}
        check_built(root, toolchains, ["native", "netcode", *sorted(programs)])
        return cls(root, toolchains, {name: server.named(name).identity() for name in servers})

    def cell(self, name: str, *, captured: bool) -> dict[str, str]:
        """Returns digests of all programs that the cells on a server are computed with, which the hash of a cell covers.

        If `captured`, the code of captures counts, too.
        """
        players = digest([self.toolchains.built[program] for program in server.named(name).programs])
        code = self._of(cell_product(name, captured=captured))
        return {**code, **self._server(name), "players": players, "go": self.toolchains.go}

    def world(self, name: str) -> dict[str, str]:
        """Returns digests of the code that generates the world of a server. The same code counts for its cells."""
        return {**self._of(world_product(name)), **self._server(name)}

    def product(self, name: str) -> dict[str, str]:
        """Returns digests of the code that a kind of result in `PRODUCTS` is computed with."""
        return self._of(PRODUCTS[name])

    def notebook(self, name: str) -> dict[str, str]:
        """Returns digests of a notebook's cells, its study, the data files that both name, and the locked packages."""
        study = self._sources.closure((f"tickdisk.studies.{name}", "tickdisk.project.kept"), _FORMS)
        cells = [
            (cell["cell_type"], "".join(cell["source"])) for cell in read_json(next(NOTEBOOKS.rglob(f"{name}.ipynb")))["cells"]
        ]
        texts = [*study.python.values(), *(text for kind, text in cells if kind == "code")]
        data = sorted({Path(path) for text in texts for path in _DATA.findall(text)})
        return {
            **self._digests(study),
            "notebook": digest(cells),
            "data": digest({str(path): file_digest(path) for path in data if path.is_file()}),
            "packages": file_digest(self.root / "envs/requirements.txt"),
        }

    @cached_property
    def _sources(self) -> Sources:
        return Sources(self.root / "src")

    def _of(self, product: Product) -> dict[str, str]:
        if product not in self._known:
            found = self._sources.closure(product.starts, product.stops)
            self._known[product] = self._digests(found, product.program)
        return self._known[product]

    def _digests(self, found: Closure, program: str | None = None) -> dict[str, str]:
        native = {"native": digest(found.native)} if found.native else {}
        started = {"program": self.toolchains.built[program]} if program is not None else {}
        rustc = {"rustc": self.toolchains.rustc} if native or started else {}
        return {"python": digest(found.python), **native, **started, **rustc}

    def _server(self, name: str) -> dict[str, str]:
        """Returns the version of a server, and a digest of the project's files that run inside it."""
        folder = server.named(name).sources
        if not folder.is_dir():
            raise TickdiskError(f"{folder} does not exist; run from the project's folder")
        return {"server": self.servers[name], "inside": files_digest(folder, ["*"])}
