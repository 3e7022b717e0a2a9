"""The interface that every game server offers to the rest of the package."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from tickdisk.server.world import WorldSpec

DataType = Literal["terrain", "player", "npc", "other"]


class RunningServer(Protocol):
    """A server that accepts players."""

    @property
    def pid(self) -> int:
        """Process to account CPU time to."""
        ...

    @property
    def tick_log(self) -> Path:
        """Raw file of the tick probe; `read_ticks` reads it."""
        ...

    @property
    def server_log(self) -> Path:
        """The server's own log."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """Version, settings in force and the time to readiness, for the manifest."""
        ...

    def alive(self) -> bool:
        """Returns whether the process still runs."""
        ...

    def last_words(self) -> str:
        """Returns the last lines of its log, for messages."""
        ...

    def stop(self, timeout_s: float) -> list[str]:
        """Ends the server, waits for its last save, and returns the problems that it reported; empty when there was none."""
        ...


class Server(Protocol):
    """A kind of game server."""

    def check(self) -> dict[str, str]:
        """Returns binary, version and sha256; TickdiskError says what to install."""
        ...

    def make_world(self, world: Path, spec: WorldSpec, logs: Path, *, timeout_s: float) -> dict[str, Any]:
        """Generates a world whole or not at all, and returns the content of its `world.json`."""
        ...

    def start(
        self,
        world: Path,
        *,
        port: int,
        folder: Path,
        logs: Path,
        cores: Sequence[int] | None,
        save_period_s: float,
        settings: Mapping[str, str] | None,
    ) -> RunningServer:
        """Starts the server on 127.0.0.1 and returns when it answers; `folder` lies in memory and takes what the probe writes."""
        ...
