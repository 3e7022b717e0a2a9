"""The servers by name."""

from collections.abc import Mapping
from pathlib import Path

from tickdisk.errors import TickdiskError
from tickdisk.server.contract import DataType, Server
from tickdisk.server.dragonfly import Dragonfly
from tickdisk.server.luanti import Luanti
from tickdisk.server.minestom import Minestom

SERVERS: Mapping[str, Server] = {one.name: one for one in (Luanti(), Dragonfly(), Minestom())}
"""All kinds of server by the names that the configuration and commands use."""


def named(name: str) -> Server:
    """Returns the kind of server that has a given name in `SERVERS`.

    Parameters
    ----------
    name
        Name of the server, such as `luanti`.

    Returns
    -------
    Server
        The kind of server.

    Raises
    ------
    TickdiskError
        If there is no server of this name.
    """
    if name not in SERVERS:
        raise TickdiskError(f"there is no server {name}; take one of {', '.join(SERVERS)}")
    return SERVERS[name]


def classify(path: Path | str) -> DataType:
    """Returns what kind of data a file holds, for a process whose kind of server is not known.

    All servers are asked in turn, from the path alone.

    Parameters
    ----------
    path
        Path of the file.

    Returns
    -------
    DataType
        The answer of the first server that knows the file. It is `other` if none does.
    """
    return next((kind for one in SERVERS.values() if (kind := one.classify(path)) != "other"), "other")
