"""Dragonfly with the project's program around it, which generates worlds and records ticks."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tickdisk.server.built import BuiltServer
from tickdisk.server.change import Change
from tickdisk.server.contract import DataType, Needs, Saving, Ticking

_UNCONNECTED_PING = bytes.fromhex("01 0000000000000000 00ffff00fefefefefdfdfdfd12345678 0000000000000000")
"""RakNet's ping of a server to which no connection exists (time, magic, identity of the client)."""
_UNCONNECTED_PONG = 0x1C


class Dragonfly(BuiltServer):
    """Dragonfly, a library for servers of Minecraft's Bedrock edition. All of a world follows from its spec."""

    name = "dragonfly"
    title = "Dragonfly"
    needs = Needs(built="tickdisk-dragonfly")
    programs = ("players/bedrock", "servers/dragonfly")
    ticking = Ticking(
        50_000_000, "world", has_end=True, parks=True, source="a line in a copy of Dragonfly's tick loop, around the tick"
    )
    saving = Saving(
        "periodic",
        "Tickdisk",
        600.0,
        "Every save writes all loaded chunks that were ever changed. Our program calls it at the period of the experiment. "
        "A player is saved when it leaves.",
    )
    capabilities = frozenset(
        {"join", "walk", "teleport", "place", "dig", "attack", "ping", "marker", "burn", "look", "npc", "kill", "leave"}
    )
    clients = "bedrock"
    readers = None
    radius = 3
    """Chunks whose distance is nearer than 2.5 chunks: five in a row, as many as a place has around it."""
    sources = Path("src/servers/dragonfly")
    changes: ClassVar[Mapping[str, Change]] = {
        "synced_saves": Change("LevelDB waits until each chunk that it writes is on the disk (sync)", {"sync": "true"}),
        "rare_saves": Change("saves three times as rare"),
    }
    version = ("go.mod", r"github.com/df-mc/dragonfly (v\S+)")
    terrain = "map/db/*"
    error = " level=ERROR "

    def classify(self, path: Path | str) -> DataType:
        """Returns what kind of data a file of a world holds. Entities (NPCs) are kept with chunks, so `npc` never comes."""
        folders = Path(path).parts[:-1]
        if "map" in folders and (folders[-1] == "db" or Path(path).name.startswith(("level.dat", "levelname.txt"))):
            return "terrain"
        return "player" if folders and folders[-1] == "players" else "other"

    def _answers(self, port: int) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.2)
            client.sendto(_UNCONNECTED_PING, ("127.0.0.1", port))
            try:
                return client.recv(2048)[0] == _UNCONNECTED_PONG
            except OSError:
                return False
