"""Luanti with minetest_game and the tick probe."""

import os
import shutil
import signal
import socket
import sqlite3
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import ClassVar

from tickdisk.foundation import memory
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child
from tickdisk.server.change import Change
from tickdisk.server.contract import DataType, Launch, Needs, Saving, Server, ServerProgram, Ticking
from tickdisk.server.database import Database
from tickdisk.server.luanti import postgresql
from tickdisk.server.luanti.install import installed
from tickdisk.server.luanti.log import check_log
from tickdisk.server.program import environment, sha256_of
from tickdisk.server.ready import free_port
from tickdisk.server.world import Terrain, WorldFacts, WorldSpec

_MAPGEN = "v7"
_WORLD_MT = (
    "gameid = minetest\n"
    + "".join(f"{kind}backend = sqlite3\n" for kind in ("", "player_", "auth_", "mod_storage_"))
    + "load_mod_tickdisk_probe = true\n"
)
_GENERATE = {"sqlite_synchronous": "0", "server_unload_unused_data_timeout": "5", "liquid_update": "1000000"}
"""While a world is made nobody waits for its storage, and liquids stay as generated: how far they flow would depend on timing."""
_MIGRATION_S = 900.0
_PROTOCOL_ID = bytes.fromhex("4f457403")


class Luanti(Server):
    """Luanti (formerly Minetest) as a kind of server. Relief, biomes, caves and places of a world follow from its spec.

    Trees do not, because the engine draws them from random numbers of its own. Runs that are compared therefore start from copies
    of one world.
    """

    name = "luanti"
    title = "Luanti"
    needs = Needs(
        commands=("minetestserver", "luantiserver"),
        files=("usr/share/games/minetest/games/minetest_game",),
        packages=("minetest-server", "minetest-data"),
    )
    programs = ("players",)
    ticking = Ticking(
        90_000_000, "Server", has_end=False, parks=False, source="a globalstep of a mod, which the server calls within each step"
    )
    saving = Saving(
        "periodic",
        "the server",
        5.3,
        "The server saves the changed map blocks every 5.3 s, and those that it unloads before it does so.",
    )
    capabilities = frozenset(
        {"join", "walk", "teleport", "place", "dig", "attack", "ping", "marker", "burn", "look", "npc", "kill", "leave"}
    )
    clients = "luanti"
    readers = "Emerge"
    radius = 2
    """A mapgen chunk holds two map blocks on each side of its middle. Luanti's own distances are 12 (sent) and 4 (active)."""
    sources = Path("src/servers/luanti")
    changes: ClassVar[Mapping[str, Change]] = {
        "sqlite_synchronous_0": Change("SQLite never waits for the disk (sqlite_synchronous = 0)", {"sqlite_synchronous": "0"}),
        "sqlite_synchronous_1": Change("SQLite waits less often (sqlite_synchronous = 1)", {"sqlite_synchronous": "1"}),
        "leveldb": Change("map, players and accounts in LevelDB", store="leveldb"),
        "postgresql": Change("map, players and accounts in PostgreSQL", store=postgresql.STORE, program=postgresql.PROGRAM),
        "players_apart": Change("players and accounts on another disk", apart=("players.sqlite", "auth.sqlite")),
        "rare_saves": Change("saves three times as rare"),
    }

    def check(self) -> ServerProgram:
        """Returns the installed Luanti server. Raises TickdiskError, which says what to install, if there is none."""
        return ServerProgram(**installed())

    def classify(self, path: Path | str) -> DataType:
        """Returns what kind of data a file of a world holds. Objects (NPCs) are kept in map blocks, so `npc` never comes.

        PostgreSQL keeps all tables in files of one server, and a log for all of them, so these are `other`.
        """
        folder, name = Path(path).parts[-2:-1], Path(path).name
        if name.startswith("map.sqlite") or folder == ("map.db",):
            return "terrain"
        if name.startswith(("players.sqlite", "auth.sqlite")) or folder in (("players.db",), ("auth.db",)):
            return "player"
        return "other"

    def errors(self, log: Path) -> list[str]:
        """Returns the errors in the server's log, without harmless ones. Raises TickdiskError if there is no log."""
        return check_log(log)

    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> Terrain:
        shutil.rmtree(scratch, ignore_errors=True)
        (content / "world.mt").write_text(_WORLD_MT, encoding="ascii")
        result, log = scratch / "generated.json", scratch / "server.log"
        more = {**_GENERATE, "num_emerge_threads": str(len(os.sched_getaffinity(0)))}
        spawn, edge = "0,60,0", str(spec.edge_chunks)
        variables, conf = self._configure(
            scratch, more, output=result, generate=edge, seed=spec.seed, port=free_port(), spawn=spawn
        )
        launch = Launch(_command(self.check().binary, conf, content, log), variables)
        generated = self._generator(launch, result, log, logs, timeout_s)
        map_path = content / "map.sqlite"
        with closing(sqlite3.connect(map_path)) as database:
            stored, block_bytes = database.execute("SELECT COUNT(*), SUM(LENGTH(data)) FROM blocks").fetchone()
        return Terrain(
            blocks_generated=round(generated["blocks_generated"]),
            blocks_stored=stored,
            block_bytes=block_bytes,
            map_bytes=map_path.stat().st_size,
            map_sha256=sha256_of([map_path]),
            places=tuple((round(place["x"]), round(place["y"]), round(place["z"])) for place in generated["places"]),
        )

    def _convert(self, content: Path, store: str, logs: Path) -> None:
        """Lets Luanti copy the map to another store, and names the store for players and accounts, of which a new world has none.

        Mods keep their storage in SQLite, as in a server that was converted.
        """
        home, described = logs / "home", content / "world.mt"
        home.mkdir(parents=True, exist_ok=True)
        command: list[str | Path] = [self.check().binary, "--world", content.resolve(), "--migrate", store]
        with memory.folder() as fast:
            variables = {**environment(), "HOME": str(home.resolve()), **postgresql.address(fast)}
            is_postgresql = store == postgresql.STORE
            if is_postgresql:
                with described.open("a", encoding="ascii") as file:
                    file.write(postgresql.SETTINGS)
            with postgresql.made(content / store, fast, logs) if is_postgresql else nullcontext():
                child = Child("migrate", command, logs, environment=variables)
                if (code := child.wait(_MIGRATION_S)) != 0:
                    child.stop(10, signal.SIGKILL)
                    raise TickdiskError(f"{content} was not converted to {store} (exit code {code}); last words: {child.tail(3)}")
        (content / "map.sqlite").unlink()
        text = described.read_text(encoding="ascii")
        for kind in ("player", "auth"):
            text = text.replace(f"{kind}_backend = sqlite3", f"{kind}_backend = {store}")
        described.write_text(text, encoding="ascii")

    @contextmanager
    def recording(self, world: Path, output: Path) -> Iterator[dict[str, str]]:
        """Lets the world load the recorder for the length of a block, and yields the setting that names its file."""
        described = world / "world.mt"
        before = described.read_text(encoding="ascii")
        described.write_text(f"{before}load_mod_tickdisk_recorder = true\n", encoding="ascii")
        yield {"tickdisk_recorder_output": str(output.resolve())}
        described.write_text(before, encoding="ascii")

    def _start_database(self, world: Path, folder: Path, logs: Path, cores: Sequence[int] | None) -> Database | None:
        cluster = world / postgresql.STORE
        return postgresql.start(cluster, folder, logs, cores) if cluster.is_dir() else None

    def _launch(
        self, binary: str, world: Path, described: WorldFacts, port: int, folder: Path, settings: Mapping[str, str]
    ) -> Launch:
        spawns = folder / "spawns.txt"
        spawns.write_text("".join(f"({x},{y},{z})\n" for x, y, z in described.places), encoding="ascii")
        variables, conf = self._configure(
            folder,
            settings,
            output=folder / "ticks.csv",
            spawns=spawns,
            port=port,
            seed=described.spec.seed,
            spawn=",".join(map(str, described.places[0])),
        )
        return Launch(_command(binary, conf, world, folder / "server.log"), variables)

    def _settings(self, save_period_s: float) -> dict[str, str]:
        return {
            "max_block_send_distance": str(self.radius),
            "active_block_range": str(self.radius),
            "server_map_save_interval": f"{save_period_s:g}",
        }

    def _listens(self, child: Child, log: Path) -> bool:
        del child
        return log.exists() and "listening on" in log.read_text(encoding="utf-8", errors="replace").lower()

    def _answers(self, port: int) -> bool:
        """Connects with an empty reliable message, and disconnects as the peer that the server makes of the client."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.2)
            client.sendto(_PROTOCOL_ID + bytes.fromhex("0000 00 03 ffdc 01 0000"), ("127.0.0.1", port))
            until = time.monotonic() + 1
            try:
                while time.monotonic() < until:
                    answer = client.recv(2048)
                    # reliable, control, set peer id
                    if answer[:4] == _PROTOCOL_ID and answer[7:8] == b"\x03" and answer[10:12] == b"\x00\x01":
                        peer = answer[12:14]
                        client.sendto(_PROTOCOL_ID + peer + bytes.fromhex("00 00 03"), ("127.0.0.1", port))
                        return True
            except OSError:
                return False
        return False

    def _configure(
        self,
        folder: Path,
        more: Mapping[str, str],
        *,
        output: Path,
        port: int,
        seed: int,
        spawn: str,
        spawns: Path | str = "none",
        generate: str = "none",
    ) -> tuple[dict[str, str], Path]:
        """Writes settings and probe into `folder`, and returns the server's environment and the path of its settings."""
        home = folder / "home"
        for mod in ("tickdisk_probe", "tickdisk_recorder"):
            shutil.copytree(self.sources / mod, home / ".minetest" / "mods" / mod, dirs_exist_ok=True)
        template = string.Template((self.sources / "minetest.conf").read_text(encoding="utf-8"))
        conf = folder / "minetest.conf"
        conf.write_text(
            template.substitute(
                port=port,
                spawn=spawn,
                seed=seed,
                mapgen=_MAPGEN,
                output=output.resolve(),
                generate=generate,
                spawns=Path(spawns).resolve() if spawns != "none" else "none",
                more="\n".join(f"{key} = {value}" for key, value in more.items()),
            ),
            encoding="utf-8",
        )
        return {**environment(), "HOME": str(home.resolve()), **postgresql.address(folder)}, conf


def _command(binary: str, conf: Path, world: Path, log: Path) -> list[str | Path]:
    places: list[str | Path] = ["--config", conf.resolve(), "--world", world.resolve(), "--logfile", log.resolve()]
    return [binary, *places, "--quiet", "--color", "never"]
