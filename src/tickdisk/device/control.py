"""The client of the emulator's control socket, on which each request and each reply is one line of JSON."""

import json
import socket
from pathlib import Path
from typing import Any

from tickdisk.foundation.errors import TickdiskError

_LIMIT_S = 5.0


def ask(path: Path, what: str, /, limit_s: float = _LIMIT_S, **arguments: Any) -> dict[str, Any]:
    """Sends a request to the emulator whose control socket is at `path`, and returns its reply.

    `what` is the name of the request, such as `set` or `status`, and `arguments` are its arguments (see `daemon.py`).
    If the emulator refuses, is gone, or does not reply within `limit_s`, TickdiskError is raised.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(limit_s)
            connection.connect(str(path))
            connection.sendall(json.dumps({"do": what, **arguments}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                reply = json.loads(lines.readline() or b'{"error": "the emulator ended"}')
    except (OSError, ValueError) as error:
        raise TickdiskError(f"the emulator does not answer on {path} ({error}); `tickdisk device recover` cleans up") from error
    if "error" in reply:
        raise TickdiskError(f"the emulator refuses to {what}: {reply['error']}")
    return dict(reply)


def answers(path: Path) -> bool:
    """Returns whether an emulator listens on the control socket at `path`, even if it is in another pid namespace."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1)
            connection.connect(str(path))
    except OSError:
        return False
    return True
