"""Finds game servers among the processes of a machine, by their programs and their threads."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.trace import WorkFunctions

_PROC = Path("/proc")
_LISTENS, _UNCONNECTED = "0A", "07"
"""States of a TCP socket that listens, and of a UDP socket that is not connected, in /proc/PID/net/tcp and udp."""
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_GO_INFO = b"\xff Go buildinf:"
_HEAD_BYTES = 64 << 20
"""Size of the part of a program in which the information that Go writes into it is looked for."""


@dataclass(frozen=True)
class ServerKind:
    """A kind of game server, and how its processes are recognised."""

    name: str
    title: str
    programs: tuple[str, ...]
    """Names of programs that are this server. A version after the name does not count."""
    threads: tuple[str, ...]
    """Beginnings of the names of threads that only this server has. A program that runs other things, too, is told by them."""
    tick_ms: float
    """Time between the starts of two ticks that are on time, unless the server is told otherwise."""
    tick_threads: tuple[str, ...]
    """Beginnings of the names of the threads that tick. It is empty if the ticks have no thread of their own."""
    paced_by: str | None = None
    """Beginning of the name of the thread that says when a tick is due. It is empty for the main thread, and None if the thread
    that ticks does so itself."""
    works_by: WorkFunctions | None = None
    """The functions by which the goroutine that ticks is recognised, for a server in Go."""

    def pacer(self, pid: int, names: Mapping[int, str]) -> int | None:
        """Returns the number of the thread that says when a tick is due, of those with these names by their numbers, or None."""
        if not self.paced_by:
            return None if self.paced_by is None else pid
        return next((thread for thread, name in names.items() if name.startswith(self.paced_by)), None)


_DRAGONFLY = "github.com/df-mc/dragonfly/server/world"
KINDS = (
    ServerKind("luanti", "Luanti", ("luanti", "luantiserver", "minetest", "minetestserver"), (), 90, ("Server",), paced_by=""),
    ServerKind("bedrock", "Bedrock Dedicated Server", ("bedrock_server",), (), 50, ("MINECRAFT",)),
    ServerKind("java", "Minecraft's Java server", (), ("Server thread",), 50, ("Server thread",)),
    ServerKind("minestom", "Minestom", (), ("Ms-Tick",), 50, ("Ms-Tick-",), paced_by="Ms-TickSched"),
    ServerKind(
        "dragonfly",
        "Dragonfly",
        (),
        (),
        50,
        (),
        works_by=WorkFunctions(
            tick=f"{_DRAGONFLY}.ticker.tick",
            runs=(f"{_DRAGONFLY}.(*normalTransaction).Run", f"{_DRAGONFLY}.(*weakTransaction).Run"),
            done=("runtime.closechan", "sync.(*Cond).Broadcast"),
        ),
    ),
)
"""The kinds of game server that are recognised, the surest sign first."""
_BY_NAME = {kind.name: kind for kind in KINDS}
_GO_MODULES = {b"github.com/df-mc/dragonfly": "dragonfly"}
"""Modules of Go by which a program is recognised."""


@dataclass(frozen=True)
class FoundServer:
    """A process of this machine that is a game server, or that the user named."""

    pid: int
    program: str
    """Name of the program, as the kernel has it."""
    command: str
    ports: tuple[str, ...]
    """The ports on which it listens, such as `25565/tcp`."""
    kind: ServerKind | None
    """None for a process that the user named and that is no server of a known kind."""

    @property
    def has_tick_thread(self) -> bool:
        """Whether the server is of a kind that ticks on a thread of its own, as far as is known."""
        return self.kind is None or self.kind.works_by is None

    def with_period(self, tick_ms: float) -> "FoundServer":
        """Returns the same server with another time between two ticks that are on time."""
        kind = ServerKind("", self.program, (), (), tick_ms, ()) if self.kind is None else replace(self.kind, tick_ms=tick_ms)
        return replace(self, kind=kind)

    @property
    def title(self) -> str:
        """The process in a few words."""
        return f"{self.program if self.kind is None else self.kind.title} (process {self.pid})"


def find_servers(proc: Path = _PROC) -> list[FoundServer]:
    """Returns the game servers that run on this machine and that this user can see, by their process numbers."""
    found = (_looked_at(int(path.name), proc) for path in proc.glob("[0-9]*"))
    return sorted((one for one in found if one is not None and one.kind is not None), key=lambda one: one.pid)


def server_of(pid: int, proc: Path = _PROC) -> FoundServer:
    """Returns what is known of a process that the user named. Raises TickdiskError if it does not run."""
    found = _looked_at(pid, proc)
    if found is None:
        raise TickdiskError(f"process {pid} does not run; `tickdisk check` without --pid lists the game servers of this machine")
    return found


def ticking_thread(found: FoundServer, named: str | None = None) -> tuple[int, str]:
    """Returns number and name of the thread that is named, or that ticks, or of the one that has computed most.

    Raises TickdiskError if no thread has the name.
    """
    used: list[tuple[bool, int, int, str]] = []
    ticking = (named,) if named is not None else () if found.kind is None else found.kind.tick_threads
    for folder in Path(f"/proc/{found.pid}/task").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            name = (folder / "comm").read_text(errors="replace").strip()
            ran = int((folder / "schedstat").read_text().split()[0])
            used.append((name.startswith(ticking) if ticking else False, ran, int(folder.name), name))
    if not used:
        return found.pid, found.program
    is_known, _, number, name = max(used)
    if named is not None and not is_known:
        there = ", ".join(sorted({name for *_, name in used}))
        raise TickdiskError(f"{found.title} has no thread {named} (threads: {there}); name another by --thread")
    return number, name


def _looked_at(pid: int, proc: Path) -> FoundServer | None:
    folder = proc / str(pid)
    try:
        program = (folder / "comm").read_text(errors="replace").strip()
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:  # It has ended, or belongs to somebody who hides it.
        return None
    if not command:  # a thread of the kernel, or a process that has ended
        return None
    ports = tuple(_ports(folder))
    return FoundServer(pid, program, command, ports, _kind(folder, program, listens=bool(ports)))


def _kind(folder: Path, program: str, *, listens: bool) -> ServerKind | None:
    """Returns the kind of a process. The program itself is read only if the process listens on a port."""
    for kind in KINDS:
        if any(program == name or program.startswith(f"{name}-") for name in kind.programs):
            return kind
    names = set(_threads(folder))
    for kind in KINDS:
        if any(name.startswith(beginning) for beginning in kind.threads for name in names):
            return kind
    module = _go_module(folder / "exe") if listens else None
    return None if module is None else _BY_NAME[module]


def _threads(folder: Path) -> Iterator[str]:
    with suppress(OSError):
        for thread in (folder / "task").iterdir():
            with suppress(OSError):
                yield (thread / "comm").read_text(errors="replace").strip()


def _go_module(program: Path) -> str | None:
    """Returns the kind of a program in Go that is made from the module of a server, or None for any other program."""
    with suppress(OSError), program.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        head = file.read(_HEAD_BYTES)
        if _GO_INFO in head:
            return next((kind for module, kind in _GO_MODULES.items() if module in head), None)
    return None


def _ports(folder: Path) -> Iterator[str]:
    """Yields the ports on which a process listens. Other users' processes hide them from everybody but root."""
    sockets = set()
    with suppress(OSError):
        for link in (folder / "fd").iterdir():
            with suppress(OSError):
                if found := _SOCKET.fullmatch(str(link.readlink())):
                    sockets.add(found[1])
    seen = set()
    for protocol, state in (("tcp", _LISTENS), ("udp", _UNCONNECTED)):
        for version in ("", "6"):
            with suppress(OSError):
                for line in (folder / "net" / f"{protocol}{version}").read_text().splitlines()[1:]:
                    words = line.split()
                    if words[3] == state and words[9] in sockets:
                        seen.add((int(words[1].rpartition(":")[2], 16), protocol))
    yield from (f"{port}/{protocol}" for port, protocol in sorted(seen))
