"""Luanti (Minetest): world, start, stop; its SQLite map is read by the emerge thread and saved in the thread that ticks."""

import os
import shutil
import signal
import sqlite3
import string
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, write_json
from tickdisk.process import Child
from tickdisk.server.contract import DataType
from tickdisk.server.install import installed, sha256_of
from tickdisk.server.log import check_log
from tickdisk.server.ready import READY_S, free_port, last_words, require_free, wait_until_ready
from tickdisk.server.world import WORLD_FILE, WorldSpec, shuffled, whole_folder

SAVE_PERIOD_S = 5.3
"""Luanti's default server_map_save_interval."""
RADIUS_BLOCKS = 2
"""Map blocks around a player that are sent and active: what a chunk holds around its middle (Luanti's defaults are 12 and 4)."""
TICK_THREAD = "Server"
"""Name of the thread in which the server ticks."""
MARKERS = 64
"""Small files in every world that nothing reads but the probe's marker command, each once."""
_SOURCES = Path("src/servers/luanti")
_WORLD_MT = (
    "gameid = minetest\n"
    + "".join(f"{kind}backend = sqlite3\n" for kind in ("", "player_", "auth_", "mod_storage_"))
    + "load_mod_tickdisk_probe = true\n"
)
_GENERATE = {"sqlite_synchronous": "0", "server_unload_unused_data_timeout": "5", "liquid_update": "1000000"}
"""While a world is made nobody waits for its storage, and liquids stay as generated: how far they flow would depend on timing."""


def classify(path: Path | str) -> DataType:
    """Returns what kind of data a file of a Luanti world holds.

    Luanti keeps objects (NPCs) inside the map blocks, so `npc` cannot be told from terrain by path, and never comes.
    """
    name = Path(path).name
    if name.startswith("map.sqlite"):
        return "terrain"
    if name.startswith(("players.sqlite", "auth.sqlite")):
        return "player"
    return "other"


@dataclass(frozen=True)
class RunningLuanti:
    """A Luanti server that answers on its port; see RunningServer."""

    child: Child
    tick_log: Path
    server_log: Path
    facts: Mapping[str, Any]

    @property
    def pid(self) -> int:
        """Process to account CPU time to."""
        return self.child.pid

    def alive(self) -> bool:
        """Returns whether the process still runs."""
        return self.child.poll() is None

    def last_words(self) -> str:
        """Returns the last lines of the server's log and output in one line."""
        return last_words(self.child, self.server_log)

    def stop(self, timeout_s: float) -> list[str]:
        """Sends SIGTERM, waits for the last save, and returns the problems in the log and an exit that was not clean."""
        ended_before = not self.alive()
        self.child.send(signal.SIGTERM)
        code = self.child.wait(timeout_s)
        if code is None:
            code = self.child.stop(10, signal.SIGKILL)
            return [f"the server did not end within {timeout_s:g} s of SIGTERM and was killed", *check_log(self.server_log)]
        unclean = [f"the server ended with exit code {code}{' before it was told to' if ended_before else ''}"]
        return [*(unclean if code != 0 or ended_before else []), *check_log(self.server_log)]


