"""The servers by name."""

from collections.abc import Mapping
from pathlib import Path

from tickdisk.errors import TickdiskError
from tickdisk.server.contract import DataType, Server
from tickdisk.server.dragonfly import Dragonfly
from tickdisk.server.luanti import Luanti
from tickdisk.server.minestom import Minestom

SERVERS: Mapping[str, Server] = {one.name: one for one in (Luanti(), Dragonfly(), Minestom())}
"""The servers by name."""


def named(name: str) -> Server:
    """Returns a server of `SERVERS`.

    Parameters
    ----------
    name
        Name of the server.

    Returns
    -------
    Server
        The server.

    Raises
    ------
    TickdiskError
        If there is no server of this name.
    """
    if name not in SERVERS:
        raise TickdiskError(f"there is no server {name}; take one of {', '.join(SERVERS)}")
    return SERVERS[name]


def classify(path: Path | str) -> DataType:
    """Returns what kind of data a file of a process holds, if it is a file of one of the servers.

    Parameters
    ----------
    path
        Path of the file.

    Returns
    -------
    DataType
        The kind of data that the first server says that knows the file, and else `other`.
    """
    return next((kind for one in SERVERS.values() if (kind := one.classify(path)) != "other"), "other")
