"""The interface of a game server, and everything about starting one and making a world that is the same for all servers."""

import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json, write_text
from tickdisk.foundation.process import Child
from tickdisk.foundation.record import Record
from tickdisk.server.change import Change
from tickdisk.server.database import Database
from tickdisk.server.ready import last_words, require_free, wait_until_ready
from tickdisk.server.world import (
    MARKERS,
    MARKERS_FOLDER,
    WORLD_FILE,
    Places,
    Terrain,
    WorldFacts,
    WorldSpec,
    copy_world,
    corners_of,
    read_world,
    shuffled,
    whole_folder,
    write_world,
)

_ACTION_DELAY = "action_delay_ms"
"""Name of the file beside the record of the probe from which a server takes how long it holds back its answers."""
DataType = Literal["terrain", "player", "npc", "other"]
Capability = Literal[
    "join", "walk", "teleport", "place", "dig", "attack", "ping", "marker", "burn", "look", "npc", "kill", "leave"
]


@dataclass(frozen=True)
class Ticking:
    """The way in which a kind of server ticks."""

    budget_ns: int
    """Time from the start of one tick to the start of the next, if both are on time."""
    thread: str | None
    """Name of the thread in which every tick runs. None if each tick records its own thread."""
    has_end: bool
    """Whether the probe sees the end of a tick, and not its start alone."""
    parks: bool
    """Whether a thread of the server waits in a futex when it has nothing to do, as threads of Go and of the JVM do."""
    source: str
    """The place in the server at which the probe records ticks, in words for `tickdisk server list`."""
    backlog: int = 1
    """Most ticks that the server makes up for after a late one. Other ticks that were due meanwhile never take place."""


@dataclass(frozen=True)
class Saving:
    """The times at which a kind of server writes its world to disk, and the reason for them."""

    policy: Literal["none", "periodic", "on event"]
    """The occasion of a save: there is none, a period has passed, or something has happened."""
    decided_by: Literal["the server", "Tickdisk"]
    """Whether the server saves by itself in this way, or the program of the project asks it to save."""
    period_s: float
    """Time from one periodic save to the next, unless an experiment chooses another."""
    note: str
    """A description of the saves and of their times, in words for `tickdisk server list`."""


@dataclass(frozen=True)
class ServerProgram:
    """The program of a kind of server, as `Server.check` finds it on this machine."""

    binary: str
    version: str
    sha256: str
    """SHA-256 in hexadecimal digits. For a program of several files it is that of all of them."""


@dataclass(frozen=True)
class Needs:
    """The programs and files that a machine must have to run a kind of server. `doctor` looks for them.

    The program of the server is named either by `commands` or by `built`.
    """

    commands: tuple[str, ...] = ()
    """Names under which the program may be installed. One of them is enough."""
    built: str | None = None
    """Name of the program that the set-up builds into the folder `build`. None for a server that is installed."""
    files: tuple[str, ...] = ()
    """Files and folders that the server also needs, relative to the root folder of the machine."""
    packages: tuple[str, ...] = ()
    """Debian packages that contain all of these, which a message can advise to install."""


@dataclass(frozen=True)
class Launch:
    """A command that starts a server or generates a world, with its environment."""

    command: Sequence[str | Path]
    environment: Mapping[str, str]
    """All environment variables of the command, which inherits no others."""


class ServerFacts(Record):
    """The facts about a kind of server that the analysis of its lives needs."""

    name: str
    """The name of the server in the configuration."""
    title: str
    """The name of the server for people."""
    tick_budget_ns: int
    """The time from the start of one tick to the start of the next, if both are on time."""
    tick_thread: str | None
    """The name of the thread that ticks. It is null if each tick has its own thread on record."""
    reader_threads: str | None
    """The beginning of the names of the threads that read the world. It is null if the thread that ticks reads it."""
    parks: bool
    """Whether a thread that has nothing to do waits in a futex."""


class ServerStart(Record):
    """The program of a game server that was started, and how."""

    binary: str
    """The path of the program."""
    version: str
    """The version of the program."""
    sha256: str
    """The SHA-256 of the program, or of all its files."""
    settings: dict[str, str]
    """The settings of the server, by name."""
    port: int
    """The port on which it accepted players."""
    ready_s: float
    """The time until it accepted players."""
    database: str | None = Field(default=None, exclude_if=lambda version: version is None)
    """The name and version of the database server in which it kept its world. Only a server with one has it."""


