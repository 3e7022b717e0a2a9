"""Dragonfly with the project's program around it, which generates worlds and records ticks."""

import re
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tickdisk.errors import TickdiskError
from tickdisk.process import Child
from tickdisk.server.contract import DataType, Launch, Needs, Program, Saving, Server, Ticking
from tickdisk.server.program import built, environment
from tickdisk.server.world import WorldSpec

_GO_MOD = Path("go.mod")
_VERSION = re.compile(r"github.com/df-mc/dragonfly (v\S+)")
_UNCONNECTED_PING = bytes.fromhex("01 0000000000000000 00ffff00fefefefefdfdfdfd12345678 0000000000000000")
"""RakNet's ping of a server to which no connection exists (time, magic, identity of the client)."""
_UNCONNECTED_PONG = 0x1C


class Dragonfly(Server):
    """Dragonfly. All of a world follows from its spec."""

    name = "dragonfly"
    title = "Dragonfly"
    needs = Needs(built="tickdisk-dragonfly")
    programs = ("players/bedrock", "servers/dragonfly")
    ticking = Ticking(
        50_000_000, "world", has_end=True, parks=True, source="a line in a copy of Dragonfly's tick loop, around the tick"
    )
    saving = Saving(
        "periodic",
        "the server",
        600.0,
        "Every save writes all loaded chunks that were ever changed. Our program calls it at the period of the experiment. "
        "A player is saved when it leaves.",
    )
    capabilities = frozenset({"join", "walk", "teleport", "place", "dig", "ping", "marker", "burn", "leave"})
    clients = "bedrock"
    readers = None
    radius = 3
    """Chunks whose distance is nearer than 2.5 chunks: five in a row, as many as a place has around it."""
    sources = Path("src/servers/dragonfly")

    def check(self) -> Program:
        """Returns the program that the set-up built. Raises TickdiskError if it did not."""
        version = _VERSION.search((self.sources / _GO_MOD).read_text(encoding="utf-8"))
        return built(self, version[1] if version else "of an unknown version")

    def identity(self) -> str:
        """Returns the version of Dragonfly. Digests of the sources and the version of Go stand beside it."""
        return f"{self.title} {self.check().version}"

    def classify(self, path: Path | str) -> DataType:
        """Returns what kind of data a file of a Dragonfly world holds.

        Dragonfly keeps entities (NPCs) in the same database as the chunks, so `npc` never comes.
        """
        folders = Path(path).parts[:-1]
        if "map" in folders and (folders[-1] == "db" or Path(path).name.startswith(("level.dat", "levelname.txt"))):
            return "terrain"
        return "player" if folders and folders[-1] == "players" else "other"

    def errors(self, log: Path) -> list[str]:
        """Returns the errors in the server's log, in order. Raises TickdiskError if there is no log."""
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError as error:
            raise TickdiskError(
                f"{log} does not exist, so the server cannot have run; look at the output of its process"
            ) from error
        return [line.partition("level=ERROR ")[2] for line in lines if " level=ERROR " in line]

    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> dict[str, Any]:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        result = scratch / "generated.json"
        options = {"world": content.resolve(), "seed": spec.seed, "edge-chunks": spec.edge_chunks, "output": result.resolve()}
        command = [self.check().binary, "generate", *(f"--{name}={value}" for name, value in options.items())]
        generated = self._generator(Launch(command, environment()), result, scratch / "server.log", logs, timeout_s)
        count, files = generated["chunks_generated"], (content / "map/db").glob("*")
        return {
            "blocks_generated": count,
            "blocks_stored": count,
            "map_bytes": sum(path.stat().st_size for path in files),
            "places": [[place[axis] for axis in "xyz"] for place in generated["places"]],
        }

    def _launch(
        self, binary: str, world: Path, described: Mapping[str, Any], port: int, folder: Path, settings: Mapping[str, str]
    ) -> Launch:
        places = folder / "places.txt"
        places.write_text("".join(f"{x} {y} {z}\n" for x, y, z in described["places"]), encoding="ascii")
        options = {
            "address": f"127.0.0.1:{port}",
            "world": world.resolve(),
            "places": places.resolve(),
            "record": (folder / "ticks.csv").resolve(),
            "log": (folder / "server.log").resolve(),
            **settings,
        }
        return Launch([binary, "serve", *(f"--{name}={value}" for name, value in options.items())], environment())

    def _settings(self, save_period_s: float) -> dict[str, str]:
        return {"radius-chunks": str(self.radius), "save-period-s": f"{save_period_s:g}"}

    def _listens(self, child: Child, log: Path) -> bool:
        del log
        return child.tail(1).strip() == "ready"

    def _answers(self, port: int) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.2)
            client.sendto(_UNCONNECTED_PING, ("127.0.0.1", port))
            try:
                return client.recv(2048)[0] == _UNCONNECTED_PONG
            except OSError:
                return False
