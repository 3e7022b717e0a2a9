"""Minestom with the project's program around it, which generates worlds, saves them and records ticks."""

import dataclasses
import re
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tickdisk.errors import TickdiskError
from tickdisk.process import Child
from tickdisk.server.contract import DataType, Launch, Needs, Program, Saving, Server, Ticking
from tickdisk.server.program import built, environment, sha256_of
from tickdisk.server.world import WorldSpec

_POM = Path("pom.xml")
_VERSION = re.compile(r"<artifactId>minestom</artifactId>\s*<version>([^<]{2,})</version>")
_STATUS_REQUEST = bytes.fromhex("10 00 8606 09") + b"127.0.0.1" + bytes.fromhex("0000 01 0100")
"""A handshake of protocol 774 that asks for the server's status (address, port and next state), and the request."""


class Minestom(Server):
    """Minestom. All of a world follows from its spec."""

    name = "minestom"
    title = "Minestom"
    needs = Needs(built="tickdisk-minestom")
    programs = ("players/java", "servers/minestom")
    ticking = Ticking(
        50_000_000, "Ms-Tick-0", has_end=True, parks=True, source="Minestom's event at the end of a tick, with its duration"
    )
    saving = Saving(
        "periodic",
        "Tickdisk",
        300.0,
        "Minestom saves when a program asks. Ours writes the chunks in which a block changed since they were last written, at "
        "the period of the experiment, and before it unloads a chunk that no player sees. A player is written when it leaves.",
    )
    capabilities = frozenset({"join", "walk", "teleport", "place", "dig", "ping", "marker", "burn", "leave"})
    clients = "java"
    readers = "ForkJoinPool-1-"
    radius = 2
    """Chunks to each side of the player's: five in a row, as many as a place has around it."""
    sources = Path("src/servers/minestom")

    def check(self) -> Program:
        """Returns the program that the set-up built. Raises TickdiskError if it did not."""
        version = _VERSION.search((self.sources / _POM).read_text(encoding="utf-8"))
        program = built(self, version[1] if version else "of an unknown version")
        folder = Path(program.binary).parent / self.name
        files = [path for kind in ("classes", "lib") for path in sorted((folder / kind).rglob("*")) if path.is_file()]
        return dataclasses.replace(program, sha256=sha256_of([Path(program.binary), *files]))

    def identity(self) -> str:
        """Returns the version of Minestom. Digests of the sources and of the lock files stand beside it."""
        return f"{self.title} {self.check().version}"

    def classify(self, path: Path | str) -> DataType:
        """Returns what kind of data a file of a Minestom world holds. The world has no NPCs, so `npc` never comes."""
        folders = Path(path).parts[:-1]
        if folders[-2:] == ("map", "region"):
            return "terrain"
        return "player" if folders[-1:] == ("players",) and ".dat" in Path(path).suffixes else "other"

    def errors(self, log: Path) -> list[str]:
        """Returns the errors in the server's log, in order. Raises TickdiskError if there is no log."""
        try:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError as error:
            raise TickdiskError(
                f"{log} does not exist, so the server cannot have run; look at the output of its process"
            ) from error
        return [line.partition("] ERROR ")[2] for line in lines if "] ERROR " in line]

    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> dict[str, Any]:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        result = scratch / "generated.json"
        options = {"world": content.resolve(), "seed": spec.seed, "edge-chunks": spec.edge_chunks, "output": result.resolve()}
        command = [self.check().binary, "generate", *(f"--{name}={value}" for name, value in options.items())]
        generated = self._generator(Launch(command, environment()), result, scratch / "server.log", logs, timeout_s)
        count, files = generated["chunks_generated"], (content / "map/region").iterdir()
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
        with socket.socket() as client:
            client.settimeout(0.2)
            try:
                client.connect(("127.0.0.1", port))
                client.sendall(_STATUS_REQUEST)
                return b"version" in client.recv(4096)
            except OSError:
                return False
