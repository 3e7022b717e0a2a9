"""Minestom with the project's program around it, which generates worlds, saves them and records ticks."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tickdisk.server.built import BuiltServer
from tickdisk.server.change import Change
from tickdisk.server.contract import DataType, Launch, Needs, Saving, ServerProgram, Ticking
from tickdisk.server.java import answers
from tickdisk.server.program import sha256_of
from tickdisk.server.world import WorldFacts


class Minestom(BuiltServer):
    """Minestom, a library for servers of Minecraft's Java edition. All of a world follows from its spec."""

    name = "minestom"
    title = "Minestom"
    needs = Needs(built="tickdisk-minestom")
    programs = ("players/java", "servers/minestom")
    ticking = Ticking(
        50_000_000,
        "Ms-Tick-0",
        has_end=True,
        parks=True,
        source="Minestom's event at the end of a tick, with its duration",
        backlog=5,
    )
    saving = Saving(
        "periodic",
        "Tickdisk",
        300.0,
        "Minestom saves when a program asks. Ours writes the chunks in which a block changed since they were last written, at "
        "the period of the experiment, and before it unloads a chunk that no player sees. A player is written when it leaves.",
    )
    capabilities = frozenset(
        {"join", "walk", "teleport", "place", "dig", "attack", "ping", "marker", "burn", "look", "npc", "kill", "leave"}
    )
    limits: ClassVar[Mapping[str, str]] = {
        "npc_attack": "the server stores no entities, so that it writes nothing for a dead NPC"
    }
    clients = "java"
    readers = "ForkJoinPool-1-"
    region_chunks = 32
    radius = 2
    """Chunks to each side of the player's: five in a row, as many as a place has around it."""
    sources = Path("src/servers/minestom")
    changes: ClassVar[Mapping[str, Change]] = {
        "saves_in_tick": Change("the thread that ticks writes the chunks itself", {"saves": "tick"}),
        "synced_saves": Change("virtual threads wait until each chunk that they write is on the disk (fsync)", {"saves": "sync"}),
    }
    version = ("pom.xml", r"<artifactId>minestom</artifactId>\s*<version>([^<]{2,})</version>")
    terrain = "map/region/*"
    error = "] ERROR "

    def check(self) -> ServerProgram:
        """Returns the program that was built, with one checksum of it and all its Java files, or raises TickdiskError."""
        program = super().check()
        folder = Path(program.binary).parent / self.name
        files = [path for kind in ("classes", "lib") for path in sorted((folder / kind).rglob("*")) if path.is_file()]
        return dataclasses.replace(program, sha256=sha256_of([Path(program.binary), *files]))

    def classify(self, path: Path | str) -> DataType:
        """Returns what kind of data a file of a Minestom world holds. The world has no NPCs, so `npc` never comes."""
        folders = Path(path).parts[:-1]
        if folders[-2:] == ("map", "region"):
            return "terrain"
        return "player" if folders[-1:] == ("players",) and ".dat" in Path(path).suffixes else "other"

    def _launch(
        self, binary: str, world: Path, described: WorldFacts, port: int, folder: Path, settings: Mapping[str, str]
    ) -> Launch:
        launch = super()._launch(binary, world, described, port, folder, settings)
        pauses = (folder / "pauses.log").resolve()  # The launcher has Java write it, and the program reads it at its end.
        return dataclasses.replace(launch, environment={**launch.environment, "TICKDISK_PAUSES": str(pauses)})

    def _answers(self, port: int) -> bool:
        return answers(port)
