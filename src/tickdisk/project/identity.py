"""Each result is out of date when the code changes that it is computed with, and no other; here is which code that is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tickdisk import server, sources
from tickdisk.config import digest

SERVERS = Path("src/servers/luanti")
NOTEBOOKS = Path("notebooks")


def _rooms(*names: str) -> tuple[str, ...]:
    """Returns the stops that leave out whole rooms."""
    return tuple(stop for name in names for stop in (f"tickdisk.{name}", f"tickdisk.{name}.*"))


_PLANNED = _rooms("config", "errors", "files", "project")
"""The outcome of these rooms is in the plan, or they only say what is wrong and write files whole."""


@dataclass(frozen=True)
class Product:
    """A kind of result is computed with the modules that `starts` lead to, without `stops` (see `sources.closure`)."""

    starts: tuple[str, ...]
    stops: tuple[str, ...] = _PLANNED


# Of calibration a live cell only looks up what it says. The micro-workload belongs to the captures' room, not to captured cells.
_CELL = Product(("tickdisk.run.cell", "tickdisk.calibrate.record"), (*_PLANNED, *_rooms("calibrate"), "tickdisk.trace.micro"))
_UNCAPTURED = Product(_CELL.starts, (*_CELL.stops, *_rooms("trace")))
_WORLD = Product(("tickdisk.server.luanti",))
PRODUCTS: Mapping[str, Product] = {
    "calibration": Product(("tickdisk.cli.workflow:calibrate", "tickdisk.calibrate.measure"), (*_PLANNED, "tickdisk.calibrate")),
    "fidelity": Product(("tickdisk.cli.workflow:fidelity", "tickdisk.calibrate.fidelity"), (*_PLANNED, "tickdisk.calibrate")),
    "micro": Product(("tickdisk.cli.workflow:micro",)),
    # fio's logs are read by calibration's module; floors are looked up; how late requests were is summed up in quantiles.
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
    "store": Product(("tickdisk.cli.checkpoint:study", "tickdisk.store.study"), (*_PLANNED, "tickdisk.store")),
    **{
        name: Product(
            (f"tickdisk.cli.workflow:{name}", "tickdisk.report.publish", "tickdisk.report.page"),
            ("tickdisk.report", *_rooms("project")),
        )
        for name in ("collect", "paper", "page", "check")
    },
    "compare": Product(("tickdisk.cli.compare:compare_reference",), _rooms("project")),
}
"""A start in `tickdisk.cli` is the command that a rule calls; the door of its room is a stop where the room does more."""


@dataclass(frozen=True)
class Identity:
    """An identity is the code of a checkout on a machine, as digests by part."""

    checkout: sources.Checkout
    toolchains: sources.Toolchains
    server: str
    """It holds version and SHA-256 of the game server."""
    servers: Path = SERVERS
    notebooks: Path = NOTEBOOKS
    _kept: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    """It keeps what was asked for once; a process names results after the sources that it saw first."""

    @classmethod
    def of(cls) -> "Identity":
        """Returns the identity of this checkout; TickdiskError says what is missing, or was changed and not built."""
        checkout = sources.Checkout.own()
        toolchains = sources.load_toolchains(checkout.root)
        sources.check_built(checkout, toolchains)
        found = server.Luanti().check()
        return cls(checkout, toolchains, f"Luanti {found['version']} {found['sha256']}")

    def cell(self, *, captured: bool) -> dict[str, str]:
        """Returns digests of what live cells are made by; captures count where they look on."""
        players = {"players": self._once((self.checkout.players,)), "go": self.toolchains.go}
        return {**self._of(_CELL if captured else _UNCAPTURED), **self._server(), **players}

    def world(self) -> dict[str, str]:
        """Returns digests of what generates the world, which are among those of every live cell."""
        return {**self._of(_WORLD), **self._server()}

    def product(self, name: str) -> dict[str, str]:
        """Returns digests of what a result in PRODUCTS is computed with."""
        return self._of(PRODUCTS[name])

    def notebook(self, name: str) -> dict[str, str]:
        """Returns digests of what a notebook is rendered from: itself, its study in `tickdisk.report`, data that they name."""
        study = Product((f"tickdisk.report.{name}", "tickdisk.project.kept"), ("tickdisk.report", "tickdisk.project"))
        cells = sources.notebook_cells(self.notebooks / f"{name}.ipynb")
        code = self._once((self.checkout.python, study.starts, study.stops)).code
        data = sources.data_digests([*code.values(), *(text for kind, text in cells if kind == "code")])
        return {**self._of(study), "notebook": digest(cells), "data": digest(data), "packages": digest(self.checkout.locked())}

    def _of(self, product: Product) -> dict[str, str]:
        found = self._once((self.checkout.python, product.starts, product.stops))
        native = {f"native {part}": self._once((self.checkout.part, part)) for part in sources.parts_of(found.native)}
        built = {"crates": self._once((self.checkout.crates,)), "rustc": self.toolchains.rustc} if native else {}
        return {"python": digest(found.code), **native, **built}

    def _once(self, call: tuple[Any, ...]) -> Any:
        if call not in self._kept:
            ask, *arguments = call
            self._kept[call] = ask(*arguments)
        return self._kept[call]

    def _server(self) -> dict[str, str]:
        return {"server": self.server, **sources.server_digests(self.servers)}
