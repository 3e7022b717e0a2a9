"""The programs of servers: their checksums, their environment, and those that the set-up builds."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError
from tickdisk.server.contract import Program, Server


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
    """Returns the program of a server that the set-up built. Raises TickdiskError if it was not built."""
    binary = process.built(str(server.needs.built))
    return Program(str(binary), version, sha256_of([binary]))


def log_lines(log: Path) -> list[str]:
    """Returns the lines of a server's log. Raises TickdiskError if there is no log, because every server writes one."""
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError as error:
        raise TickdiskError(f"{log} does not exist, so the server cannot have run; look at the output of its process") from error
