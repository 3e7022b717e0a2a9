"""The servers by name."""

from collections.abc import Mapping
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.server.contract import DataType, Server
from tickdisk.server.dragonfly import Dragonfly
from tickdisk.server.luanti import Luanti, LuantiLevelDB, LuantiPostgreSQL
from tickdisk.server.minestom import Minestom
from tickdisk.server.papermc import PaperMC

SERVERS: Mapping[str, Server] = {
    one.name: one for one in (Luanti(), Dragonfly(), Minestom(), LuantiLevelDB(), LuantiPostgreSQL(), PaperMC())
}


def named(name: str) -> Server:
    """Returns the kind of server that has a given name in `SERVERS`. Raises TickdiskError if there is none."""
    if name not in SERVERS:
        raise TickdiskError(f"there is no server {name}; take one of {', '.join(SERVERS)}")
    return SERVERS[name]


def classify(path: Path | str) -> DataType:
    """Returns what kind of data a file holds, by the first server that knows its path. It is `other` if none does."""
    return next((kind for server in SERVERS.values() if (kind := server.classify(path)) != "other"), "other")
