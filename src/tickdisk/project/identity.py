"""The identity of every result: digests of the code that the result is computed with.

If that code changes, the result is out of date. If other code changes, the result is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tickdisk import server
from tickdisk.config import digest
from tickdisk.project import sources

NOTEBOOKS = Path("notebooks")


def _rooms(*names: str) -> tuple[str, ...]:
    """Returns the stops that leave whole rooms out of a closure."""
    return tuple(stop for name in names for stop in (f"tickdisk.{name}", f"tickdisk.{name}.*"))


_PLANNED = _rooms("config", "experiment", "foundation.errors", "foundation.files", "foundation.record", "project")
"""Rooms that are left out of every product. Their outcome is in the plan, or they only raise errors, or read and write files."""


_ALL_SERVERS = ("tickdisk.server", "tickdisk.server.registry")
"""Modules that name all servers. They are left out, because a cell runs one of the servers."""


@dataclass(frozen=True)
class Product:
    """A kind of result, described by the Python code that it is computed with.

    This code is all that `starts` reach by imports without passing `stops` (see `sources.closure`). If it changes, the result is
    out of date.
    """

    starts: tuple[str, ...]
    """Modules, or functions as `module:function`, with which the computation starts."""
    stops: tuple[str, ...] = _PLANNED
    """Modules whose code does not count and whose imports are not followed. `.*` stands for all modules below."""
    programs: tuple[str, ...] = ()
    """Folders in `src` of the programs in Rust that the computation starts, whose code counts, too."""


PRODUCTS: Mapping[str, Product] = {
    "calibration": Product(("tickdisk.cli.workflow:calibrate", "tickdisk.calibrate.measure"), (*_PLANNED, "tickdisk.calibrate")),
    "fidelity": Product(("tickdisk.cli.workflow:fidelity", "tickdisk.calibrate.fidelity"), (*_PLANNED, "tickdisk.calibrate")),
    "micro": Product(("tickdisk.cli.workflow:micro",)),
    # The replay reads fio's logs with a module of the calibration, looks up floors, and sums up lateness in quantiles.
    "replay": Product(
        (
            "tickdisk.cli.workflow:replay_study",
            "tickdisk.calibrate.record",
            "tickdisk.calibrate.fio",
            "tickdisk.stats.quantile",
        ),
        (*_PLANNED, "tickdisk.calibrate", "tickdisk.stats"),
    ),
    "sweep": Product(("tickdisk.cli.checkpoint:sweep",)),
    # The order of arms is drawn at random.
    "netcode": Product(
        ("tickdisk.cli.netcode:study", "tickdisk.stats.draws"), (*_PLANNED, "tickdisk.stats"), programs=("netcode",)
    ),
    "store": Product(("tickdisk.cli.checkpoint:study", "tickdisk.saving.store.study"), (*_PLANNED, "tickdisk.saving.store")),
    **{
        name: Product(
            (f"tickdisk.cli.workflow:{name}", "tickdisk.report.publish", "tickdisk.report.page"),
            ("tickdisk.report", "tickdisk.studies", *_rooms("project", "manifest")),
        )
        for name in ("collect", "paper", "page", "check")
    },
    "compare": Product(("tickdisk.cli.compare:compare_reference",), _rooms("project")),
}
"""The kinds of result of the workflow, by name, without cells and worlds.

