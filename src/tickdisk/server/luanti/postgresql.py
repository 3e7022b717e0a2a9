"""PostgreSQL as the store of a Luanti world: its files lie in the folder of the world, and its server runs beside Luanti.

All settings that decide what is on the disk, and when, are PostgreSQL's own: fsync, synchronous_commit, full_page_writes,
checkpoints and shared buffers.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child, run
from tickdisk.server.change import OptionalProgram
from tickdisk.server.database import Database
from tickdisk.server.program import environment
from tickdisk.server.ready import wait_until_ready

STORE = "postgresql"
"""Name of the store in Luanti, and of the folder with PostgreSQL's files in the folder of a world."""
PROGRAM = OptionalProgram("PostgreSQL", "usr/lib/postgresql/*/bin/postgres", "postgresql")
SETTINGS = "".join(f"pgsql_{kind}connection = user=luanti dbname=postgres\n" for kind in ("", "player_", "auth_"))
"""Lines of world.mt. The place of the socket is not among them, because it differs from life to life (`address`)."""
_ACCOUNT = "postgres"
"""Account that Debian's package makes. PostgreSQL refuses to run as root."""
_AS_ACCOUNT = (
    "setpriv",
    f"--reuid={_ACCOUNT}",
    f"--regid={_ACCOUNT}",
    "--clear-groups",
    # The folders above the world, and that of the socket, may be closed to other accounts.
    "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
    # The kernel forgets at a change of the account that the process has to die with its parent.
    "--pdeathsig=keep",
)
_START_S = 60.0
"""Time in which the server has to accept connections. After a power cut it first recovers the files from its log."""
_STOP_S = 120.0
_READY = "database system is ready to accept connections"


def address(folder: Path) -> dict[str, str]:
    """Returns the environment variable by which Luanti finds the socket of the database server of a life in the life's folder.

    Luanti never finds another server of the machine, also if that of the life does not run.
    """
    return {"PGHOST": str(_sockets(folder))}


def start(cluster: Path, folder: Path, logs: Path, cores: Sequence[int] | None) -> Database:
    """Starts a server on the files in the folder `cluster`, and returns when it accepts connections by a socket in `folder`.

    It runs in a namespace of its own for shared memory, which therefore goes with it, also after SIGKILL. Raises TickdiskError,
    with its last words, if it does not start.
    """
    program, sockets = _program("postgres"), _sockets(folder)
    version = run([program, "--version"], what="PostgreSQL's --version").strip()
    sockets.mkdir(parents=True, exist_ok=True)
    shutil.chown(sockets, _ACCOUNT)
    settings = {"listen_addresses": "", "unix_socket_directories": str(sockets), "dynamic_shared_memory_type": "sysv"}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command: list[str | Path] = ["unshare", "--ipc", *_AS_ACCOUNT, program, "-D", cluster.resolve(), *options]
    database = Database(Child(STORE, command, logs, environment=environment(), cores=cores), version)
    try:
        wait_until_ready(
            database.child,
            database.child.log_path,
            title=PROGRAM.title,
            limit_s=_START_S,
            listens=lambda: _READY in database.child.tail(),
            answers=lambda: True,
        )
    except BaseException:
        database.kill()
        raise
    return database


@contextmanager
def made(cluster: Path, folder: Path, logs: Path) -> Iterator[None]:
    """Makes the files of an empty database in the folder `cluster`, and runs a server on them for the length of a `with` block.

    Raises TickdiskError if a step fails, or if the server does not end in order.
    """
    initdb = _program("initdb")
    cluster.mkdir()
    shutil.chown(cluster, _ACCOUNT, _ACCOUNT)
    options = ["--auth=trust", "--username=luanti", "--encoding=UTF8", "--locale=C"]
    run([*_AS_ACCOUNT, initdb, "-D", cluster.resolve(), *options], what="PostgreSQL's initdb")
    database = start(cluster, folder, logs, None)
    try:
        yield
    except BaseException:
        database.kill()
        raise
    if problems := database.stop(_STOP_S):
        raise TickdiskError(f"the files of PostgreSQL in {cluster} were not made: {problems[0]}; the logs are in {logs}")


def _program(name: str) -> Path:
    """Returns a program of the newest installed version. Raises TickdiskError if there is none."""
    server = PROGRAM.found()
    if server is None:
        raise TickdiskError(f"{PROGRAM.title} is not installed; install the package {PROGRAM.package}")
    return server.with_name(name)


def _sockets(folder: Path) -> Path:
    return folder.resolve() / STORE
