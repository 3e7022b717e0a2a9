"""The programs of servers: their checksums, their environment, and those that the set-up builds."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.server.contract import Program, Server

_BUILD = Path("build")
_REPOSITORY = Path(__file__).parents[3]


def sha256_of(files: Sequence[Path]) -> str:
    """Returns the SHA-256 of the contents of all files, one after another, in hexadecimal digits."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def environment() -> dict[str, str]:
    """Returns the environment variables for the process of a server. Only PATH is taken over from the user."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


def built(server: Server, version: str) -> Program:
    """Returns the program of a server in the folder `build`, here or in the checkout. Raises TickdiskError if it is missing."""
    name = str(server.needs.built)
    found = next((path for folder in (Path(), _REPOSITORY) if (path := folder / _BUILD / name).is_file()), None)
    if found is None:
        raise TickdiskError(f"{server.title} was not built: {_BUILD / name} does not exist; run `make setup`, which says why")
    return Program(str(found.absolute()), version, sha256_of([found]))