@dataclass(frozen=True)
class RunningServer:
    """A game server that has been started and accepts players."""

    child: Child
    tick_log: Path
    """File of the tick probe, which `read_ticks` reads."""
    server_log: Path
    """File of the server's own log."""
    facts: ServerStart
    errors: Callable[[Path], list[str]]
    """Returns the errors in a server log, as `Server.errors` does."""
    database: Database | None = None
    """The database server in which the server keeps its world. None if it has none."""

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self.child.pid

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the server and of its database server, if it has one."""
        return (self.pid,) if self.database is None else (self.pid, self.database.child.pid)

    def alive(self) -> bool:
        """Returns whether the process of the server still runs."""
        return self.child.poll() is None

    def last_words(self) -> str:
        """Returns the last lines of the server's log, or of its output if it has no log, as one line for a message."""
        return last_words(self.child, self.server_log)

    def delay_actions(self, milliseconds: int) -> None:
        """Lets the server hold back its answers to teleports, edits and joins from now on, or send them at once if it is 0."""
        write_text(self.tick_log.parent / _ACTION_DELAY, f"{milliseconds}\n")

    def stop(self, timeout_s: float) -> list[str]:
        """Ends the server with SIGTERM, and kills it if it has not saved its world and ended after `timeout_s` seconds.

        Afterwards its database server is ended in order, if it has one. Returns the problems in words: the errors in the server's
        log, and an end of either before the signal, with an exit code other than 0, or too late. The list is empty if there was
        none.
        """
        problems = self._stop_server(timeout_s)
        return problems if self.database is None else [*problems, *self.database.stop(timeout_s)]

    def kill(self) -> None:
        """Kills the server, and its database server after it, if it has one. Nothing is saved."""
        self.child.stop(10, signal.SIGKILL)
        if self.database is not None:
            self.database.kill()

    def _stop_server(self, timeout_s: float) -> list[str]:
        ended_before = not self.alive()
        self.child.send(signal.SIGTERM)
        code = self.child.wait(timeout_s)
        if code is None:
            self.child.stop(10, signal.SIGKILL)
            return [f"the server did not end within {timeout_s:g} s of SIGTERM and was killed", *self.errors(self.server_log)]
        unclean = [f"the server ended with exit code {code}{' before it was told to' if ended_before else ''}"]
        return [*(unclean if code != 0 or ended_before else []), *self.errors(self.server_log)]


