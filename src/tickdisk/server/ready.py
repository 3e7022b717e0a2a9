"""When a Luanti server is ready: its log says that it listens, and it answers a client."""

import socket
import time
from pathlib import Path

from tickdisk.errors import TickdiskError
from tickdisk.process import Child

READY_S = 60.0
_PROTOCOL_ID = bytes.fromhex("4f457403")


def last_words(child: Child, log: Path, lines: int = 6) -> str:
    """Returns the last lines of the server's log, or of its output when it has no log yet, in one line."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:] if log.exists() else []
    return " | ".join(line.strip() for line in (text or child.tail(lines).splitlines()) if line.strip())


def free_port() -> int:
    """Returns a UDP port that nobody uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require_free(port: int) -> None:
    """TickdiskError when the UDP port on 127.0.0.1 is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise TickdiskError(
                f"UDP port {port} on 127.0.0.1 cannot be used ({error.strerror}); end what holds it "
                "or choose another port in workflow/config/config.yaml"
            ) from error


def wait_until_ready(child: Child, log: Path, port: int, deadline: float) -> None:
    """Returns when the server answers; TickdiskError, with its last words, when it ends or `deadline` (monotonic s) passes."""
    while not (log.exists() and "listening on" in log.read_text(encoding="utf-8", errors="replace").lower()):
        _still_starting(child, log, deadline)
        time.sleep(0.02)
    while not _answers(port):
        _still_starting(child, log, deadline)


def _still_starting(child: Child, log: Path, deadline: float) -> None:
    if (code := child.poll()) is not None:
        child.wait(1)
        raise TickdiskError(f"the Luanti server ended at its start (exit code {code}); its last words: {last_words(child, log)}")
    if time.monotonic() > deadline:
        raise TickdiskError(f"the Luanti server was not ready within {READY_S:g} s; its last words: {last_words(child, log)}")


def _answers(port: int) -> bool:
    """Connects as a client does (a reliable, empty message), and disconnects as the peer that the server makes of it."""
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