A start in `tickdisk.cli` is the command that a rule of the workflow calls. If the room of the work does more than the result
needs, the room's `__init__` is a stop. Whoever only reads manifests stops at `tickdisk.manifest`: if their form changes, they are
made anew.
"""


def cell_product(server: str, *, captured: bool) -> Product:
    """Returns the code that the cells on one server are computed with. If `captured`, the code of captures counts, too.

    A cell only looks up the results of the calibration. The micro-workload is in the room of captures, but no cell runs it.
    """
    starts = ("tickdisk.run.cell", "tickdisk.calibrate.record", "tickdisk.server.ticks", f"tickdisk.server.{server}")
    captures = ("tickdisk.trace.micro",) if captured else _rooms("trace")
    return Product(starts, (*_PLANNED, *_rooms("calibrate"), *_ALL_SERVERS, *captures))


def world_product(server: str) -> Product:
    """Returns the code that the world of a server is generated with."""
    return Product((f"tickdisk.server.{server}",), (*_PLANNED, *_ALL_SERVERS))


@dataclass(frozen=True)
class Identity:
    """The code of a checkout on a machine, as digests of its parts, from which results get their names.

    Each method returns the digests by part that count for one kind of result. If one of them differs, the result is out of date.
    """

    checkout: sources.Checkout
    toolchains: sources.Toolchains
    servers: Mapping[str, str]
    """`Server.identity` of each game server that can run on this machine, by the server's name."""
    notebooks: Path = NOTEBOOKS
    _cache: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    """Digests that were computed before. A process names all its results after the sources that it saw first."""

    @classmethod
    def of(cls, servers: Sequence[str]) -> "Identity":
        """Returns the identity of the checkout that this process runs from, with the servers that can run on this machine.

        Raises TickdiskError if a program has not been built, or has changed since it was built.
        """
        checkout = sources.Checkout.own()
        toolchains = sources.load_toolchains(checkout.root)
        programs = {program for name in servers for program in server.named(name).programs}
        sources.check_built(checkout, toolchains, ["native", "netcode", *sorted(programs)])
        return cls(checkout, toolchains, {name: server.named(name).identity() for name in servers})

    def cell(self, name: str, *, captured: bool) -> dict[str, str]:
        """Returns digests of all programs that the cells on a server are computed with, which the hash of a cell covers.

        If `captured`, the code of captures counts, too.
        """
        built = server.named(name).programs
        players = {"players": digest([self._cached((self.checkout.built, program)) for program in built])}
        return {**self._of(cell_product(name, captured=captured)), **self._server(name), **players, "go": self.toolchains.go}

    def world(self, name: str) -> dict[str, str]:
        """Returns digests of the code that generates the world of a server. The same code counts for its cells."""
        return {**self._of(world_product(name)), **self._server(name)}

    def product(self, name: str) -> dict[str, str]:
        """Returns digests of the code that a kind of result in `PRODUCTS` is computed with."""
        return self._of(PRODUCTS[name])

    def notebook(self, name: str) -> dict[str, str]:
        """Returns digests of a notebook's cells, its study, the data files that both name, and the locked packages."""
        stops = ("tickdisk.studies", "tickdisk.project", "tickdisk.manifest")
        study = Product((f"tickdisk.studies.{name}", "tickdisk.project.kept"), stops)
        cells = sources.notebook_cells(self.notebooks / f"{name}.ipynb")
        code = self._cached((self.checkout.python, study.starts, study.stops)).code
        data = sources.data_digests([*code.values(), *(text for kind, text in cells if kind == "code")])
        return {**self._of(study), "notebook": digest(cells), "data": digest(data), "packages": digest(self.checkout.locked())}

    def _of(self, product: Product) -> dict[str, str]:
        """Returns the digests of the Python code, the parts of the native module and the programs of a product."""
        found = self._cached((self.checkout.python, product.starts, product.stops))
        native = {f"native {part}": self._cached((self.checkout.part, part)) for part in sources.parts_of(found.native)}
        built = {"crates": self._cached((self.checkout.crates,)), "rustc": self.toolchains.rustc} if native else {}
        started = {f"program {name}": self._cached((self.checkout.built, name)) for name in product.programs}
        compiled = {"rustc": self.toolchains.rustc} if started else {}
        return {"python": digest(found.code), **native, **built, **started, **compiled}

    def _cached(self, call: tuple[Any, ...]) -> Any:
        """Returns the result of a call, which is a function and its arguments, from `_cache` if the call was made before."""
        if call not in self._cache:
            ask, *arguments = call
            self._cache[call] = ask(*arguments)
        return self._cache[call]

    def _server(self, name: str) -> dict[str, str]:
        return {"server": self.servers[name], **sources.server_digests(server.named(name).sources)}