class Server(ABC):
    """A kind of game server, such as Luanti, which can be given a world and started on it.

    A subclass describes the server in its attributes, and its methods say how it is started. `SERVERS` has one object of each.
    """

    name: ClassVar[str]
    """Name in the configuration and in commands, and of the folders `src/tickdisk/server/NAME` and `src/servers/NAME`, unless the
    server is another one with another store."""
    variant_of: ClassVar[str | None] = None
    """Name of the server whose program it runs, with another store. None if it is no variant."""
    supplied: ClassVar[bool] = False
    """Whether its program is one that the user supplies, and that no set-up installs. No experiment has such a server."""
    title: ClassVar[str]
    """Name in the paper and in messages."""
    needs: ClassVar[Needs]
    programs: ClassVar[tuple[str, ...]]
    """Folders in `src` of the programs that the set-up builds for the server and its clients."""
    ticking: ClassVar[Ticking]
    saving: ClassVar[Saving]
    capabilities: ClassVar[frozenset[Capability]]
    limits: ClassVar[Mapping[str, str]] = {}
    """Behaviours of players that can be played and yet lack something on the server, each with words that say what it lacks."""
    clients: ClassVar[str]
    """Name of the driver of the clients, such as `bedrock`."""
    readers: ClassVar[str | None]
    """Beginning of the names of the threads that read the world for players. None if the thread that ticks reads it."""
    radius: ClassVar[int]
    """Distance in blocks of 16 nodes up to which the terrain around a player is sent and active."""
    region_chunks: ClassVar[int | None] = None
    """Edge of a region, which is stored in a file of its own, in chunks of 16 nodes. None if the server has no such files."""
    ready_s: ClassVar[float] = 60.0
    """Time in s within which the server has to accept players after its start."""
    kinds_of_data: ClassVar[frozenset[DataType]] = frozenset({"terrain", "player"})
    """Kinds of data that the paths of its files tell apart, and that it writes when players play."""
    sources: ClassVar[Path]
    """Folder of the project's code that runs inside the server, such as the probe."""
    changes: ClassVar[Mapping[str, Change]] = {}
    """Changes that an experiment can make to the server, by name."""

    @property
    def facts(self) -> ServerFacts:
        """The facts about the server for the manifest of a cell."""
        return ServerFacts(
            name=self.name,
            title=self.title,
            tick_budget_ns=self.ticking.budget_ns,
            tick_thread=self.ticking.thread,
            reader_threads=self.readers,
            parks=self.ticking.parks,
        )

    @abstractmethod
    def check(self) -> ServerProgram:
        """Returns the server's program. Raises TickdiskError, which says what to install or to build, if there is none."""

    @abstractmethod
    def classify(self, path: Path | str) -> DataType:
        """Returns what kind of data a file of this server's world holds, from its path alone. An unknown file is `other`."""

    @abstractmethod
    def errors(self, log: Path) -> list[str]:
        """Returns errors in the log, each as one line, without harmless ones. Raises TickdiskError if the log is missing."""

    @abstractmethod
    def _generate(self, content: Path, spec: WorldSpec, scratch: Path, logs: Path, timeout_s: float) -> Terrain:
        """Generates the world in the folder `content`, and returns what the server says of its terrain."""

    @abstractmethod
    def _launch(
        self, binary: str, world: Path, described: WorldFacts, port: int, folder: Path, settings: Mapping[str, str]
    ) -> Launch:
        """Writes what the server needs into `folder`, where `ticks.csv` and `server.log` will be, and returns the command."""

    def _start_database(self, world: Path, folder: Path, logs: Path, cores: Sequence[int] | None) -> Database | None:
        """Starts the database server that a world needs, and returns it when it accepts connections. None if it needs none."""
        del world, folder, logs, cores
        return None

    @abstractmethod
    def _settings(self, save_period_s: float) -> dict[str, str]:
        """Returns the settings that the project chooses for every life."""

    @abstractmethod
    def _listens(self, child: Child, log: Path) -> bool:
        """Returns whether the server says that it accepts players."""

    @abstractmethod
    def _answers(self, port: int) -> bool:
        """Asks the server on 127.0.0.1:`port` for an answer, as a client does, and returns whether one came."""

    def identity(self) -> str:
        """Returns title, version and SHA-256 of the program, by which results of different programs are told apart."""
        program = self.check()
        return f"{self.title} {program.version} {program.sha256}"

    def corners(self, world: WorldFacts) -> Places:
        """Returns places on the corners of four regions, for the players behind those of all other places.

        There are none if the server has no regions. A player's terrain has a part of all four.
        """
        if self.region_chunks is None:
            return ()
        return shuffled(corners_of(world, self.region_chunks, self.radius), world.spec.seed)

    def make_world(self, world: Path, spec: WorldSpec, logs: Path, *, timeout_s: float = 900) -> WorldFacts:
        """Generates a world in the folder `world`, which appears whole or not at all, and returns the content of its
        `world.json`.

        The content includes `places`, where players can stand. A world of the same spec that is there already is kept. Raises
        TickdiskError if another world is there, or if none was generated within `timeout_s` seconds.
        """
        if (world / WORLD_FILE).exists():
            there = self._known_world(world)
            if there.spec != spec:
                raise TickdiskError(f"{world} holds a world of another spec, {there.spec}; remove it or name another folder")
            return there
        self.check()
        started = time.monotonic()
        with whole_folder(world) as partial:
            content = partial / "content"
            (content / MARKERS_FOLDER).mkdir(parents=True)
            for number in range(MARKERS):
                (content / MARKERS_FOLDER / str(number)).write_bytes(f"{number:04d}".encode() * 1024)
            generated = self._generate(content, spec, logs / "world", logs, timeout_s)
            described = WorldFacts(
                **dict(generated) | {"places": shuffled(generated.places, spec.seed)},
                server=self.name,
                spec=spec,
                edge_chunks=spec.edge_chunks,
                seconds=round(time.monotonic() - started, 1),
                radius_blocks=self.radius,
            )
            write_world(content, described)
            for path in content.iterdir():
                path.rename(partial / path.name)
            content.rmdir()
        return described

    def world_with(self, world: Path, change: Change | None, logs: Path) -> Path:
        """Returns the folder of a world in the store of a change, beside that of the world, which is converted if it must be.

        Without another store, it is the world itself. Raises TickdiskError if the world cannot be converted.
        """
        if change is None or change.store is None:
            return world
        converted = world.with_name(f"{world.name}-{change.store}")
        if not (converted / WORLD_FILE).exists():
            with whole_folder(converted) as partial:
                copy_world(world, partial)
                self._convert(partial, change.store, logs)
        return converted

    def _convert(self, content: Path, store: str, logs: Path) -> None:
        """Converts the world in the folder `content` to another store, in place."""
        del content, logs
        raise TickdiskError(f"{self.title} has no store {store}; take a change without one")

    def recording(self, world: Path, output: Path) -> AbstractContextManager[dict[str, str]]:
        """Changes a world for the length of a block so that what players do in it is recorded as a player trace.

        Yields the settings for `start`. The trace is written to `output`. Raises TickdiskError if the server has no recorder.
        """
        del world, output
        raise TickdiskError(f"there is no recorder of players for {self.title}; take Luanti")

    def start(
        self,
        world: Path,
        *,
        port: int,
        folder: Path,
        logs: Path,
        cores: Sequence[int] | None = None,
        save_period_s: float | None = None,
        settings: Mapping[str, str] | None = None,
        groups: Sequence[Path] = (),
    ) -> RunningServer:
        """Starts the server on `world`, which `make_world` made, and returns when it answers on 127.0.0.1:`port`.

        Player N, such as `p007`, enters the world at its place N. `folder` lies in memory and takes the record of the probe and
        the server's log, and `logs` takes command and exit code. None means all cores, and the usual `save_period_s` in `saving`.
        `settings` take precedence over those that the project chooses, and `groups` are cgroups that the server is in. Raises
        TickdiskError if the port is taken, if there is no world or one of another server, or if the server does not start.
        """
        program = self.check()
        if not (world / WORLD_FILE).exists():
            raise TickdiskError(f"{world} holds no world ({WORLD_FILE} is missing); `tickdisk world` generates it")
        described = self._known_world(world)
        require_free(port)
        folder.mkdir(parents=True, exist_ok=True)
        used = {**self._settings(self.saving.period_s if save_period_s is None else save_period_s), **(settings or {})}
        launch = self._launch(program.binary, world, described, port, folder, used)
        log, started = folder / "server.log", time.monotonic()
        with ExitStack() as undo:
            database = self._start_database(world, folder, logs, cores)
            if database is not None:
                undo.callback(database.kill)
            child = Child(self.name, launch.command, logs, environment=launch.environment, cores=cores, groups=groups)
            undo.callback(child.stop, 5, signal.SIGKILL)
            wait_until_ready(
                child,
                log,
                title=self.title,
                limit_s=self.ready_s,
                listens=lambda: self._listens(child, log),
                answers=lambda: self._answers(port),
            )
            undo.pop_all()
        facts = ServerStart(
            **asdict(program),
            settings=used,
            port=port,
            ready_s=round(time.monotonic() - started, 3),
            database=None if database is None else database.version,
        )
        return RunningServer(child, folder / "ticks.csv", log, facts, self.errors, database)

    def _generator(self, launch: Launch, result: Path, log: Path, logs: Path, timeout_s: float) -> Any:
        """Runs a program that generates a world, and returns what it wrote to the JSON file `result`."""
        child = Child(f"{self.name}_world", launch.command, logs, environment=launch.environment)
        code = child.wait(timeout_s)
        if code is None:
            child.stop(10, signal.SIGKILL)
            raise TickdiskError(f"the world was not generated within {timeout_s:g} s; lower edge_blocks or allow more time")
        if code != 0 or not result.exists():
            raise TickdiskError(f"the world was not generated (exit code {code}); last words: {last_words(child, log)}")
        if log.exists() and (problems := self.errors(log)):
            raise TickdiskError(f"the world was not generated cleanly: {problems[0]}; the whole log is {log}")
        return read_json(result)

    def _known_world(self, world: Path) -> WorldFacts:
        """Returns the description of a world. Raises TickdiskError if it is the world of another server."""
        described = read_world(world)
        if described.server != self.name:
            raise TickdiskError(
                f"{world} holds a world of {described.server}, which {self.title} cannot read; name another folder"
            )
        return described