class Luanti:
    """Luanti with minetest_game and the tick probe; see Server. `sources` holds the probe and the settings."""

    def __init__(self, sources: Path = _SOURCES) -> None:
        self._sources = sources

    def check(self) -> dict[str, str]:
        """Returns binary, version and sha256 of the installed server; TickdiskError says what to install."""
        return installed()

    def make_world(self, world: Path, spec: WorldSpec, logs: Path, *, timeout_s: float = 900) -> dict[str, Any]:
        """Generates the world folder `world`, whole or not at all; returns the content of its world.json.

        A world of the same spec that is there already is kept. Relief, biomes, caves and places follow from the spec; trees do
        not (the engine draws them from random numbers of its own), so runs that are compared start from copies of one world.
        """
        if (world / WORLD_FILE).exists():
            there: dict[str, Any] = read_json(world / WORLD_FILE)
            if there["spec"] != asdict(spec):
                raise TickdiskError(f"{world} holds a world of another spec, {there['spec']}; remove it or name another folder")
            return there
        binary = self.check()["binary"]
        started = time.monotonic()
        with whole_folder(world) as partial:
            scratch = logs / "world"
            shutil.rmtree(scratch, ignore_errors=True)
            content = partial / "content"
            (content / "markers").mkdir(parents=True)
            for number in range(MARKERS):
                (content / "markers" / str(number)).write_bytes(f"{number:04d}".encode() * 1024)
            (content / "world.mt").write_text(_WORLD_MT, encoding="ascii")
            result = scratch / "generated.json"
            more = {**_GENERATE, "num_emerge_threads": str(len(os.sched_getaffinity(0)))}
            environment, conf = self._configure(
                scratch,
                more,
                output=result,
                generate=str(spec.edge_chunks),
                seed=spec.seed,
                mapgen=spec.mapgen,
                port=free_port(),
                spawn="0,60,0",
            )
            log = scratch / "server.log"
            child = Child("luanti_world", _command(binary, conf, content, log), logs, environment=environment)
            code = child.wait(timeout_s)
            if code is None:
                child.stop(10, signal.SIGKILL)
                raise TickdiskError(f"the world was not generated within {timeout_s:g} s; lower edge_blocks or allow more time")
            if code != 0 or not result.exists():
                raise TickdiskError(f"the world was not generated (exit code {code}); last words: {last_words(child, log)}")
            if problems := check_log(log):
                raise TickdiskError(f"the world was not generated cleanly: {problems[0]}; the whole log is {log}")
            described = _describe(content, spec, read_json(result), time.monotonic() - started)
            write_json(content / WORLD_FILE, described)
            for path in content.iterdir():
                path.rename(partial / path.name)
            content.rmdir()
        return described

    def start(
        self,
        world: Path,
        *,
        port: int,
        folder: Path,
        logs: Path,
        cores: Sequence[int] | None = None,
        save_period_s: float = SAVE_PERIOD_S,
        settings: Mapping[str, str] | None = None,
    ) -> RunningLuanti:
        """Starts the server on `world` and returns when it answers on 127.0.0.1:`port`.

        `folder` (in memory) takes settings, probe, tick log and server log, `logs` command and exit code; player pN spawns at the
        world's place N. `settings` come after the project's own. TickdiskError: port taken, no world, server
        that does not start.
        """
        binary = self.check()
        if not (world / WORLD_FILE).exists():
            raise TickdiskError(f"{world} holds no world ({WORLD_FILE} is missing); `tickdisk world` generates it")
        described = read_json(world / WORLD_FILE)
        require_free(port)
        folder.mkdir(parents=True, exist_ok=True)
        tick_log, server_log, spawns = folder / "ticks.csv", folder / "server.log", folder / "spawns.txt"
        spawns.write_text("".join(f"({x},{y},{z})\n" for x, y, z in described["places"]), encoding="ascii")
        chosen = {
            "max_block_send_distance": str(RADIUS_BLOCKS),
            "active_block_range": str(RADIUS_BLOCKS),
            "server_map_save_interval": f"{save_period_s:g}",
            **(settings or {}),
        }
        environment, conf = self._configure(
            folder,
            chosen,
            output=tick_log,
            spawns=spawns,
            port=port,
            seed=described["spec"]["seed"],
            mapgen=described["spec"]["mapgen"],
            spawn=",".join(map(str, described["places"][0])),
        )
        started = time.monotonic()
        child = Child("luanti", _command(binary["binary"], conf, world, server_log), logs, environment=environment, cores=cores)
        try:
            wait_until_ready(child, server_log, port, started + READY_S)
        except BaseException:
            child.stop(5, signal.SIGKILL)
            raise
        facts = {**binary, "settings": chosen, "port": port, "ready_s": round(time.monotonic() - started, 3)}
        return RunningLuanti(child, tick_log, server_log, facts)

    def _configure(
        self,
        folder: Path,
        more: Mapping[str, str],
        *,
        output: Path,
        port: int,
        seed: int,
        mapgen: str,
        spawn: str,
        spawns: Path | str = "none",
        generate: str = "none",
    ) -> tuple[dict[str, str], Path]:
        """Writes settings and probe into `folder`; returns the server's environment and the path of its settings."""
        home = folder / "home"
        mod = home / ".minetest" / "mods" / "tickdisk_probe"
        shutil.copytree(self._sources / "tickdisk_probe", mod, dirs_exist_ok=True)
        template = string.Template((self._sources / "minetest.conf").read_text(encoding="utf-8"))
        conf = folder / "minetest.conf"
        conf.write_text(
            template.substitute(
                port=port,
                spawn=spawn,
                seed=seed,
                mapgen=mapgen,
                output=output.resolve(),
                generate=generate,
                spawns=Path(spawns).resolve() if spawns != "none" else "none",
                more="\n".join(f"{key} = {value}" for key, value in more.items()),
            ),
            encoding="utf-8",
        )
        return {"HOME": str(home.resolve()), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}, conf


def _command(binary: str, conf: Path, world: Path, log: Path) -> list[str | Path]:
    return [
        binary,
        "--config",
        conf.resolve(),
        "--world",
        world.resolve(),
        "--logfile",
        log.resolve(),
        "--quiet",
        "--color",
        "never",
    ]


def _describe(world: Path, spec: WorldSpec, generated: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    map_path = world / "map.sqlite"
    with closing(sqlite3.connect(map_path)) as database:
        stored, block_bytes = database.execute("SELECT COUNT(*), SUM(LENGTH(data)) FROM blocks").fetchone()
    places = [[round(place[axis]) for axis in "xyz"] for place in generated["places"]]
    return {
        "spec": asdict(spec),
        "edge_chunks": spec.edge_chunks,
        "blocks_generated": round(generated["blocks_generated"]),
        "blocks_stored": stored,
        "block_bytes": block_bytes,
        "map_bytes": map_path.stat().st_size,
        "map_sha256": sha256_of([map_path]),
        "seconds": round(seconds, 1),
        "radius_blocks": RADIUS_BLOCKS,
        "places": shuffled(places, spec.seed),
    }
