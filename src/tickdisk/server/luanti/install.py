"""The installed Luanti server: where it is, what it is, and that it can run a game."""

import os
import re
import shutil
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import run
from tickdisk.server.program import sha256_of

_NAMES = ("minetestserver", "luantiserver")
_FOLDERS = ("/usr/games", "/usr/local/games", "/usr/local/bin")


def installed() -> dict[str, str]:
    """Returns `binary` (path), `version` and `sha256` of the installed Luanti server.

    Raises TickdiskError, which says what to install, if the server or its game minetest_game is missing.
    """
    binary = next((path for name in _NAMES if (path := _which(name))), None)
    if binary is None:
        raise TickdiskError(
            "the Luanti server is not installed; install the packages minetest-server and minetest-data "
            "(or put luantiserver into PATH)"
        )
    output = run([binary, "--version"], what="the Luanti server's --version")
    version = re.search(r"^\S+ (\d+\.\d+\.\d+\S*)", output)
    share = re.search(r'STATIC_SHAREDIR="([^"]*)"', output)
    if version is None or share is None:
        raise TickdiskError(f"{binary} --version says {output[:60]!r}, which is no Luanti server; install minetest-server")
    game = Path(share[1]) / "games" / "minetest_game"
    if not game.is_dir():
        raise TickdiskError(f"Luanti {version[1]} has no {game}; install the package minetest-data, or minetest_game there")
    return {"binary": str(binary), "version": version[1], "sha256": sha256_of([binary])}


def _which(name: str) -> Path | None:
    command = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_FOLDERS]))
    if command is None:
        return None
    path = Path(command).resolve()
    with path.open("rb") as file:
        script = file.read(4096)
    # Debian's command is a script that ends in `exec SERVER`: the server itself is what a checksum must cover.
    target = re.search(rb"^exec\s+(/\S+)", script, re.MULTILINE) if script.startswith(b"#!") else None
    return Path(os.fsdecode(target[1])) if target else path
