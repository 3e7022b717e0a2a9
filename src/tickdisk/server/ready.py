"""The port and the readiness of a server: a port that is free, and a server that says that it listens and answers a client."""

import socket
import time
from collections.abc import Callable
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import Child

PORT = 30123
"""Port on 127.0.0.1 of a server that is tried outside of a run."""


def last_words(child: Child, log: Path, lines: int = 6) -> str:
    """Returns the last lines of the file `log`, or of the output if there is no log yet, as one line, which may be empty."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:] if log.exists() else []
    return " | ".join(line.strip() for line in (text or child.tail(lines).splitlines()) if line.strip())


def free_port() -> int:
    """Returns a port of 127.0.0.1 that no process uses now, neither for UDP nor for TCP."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, socket.socket(socket.AF_INET) as streams:
            datagrams.bind(("127.0.0.1", 0))
            port = int(datagrams.getsockname()[1])
            try:
                streams.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def require_free(port: int) -> None:
    """Raises TickdiskError if a process uses the port on 127.0.0.1, for UDP or for TCP."""
    for kind, name in ((socket.SOCK_DGRAM, "UDP"), (socket.SOCK_STREAM, "TCP")):
        with socket.socket(socket.AF_INET, kind) as probe:
            if kind == socket.SOCK_STREAM:  # connections of the life before, which have ended, do not hold the port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                raise TickdiskError(
                    f"{name} port {port} on 127.0.0.1 cannot be used ({error.strerror}); end what holds it "
                    "or choose another port in workflow/config/config.yaml"
                ) from error


def wait_until_ready(
    child: Child, log: Path, *, title: str, limit_s: float, listens: Callable[[], bool], answers: Callable[[], bool]
) -> None:
    """Waits until a server that was just started says that it listens (`listens`), and answers a request (`answers`).

    Raises TickdiskError, with the last words of the server, if it ends or is not ready after `limit_s` seconds.
    """
    deadline = time.monotonic() + limit_s
    while not listens():
        _check_starting(child, log, title, limit_s, deadline)
        time.sleep(0.02)
    while not answers():
        _check_starting(child, log, title, limit_s, deadline)


def _check_starting(child: Child, log: Path, title: str, limit_s: float, deadline: float) -> None:
    if (code := child.poll()) is not None:
        child.wait(1)
        raise TickdiskError(f"the {title} server ended at its start (exit code {code}); its last words: {last_words(child, log)}")
    if time.monotonic() > deadline:
        raise TickdiskError(f"the {title} server was not ready within {limit_s:g} s; its last words: {last_words(child, log)}")
