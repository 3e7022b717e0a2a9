"""Luanti with other stores than SQLite, each as a kind of server of its own. The same binary runs all of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tickdisk.foundation.errors import TickdiskError
from tickdisk.server.change import Change
from tickdisk.server.contract import DataType, ServerProgram
from tickdisk.server.luanti import postgresql
from tickdisk.server.luanti.server import Luanti
from tickdisk.server.world import Terrain, WorldSpec


class LuantiLevelDB(Luanti):
    """Luanti with map, players and accounts in LevelDB, which it converts from SQLite when a world is made."""

    name = "luanti_leveldb"
    title = "Luanti with LevelDB"
    variant_of = Luanti.name
    store: ClassVar[str] = "leveldb"
    changes: ClassVar[Mapping[str, Change]] = {"rare_saves": Luanti.changes["rare_saves"]}

    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> Terrain:
        generated = super()._generate(content, spec, scratch, logs, timeout_s)
        self._convert(content, self.store, logs)
        return generated


class LuantiPostgreSQL(LuantiLevelDB):
    """Luanti with map, players and accounts in PostgreSQL, whose server runs beside it."""

    name = "luanti_postgresql"
    title = "Luanti with PostgreSQL"
    store = postgresql.STORE
    kinds_of_data: ClassVar[frozenset[DataType]] = frozenset({"other"})

    def check(self) -> ServerProgram:
        """Returns the installed Luanti server. Raises TickdiskError if there is none, or if PostgreSQL is missing."""
        if postgresql.PROGRAM.found() is None:
            raise TickdiskError(
                f"{postgresql.PROGRAM.title} is not installed; install it: apt-get install {postgresql.PROGRAM.package}"
            )
        return super().check()
